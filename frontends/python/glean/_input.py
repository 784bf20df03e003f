# SPDX-License-Identifier: BSD-3-Clause
"""Inputs: files that one rank reads, outputs of its session among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _glean
from ._errors import Error, InvalidState, NotFound, error
from ._values import TYPES, selection, type_number

if TYPE_CHECKING:
    from ._session import Session


class _File:
    """The file of an input and of its variables, which have no references to each other that would keep it open in a circle."""

    def __init__(self, session: Session, path: str, handle: _glean.Input) -> None:
        self.session, self.path = session, path
        self.handle: Optional[_glean.Input] = handle

    def open_handle(self) -> _glean.Input:
        if self.handle is None:
            raise error(InvalidState, f"{self.path!r} is closed")
        return self.handle

    def attributes(self, variable: int) -> dict[str, Any]:
        handle = self.open_handle()
        values: dict[str, Any] = {}
        for name, number, count in handle.attributes(variable):
            array = np.empty(count, TYPES[number])
            if count:
                handle.read_attribute(variable, name, number, array)
            if array.dtype.kind == "S":
                values[name] = array.tobytes().rstrip(b"\0").decode(errors="replace")   # as netCDF4 and h5py do
            else:
                values[name] = array[0] if count == 1 else array
        return values


class _Refused(Exception):
    """What one rank refuses in a call of all of them."""

    def __init__(self, error: Error) -> None:
        super().__init__(str(error))
        self.error = error


class InputVariable:
    """A variable of a file. `variable[3, 0:4, :]` reads what is selected, and nothing else, into an array of NumPy; the first index of a
    variable per step is the step. numpy.asarray(variable) reads all of it."""

    def __init__(self, file: _File, id: int, name: str, dtype: np.dtype, per_step: bool, shape: tuple[int, ...],
                 dimensions: tuple[str, ...]) -> None:
        self._file, self.id, self.name, self.dtype, self.per_step = file, id, name, dtype, per_step
        self.shape, self.dimensions = shape, dimensions   # the steps among them
        self._attrs: Optional[dict[str, Any]] = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Its attributes: text as str, one number as a scalar of NumPy, several as an array. Local."""
        if self._attrs is None:
            self._attrs = self._file.attributes(self.id)
        return self._attrs

    def read(self, key: Any = ..., dtype: Any = None) -> np.ndarray:
        """What `variable[key]` reads, converted to `dtype`. Raises OutOfRange if that cannot hold a value. Local, blocks."""
        return self._read(key, dtype, self._file.open_handle().read)

    def read_all(self, key: Any = ..., dtype: Any = None) -> np.ndarray:
        """read() by all ranks of the session together: each selects what it likes of the same steps, or nothing of them. On several nodes
        each part of the file is read from the storage once, and handed to the ranks. What one rank raises all do. Collective, blocks."""
        collective = self._file.open_handle().read_all
        try:
            return self._read(key, dtype, collective, empty=True)
        except _Refused as refused:
            try:   # the others hear of it in the call
                collective(-1, 0, [], [], 0, np.empty(0, TYPES[0]))
            except Error:
                pass
            raise refused.error from None

    def _read(self, key: Any, dtype: Any, read: Any, empty: bool = False) -> np.ndarray:
        """`empty`: `read` is called for boxes without elements, too, and what is refused before it is raised as _Refused."""
        what = f"variable {self.name!r} of {self._file.path!r}"
        try:
            chosen = selection(key, self.shape, what)
            number = type_number(self.dtype if dtype is None else dtype, what)
        except Error as wrong:
            if empty:
                raise _Refused(wrong) from None
            raise
        # Of steps those are read that are selected. Of the other dimensions all from the first to the last that is, and then what is
        # selected of it.
        step, inside = (chosen[0], chosen[1:]) if self.per_step else (0, chosen)
        steps, boxes = _indices(step), [_hull(one) for one in inside]
        found = np.empty((len(steps), *map(len, boxes)), TYPES[number])
        for place, at in enumerate(steps if found.size or empty else ()):
            read(self.id, at, [one.start for one in boxes], [len(one) for one in boxes], number, found[place:place + 1])
        return found[(slice(None) if isinstance(step, slice) else 0, *map(_inside, inside))]

    def prefetch(self, key: Any = ...) -> None:
        """Begins to fetch into the node's memory what `variable[key]` reads from the storage, in the background: the next step, say, while
        the program works on this one. Steps that are not there need nothing. Local, does not wait."""
        first = key[0] if isinstance(key, tuple) and key else key
        if self.per_step and isinstance(first, (int, np.integer)) and first >= self.shape[0]:
            return
        chosen = selection(key, self.shape, f"variable {self.name!r} of {self._file.path!r}")
        step, inside = (chosen[0], chosen[1:]) if self.per_step else (0, chosen)
        boxes = [_hull(one) for one in inside]
        for at in _indices(step):
            self._file.open_handle().prefetch(self.id, at, [one.start for one in boxes], [len(one) for one in boxes])

    def __getitem__(self, key: Any) -> np.ndarray:
        return self.read(key)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"variable {self.name!r} has no dimensions")
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        return self.read(dtype=dtype)

    def __repr__(self) -> str:
        return f"<glean.InputVariable {self.name!r}: {self.dtype} {dict(zip(self.dimensions, self.shape))}>"


