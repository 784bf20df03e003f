# SPDX-License-Identifier: BSD-3-Clause
"""Reads the files that phasta_like writes, and believes nothing of them that it can check."""

import pathlib
import re
import xml.etree.ElementTree as tree

import numpy as np

MAGIC = 362436


class Malformed(Exception):
    """A file that is not what PHASTA writes; the text says where."""


def blocks_of(path):
    """Key -> (numbers of its line, bytes that follow)."""
    data, at, found = pathlib.Path(path).read_bytes(), 0, {}
    while at < len(data):
        end = data.find(b"\n", at)
        if end < 0:
            raise Malformed(f"{path}: ends in a line, at byte {at}")
        line = data[at:end].decode("ascii", "replace")
        at = end + 1
        if line.startswith("#"):
            continue
        match = re.fullmatch(r"(.+?) : < (\d+) >((?: \d+)*) ", line)
        if not match:
            raise Malformed(f"{path}: '{line}' before byte {at}")
        size = int(match[2])
        if at + size > len(data) or (size and data[at + size - 1:at + size] != b"\n"):
            raise Malformed(f"{path}: the block of '{match[1]}' does not end with a line feed")
        found[match[1]] = ([int(number) for number in match[3].split()], data[at:at + max(0, size - 1)])
        at += size
    magic = found.get("byteorder magic number", ([], b""))[1]
    if magic != np.int32(MAGIC).tobytes():
        raise Malformed(f"{path}: not the byte order of this machine")
    return found


class Part:
    """points (n, 3); cells (c, 4), from 0; pressure (n,), velocity (n, 3), temperature (n,)."""

    def __init__(self, geometry, restart):
        blocks = blocks_of(geometry)
        (count, dimensions), values = blocks["co-ordinates"]
        assert dimensions == 3 and blocks["number of nodes"][0] == [count]
        self.points = np.frombuffer(values, "f8").reshape(3, count).T
        (elements, corners, *_), values = blocks["connectivity interior linear tetrahedron"]
        assert corners == 4 and blocks["number of interior elements"][0] == [elements]
        self.cells = np.frombuffer(values, "i4").reshape(4, elements).T - 1
        if not (self.cells.min() == 0 and self.cells.max() == count - 1):
            raise Malformed(f"{geometry}: cells name points {self.cells.min()} to {self.cells.max()} of {count}")
        (nodes, variables, self.step), values = blocks_of(restart)["solution"]
        if nodes != count or variables != 5:
            raise Malformed(f"{restart}: {variables} variables at {nodes} points, where the geometry has {count}")
        solution = np.frombuffer(values, "f8").reshape(5, count)
        self.pressure, self.velocity, self.temperature = solution[0], solution[1:4].T, solution[4]


class Output:
    """All parts that a .pht file names, and its time."""

    def __init__(self, meta_file):
        meta_file = pathlib.Path(meta_file)
        root = tree.parse(meta_file).getroot()
        patterns = [root.find(name).get("pattern") for name in ("GeometryFileNamePattern", "FieldFileNamePattern")]
        self.time = float(root.find("TimeSteps").get("start_value"))
        self.parts = [Part(*(meta_file.parent / (pattern % number) for pattern in patterns))
                      for number in range(1, int(root.get("number_of_pieces")) + 1)]


def volumes(part):
    corners = part.points[part.cells]
    edges = corners[:, 1:] - corners[:, :1]
    return np.linalg.det(edges) / 6
