# SPDX-License-Identifier: BSD-3-Clause
"""Meshes with refinement, and what readers of files of them have to find."""

import itertools

import cdf
import numpy


class Blocks:
    """Blocks in `dimensions` dimensions; each is added with its level and lower corner, in units of its own width."""

    def __init__(self, dimensions, cells, lower=0.0, root_width=1.0):
        self.dimensions, self.cells, self.lower, self.root_width = dimensions, cells, lower, root_width
        self.levels, self.parents, self.positions = [], [], []

    def add(self, level, position, parent=-1):
        self.levels.append(level)
        self.parents.append(parent)
        self.positions.append(tuple(position))
        return len(self.levels) - 1

    def refine(self, block):
        return [self.add(self.levels[block] + 1, [2 * p + c for p, c in zip(self.positions[block], reversed(child))], block)
                for child in itertools.product((0, 1), repeat=self.dimensions)]

    def width(self, level):
        return self.root_width / 2 ** (level - 1)

    def bounds(self):
        """[block][axis][lower, upper], x first."""
        lower = numpy.array([[self.lower + p * self.width(l) for p in ps] for l, ps in zip(self.levels, self.positions)])
        return numpy.stack([lower, lower + numpy.array([self.width(l) for l in self.levels])[:, None]], axis=-1)

    def shape(self):
        return (len(self.levels), *reversed(self.cells))

    def cells_per_block(self):
        return int(numpy.prod(self.cells))

    def field(self):
        """Another number in each cell, the same wherever the block stands in the file."""
        return numpy.arange(numpy.prod(self.shape()), dtype="f8").reshape(self.shape()) % 977 + 1.0

    def leaves(self):
        return [block for block in range(len(self.levels)) if block not in self.parents]

    def can_be_hidden(self):
        """Cells that finer ones cover, by VTK."""
        return self.dimensions == 3 and all(n % 2 == 0 for n in self.cells)

    def cell_volume(self, level):
        return float(numpy.prod([self.width(level) / n for n in self.cells]))

    def integral(self, values):
        """Over the leaves."""
        return sum(float(values[block].sum()) * self.cell_volume(self.levels[block]) for block in self.leaves())

    def file(self, fields, version=5, attributes=None):
        """As glean::AmrGrid makes it."""
        made = cdf.File(version)
        made.dimension("blocks", len(self.levels))
        for name, length in zip(("nxb", "nyb", "nzb"), self.cells):
            made.dimension(name, length)
        made.dimension("ndim", self.dimensions)
        made.dimension("lo_hi", 2)
        made.attributes = attributes or {}
        made.variable("lrefine", ["blocks"], numpy.array(self.levels, "i4"))
        made.variable("parent", ["blocks"], numpy.array(self.parents, "i4"))
        made.variable("bndbox", ["blocks", "ndim", "lo_hi"], self.bounds())
        of_cells = ["blocks", *reversed(("nxb", "nyb", "nzb")[:self.dimensions])]
        for name, values in fields.items():
            made.variable(name, of_cells, values)
        return made

    def gid(self):
        """Neighbours, parent and children as FLASH numbers them."""
        place = {(level, position): block for block, (level, position) in enumerate(zip(self.levels, self.positions))}
        rows = []
        for block, (level, position) in enumerate(zip(self.levels, self.positions)):
            row = []
            for axis in range(self.dimensions):
                for step in (-1, 1):
                    beside = tuple(p + step * (a == axis) for a, p in enumerate(position))
                    row.append(place.get((level, beside), -2) + 1)
            row.append(self.parents[block] + 1 or -1)
            children = [other for other, parent in enumerate(self.parents) if parent == block]
            rows.append(row + ([child + 1 for child in children] or [-1] * 2 ** self.dimensions))
        return numpy.array([[value or -1 for value in row] for row in rows], "i4")

    def flash_file(self, fields, version=2):
        """As FLASH writes it with PnetCDF: three of everything, relations in `gid`, parameters as attributes of two variables."""
        made = cdf.File(version)
        padded = tuple(self.cells) + (1,) * (3 - self.dimensions)
        for name, length in (("dim_tot_blocks", len(self.levels)), ("dim_nxb", padded[0]), ("dim_nyb", padded[1]), ("dim_nzb", padded[2]),
                             ("dim_NGID", 2 * self.dimensions + 1 + 2 ** self.dimensions), ("dim_2", 2), ("dim_1", 1), ("dim_MDIM", 3)):
            made.dimension(name, length)
        made.attributes = {"file_format_version": numpy.int32(9), "flash_version": "FLASH 4.6.2".ljust(80),
                           "unknown_names": numpy.int32(len(fields)), "setup_call": "./setup Sedov -auto".ljust(400)}
        made.variable("runtime_parameters", ["dim_1"], numpy.zeros(1, "i4"),
                      {"lrefine_min": numpy.int32(1), "lrefine_max": numpy.int32(max(self.levels)), "gamma": 1.4,
                       "run_comment": "a run".ljust(80)})
        made.variable("scalars", ["dim_1"], numpy.zeros(1, "i4"),
                      {"time": 0.25, "timestepper": 3.5, "nstep": numpy.int32(17), "dimensionality": numpy.int32(self.dimensions)})
        bounds = numpy.tile(numpy.array([0.0, 1.0]), (len(self.levels), 3, 1))
        bounds[:, :self.dimensions] = self.bounds()
        made.variable("lrefine", ["dim_tot_blocks"], numpy.array(self.levels, "i4"))
        made.variable("nodetype", ["dim_tot_blocks"], numpy.array([1 if b in self.leaves() else 2 for b in range(len(self.levels))], "i4"))
        made.variable("gid", ["dim_tot_blocks", "dim_NGID"], self.gid())
        made.variable("coordinates", ["dim_tot_blocks", "dim_MDIM"], bounds.mean(axis=-1))
        made.variable("blocksize", ["dim_tot_blocks", "dim_MDIM"], bounds[..., 1] - bounds[..., 0])
        made.variable("bndbox", ["dim_tot_blocks", "dim_MDIM", "dim_2"], bounds.astype("f4"))
        made.variable("processor_number", ["dim_tot_blocks"], numpy.arange(len(self.levels), dtype="i4") // 2)
        for name, values in fields.items():
            made.variable(name, ["dim_tot_blocks", "dim_nzb", "dim_nyb", "dim_nxb"], values.reshape(len(self.levels), *reversed(padded)),
                          {"minimum": values.min(), "maximum": values.max()})
        return made


def three_levels(dimensions, cells):
    """Two roots beside each other along x, the children of the first, and those of its last child."""
    blocks = Blocks(dimensions, cells, lower=-0.5)
    first = blocks.add(1, [0] * dimensions)
    blocks.add(1, [1] + [0] * (dimensions - 1))
    blocks.refine(blocks.refine(first)[-1])
    return blocks


def with_empty_levels():
    """Levels 2 and 4 only: nothing on 1 and 3."""
    blocks = Blocks(2, [4, 4])
    for y in (0, 1):
        for x in (0, 1):
            blocks.add(2, [x, y])
    blocks.add(4, [3, 2])
    return blocks


def one_cell():
    blocks = Blocks(3, [1, 1, 1], root_width=2.0)
    blocks.add(1, [0, 0, 0])
    return blocks
