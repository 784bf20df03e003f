# SPDX-License-Identifier: BSD-3-Clause
"""Runs sedov through PnetCDF and through GLEAN and wants the same files, byte by byte."""

import argparse
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True

from evaluation import compare, runs   # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sedov", required=True)
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--blocks", required=True)
    parser.add_argument("--format", required=True)
    parser.add_argument("--levels", type=int, default=1)
    options = parser.parse_args()
    every = 2 if options.levels == 1 else 60   # until the shock has come to where the mesh is coarse at first
    problem = runs.Problem(options.ranks, options.blocks, steps=3 * every, every=every, form=options.format)

    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for way in ("pnetcdf", "glean"):
            runs.run(options.sedov, problem, way, directory / way, ("--levels", str(options.levels)), launcher=options.launcher)
        entries = compare.compare(directory / "pnetcdf", directory / "glean")

    sizes = {entry["bytes"] for entry in entries if "chk" in entry["name"]}
    assert (len(sizes) > 1) == (options.levels > 1), f"checkpoints of {sizes} bytes from a mesh of {options.levels} levels"
    assert len(entries) == 8, f"four checkpoints and four plot files, not {[e['name'] for e in entries]}"
    return 1 if any(entry["problems"] for entry in entries) else 0


if __name__ == "__main__":
    sys.exit(main())
