# SPDX-License-Identifier: BSD-3-Clause
"""Writes classic NetCDF files, CDF-1, 2 and 5, in the slow and obvious way: none of our code makes the inputs of these tests."""

import struct

import numpy

TYPES = {"i1": 1, "S1": 2, "i2": 3, "i4": 4, "f4": 5, "f8": 6, "u1": 7, "u2": 8, "u4": 9, "i8": 10, "u8": 11}


class File:
    """What a file is to have; `write` makes it."""

    def __init__(self, version=5):
        self.version, self.dimensions, self.attributes, self.variables, self.records = version, {}, {}, {}, 0

    def dimension(self, name, length):
        """Of length None: unlimited."""
        self.dimensions[name] = length

    def variable(self, name, dimensions, values=None, attributes=None, dtype=None):
        """Without values it is a hole in the file. Of the unlimited dimension there are as many records as values."""
        values = None if values is None else numpy.asarray(values)
        self.variables[name] = (tuple(dimensions), dtype or values.dtype.str[1:], values, attributes or {})
        if values is not None and dimensions and self.dimensions[dimensions[0]] is None:
            self.records = max(self.records, len(values))

    def _count(self, value):
        return struct.pack(">q" if self.version == 5 else ">i", value)

    def _name(self, text):
        raw = text.encode()
        return self._count(len(raw)) + raw + bytes(-len(raw) % 4)

    def _list(self, tag, items):
        return struct.pack(">i", tag if items else 0) + self._count(len(items)) + b"".join(items)

    def _attributes(self, attributes):
        made = []
        for name, value in attributes.items():
            if isinstance(value, (str, bytes)):
                raw = value if isinstance(value, bytes) else value.encode()
                kind, count = TYPES["S1"], len(raw)
            else:
                array = numpy.atleast_1d(numpy.asarray(value))
                raw, kind, count = array.astype(array.dtype.newbyteorder(">")).tobytes(), TYPES[array.dtype.str[1:]], array.size
            made.append(self._name(name) + struct.pack(">i", kind) + self._count(count) + raw + bytes(-len(raw) % 4))
        return self._list(12, made)

    def _shape(self, dimensions):
        return tuple(self.dimensions[name] for name in dimensions if self.dimensions[name] is not None)

    def _bytes(self, name):
        dimensions, dtype, _, _ = self.variables[name]
        size = numpy.dtype(dtype).itemsize
        for length in self._shape(dimensions):
            size *= length
        return size

    def _has_records(self, name):
        dimensions = self.variables[name][0]
        return bool(dimensions) and self.dimensions[dimensions[0]] is None

    def _header(self, begins):
        names = list(self.dimensions)
        out = b"CDF" + bytes([self.version]) + self._count(self.records)
        out += self._list(10, [self._name(name) + self._count(length or 0) for name, length in self.dimensions.items()])
        out += self._attributes(self.attributes)
        made = []
        for name, (dimensions, dtype, _, attributes) in self.variables.items():
            made.append(self._name(name) + self._count(len(dimensions)) + b"".join(self._count(names.index(d)) for d in dimensions)
                        + self._attributes(attributes) + struct.pack(">i", TYPES[dtype]) + self._count(0)
                        + struct.pack(">i" if self.version == 1 else ">q", begins.get(name, 0)))
        return out + self._list(11, made)

    def write(self, path):
        at = len(self._header({}))
        begins = {}
        for name in self.variables:
            if not self._has_records(name):
                begins[name] = at
                at += self._bytes(name) + -self._bytes(name) % 4
        of_steps = [name for name in self.variables if self._has_records(name)]
        stride = 0
        for name in of_steps:
            begins[name] = at + stride
            stride += self._bytes(name) + (-self._bytes(name) % 4 if len(of_steps) > 1 else 0)
        with open(path, "wb") as file:
            file.write(self._header(begins))
            for name, (_, dtype, values, _) in self.variables.items():
                if values is None:
                    continue
                big = values.astype(numpy.dtype(dtype).newbyteorder(">"))
                for record in range(self.records) if name in of_steps else [None]:
                    file.seek(begins[name] + (record or 0) * stride)
                    file.write((big if record is None else big[record:record + 1]).tobytes())   # a slice: scalars are native
            file.truncate(max(file.seek(0, 2), at + stride * self.records))
        return path
