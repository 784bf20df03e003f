# SPDX-License-Identifier: BSD-3-Clause
"""A program that writes through HDF5, without the library and with it: the same files, and the report names its datasets.

  datasets_test.py hdf5_datasets|hdf5_left_open|hdf5_two_libraries LIBRARY MPIRUN…
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

RANKS = 4
# Program: file: dataset: type, shape, writes, bytes
EXPECTED = {
    "hdf5_datasets": {
        "parallel.h5": {
            "/grid/density": ("float64", [8, 6], 4, 384),
            "/records": ("compound", [4], 4, 48),
            "/names": ("string", [4], 4, 48),
            "/count": ("int32", [10], 1, 40),
            "/flags": ("uint8", [4], 2, 4),
            "/series": ("int64", [12], 12, 96),
            "(without a name)": ("int16", [4], 4, 8),
            "/mistakes": ("int32", [4], 8, 128),
        },
        "chunks.h5": {"/chunks": ("int32", [8], 2, 32)},
        "serial.h5": {},
    },
    "hdf5_left_open": {
        "all.h5": {"/first": ("float64", [40000], 4, 320000), "/second": ("float64", [40000], 4, 320000)},
        "odd.h5": {"/numbers": ("float64", [20000], 2, 160000)},
        "even.h5": {"/numbers": ("float64", [20000], 2, 160000)},
    },
    "hdf5_two_libraries": {
        "before.h5": {"/parallel": ("int32", [8], 4, 32)},
        "after.h5": {"/parallel": ("int32", [8], 4, 32)},
        "serial.h5": {},
    },
}


def run(directory, environment):
    directory.mkdir()
    done = subprocess.run([*sys.argv[3:], str(RANKS), sys.argv[1], str(directory)], env=os.environ | environment, timeout=150,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "HDF5-DIAG" not in done.stderr, done.stderr


with tempfile.TemporaryDirectory() as name:
    root = pathlib.Path(name)
    run(root / "bare", {})
    report = root / "report.json"
    run(root / "captured", {"LD_PRELOAD": sys.argv[2], "GLEAN_REPORT_FILE": str(report)})
    expected = EXPECTED[pathlib.Path(sys.argv[1]).name]
    found = json.loads(report.read_text())
    for file, datasets in expected.items():
        subprocess.run(["h5diff", root / "bare" / file, root / "captured" / file], check=True)
        written = {one["name"]: (one["type"], one["shape"], one["puts"], one["bytes"])
                   for one in found["datasets"] if one["path"] == str(root / "captured" / file)}
        assert written == datasets, written
    assert len(found["datasets"]) == sum(map(len, expected.values())), found["datasets"]
