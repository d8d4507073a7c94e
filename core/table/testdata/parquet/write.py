"""Writes the Parquet files of foreign_test.go with other programs.

pip install pyarrow==26.0.1 duckdb==2.0.1
python write.py
"""
import datetime
import decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

flat = pa.table({
    "i8": pa.array([1, None, -3], pa.int8()),
    "u32": pa.array([1, None, 4294967295], pa.uint32()),
    "i64": pa.array([1, None, -9223372036854775808], pa.int64()),
    "f32": pa.array([0.5, None, float("nan")], pa.float32()),
    "f64": pa.array([0.1, None, float("-inf")], pa.float64()),
    "s": pa.array(["日本", None, ""], pa.string()),
    "large": pa.array(["a", None, "b"], pa.large_string()),
    "dict": pa.array(["a", None, "a"], pa.string()).dictionary_encode(),
    "b": pa.array([True, None, False], pa.bool_()),
    "bytes": pa.array([b"\x00\xff", None, b""], pa.binary()),
    "l": pa.array([[1, 2], None, []], pa.list_(pa.int32())),
})
for name, options in {
    "snappy": {},
    "gzip-v2": {"compression": "gzip", "data_page_version": "2.0"},
    "plain": {"compression": "none", "use_dictionary": False, "row_group_size": 1},
    "delta": {"compression": "zstd", "use_dictionary": False, "column_encoding": {"i64": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"}},
}.items():
    pq.write_table(flat, f"pyarrow-{name}.parquet", store_schema=False, **options)

for name, column in {
    "timestamp": pa.array([datetime.datetime(2020, 1, 1)]),
    "date": pa.array([datetime.date(2020, 1, 1)]),
    "decimal": pa.array([decimal.Decimal("1.5")]),
    "struct": pa.array([{"a": 1, "b": 2}]),
    "strings": pa.array([["a"]]),
    "lists": pa.array([[[1]]]),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "nulls-inside": pa.array([[1, None]]),
    "u64": pa.array([18446744073709551615], pa.uint64()),
}.items():
    pq.write_table(pa.table({"x": column}), f"refused-{name}.parquet", store_schema=False)

duckdb.sql("""copy (select * from (values
    (1::tinyint, 1::uinteger, 1::bigint, 0.5::float, 0.1::double, '日本', 'a', 'a', true, '\\x00\\xff'::blob, [1, 2]),
    (null, null, null, null, null, null, null, null, null, null, null),
    (-3, 4294967295, -9223372036854775808, 'nan'::float, '-inf'::double, '', 'b', 'a', false, ''::blob, []))
    t(i8, u32, i64, f32, f64, s, large, dict, b, bytes, l)) to 'duckdb.parquet' (format parquet)""")
