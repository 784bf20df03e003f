# SPDX-License-Identifier: BSD-3-Clause
"""Grids as values. Each kind has `_define`, which gives it to the extension, and `_layout`, which says what its variables look like."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from ._errors import InvalidArgument, error
from ._glean import Output as OutputHandle
from ._values import Block, Box, Centring, boxes_of, counts, elements


class CellType(enum.IntEnum):
    """The shape of a cell, and the order of its points. The numbers are VTK's."""

    VERTEX = 1
    POLY_VERTEX = 2
    LINE = 3
    POLY_LINE = 4
    TRIANGLE = 5
    TRIANGLE_STRIP = 6
    POLYGON = 7
    PIXEL = 8
    QUAD = 9
    TETRA = 10
    VOXEL = 11
    HEXAHEDRON = 12
    WEDGE = 13
    PYRAMID = 14
    PENTAGONAL_PRISM = 15
    HEXAGONAL_PRISM = 16
    LAGRANGE_HEXAHEDRON = 72   # of any order, the same along all three edges: (order + 1)^3 points


class Layout(NamedTuple):
    """What a variable over a grid looks like."""

    shape: Optional[tuple[int, ...]]   # of one step; None: only all ranks together know it
    blocks: tuple[Box, ...]            # what this rank puts

    def of_components(self, components: int) -> Layout:
        """Several are the last dimension."""
        if components == 1:
            return self
        return Layout(None if self.shape is None else (*self.shape, components),
                      tuple(Box((*box.start, 0), (*box.count, components)) for box in self.blocks))


def _over_boxes(shape: Sequence[int], blocks: Sequence[Block], centring: Centring) -> Layout:
    """A block of points has all points of its cells, and none if it has no cells."""
    cells = counts(shape, "shape of a grid")
    boxes = boxes_of(blocks, cells, "block of a grid")
    if centring == "cells":
        return Layout(cells, boxes)
    return Layout(tuple(extent + 1 for extent in cells),
                  tuple(Box(box.start, tuple(extent + 1 if 0 not in box.count else 0 for extent in box.count)) for box in boxes))


