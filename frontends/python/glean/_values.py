# SPDX-License-Identifier: BSD-3-Clause
"""Values of C++ as Python has them: names for enumerators, NumPy's types, boxes, settings, elements of arrays."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args

import numpy as np

from ._errors import InvalidArgument, InvalidIndex, OutOfRange, error

# Enumerators by name, in the order of C++, which tools/check_api compares.
Level = Literal["captured", "staged", "written", "durable"]
Format = Literal["cdf1", "cdf2", "cdf5", "npy", "hdf5", "vtkhdf", "vtk"]
Centring = Literal["cells", "points"]
Existing = Literal["replace", "refuse"]
Reading = Literal["published", "written"]
OutputState = Literal["open", "draining", "published", "failed", "abandoned", "dropped"]

# glean::Type as NumPy's types, in the same order.
TYPES = tuple(np.dtype(name) for name in
              ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "S1"))
NUMBER_OF_TYPE = {dtype: number for number, dtype in enumerate(TYPES)}
_INSTEAD = {"b": "array.view('uint8') has the same memory", "c": "write .real and .imag as two variables",
            "f": "array.astype('float32') has values of a type that files hold",
            "U": "numpy.char.encode(array).view('S1') has one character in each element",
            "S": "array.view('S1') has one character in each element"}


@dataclass(frozen=True)
class Box:
    """A part of an array: first index and extent in each dimension, slowest dimension first; never of the record dimension."""

    start: Sequence[int]
    count: Sequence[int]

    def __iter__(self) -> Iterator[Sequence[int]]:
        return iter((self.start, self.count))


Block = Union[Box, tuple[Sequence[int], Sequence[int]], tuple[slice, ...], slice]


def number_of(names: Any, name: str, what: str) -> int:
    """The enumerator's number, of a type above."""
    known = get_args(names)
    if name not in known:
        raise error(InvalidArgument, f"there is no {what} {name!r}", "one of " + ", ".join(map(repr, known)))
    return known.index(name)


def counts(values: Any, what: str) -> tuple[int, ...]:
    """Whole numbers that are not negative."""
    try:
        numbers = tuple(map(operator.index, values))
    except TypeError as wrong:
        raise error(InvalidArgument, f"{what} {values!r}: whole numbers are wanted") from wrong
    if any(not 0 <= number < 2**64 for number in numbers):
        raise error(InvalidArgument, f"{what} {values!r}: numbers from 0 on are wanted")
    return numbers


def type_number(dtype: Any, what: str) -> int:
    """The number of glean::Type; of what is stored, so the order of bytes does not matter."""
    try:
        wanted = np.dtype(dtype).newbyteorder("=")
    except TypeError as wrong:
        raise error(InvalidArgument, f"{what}: {dtype!r} is no type of NumPy") from wrong
    if wanted not in NUMBER_OF_TYPE:
        raise error(InvalidArgument, f"{what}: files hold no elements of type {wanted}",
                    _INSTEAD.get(wanted.kind, "numbers, or 'S1' for text"))
    return NUMBER_OF_TYPE[wanted]


def elements(values: Any, what: str) -> tuple[int, np.ndarray]:
    """The number of their type, and the values as an array that can be captured where it lies: a copy only of other byte orders, of
    lists and scalars, and of elements that lie at odd distances."""
    if isinstance(values, np.ma.MaskedArray):
        raise error(InvalidArgument, f"{what}: a masked array", "array.filled(value) says what masked elements are")
    array = np.asarray(values)
    number = NUMBER_OF_TYPE.get(array.dtype)
    if number is None:
        number = type_number(array.dtype, what)
        array = array.astype(TYPES[number])
    size = array.itemsize
    if size > 1 and any(stride % size for stride in array.strides):
        array = np.ascontiguousarray(array)
    return number, array


def attribute_elements(value: Any, what: str) -> tuple[int, np.ndarray]:
    """The same for attributes: text, an array or scalar of NumPy, numbers of Python (int32 if they fit, int64, float64)."""
    if isinstance(value, (str, bytes)):
        text = value.encode() if isinstance(value, str) else value
        return NUMBER_OF_TYPE[np.dtype("S1")], np.array(list(text), "uint8").view("S1")
    number, array = elements(value, what)
    if not isinstance(value, (np.ndarray, np.generic)) and array.dtype == np.int64:
        if array.size == 0 or (array.min() >= -2**31 and array.max() < 2**31):
            array = array.astype(np.int32)
            number = NUMBER_OF_TYPE[array.dtype]
    return number, array


