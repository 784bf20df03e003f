# SPDX-License-Identifier: BSD-3-Clause
"""Writes meshes as tests/meshes/writer.cpp does: the same points, cells and fields, of which a rank has none if there are several.

  mesh_writer.py FORMAT MESH FILE [MESH FILE]...
"""

import sys
from itertools import product

import numpy as np
from mpi4py import MPI

import glean
from glean import CellType

RANK, SIZE = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
HAS_NOTHING = SIZE > 1 and RANK == (SIZE - 1 if SIZE % 2 else 0)
WRITERS = max(SIZE - 1, 1)
WRITER = RANK - 1 if SIZE > 1 and SIZE % 2 == 0 else RANK


def ordered(blocks):
    """Points or cells of all blocks, one after the other."""
    return np.concatenate([block.reshape(-1, 3) for block in blocks]) if blocks else np.empty((0, 3))


def centres(points):
    """Of the cells between points of shape (z + 1, y + 1, x + 1, 3), of which dimensions may be missing."""
    for axis in range(points.ndim - 1):
        points = (np.take(points, range(points.shape[axis] - 1), axis) + np.take(points, range(1, points.shape[axis]), axis)) / 2
    return points


class Boxes:
    """A grid whose blocks are slabs along the slowest dimension, each cut into two along the fastest."""

    def __init__(self, shape, at):
        rows = shape[0] // WRITERS
        slab = slice(rows * WRITER, shape[0] if WRITER + 1 == WRITERS else rows * (WRITER + 1))
        whole = [slab, *(slice(0, extent) for extent in shape[1:])]
        if HAS_NOTHING:
            self.blocks = []
        elif len(shape) == 1:
            self.blocks = [tuple(whole)]
        else:
            half = shape[-1] // 2
            self.blocks = [(*whole[:-1], slice(0, half)), (*whole[:-1], slice(half, shape[-1]))]
        self.points = []
        for block in self.blocks:
            indices = np.meshgrid(*(np.arange(one.start, one.stop + 1.0) for one in block), indexing="ij")
            self.points.append(at(*reversed(indices)))
        self.cells = [centres(points) for points in self.points]

    def arrays(self, of_points, value):
        """What a put gets: an array for each block, or that of the only one."""
        arrays = [value(block) for block in (self.points if of_points else self.cells)]
        return arrays[0] if len(arrays) == 1 else arrays


def place(x, y=0.0, z=0.0):
    return np.stack(np.broadcast_arrays(x, y, z), -1)


def uniform(*shape):
    origin = [-1.0] * (len(shape) - 1) + [2.0]

    def at(*indices):   # along x, y and z, as far as there are
        return place(*(first + 0.5 * i for first, i in zip(reversed(origin), indices)))

    boxes = Boxes(shape, at)
    return boxes, glean.UniformGrid(shape, origin, [0.5] * len(shape), boxes.blocks)


def rectilinear(*shape):
    coordinates = [np.arange(cells + 1.0)**2 * 0.25 + d + 1 for d, cells in enumerate(shape)]

    def at(*indices):
        return place(*(along[i.astype(int)] for along, i in zip(reversed(coordinates), indices)))

    boxes = Boxes(shape, at)
    return boxes, glean.RectilinearGrid(coordinates, boxes.blocks)


def curvilinear(*shape):
    def at(i, j, k=0.0):
        return place((1 + j) * np.cos(0.2 * i), (1 + j) * np.sin(0.2 * i), k + 0.1 * j)

    boxes = Boxes(shape, at)
    return boxes, glean.CurvilinearGrid(shape, boxes.blocks, ordered(boxes.points))


class Cells:
    """An unstructured mesh: types, and the points of each cell."""

    def __init__(self, points=(), cells=()):
        self.points = np.array(points, float).reshape(-1, 3)
        self.types = [kind for kind, _ in cells]
        self.offsets = np.cumsum([0] + [len(numbers) for _, numbers in cells])
        self.connectivity = [number for _, numbers in cells for number in numbers]
        self.cells = np.array([self.points[list(numbers)].mean(0) for _, numbers in cells]).reshape(-1, 3)

    def arrays(self, of_points, value):
        return value(self.points if of_points else self.cells)


def mixed():
    if HAS_NOTHING:
        return empty()
    x = 4.0 * WRITER
    points = [(x + i, j, k) for k, j, i in product(range(3), range(2), range(2))]
    points += [(x + 0.5, 0.5, 3), (x + 1.5, 0.5, 0), (x + 1.5, 0.5, 1), (x + 0.5, 2, 0)]
    cells = Cells(points, [(CellType.HEXAHEDRON, (0, 1, 3, 2, 4, 5, 7, 6)), (CellType.HEXAHEDRON, (4, 5, 7, 6, 8, 9, 11, 10)),
                           (CellType.PYRAMID, (8, 9, 11, 10, 12)), (CellType.WEDGE, (1, 3, 13, 5, 7, 14)), (CellType.TETRA, (2, 3, 15, 6)),
                           (CellType.QUAD, (8, 9, 11, 10)), (CellType.TRIANGLE, (2, 3, 15)), (CellType.POLYGON, (0, 1, 13, 3, 2)),
                           (CellType.LINE, (0, 15)), (CellType.VERTEX, (12,))])
    wide = np.zeros((len(points), 5))   # as a program has them that keeps other things beside
    wide[:, :3] = cells.points
    return cells, glean.UnstructuredMesh(wide[:, :3], cells.types, cells.offsets, cells.connectivity)