def _indices(one: Union[int, slice]) -> range:
    return range(one.start, one.stop, one.step) if isinstance(one, slice) else range(one, one + 1)


def _hull(one: Union[int, slice]) -> range:
    """Indices from the lowest to the highest that is selected."""
    indices = _indices(one)
    return range(min(indices[0], indices[-1]), max(indices[0], indices[-1]) + 1) if indices else range(0)


def _inside(one: Union[int, slice]) -> Union[int, slice]:
    """The same selection in an array that holds the hull."""
    if not isinstance(one, slice):
        return 0
    return slice(None, None, one.step)


class Input(Mapping[str, InputVariable]):
    """A NetCDF or HDF5 file that this rank reads, as it was when it was opened; Session.open_input makes it. It maps names to variables.
    All calls but read_all are Local; reading waits for the storage."""

    def __init__(self, session: Session, path: str, handle: _glean.Input) -> None:
        self._path = path
        self._file = _File(session, path, handle)
        self._steps = handle.steps()
        self._attrs: Optional[dict[str, Any]] = None
        self._variables: dict[str, InputVariable] = {}
        for identity, (name, number, per_step, shape, dimensions) in enumerate(handle.variables()):
            self._variables[name] = InputVariable(self._file, identity, name, TYPES[number], per_step,
                                                  (self._steps, *shape) if per_step else tuple(shape), tuple(dimensions))

    @property
    def path(self) -> str:
        """As it was opened: what open_input was given, or restart has found. Local."""
        return self._path

    @property
    def steps(self) -> int:
        """Records that the file held when it was opened. Local."""
        return self._steps

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attributes of the file, as those of variables. Local."""
        if self._attrs is None:
            self._attrs = self._file.attributes(-1)
        return self._attrs

    def __getitem__(self, name: str) -> InputVariable:
        if name not in self._variables:
            with suppress(NotFound):
                self._file.open_handle().find_variable(name)   # raises Unsupported if it is there, and no type can hold its elements
            raise error(NotFound, f"{self.path!r} has no variable {name!r}", "it has " + ", ".join(map(repr, self._variables)))
        return self._variables[name]

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def close(self) -> None:
        """Closes the file. Again it does nothing. Local."""
        if self._file.handle is not None:
            self._file.handle.close()
            self._file.handle = None

    def __enter__(self) -> Input:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], thrown: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<glean.Input {self.path!r}: {', '.join(self._variables)}>"