def _pairs(blocks: Sequence[Block], shape: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    return [(list(box.start), list(box.count)) for box in boxes_of(blocks, shape, "block of a grid")]


def _numbers(values: Any) -> list[float]:
    return list(map(float, values))


def _points(values: Any) -> tuple[int, np.ndarray]:
    """The number of their type, and an array of the shape (points, 3) that looks at them."""
    what = "points of a grid"
    number, array = elements(values, what)
    if array.dtype.kind in "iu":
        number, array = elements(array.astype(np.float64), what)
    if array.size == 0:
        return number, array.reshape(0, 3)
    if array.ndim == 0 or array.shape[-1] != 3:
        raise error(InvalidArgument, f"{what}: an array of shape {array.shape}", "its last dimension has x, y and z, in a plane too")
    return number, array.reshape(-1, 3)


def _whole_numbers(values: Any, dtype: Any, what: str) -> np.ndarray:
    """All of them, one after the other, without gaps."""
    array = np.asarray(values)
    if array.size == 0:
        return np.empty(0, dtype)
    if array.dtype.kind not in "iu":
        raise error(InvalidArgument, f"{what} of a mesh: an array of type {array.dtype}", "whole numbers are wanted")
    limits = np.iinfo(dtype)
    if array.min() < limits.min or array.max() > limits.max:
        raise error(InvalidArgument, f"{what} of a mesh: numbers from {array.min()} to {array.max()}", f"{limits.dtype} holds them")
    return np.ascontiguousarray(array, dtype).reshape(-1)


@dataclass(frozen=True)
class UniformGrid:
    """Cells of equal size over the whole domain. Written as coordinate variables (cell centres) named like the dimensions."""

    shape: Sequence[int]                   # cells of the whole grid, slowest dimension first
    origin: Sequence[float]                # lower corner of the domain, same order
    spacing: Sequence[float]               # width of a cell, same order
    blocks: Sequence[Block] = ()           # what this rank holds; may be empty
    dimension_names: Sequence[str] = ()    # empty: x; y, x; z, y, x

    def _layout(self, centring: Centring) -> Layout:
        return _over_boxes(self.shape, self.blocks, centring)

    def _define(self, output: OutputHandle) -> int:
        shape = counts(self.shape, "shape of a grid")
        return output.define_uniform_grid(list(shape), _numbers(self.origin), _numbers(self.spacing), _pairs(self.blocks, shape),
                                          list(self.dimension_names))


@dataclass(frozen=True)
class RectilinearGrid:
    """As UniformGrid, with points at any distance: coordinates[d] has those along dimension d, ascending, one more than there are cells.
    The same on all ranks."""

    coordinates: Sequence[Sequence[float]]   # slowest dimension first
    blocks: Sequence[Block] = ()             # of cells: what this rank holds; may be empty
    dimension_names: Sequence[str] = ()      # empty: x; y, x; z, y, x

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(max(len(along) - 1, 0) for along in self.coordinates)

    def _layout(self, centring: Centring) -> Layout:
        return _over_boxes(self._shape, self.blocks, centring)

    def _define(self, output: OutputHandle) -> int:
        return output.define_rectilinear_grid([_numbers(along) for along in self.coordinates], _pairs(self.blocks, self._shape),
                                              list(self.dimension_names))


@dataclass(frozen=True)
class CurvilinearGrid:
    """Hexahedra (quads, lines) in the order of an array, whose points lie anywhere. Points are an array of float32 or float64 with any
    strides, whose last dimension has x, y and z: of one block as (z, y, x, 3), of several one after the other as (points, 3)."""

    shape: Sequence[int]                   # cells of the whole grid, slowest dimension first; one to three
    blocks: Sequence[Block] = ()           # of cells: what this rank holds; may be empty
    points: Any = ()                       # of the blocks: one more than cells in each dimension
    dimension_names: Sequence[str] = ()    # empty: i; j, i; k, j, i

    def _layout(self, centring: Centring) -> Layout:
        return _over_boxes(self.shape, self.blocks, centring)

    def _define(self, output: OutputHandle) -> int:
        shape = counts(self.shape, "shape of a grid")
        return output.define_curvilinear_grid(list(shape), _pairs(self.blocks, shape), *_points(self.points), list(self.dimension_names))


@dataclass(frozen=True)
class UnstructuredMesh:
    """The points and cells of this rank; a rank may have none. Points that ranks share are points of each of them. The library numbers
    the points and cells of all ranks, by rank. What it has may be arrays of NumPy."""

    points: Any = ()          # (points, 3): x, y, z of each, float32 or float64 with any strides
    types: Any = ()           # a CellType for each cell
    offsets: Any = ()         # one more than cells: where each begins in `connectivity`; none where all types have a fixed number of points
    connectivity: Any = ()    # numbers of `points` from 0 on, cell after cell; may have a row for each cell

    def _layout(self, centring: Centring) -> Layout:
        mine = np.size(self.types) if centring == "cells" else np.size(self.points) // 3
        return Layout(None, (Box((0,), (mine,)),) if mine else ())

    def _define(self, output: OutputHandle) -> int:
        return output.define_unstructured_mesh(*_points(self.points), _whole_numbers(self.types, np.uint8, "types"),
                                               _whole_numbers(self.offsets, np.int64, "offsets"),
                                               _whole_numbers(self.connectivity, np.int64, "connectivity"))


@dataclass(frozen=True)
class AmrGrid:
    """Block-structured AMR as FLASH has it: all blocks have the same number of cells; the array of a variable is [block][z][y][x].
    Written with the variables `lrefine`, `parent` and `bndbox`. What blocks have may be arrays of NumPy."""

    blocks_total: int                            # over all ranks
    first_block: int                             # index of this rank's first block
    cells_per_block: Sequence[int]               # slowest dimension first
    level: Sequence[int] = ()                    # of each block of this rank
    parent: Sequence[int] = ()                   # of each block: index of its parent in the whole mesh, -1: none
    lower: Sequence[Sequence[float]] = ()        # of each block: bounding box, x first as in FLASH
    upper: Sequence[Sequence[float]] = ()

    def _layout(self, centring: Centring) -> Layout:
        cells = counts(self.cells_per_block, "cells of a block")
        inside = cells if centring == "cells" else tuple(extent + 1 for extent in cells)
        first, mine, total = counts((self.first_block, len(self.level), self.blocks_total), "blocks of a grid")
        return Layout((total, *inside), (Box((first,) + (0,) * len(cells), (mine, *inside)),) if mine else ())

    def _define(self, output: OutputHandle) -> int:
        lengths = {name: len(getattr(self, name)) for name in ("level", "parent", "lower", "upper")}
        if len(set(lengths.values())) != 1:
            raise error(InvalidArgument, "what blocks of a grid have is of different lengths: "
                        + ", ".join(f"{length} {name}" for name, length in lengths.items()), "each has an element for each block")
        places: list[Any] = [[_numbers(place) for place in places] for places in (self.lower, self.upper)]
        return output.define_amr_grid(self.blocks_total, self.first_block, list(counts(self.cells_per_block, "cells of a block")),
                                      list(map(int, self.level)), list(map(int, self.parent)), *places)


AnyGrid = Union[UniformGrid, RectilinearGrid, CurvilinearGrid, UnstructuredMesh, AmrGrid]
