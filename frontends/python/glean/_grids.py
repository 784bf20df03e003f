# SPDX-License-Identifier: BSD-3-Clause
"""Grids as values. Each kind has `_define`, which gives it to the extension, and `_layout`, which says what its variables look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

from ._errors import InvalidArgument, error
from ._glean import Output as OutputHandle
from ._values import Block, Box, boxes_of, counts


@dataclass(frozen=True)
class UniformGrid:
    """Cells of equal size over the whole domain. Written as coordinate variables (cell centres) named like the dimensions."""

    shape: Sequence[int]                   # cells of the whole grid, slowest dimension first
    origin: Sequence[float]                # lower corner of the domain, same order
    spacing: Sequence[float]               # width of a cell, same order
    blocks: Sequence[Block] = ()           # what this rank holds; may be empty
    dimension_names: Sequence[str] = ()    # empty: x; y, x; z, y, x

    def _layout(self) -> tuple[tuple[int, ...], tuple[Box, ...]]:
        shape = counts(self.shape, "shape of a grid")
        return shape, boxes_of(self.blocks, shape, "block of a grid")

    def _define(self, output: OutputHandle) -> int:
        shape, blocks = self._layout()
        return output.define_uniform_grid(list(shape), list(map(float, self.origin)), list(map(float, self.spacing)),
                                          [(list(box.start), list(box.count)) for box in blocks], list(self.dimension_names))


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

    def _layout(self) -> tuple[tuple[int, ...], tuple[Box, ...]]:
        cells = counts(self.cells_per_block, "cells of a block")
        first, mine, total = counts((self.first_block, len(self.level), self.blocks_total), "blocks of a grid")
        return (total, *cells), (Box((first,) + (0,) * len(cells), (mine, *cells)),) if mine else ()

    def _define(self, output: OutputHandle) -> int:
        lengths = {name: len(getattr(self, name)) for name in ("level", "parent", "lower", "upper")}
        if len(set(lengths.values())) != 1:
            raise error(InvalidArgument, "what blocks of a grid have is of different lengths: "
                        + ", ".join(f"{length} {name}" for name, length in lengths.items()), "each has an element for each block")
        places: list[Any] = [[list(map(float, place)) for place in places] for places in (self.lower, self.upper)]
        return output.define_amr_grid(self.blocks_total, self.first_block, list(counts(self.cells_per_block, "cells of a block")),
                                      list(map(int, self.level)), list(map(int, self.parent)), *places)


AnyGrid = Union[UniformGrid, AmrGrid]
