"""Values inside an expression: exact integers, float64, complex128, truth values; the rules between them."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import Array
from teenycuda_cli.driver.checks.expression_bounds import Bounds
from teenycuda_cli.driver.checks.expression_integers import (
    Operator,
    exact,
    fits,
    floats,
    integers,
    is_exact,
    settled,
)


def as_array(value: Any) -> Array:
    """A value for arithmetic: an array of integers where all are exact, else of float64 or complex128."""
    if isinstance(value, int):
        return integers(value)
    if isinstance(value, (list, tuple)):
        return np.stack(alike(*value))
    if not isinstance(value, (float, complex, np.ndarray, np.generic)):
        raise TypeError("a number or an array is needed here")
    array = np.asarray(value)
    if array.dtype.kind in "biO":
        return integers(array)
    if array.dtype.kind not in "fc":
        raise TypeError("a number or an array is needed here")
    return floats(array)


def as_floats(value: Any) -> Array:
    """As `as_array`, in float64 or complex128; ValueError where that cannot hold an integer."""
    return floats(as_array(value))


def alike(*values: Any) -> list[Array]:
    """The values as arrays of one kind: integers, as long as all are, else float64 or complex128."""
    arrays = [as_array(value) for value in values]
    if not all(map(is_exact, arrays)):
        return [floats(array) for array in arrays]
    if any(array.dtype.kind == "O" for array in arrays):
        return [array.astype(object) for array in arrays]
    return arrays


def kept(bounds: Bounds, value: Any) -> Any:
    """A result as the language keeps it: int, float64, complex128, bool, or an array of one of these."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return floats(value)[()]
    return settled(bounds, value)


def arithmetic(bounds: Bounds, op: Operator, left: Any, right: Any) -> Any:
    """An arithmetic operator on any numbers: exact for integers, as far as integers come out."""
    a, b = as_array(left), as_array(right)
    bounds.allow(broadcast_size(a, b))
    if is_exact(a) and is_exact(b) and not _gives_floats(op, b):
        return exact(bounds, op, a, b)
    return op(floats(a), floats(b))


def _gives_floats(op: Operator, right: Array) -> bool:
    """Division, by 0 too (infinities and NaN), and negative powers."""
    if op is operator.pow:
        return bool(np.any(right < 0))
    return op is operator.truediv or (op in {operator.floordiv, operator.mod} and not np.all(right != 0))


def as_bits(value: Any, *, whole: bool = False) -> Any:
    """A value for `&`, `|`, `^`, shifts: truth values as they are unless `whole`, numbers as integers."""
    if is_mask(value) and not whole:
        return np.asarray(value)
    return integers(value) if is_exact(value) else whole_numbers(as_array(value))


def whole_numbers(value: Any) -> Any:
    """Numbers that are whole, as int64; refuses fractions, NaN and what does not fit."""
    array = np.asarray(value)
    if array.dtype.kind == "c":
        raise ValueError("complex numbers have no bits and are no index")
    if array.dtype.kind == "O" and not fits(int(array.min()), int(array.max())):
        raise ValueError("whole numbers of 64 bits are needed here")
    if array.dtype.kind == "f" and not np.all((np.floor(array) == array) & (np.abs(array) < 2.0**63)):
        raise ValueError("whole numbers are needed here")
    whole = array.astype(np.int64)
    return whole if whole.ndim else int(whole)


def plain_index(value: Any) -> Any:
    """An index as numpy takes it: floats that are whole numbers become integers."""
    if isinstance(value, tuple):
        return tuple(plain_index(item) for item in value)
    if value is None or value is Ellipsis or isinstance(value, (int, slice)):
        return value
    if isinstance(value, list):
        value = np.asarray(value)
    return value if is_mask(value) else whole_numbers(as_array(value))


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
