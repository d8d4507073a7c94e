"""Reads the tables of a run with pyarrow, polars and DuckDB and compares every
value with FOLDER/truth.json, which the Go side wrote from its records.

    python tables.py FOLDER

There, a column has a type and values; a double is the integer of its IEEE bits,
a float likewise, bytes are hexadecimal digits, a null is a null.
"""

import json
import pathlib
import struct
import sys

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq

TYPES = {
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "list of int32": pa.list_(pa.int32()),
    "list of float": pa.list_(pa.float32()),
}


def same_type(got, want):
    """Whether a column has a type; the name of a list's element is not compared."""
    if pa.types.is_list(want):
        return pa.types.is_list(got) and got.value_type == want.value_type
    return got == want


def plain(kind, value):
    """A value as it is in truth.json, from what a reader returned."""
    if value is None:
        return None
    if kind == "double":
        return int.from_bytes(struct.pack("<d", value), "little")
    if kind == "list of float":
        return [int.from_bytes(struct.pack("<f", v), "little") for v in value]
    if kind == "list of int32":
        return [int(v) for v in value]
    if kind == "bytes":
        return bytes(value).hex()
    return value


def read_pyarrow(path):
    return pq.read_table(path).to_pydict()


def read_polars(path):
    return polars.read_parquet(path).to_dict(as_series=False)


def read_duckdb(path):
    with duckdb.connect() as db:
        found = db.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [d[0] for d in found.description]
        rows = found.fetchall()
    return {n: [r[i] for r in rows] for i, n in enumerate(names)}


READERS = {"pyarrow": read_pyarrow, "polars": read_polars, "duckdb": read_duckdb}


def difference(got, columns):
    """The first difference between the columns read and those written, or None."""
    if list(got) != list(columns):
        return f"its columns are {list(got)}, not {list(columns)}"
    for name, column in columns.items():
        kind, want = column["type"], column["values"]
        if len(got[name]) != len(want):
            return f"column {name} has {len(got[name])} rows, not {len(want)}"
        for i, (g, w) in enumerate(zip(got[name], want)):
            g = plain(kind, g)
            if g != w or type(g) is not type(w):
                return f"column {name}, row {i} is {g!r}, and {w!r} was written ({kind})"
    return None


def check(folder):
    truth = json.loads((folder / "truth.json").read_text())
    files = {p.name for p in folder.glob("*.parquet")}
    if files != set(truth):
        return [f"the folder has {sorted(files)}, not {sorted(truth)}"]
    problems = []
    for table, wanted in truth.items():
        path, columns = folder / table, wanted["columns"]
        rows = {len(c["values"]) for c in columns.values()}
        file = pq.ParquetFile(path)
        if file.metadata.num_row_groups < wanted["groups"]:
            problems.append(f"{table}: {file.metadata.num_row_groups} row groups, {wanted['groups']} were expected")
        for name, column in columns.items():
            got = file.schema_arrow.field(name).type
            if not same_type(got, TYPES[column["type"]]):
                problems.append(f"{table}: column {name} is of type {got}, not {column['type']}")
        for reader, read in READERS.items():
            got = read(path)
            if found := difference(got, columns):
                problems.append(f"{table}, read by {reader}: {found}")
                continue
            # A comparison that cannot fail shows nothing: of every column, the
            # last value that is there is changed, and must be found.
            for name, column in columns.items():
                at = max((i for i, v in enumerate(column["values"]) if v is not None), default=None)
                if at is None:
                    continue
                old = got[name][at]
                got[name][at] = None
                if difference({name: got[name]}, {name: column}) is None:
                    problems.append(f"{table}, read by {reader}: a change of column {name} is not found")
                got[name][at] = old
        print(f"{table}: {rows.pop()} rows, {len(columns)} columns, {file.metadata.num_row_groups} row groups")
    return problems


if __name__ == "__main__":
    found = check(pathlib.Path(sys.argv[1]))
    for line in found:
        print(line, file=sys.stderr)
    sys.exit(1 if found else 0)
