#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes files for hdf5_input_test.cpp with h5py: `hdf5_inputs.py KIND FILE`. Element i of a dataset of numbers is i % 100."""

import sys

import h5py
import numpy as np

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
SHAPE = (4, 3, 5)


def counted(shape, dtype):
    return (np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype)


def numbers(file):
    """All types in both byte orders, as they may be laid out."""
    for order, letter in (("big", ">"), ("little", "<")):
        for kind in NUMBERS:
            data = counted(SHAPE, letter + kind)
            file[f"{order}/contiguous/{kind}"] = data
            file.create_dataset(f"{order}/chunked/{kind}", data=data, chunks=(2, 2, 2))
            file.create_dataset(f"{order}/compressed/{kind}", data=data, chunks=(3, 3, 3), compression="gzip", shuffle=True)
            file.create_dataset(f"{order}/steps/{kind}", data=data, maxshape=(None, *SHAPE[1:]), chunks=(1, *SHAPE[1:]))
    file["half"] = counted(SHAPE, "<f2")
    file.create_dataset("grows", data=counted(SHAPE, "f4"), maxshape=(4, None, 5))
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple(SHAPE)
    h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32LE, space, compact).write(space, space, counted(SHAPE, "<i4"))
    file.create_dataset("filled", shape=SHAPE, dtype="f4", fillvalue=7)


def objects(file):
    """Groups, attributes, names of dimensions, texts, and what cannot be read."""
    file["scalar"] = 2.5
    file["empty"] = np.empty((0, 3))
    file["null"] = h5py.Empty("f8")
    file["flags"] = np.array([True, False, True])
    file["names"] = np.array([b"dens", b"pr", b"temp"], "S4")
    file["letters"] = np.array([b"a", b"b"], "S1")
    file["a/b/deep"] = counted((6,), "f8")
    file["a/b"].attrs["units"] = "cm"
    file["x"] = np.linspace(0, 1, 6)
    file["x"].make_scale("x")
    file["a/b/deep"].dims[0].attach_scale(file["x"])
    file["lon"] = np.empty(6)   # as netCDF-4 has a dimension without coordinates
    file["lon"].make_scale(f"This is a netCDF dimension but not a netCDF variable.{6:10}")
    file["temperature"] = counted((6,), "f4")
    file["temperature"].dims[0].attach_scale(file["lon"])
    file["labelled"] = counted((2, 6), "i4")
    file["labelled"].dims[0].label = "row"
    file["labelled"].dims[1].label = "column"
    file.attrs["title"] = "Größe"
    file.attrs["fixed"] = np.bytes_("fixed")
    file.attrs["big"] = np.array([1, 2, 3], ">i4")
    file.attrs["matrix"] = np.array([[1.5, 2.5], [3.5, 4.5]])
    file.attrs["flag"] = True
    file.attrs["nothing"] = h5py.Empty("f4")
    file.attrs["texts"] = ["one", "two"]
    file["labelled"].attrs["scale"] = np.float32(0.5)
    file["text"] = "of variable length"
    file["link"] = file["scalar"].ref
    file["soft"] = h5py.SoftLink("/nowhere")
    file["elsewhere"] = h5py.ExternalLink("nowhere.h5", "/a")
    layout = h5py.VirtualLayout((4,), "f8")
    layout[:] = h5py.VirtualSource("nowhere.h5", "a", (4,))
    file.create_virtual_dataset("virtual", layout)


def flash(file):
    """Tables of a checkpoint as FLASH writes it."""
    for name, kind, values in (("integer scalars", "<i4", (11, 42)), ("real scalars", "<f8", (0.25, 1.5))):
        table = np.array([(b"nbegin".ljust(80), values[0]), (b"nstep".ljust(80), values[1])], [("name", "S80"), ("value", kind)])
        file[name] = table
    file["unknown names"] = np.array([[b"dens"], [b"pres"]], "S4")
    file["dens"] = counted((3, 2, 4, 4), "<f8")


KINDS = {"numbers": numbers, "objects": objects, "flash": flash}


def main():
    kind, path = sys.argv[1:3]
    more = {"libver": "latest"} if kind.endswith("+latest") else {"userblock_size": 512} if kind.endswith("+user") else {}
    with h5py.File(path, "w", **more) as file:
        KINDS[kind.split("+")[0]](file)
    print("written")


main()
