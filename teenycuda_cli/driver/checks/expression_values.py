"""Values inside an expression: Python ints, float64, complex128 and bool arrays; the rules between them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

GREATEST_INT = 1 << 64  # Python ints beyond become floats, so that no power can grow without bound


def settle(value: Any) -> Any:
    """A Python int within 64 bits stays one; a greater one becomes a float, as everything else is."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > GREATEST_INT:
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return value


def as_number(value: Any) -> Any:
    """A value for arithmetic: ints stay ints, all else becomes float64 or complex128; bools count 0 and 1."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    if value is None or not isinstance(value, (float, complex, np.ndarray, np.generic, tuple, list)):
        raise TypeError("a number or an array is needed here")
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError("a number or an array is needed here")
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)
    return wide if wide.ndim else wide[()]


def as_array(value: Any) -> Any:
    """As `as_number`, and always an array."""
    number = as_number(value)
    return np.asarray(number, dtype=np.float64) if isinstance(number, int) else np.asarray(number)


def as_bits(value: Any, *, whole: bool = False) -> Any:
    """A value for `&`, `|`, `^`, shifts: bools as they are (or 0 and 1 when `whole`), numbers as int64."""
    if isinstance(value, (bool, np.bool_)):
        return int(value) if whole else np.bool_(value)
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise ValueError(f"{value} does not fit 64 signed bits")
        return value
    array = np.asarray(value)
    if array.dtype == bool:
        return array.astype(np.int64) if whole else array
    return whole_numbers(as_number(value))


def whole_numbers(value: Any) -> Any:
    """Floats that are whole numbers, as int64; refuses fractions, NaN and what does not fit."""
    array = np.asarray(value)
    if array.dtype.kind == "c":
        raise ValueError("complex numbers have no bits and are no index")
    if not np.all((np.floor(array) == array) & (np.abs(array) < 2.0**63)):
        raise ValueError("whole numbers are needed here")
    integers = array.astype(np.int64)
    return integers if integers.ndim else int(integers)


def plain_index(value: Any) -> Any:
    """An index as numpy takes it: floats that are whole numbers become integers."""
    if isinstance(value, tuple):
        return tuple(plain_index(item) for item in value)
    if value is None or value is Ellipsis or isinstance(value, (int, slice)):
        return value
    if isinstance(value, list):
        value = np.asarray(value)
    return value if is_mask(value) else whole_numbers(as_number(value))


def plain_shape(value: Any) -> tuple[int, ...]:
    """A shape: one whole number or a tuple of them (−1 where reshape works it out)."""
    index = plain_index(tuple(value) if isinstance(value, list) else value)
    items = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(item, int) and -1 <= item < 1 << 62 for item in items) or len(items) > 32:
        raise ValueError("a shape is made of whole numbers")
    return tuple(int(item) for item in items)


def broadcast_size(*values: Any) -> int:
    """How many elements an elementwise operation on the values gives."""
    return prod(np.broadcast_shapes(*(np.shape(value) for value in values)))


def is_mask(value: Any) -> bool:
    """Whether a value is of truth values: a bool, or an array of them."""
    return isinstance(value, (bool, np.bool_)) or (isinstance(value, np.ndarray) and value.dtype.kind == "b")


def index_size(shape: tuple[int, ...], index: Any) -> int:
    """At most how many elements indexing gives."""
    items = index if isinstance(index, tuple) else (index,)
    extents = list(shape)
    picked: list[Any] = []
    named = [item for item in items if item is not None and item is not Ellipsis]
    used = sum(max(1, np.ndim(item)) if is_mask(item) else 1 for item in named)
    size = 1
    for item in items:
        if item is None:
            continue
        if item is Ellipsis:
            skipped = max(0, len(shape) - used)
            size *= prod(extents[:skipped])
            extents = extents[skipped:]
        elif isinstance(item, slice):
            size *= extents.pop(0) if extents else 1
        else:
            masked = is_mask(item)
            extents = extents[max(1, np.ndim(item)) if masked else 1 :]
            picked.append(np.broadcast_to(np.uint8(0), np.size(item) if masked else np.shape(item)))
    return size * prod(extents) * (broadcast_size(*picked) if picked else 1)


def integer_power(base: int, exponent: int) -> Any:
    """A power of Python ints, exact while small, else in float64 (infinite when too large)."""
    if exponent >= 0 and (abs(base) <= 1 or exponent <= 64):
        return settle(base**exponent)
    with np.errstate(all="ignore"):
        return np.float64(base) ** np.float64(exponent)