def lagrange():
    if HAS_NOTHING:
        return Cells(), glean.UnstructuredMesh(np.empty((0, 3), "f4"))
    order = 3
    points = np.empty(((order + 1)**3, 3))
    for i, j, k in product(range(order + 1), repeat=3):
        points[glean.lagrange_hexahedron_point(i, j, k, order)] = 5.0 * WRITER + i, 0.5 * j, 0.25 * k
    cells = Cells(points, [(CellType.LAGRANGE_HEXAHEDRON, range(len(points)))])
    # As one array for each of x, y, z.
    return cells, glean.UnstructuredMesh(np.ascontiguousarray(points.T, "f4").T, cells.types, cells.offsets, [cells.connectivity])


def empty():
    return Cells(), glean.UnstructuredMesh()


class Amr:
    """A row of coarse blocks, each second one of which has finer blocks in it; a rank has the block and its children."""

    def __init__(self, dimensions):
        children = 2**dimensions

        def first_of(column):
            return column + (column + 1) // 2 * children

        self.total = first_of(2 * WRITERS)
        columns = [] if HAS_NOTHING else [2 * WRITER, 2 * WRITER + 1]
        self.first = first_of(columns[0]) if columns else 0
        self.level, self.parent, self.lower = [], [], []
        for column in columns:
            corner = np.array([4.0 * column] + [0.0] * (dimensions - 1))
            inner = [corner + 2.0 * np.array([child >> d & 1 for d in range(dimensions)]) for child in range(children)]
            inner = inner if column % 2 == 0 else []
            self.level += [1] + [2] * len(inner)
            self.parent += [-1] + [first_of(column)] * len(inner)
            self.lower += [corner, *inner]
        self.width = 4.0 / np.array(self.level, float)
        self.dimensions = dimensions

    def grid(self):
        return glean.AmrGrid(self.total, self.first, [4] * self.dimensions, self.level, self.parent, self.lower,
                             [low + width for low, width in zip(self.lower, self.width)])

    def arrays(self, of_points, value):
        steps = np.arange(5.0) if of_points else np.arange(4.0) + 0.5
        blocks = []
        for low, width in zip(self.lower, self.width):
            slowest_first = np.meshgrid(*(x + width / 4 * steps for x in reversed(low)), indexing="ij")
            blocks.append(value(place(*reversed(slowest_first))))
        return np.stack(blocks) if blocks else []


def amr(dimensions):
    blocks = Amr(dimensions)
    return blocks, blocks.grid()


MESHES = {
    "uniform": lambda: uniform(6, 3, 4), "uniform_2d": lambda: uniform(6, 4), "uniform_1d": lambda: uniform(12),
    "large": lambda: uniform(24, 40, 48), "one_cell": lambda: uniform(WRITERS, 1, 2), "series": lambda: uniform(6, 3, 4),
    "rectilinear": lambda: rectilinear(6, 3, 4), "rectilinear_2d": lambda: rectilinear(6, 4),
    "curvilinear": lambda: curvilinear(6, 3, 4), "curvilinear_2d": lambda: curvilinear(6, 4),
    "mixed": mixed, "lagrange": lagrange, "empty": empty, "amr": lambda: amr(3), "amr_2d": lambda: amr(2),
}


def value_at(p):
    return p @ [1.0, 10.0, 100.0]


def tensor(components):
    return lambda p: value_at(p)[..., None] + np.arange(components)


# Name, type, centring, components, and what follows from where points or cells are.
FIELDS = [("density", "f8", "cells", 1, value_at), ("velocity", "f4", "cells", 3, lambda p: p), ("potential", "f8", "points", 1, value_at),
          ("place", "f8", "points", 3, lambda p: p), ("stress", "f8", "points", 9, tensor(9)), ("two", "f4", "cells", 2, tensor(2)),
          ("ö d", "f8", "cells", 1, lambda p: np.where(p[..., 0] > 2.6, np.inf, np.nan)), ("number", "i8", "cells", 1, value_at)]


def write(session, name, format, path):
    mesh, grid = MESHES[name]()
    is_series = name == "series"
    fields = [field for field in FIELDS if field[2] == "cells" or name != "amr_2d"]
    with session.open(path, format) as output:
        output.attrs["title"] = "A mesh for readers"
        output.set_time(0.75, "s")
        over = output.grid(grid)
        for field, dtype, centring, components, _ in fields:
            dtype = "i4" if format == "cdf1" and dtype == "i8" else dtype
            variable = output.variable(field, dtype, grid=over, per_step=is_series, centring=centring, components=components)
            if components == 1:
                variable.attrs["units"] = "g"
        output.variable("constants", "f8", [output.dimension("three", 3)], blocks=[np.s_[:]] if RANK == 0 else [])
        for number in range(3 if is_series else 1):
            with output.step() as step:
                for field, dtype, centring, _, value in fields:
                    whole = np.floor if dtype == "i8" else np.asarray
                    step.put(field, mesh.arrays(centring == "points", lambda p: whole(value(p) + 1000.0 * number)))
                if RANK == 0 and number == 0:
                    step.put("constants", [1.0, 2.0, 4.0])
            output.set_time(1.75 + number)


if __name__ == "__main__":
    with glean.Session(pool={"budget": "32MiB", "deadline": "60s"}) as session:
        for mesh, path in zip(sys.argv[2::2], sys.argv[3::2]):
            write(session, mesh, sys.argv[1], path)
