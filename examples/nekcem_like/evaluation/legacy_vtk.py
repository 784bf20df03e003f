# SPDX-License-Identifier: BSD-3-Clause
"""Reads the legacy VTK files that nekcem_like writes, by itself and through GLEAN, and believes nothing of them that it can check."""

import pathlib
import re

import numpy as np

HEXAHEDRON = 12


class Malformed(Exception):
    """A file that is not what NekCEM writes; the text says where."""


class File:
    """title; points (n, 3); cells (c, 8); fields: name -> (n, 3); recorded_time: of GLEAN's files, else None."""

    def __init__(self, path):
        self.path, self.bytes, self.at = pathlib.Path(path), pathlib.Path(path).read_bytes(), 0
        if not self.line().startswith("# vtk DataFile Version"):
            raise Malformed(f"{path}: no VTK file")
        self.title = self.line()
        self.want("BINARY", self.line())
        self.want("DATASET UNSTRUCTURED_GRID", self.line())
        self.recorded_time = self.time() if self.bytes.find(b"FIELD FieldData", self.at, self.at + 20) >= 0 else None
        count, = self.numbers(r"POINTS (\d+) float")
        self.points = self.array(">f4", 3 * count).reshape(count, 3)
        cells, size = self.numbers(r"CELLS (\d+) (\d+)")
        self.want(str(9 * cells), str(size))
        table = self.array(">i4", size).reshape(cells, 9)
        if not (table[:, 0] == 8).all():
            raise Malformed(f"{path}: a cell that has not 8 points")
        self.cells = table[:, 1:]
        if cells and not (0 <= self.cells.min() and self.cells.max() < count):
            raise Malformed(f"{path}: a cell names a point that does not exist")
        self.want(str(cells), str(self.numbers(r"CELL_TYPES (\d+)")[0]))
        if not (self.array(">i4", cells) == HEXAHEDRON).all():
            raise Malformed(f"{path}: a cell that is no hexahedron")
        self.want(str(count), str(self.numbers(r"POINT_DATA (\d+)")[0]))
        self.fields = {}
        while self.bytes[self.at:].strip(b" \n"):
            name = re.fullmatch(r"VECTORS (\w+) float", self.line())
            if not name:
                raise Malformed(f"{path}: no VECTORS before byte {self.at}")
            self.fields[name[1]] = self.array(">f4", 3 * count).reshape(count, 3)

    def line(self):
        """The next line with something in it, with single blanks."""
        while True:
            end = self.bytes.find(b"\n", self.at)
            if end < 0:
                raise Malformed(f"{self.path}: ends at byte {self.at}")
            text = " ".join(self.bytes[self.at:end].decode("ascii", "replace").split())
            self.at = end + 1
            if text:
                return text

    def time(self):
        self.want("FIELD FieldData 1", self.line())
        self.want("TIME 1 1 double", self.line())
        self.at += 8
        return float(np.frombuffer(self.bytes, ">f8", 1, self.at - 8)[0])

    def want(self, expected, found):
        if expected != found:
            raise Malformed(f"{self.path}: '{found}' where '{expected}' has to be, before byte {self.at}")

    def numbers(self, pattern):
        line = self.line()
        match = re.fullmatch(pattern, line)
        if not match:
            raise Malformed(f"{self.path}: '{line}' before byte {self.at}")
        return [int(group) for group in match.groups()]

    def array(self, kind, count):
        if self.at + 4 * count > len(self.bytes):
            raise Malformed(f"{self.path}: is cut off at byte {len(self.bytes)}")
        values = np.frombuffer(self.bytes, kind, count, self.at)
        self.at += 4 * count
        return values

    def step_and_time(self):
        words = self.title.split()
        return int(words[0]), float(words[4])


class Pieces:
    """Several files as one."""

    def __init__(self, paths):
        files = [File(path) for path in paths]
        offsets = np.cumsum([0] + [len(file.points) for file in files])
        self.title = files[0].title
        self.points = np.concatenate([file.points for file in files])
        self.cells = np.concatenate([file.cells + offset for file, offset in zip(files, offsets)])
        self.fields = {name: np.concatenate([file.fields[name] for file in files]) for name in files[0].fields}


def pieces_of(meta_file):
    """The files that a .pvtk file names."""
    meta_file = pathlib.Path(meta_file)
    text = meta_file.read_text(encoding="ascii")
    names = re.findall(r'fileName="([^"]+)"', text)
    count = int(re.search(r'numberOfPieces="(\d+)"', text)[1])
    if len(names) != count:
        raise Malformed(f"{meta_file}: names {len(names)} files, not {count}")
    return Pieces([meta_file.parent / name for name in names])
