#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks a file of hdf5_test.cpp: `hdf5_files.py same|steps|long FILE STEPS RANKS` says "good", or what is wrong.

steps: only the datasets, of a file that goes on. same: also everything else, by h5diff with a file that h5py writes. long: a dataset `v`,
of which each rank has written as much.
"""

import os
import subprocess
import sys

import h5py
import numpy as np

COLUMNS = 5
LONG = 100003   # elements of a rank
FILL = np.float32(9.9692099683868690e36)   # NetCDF's


def expected(steps, ranks):
    """Each dataset's values, in the order in which the program defines them; the last rank has nothing."""
    rows = 2 * ranks
    here = rows if ranks == 1 else rows - 2
    step = np.zeros((rows, COLUMNS))
    step[:here] = np.arange(here * COLUMNS).reshape(here, COLUMNS)
    density = np.zeros((steps, rows, COLUMNS))
    density[:, :here] = step[:here] + 1000 * np.arange(steps).reshape(steps, 1, 1)
    single = density.astype("<f4")
    single[:, here:] = FILL
    label = np.zeros((steps, rows), "S1")
    for i in range(steps):
        label[i, :here] = chr(ord("a") + i % 26)
    put = steps > 0
    return {"grid/x": np.full(COLUMNS, 0.25 * put), "ids": (step * put).astype("<i4"), "time": 0.5 * np.arange(steps),
            "fluid/density": density, "label": label, "fluid/species/h": single}


def write_reference(path, values, fixed=("grid/x", "ids")):
    """As a program would that has h5py: contiguous, and with steps that can be added."""
    with h5py.File(path, "w", libver="earliest") as file:
        for name, data in values.items():
            more = {} if name in fixed else {"maxshape": (None, *data.shape[1:]), "chunks": (1, *data.shape[1:])}
            file.create_dataset(name, data=data, **more)
        file.attrs["title"] = np.bytes_("A flow")
        file["fluid"].attrs.create("name", "wässer".encode(), dtype=h5py.string_dtype("utf-8", 7))
        density = file["fluid/density"].attrs
        density["units"] = np.bytes_("g/cm3")
        density["bounds"] = [0.5, 2.0]
        density["one"] = np.int32(7)
        density["nothing"] = h5py.Empty("S1")


def check_values(path, values):
    with h5py.File(path, "r") as file:
        for name, data in values.items():
            dataset = file[name]
            assert dataset.shape == data.shape, f"{name}: {dataset.shape}, not {data.shape}"
            assert dataset.dtype == data.dtype, f"{name}: {dataset.dtype}, not {data.dtype}"
            assert np.array_equal(dataset[...], data), f"{name} has other values"


def check_places(path, steps):
    """Records lie one behind the other, which is what makes them fast to write."""
    with h5py.File(path, "r") as file:
        for name in ("time", "fluid/density", "fluid/species/h", "label"):
            dataset = file[name]
            assert dataset.chunks == (1, *dataset.shape[1:]) and dataset.maxshape[0] is None, name
            assert dataset.id.get_num_chunks() == steps, f"{name} has {dataset.id.get_num_chunks()} chunks"
            places = [dataset.id.get_chunk_info(i).byte_offset for i in range(steps)]
            assert len(set(np.diff(places))) <= 1, f"{name}: {places}"
        assert file["ids"].chunks is None and file["ids"].id.get_offset() > 0


def run(*command):
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, f"{' '.join(command)}: {found.stdout}{found.stderr}"
    return found.stdout


def main():
    what, path, steps, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    values = {"v": np.repeat(0.5 + np.arange(ranks), LONG)} if what == "long" else expected(steps, ranks)
    check_values(path, values)
    if what == "same":
        check_places(path, steps)
        reference = path + ".reference"
        write_reference(reference, values)
        run("h5diff", "-v", path, reference)
        # Types, shapes and attributes as text: h5diff passes over some of what only one of two files has.
        texts = [run("h5dump", "-A", file).split("\n", 1)[1] for file in (path, reference)]
        for ours, theirs in zip(*(text.splitlines() for text in texts)):
            assert ours == theirs, f"h5dump: '{ours.strip()}', not '{theirs.strip()}'"
        os.remove(reference)
    print("good")


if __name__ == "__main__":
    try:
        main()
    except (AssertionError, OSError, KeyError) as error:
        print(f"{type(error).__name__}: {error}")
