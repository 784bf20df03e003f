# SPDX-License-Identifier: BSD-3-Clause
"""Reads classic NetCDF files (CDF-1, CDF-2, CDF-5) without a library: header, attributes, fixed variables.

Enough for looking at the files of this example, and an independent reading of what both ways wrote.
"""

import struct

import numpy as np

TYPES = {1: ">i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8", 7: ">u1", 8: ">u2", 9: ">u4", 10: ">i8",
         11: ">u8"}
DIMENSIONS, VARIABLES, ATTRIBUTES = 10, 11, 12


class Header:
    """Walks through the bytes of a header."""

    def __init__(self, data):
        if data[:3] != b"CDF" or data[3] not in (1, 2, 5):
            raise ValueError("not a classic NetCDF file")
        self.data, self.at, self.version = data, 4, data[3]

    def number(self, code):
        value, = struct.unpack_from(">" + code, self.data, self.at)
        self.at += struct.calcsize(code)
        return value

    def count(self):
        return self.number("q" if self.version == 5 else "i")

    def offset(self):
        return self.number("i" if self.version == 1 else "q")

    def take(self, size):
        """Bytes, and the padding to four behind them."""
        taken = self.data[self.at:self.at + size]
        self.at += size + -size % 4
        return taken

    def name(self):
        return self.take(self.count()).decode("utf-8")

    def list_of(self, tag, read):
        found, count = self.number("i"), self.count()
        if found not in (0, tag):
            raise ValueError(f"a list with tag {found} where {tag} belongs")
        return [read() for _ in range(count)]

    def dimension(self):
        return self.name(), self.count()

    def attribute(self):
        name, kind, count = self.name(), np.dtype(TYPES[self.number("i")]), self.count()
        values = np.frombuffer(self.take(count * kind.itemsize), kind, count)
        if kind.kind == "S":
            return name, values.tobytes().decode("utf-8")
        return name, values[0].item() if count == 1 else values.astype(kind.newbyteorder("="))

    def variable(self):
        name = self.name()
        dimensions = [self.count() for _ in range(self.count())]
        attributes = dict(self.list_of(ATTRIBUTES, self.attribute))
        kind = np.dtype(TYPES[self.number("i")])
        self.count()   # size, which follows from the rest
        return name, (dimensions, kind, self.offset(), attributes)


class File:
    """`attributes` of the file; variables by `file["dens"]`, as arrays that stay on the disk until used."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            header = Header(file.read(1 << 20))
        header.count()   # records
        self.dimensions = header.list_of(DIMENSIONS, header.dimension)
        self.attributes = dict(header.list_of(ATTRIBUTES, header.attribute))
        self.variables = dict(header.list_of(VARIABLES, header.variable))

    def __getitem__(self, name):
        dimensions, kind, offset, _ = self.variables[name]
        shape = tuple(self.dimensions[d][1] for d in dimensions)
        return np.memmap(self.path, kind, "r", offset, shape)


def whole_domain(file, name):
    """A variable of all blocks put together as one array [z][y][x] of the whole domain."""
    blocks, box = file[name], np.asarray(file["bndbox"])
    cells = blocks.shape[1]
    width = box[0, 0, 1] - box[0, 0, 0]
    place = np.rint(box[:, :, 0] / width).astype(int)   # of each block: x, y, z
    counts = place.max(axis=0) + 1
    domain = np.empty(tuple(counts[::-1] * cells), blocks.dtype.newbyteorder("="))
    for number, (x, y, z) in enumerate(place):
        z, y, x = z * cells, y * cells, x * cells
        domain[z:z + cells, y:y + cells, x:x + cells] = blocks[number]
    return domain, width / cells


def leaves(file):
    """Numbers of the blocks without children: these cover the domain once."""
    is_leaf = np.ones(len(file["parent"]), bool)
    parents = np.asarray(file["parent"])
    is_leaf[parents[parents >= 0]] = False
    return np.flatnonzero(is_leaf)


def cells_of(file, block):
    """Centres of a block's cells along x, y and z, and the width of a cell."""
    low, high = np.asarray(file["bndbox"][block], float).T
    count = file["dens"].shape[1]
    width = (high[0] - low[0]) / count
    return [start + (np.arange(count) + 0.5) * width for start in low], width
