# SPDX-License-Identifier: BSD-3-Clause
"""Outputs: files that the ranks of a session define and put."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, TypeVar, Union

import numpy as np

from . import _glean
from ._errors import CLASSES, InvalidArgument, InvalidState, NotFound, Unsupported, error
from ._grids import AnyGrid, Layout
from ._values import (NUMBER_OF_TYPE, TYPES, Block, Box, Centring, Level, attribute_elements, boxes_of, counts, elements, fill_value,
                      number_of, selection, type_number, whole)

if TYPE_CHECKING:
    from ._input import InputVariable
    from ._session import Session

Method = TypeVar("Method", bound=Callable[..., Any])


def _tells_other_ranks(method: Method) -> Method:
    """What this rank could not define or put must not be lost if the program goes on: the output is not published."""

    @functools.wraps(method)
    def call(self: Output, *arguments: Any, **named: Any) -> Any:
        try:
            return method(self, *arguments, **named)
        except BaseException as wrong:   # an interrupt, too
            if self._handle.is_there():   # C++ keeps the first that it is told
                code = next((number for number, kind in enumerate(CLASSES) if isinstance(wrong, kind)), 0)
                self._handle.fail(code, str(wrong), "")
            raise

    return call  # type: ignore[return-value]


def _require_nothing(values: Any, what: str) -> None:
    """Of where this rank has no elements."""
    if np.size(values) != 0:
        raise error(InvalidArgument, f"{what}: {'None' if values is None else np.size(values)} for no elements of this rank",
                    "an empty array, or no put")


class Dimension(NamedTuple):
    """A dimension of an output. `length` is None of the record dimension."""

    id: int
    name: str
    length: Optional[int]


class Grid(NamedTuple):
    """A grid of an output, for its variables."""

    id: int
    cells: Layout     # of a variable on its cells
    points: Layout    # of one on its points


class Attributes(MutableMapping[str, Any]):
    """Attributes of an output or of a variable, before definitions end: text, arrays and scalars of NumPy, numbers of Python
    (int32 if they fit, else int64; float64). What is set can be set again, after definitions, if `allow_change` was called for it: with
    a value of the same type and size, text at most as long. Those of rank 0 count, and go into the file when it is closed."""

    def __init__(self, output: Output, variable: int) -> None:
        self._output, self._variable = output, variable
        self._values: dict[str, Any] = output._attributes.setdefault(variable, {})

    def __setitem__(self, name: str, value: Any) -> None:
        self._output._define_attribute(self._variable, name, value, name in self._values)
        self._values[name] = value

    def allow_change(self, name: str) -> None:
        """Lets this attribute be set again from the end of the definitions until the output is closed. Local."""
        self._output._allow_attribute_change(self._variable, name)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __delitem__(self, name: str) -> None:
        raise error(Unsupported, f"attribute {name!r}: what is defined stays")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"glean.Attributes({self._values!r})"


class _Defined(NamedTuple):
    """What an output knows of a variable. It has no reference to the output, which would keep that alive in a circle."""

    id: int
    dtype: np.dtype
    shape: Optional[tuple[int, ...]]
    blocks: tuple[Box, ...]


class Variable:
    """A variable of an output. In a step `variable[...] = array` puts its block and `variable[0:4, :] = array` a part of it."""

    def __init__(self, output: Output, name: str, defined: _Defined) -> None:
        self.output, self.name = output, name
        self.id, self.dtype = defined.id, defined.dtype
        self.shape = defined.shape      # of one step; None over an unstructured mesh, whose size only all ranks together know
        self.blocks = defined.blocks    # what this rank puts

    @property
    def attrs(self) -> Attributes:
        return Attributes(self.output, self.id)

    def __setitem__(self, key: Any, values: Any) -> None:
        self.output._put_selected(self, key, values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and (self.output, self.id) == (other.output, other.id)

    def __hash__(self) -> int:
        return hash((self.output, self.id))

    def __repr__(self) -> str:
        return f"<glean.Variable {self.name!r}: {self.dtype} {self.shape}>"


class Step:
    """A step of an output. In a `with` statement it ends at the end; an exception gives the output up."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._ended = False

    def put(self, variable: Union[Variable, str], values: Any, start: Optional[Sequence[int]] = None) -> None:
        """Puts this rank's block of a variable, or if it has several a sequence with an array for each; with `start` the part that
        begins there and is as large as the array, inside of one block.

        Arrays are captured from where they lie, with any strides: one copy, after which they may be overwritten. Values are converted
        to the type in the file on their way. Waits only when the pool is full. Local.
        """
        self.output._put_in_step(self, variable, values, start)

    def end(self) -> None:
        """Ends this rank's part of the step; the drain starts on it when all ranks have. Local."""
        if self._ended:
            raise error(InvalidState, f"end of a step of {self.output.path!r}: it has ended")
        self._ended = True
        self.output._handle.end_step()

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], thrown: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if kind is not None:
            self._ended = True
            self.output.abandon()
        elif not self._ended:
            self.end()