def fill_value(value: Any, dtype: np.dtype, what: str) -> np.ndarray:
    """One value of this type. What the type cannot hold is refused, and not wrapped as NumPy would."""
    given = np.asarray(value)
    try:
        if given.size != 1 or given.dtype.kind not in "biufSU":
            raise ValueError("one number or character is wanted")
        with np.errstate(all="ignore"):
            converted = given.reshape(()).astype(dtype)
        if dtype.kind in "iu":
            holds = int(converted) == given.item()
        elif dtype.kind == "f":
            holds = bool(np.isfinite(converted)) == bool(np.isfinite(given))
        else:
            holds = len(given.item()) == 1
    except (TypeError, ValueError, OverflowError) as wrong:
        raise error(InvalidArgument, f"{what}: fill={value!r}: {wrong}") from wrong
    if not holds:
        raise error(OutOfRange, f"{what}: {dtype} cannot hold fill={value!r}")
    return converted


def whole(shape: Sequence[int]) -> Box:
    return Box((0,) * len(shape), tuple(shape))


def selection(key: Any, shape: Sequence[int], what: str) -> list[Union[int, slice]]:
    """A number, or a slice without open ends, for each dimension: what NumPy's basic indexing says."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if sum(one is Ellipsis for one in keys) > 1:
        raise error(InvalidArgument, f"{what}: more than one '...'")
    if Ellipsis not in [one if one is Ellipsis else None for one in keys]:
        keys.append(Ellipsis)
    place = next(place for place, one in enumerate(keys) if one is Ellipsis)
    missing = len(shape) - (len(keys) - 1)
    if missing < 0:
        raise error(InvalidIndex, f"{what}: {len(keys) - 1} indices for {len(shape)} dimensions")
    keys[place:place + 1] = [slice(None)] * missing
    selected: list[Union[int, slice]] = []
    for one, length in zip(keys, shape):
        if isinstance(one, slice):
            selected.append(slice(*one.indices(length)))
            continue
        try:
            number = operator.index(one)
        except TypeError as wrong:
            raise error(InvalidIndex, f"{what}: the index {one!r}", "numbers, slices and '...' select") from wrong
        if not -length <= number < length:
            raise error(InvalidIndex, f"{what}: index {number} of a dimension of length {length}")
        selected.append(number % length)
    return selected


def box_of(block: Block, shape: Sequence[int], what: str) -> Box:
    """A block as programs write it: a Box, a pair of sequences, or slices of the whole array."""
    if isinstance(block, slice) or (isinstance(block, tuple) and all(isinstance(one, slice) for one in block)):
        chosen = [one for one in selection(block, shape, what) if isinstance(one, slice)]   # all are
        if any(one.step != 1 for one in chosen):
            raise error(InvalidArgument, f"{what}: slices with a step are no block")
        return Box(tuple(one.start for one in chosen), tuple(max(one.stop - one.start, 0) for one in chosen))
    try:
        start, count = block
    except (TypeError, ValueError) as wrong:
        raise error(InvalidArgument, f"{what}: {block!r}", "a glean.Box, (start, count), or slices such as numpy.s_[0:4, :]") from wrong
    return Box(counts(start, f"{what}: start"), counts(count, f"{what}: count"))


def boxes_of(blocks: Iterable[Block], shape: Sequence[int], what: str) -> tuple[Box, ...]:
    return tuple(box_of(block, shape, what) for block in blocks)


def settings_of(settings: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Keys and values as the configuration file has them; a mapping is a section, and a list of them is a list of rules, or
    of analyses, whose operators have semicolons between them."""
    flat: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat |= settings_of(value, f"{before}{key}.")
        elif isinstance(value, (list, tuple)) and value and all(isinstance(one, Mapping) for one in value):
            for number, one in enumerate(value):
                flat |= settings_of(one, f"{before}{key}[{number}].")
        elif isinstance(value, bool):
            flat[before + key] = "true" if value else "false"
        elif isinstance(value, (list, tuple)):
            flat[before + key] = ("; " if key == "run" else ",").join(map(str, value))
        else:
            flat[before + key] = str(value)
    return flat
