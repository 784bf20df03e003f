# SPDX-License-Identifier: BSD-3-Clause
"""Runs sedov through PnetCDF and through HDF5, bare and under `glean run`, and wants the same files and a report of datasets."""

import argparse
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True

from evaluation import runs, unmodified   # noqa: E402

BLOCKS, CELLS, OUTPUTS = 8, 16, 2


def check_datasets(way, datasets, directory):
    """As the program has written them into each of its files."""
    slash = "/" if way == "hdf5" else ""
    for number in range(OUTPUTS):
        for kind, kind_of_value in (("chk", "float64"), ("plt", "float32")):
            path = str(directory / f"sedov_{kind}_{number:04d}.{'h5' if way == 'hdf5' else 'nc'}")
            found = {one["name"]: one for one in datasets if one["path"] == path}
            expected = {slash + name for name in ("lrefine", "parent", "bndbox", "dens", "pres", "temp")}
            assert expected <= found.keys(), f"{path}: {sorted(found)}"
            pressure = found[slash + "pres"]
            assert pressure["type"] == kind_of_value and pressure["shape"] == [BLOCKS, CELLS, CELLS, CELLS], pressure
            assert pressure["bytes"] == BLOCKS * CELLS**3 * int(kind_of_value[5:]) // 8, pressure


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sedov", required=True)
    parser.add_argument("--glean", required=True)
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("--named", nargs="*", default=[], help="ways of which the report names the datasets")
    options = parser.parse_args()

    # One rank has no block, so that it has nothing to write.
    problem = runs.Problem(9, "2,2,2", steps=2 * (OUTPUTS - 1), every=2)
    with tempfile.TemporaryDirectory() as name:
        found = unmodified.run(options.sedov, options.glean, problem, name, launcher=options.launcher)
        for way, one in found.items():
            assert one["files"] == 2 * OUTPUTS and not one["different"], one
            assert one["report"]["captured_bytes"] >= one["data_bytes"], "the files were not captured"
            if way in options.named:
                check_datasets(way, one["datasets"], pathlib.Path(name).resolve() / f"under_{way}")
    assert set(options.named) <= found.keys()
    print("\n".join(unmodified.lines(found)))


if __name__ == "__main__":
    main()