class Output:
    """A file that the ranks of a session write together; Session.open makes it. In a `with` statement it is closed at the end, without
    waiting for the disk; an exception gives it up: nothing is published."""

    def __init__(self, session: Session, path: str, handle: _glean.Output) -> None:
        self.session, self.path = session, path
        self._handle = handle
        self._closed = False
        self._dimensions: dict[str, Dimension] = {}
        self._variables: dict[str, _Defined] = {}
        self._attributes: dict[int, dict[str, Any]] = {}   # of each variable, -1 of the file
        self._changing: dict[tuple[int, str], np.dtype] = {}   # of those that may be set again

    @property
    def attrs(self) -> Attributes:
        return Attributes(self, -1)

    @_tells_other_ranks
    def dimension(self, name: str, length: Optional[int] = None) -> Dimension:
        """Defines a dimension; without a length it is the record dimension, of which there is at most one. Local."""
        size = None if length is None else counts((length,), f"length of dimension {name!r}")[0]
        dimension = Dimension(self._handle.define_dimension(name, size), name, size)
        self._dimensions[name] = dimension
        return dimension

    @_tells_other_ranks
    def grid(self, grid: AnyGrid) -> Grid:
        """Defines a grid for variables, and what describes it in the file. Local."""
        cells, points = grid._layout("cells"), grid._layout("points")
        return Grid(grid._define(self._handle), cells, points)

    @_tells_other_ranks
    def variable(self, name: str, dtype: Any, dimensions: Optional[Sequence[Union[Dimension, str]]] = None, *,
                 grid: Optional[Grid] = None, blocks: Optional[Iterable[Block]] = None, per_step: bool = False,
                 fill: Any = False, centring: Centring = "cells", components: int = 1) -> Variable:
        """Defines a variable over dimensions, slowest first, or over a grid, whose shape and blocks it has.

        blocks: what this rank will put: slices of the whole array (`numpy.s_[0:4, :]`), `glean.Box` or pairs (start, count), several
            or none; all of it if it is left out and the session has one rank. The record dimension is not part of it.
        per_step: every step adds a record. Over dimensions it is so if the first one is the record dimension.
        fill: elements that no rank puts get the type's fill value (True), or this value.
        centring: over a grid, whether its cells or its points have a value.
        components: over a grid, how many numbers each has: 3 of a vector, 9 of a tensor. If more than 1, the last dimension. Local.
        """
        number = type_number(dtype, f"variable {name!r}")
        on_grid = (number_of(Centring, centring, "centring"), *counts((components,), f"components of variable {name!r}"))
        if grid is not None:
            if dimensions is not None:
                raise error(InvalidArgument, f"variable {name!r} has dimensions and a grid", "the dimensions are the grid's")
            if blocks is not None:
                raise error(InvalidArgument, f"variable {name!r} has a grid and blocks of its own", "the blocks are the grid's")
            identity = self._handle.define_grid_variable(name, number, grid.id, fill is not False, per_step, *on_grid)
            layout = (grid.cells if centring == "cells" else grid.points).of_components(components)
        elif dimensions is None:
            raise error(InvalidArgument, f"variable {name!r} has neither dimensions nor a grid", "[] are the dimensions of a scalar")
        else:
            over = [self._dimension(one) for one in ([dimensions] if isinstance(dimensions, (str, Dimension)) else dimensions)]
            shape = tuple(one.length for one in over if one.length is not None)
            layout = Layout(shape, self._blocks(name, blocks, shape))
            per_step = per_step or (len(over) > 0 and over[0].length is None)
            identity = self._handle.define_variable(name, number, [one.id for one in over],
                                                    [(list(box.start), list(box.count)) for box in layout.blocks], fill is not False,
                                                    per_step, *on_grid)
        self._variables[name] = _Defined(identity, TYPES[number], layout.shape, layout.blocks)
        variable = Variable(self, name, self._variables[name])
        if fill is not False and fill is not True:
            variable.attrs["_FillValue"] = fill_value(fill, TYPES[number], f"variable {name!r}")
        return variable

    def _take_definitions(self, file: Mapping[str, InputVariable]) -> None:
        for name, variable in file.items():
            shape = variable.shape[1:] if variable.per_step else variable.shape
            self._variables[name] = _Defined(variable.id, variable.dtype, shape, (whole(shape),))

    def _dimension(self, named: Union[Dimension, str]) -> Dimension:
        if isinstance(named, Dimension):
            return named
        if named not in self._dimensions:
            raise error(NotFound, f"{self.path!r} has no dimension {named!r}", "dimension(name, length) defines one")
        return self._dimensions[named]

    def _blocks(self, name: str, blocks: Optional[Iterable[Block]], shape: tuple[int, ...]) -> tuple[Box, ...]:
        if blocks is not None:
            return boxes_of(blocks, shape, f"block of variable {name!r}")
        if self.session._ranks > 1:
            raise error(InvalidArgument, f"variable {name!r} has no blocks", "say which part each rank puts; an empty list for none")
        return (whole(shape),)

    @_tells_other_ranks
    def _define_attribute(self, variable: int, name: str, value: Any, again: bool) -> None:
        changes = self._changing.get((variable, name))
        if again and changes is None:
            raise error(InvalidArgument, f"attribute {name!r} of {self.path!r} is defined already",
                        "attrs.allow_change(name) before definitions end lets it be set again")
        number, array = attribute_elements(value, f"attribute {name!r}")
        if array.ndim > 1:
            raise error(InvalidArgument, f"attribute {name!r} has {array.ndim} dimensions, and attributes have one")
        if changes is None:
            self._handle.define_attribute(variable, name, number, np.ascontiguousarray(array))
            return
        # Numbers of Python have no type of their own.
        if not isinstance(value, (np.ndarray, np.generic, str, bytes)) and np.can_cast(array.dtype, changes, "same_kind"):
            array = array.astype(changes)
            number = NUMBER_OF_TYPE[changes]
        self._handle.set_attribute(variable, name, number, np.ascontiguousarray(array))

    @_tells_other_ranks
    def _allow_attribute_change(self, variable: int, name: str) -> None:
        self._handle.allow_attribute_change(variable, name)
        self._changing[variable, name] = attribute_elements(self._attributes[variable][name], f"attribute {name!r}")[1].dtype

    @_tells_other_ranks
    def set_time(self, time: float, unit: str = "") -> None:
        """Says which time the next step has, until it is set again; that of rank 0 counts. For the first time before definitions end,
        with its unit, such as "s". Local."""
        self._handle.set_time(float(time), unit)

    def end_definitions(self) -> None:
        """Creates the file with its metadata; the first step does it if the program has not. Collective, blocks."""
        self._handle.end_definitions()

    def step(self) -> Step:
        """Begins the next step: record 0, 1, 2, … of the record variables. Collective only the first time."""
        self._handle.begin_step()
        return Step(self)

    @_tells_other_ranks
    def _put_in_step(self, step: Step, variable: Union[Variable, str], values: Any, start: Optional[Sequence[int]]) -> None:
        if step._ended:
            raise error(InvalidState, f"put of {self.path!r}: the step has ended", "output.step() begins another one")
        self._put(variable, values, start)

    def _put(self, variable: Union[Variable, str], values: Any, start: Optional[Sequence[int]] = None) -> None:
        if isinstance(variable, str):
            variable = self.find_variable(variable)
        what = f"put of {variable.name!r}"
        if variable.output is not self:
            raise error(InvalidArgument, f"{what}: it is a variable of {variable.output.path!r}, not of {self.path!r}")
        blocks = variable.blocks
        if start is not None:
            self._require_shape(variable, what)
            number, array = elements(values, what)
            self._handle.put(variable.id, list(counts(start, f"{what}: start")), number, array)
        elif len(blocks) == 1:
            self._put_block(variable, blocks[0], values, what)
        elif len(blocks) == 0:
            _require_nothing(values, what)
        elif not hasattr(values, "__len__") or len(values) != len(blocks):
            given = len(values) if hasattr(values, "__len__") else "no sequence of"
            raise error(InvalidArgument, f"{what}: {given} arrays for {len(blocks)} blocks of this rank",
                        "a sequence with an array for each block")
        else:
            for block, array in zip(blocks, values):
                self._put_block(variable, block, array, what)

    def _put_block(self, variable: Variable, block: Box, values: Any, what: str) -> None:
        if 0 in block.count:
            return _require_nothing(values, what)
        number, array = elements(values, what)
        if array.shape != block.count:
            raise error(InvalidArgument, f"{what}: an array of shape {array.shape} for a block of shape {block.count}",
                        "with start=… it can be a part of the block; numpy.broadcast_to repeats values without a copy")
        if variable.shape is None:   # where its block begins is known to C++
            self._handle.put_all(variable.id, number, np.ascontiguousarray(array))
        else:
            self._handle.put(variable.id, block.start, number, array)
        return None

    def _require_shape(self, variable: Variable, what: str) -> tuple[int, ...]:
        if variable.shape is None:
            raise error(InvalidArgument, f"{what}: a part of a variable over an unstructured mesh",
                        "put all that this rank has: variable[...] = array")
        return variable.shape

    @_tells_other_ranks
    def _put_selected(self, variable: Variable, key: Any, values: Any) -> None:
        if key is Ellipsis:
            return self._put(variable, values)
        what = f"put of {variable.name!r}"
        chosen = selection(key, self._require_shape(variable, what), what)
        slices = [one if isinstance(one, slice) else slice(one, one + 1, 1) for one in chosen]
        if any(one.step != 1 for one in slices):
            raise error(InvalidArgument, f"{what}: a selection with steps", "put each part by itself")
        count = tuple(max(one.stop - one.start, 0) for one in slices)
        number, array = elements(values, what)
        expected = tuple(extent for extent, one in zip(count, chosen) if isinstance(one, slice))
        if array.shape != expected:
            raise error(InvalidArgument, f"{what}: an array of shape {array.shape} for a selection of shape {expected}")
        self._handle.put(variable.id, [one.start for one in slices], number,
                         np.expand_dims(array, tuple(d for d, one in enumerate(chosen) if not isinstance(one, slice))))
        return None

    def find_variable(self, name: str) -> Variable:
        """The variable that has this name. Raises NotFound. Local."""
        if name not in self._variables:
            self._handle.find_variable(name)   # raises, but for those that describe a grid
            raise error(NotFound, f"{name!r} of {self.path!r} belongs to a grid and is written by itself")
        return Variable(self, name, self._variables[name])

    def wait(self, level: Level, timeout: Optional[float] = None) -> None:
        """Waits until everything put so far is at `level` on every rank. Raises what the drain has met: overlapping puts, values out of
        range, a full disk. Collective, blocks."""
        self._handle.wait(number_of(Level, level, "level"), -1 if timeout is None else timeout)

    def reached(self, level: Level) -> bool:
        """Whether everything that this rank has put so far is at `level`, as far as its node knows. Local, does not wait."""
        return self._handle.reached(number_of(Level, level, "level"))

    def close(self, level: Optional[Level] = None, timeout: Optional[float] = None) -> None:
        """No more steps: the file is completed, made durable and published in the background. With a level it waits for that, too.
        Collective; blocks with a level."""
        number = None if level is None else number_of(Level, level, "level")
        self._closed = True
        self._handle.close(number, -1 if timeout is None else timeout)

    def abandon(self) -> None:
        """Gives an output up that is not closed: nothing is published, and the other ranks are told. Local."""
        if not self._closed:
            self._closed = True
            self._handle.abandon()

    def __enter__(self) -> Output:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], thrown: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if kind is not None:
            self.abandon()
        elif not self._closed or not self._handle.is_there():   # that it was given up inside is told here
            self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            warnings.warn(f"{self!r} was not closed and is given up", ResourceWarning, source=self)

    def __repr__(self) -> str:
        return f"<glean.Output {self.path!r}, {'closed' if self._closed else 'open'}>"
