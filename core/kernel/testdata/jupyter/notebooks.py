"""Runs notebooks through nbconvert and the kernel of lab, and compares every output
with those that lab notebook run put there without Jupyter.

    python notebooks.py FILE…
"""

import pathlib
import subprocess
import sys
import tempfile

import nbformat

def outputs(notebook):
    """The outputs of each code cell, without what depends on the time of the run."""
    return [[dict(o) for o in c.outputs] for c in notebook.cells if c.cell_type == "code"]


def main(files):
    assert files, "no notebook was given"
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            name = pathlib.Path(path).name
            stored = nbformat.read(path, as_version=4)
            nbformat.validate(stored)
            assert any(outputs(stored)), f"{path} holds no output"
            for form in ("notebook", "html"):
                subprocess.run(
                    [sys.executable, "-m", "nbconvert", "--execute", "--to", form, "--log-level", "WARN",
                     "--ExecutePreprocessor.timeout=120", "--output-dir", folder, path],
                    check=True,
                )
            now = nbformat.read(pathlib.Path(folder) / name, as_version=4)
            for i, (a, b) in enumerate(zip(outputs(stored), outputs(now), strict=True)):
                assert a == b, f"{path}: code cell {i + 1}: Jupyter gives\n{b}\nand lab notebook run\n{a}"
            print(f"{path}: Jupyter and lab agree")


if __name__ == "__main__":
    main(sys.argv[1:])
