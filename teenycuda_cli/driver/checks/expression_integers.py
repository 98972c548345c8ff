"""Exact integers inside expressions: int64 where the operands' extremes prove that it does, else Python's.

An array of integers is of int64 wherever all of them fit, and otherwise of
Python ints (numpy's `object`), which are bounded in length and count for
`WEIGHT` elements each.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import Array
from teenycuda_cli.driver.checks.expression_bounds import Bounds, TooLarge

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
EXACT = 1 << 53  # the greatest integer up to which float64 holds all
MOST_BITS = 256
WEIGHT = 8

Extent: TypeAlias = tuple[int, int]
Operator: TypeAlias = Callable[[Any, Any], Any]


def is_exact(value: Any) -> bool:
    """Whether a value is of integers or truth values."""
    return isinstance(value, (int, np.bool_)) or (isinstance(value, np.ndarray) and value.dtype.kind in "biO")


def integers(value: Any) -> Array:
    """Exact values as an array of int64 or of Python ints; truth values count 0 and 1."""
    if isinstance(value, int):
        return np.asarray(int(value), np.int64 if LEAST <= value <= GREATEST else object)
    array = np.asarray(value)
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def settled(bounds: Bounds, value: Any) -> Any:
    """Integers as they are kept: an int for one alone, else int64 or, where they need more, Python ints."""
    if isinstance(value, (np.integer, int)) and not isinstance(value, bool):
        return _bounded(int(value), int(value))[0]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuO":
        return value
    if value.ndim == 0:
        return settled(bounds, value.item())
    if value.dtype.kind != "i":
        least, greatest = _bounded(*extent(value))
        if not fits(least, greatest):
            bounds.allow(WEIGHT * value.size)
            return value.astype(object, copy=False)
    return value.astype(np.int64, copy=False)


def extent(array: Array) -> Extent:
    """The least and the greatest element; 0 and 0 where there is none."""
    return (int(array.min()), int(array.max())) if array.size else (0, 0)


def magnitude(array: Array) -> int:
    """The greatest absolute value."""
    least, greatest = extent(array)
    return max(-least, greatest)


def fits(least: int, greatest: int) -> bool:
    """Whether both are integers of 64 bits with a sign."""
    return least >= LEAST and greatest <= GREATEST


def unbounded(bounds: Bounds, array: Array) -> Array:
    """The integers as Python ints, which never overflow; TooLarge before they are made."""
    bounds.allow(WEIGHT * array.size)
    return array.astype(object)


def floats(value: Any) -> Array:
    """A number or an array in float64 or complex128; ValueError where float64 cannot hold an integer."""
    array = np.asarray(value)
    if array.dtype.kind not in "iO":
        return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)
    wide = array.astype(np.float64)
    if magnitude(array) > EXACT and not _all_equal(wide, array):
        raise ValueError(
            "integers beyond 2^53 meet floats here, and float64 cannot hold them; .astype(f64) rounds them, "
            "or compute the expected array with numpy and give it as @FILE.npy"
        )
    return wide


def exact(bounds: Bounds, op: Operator, left: Any, right: Any) -> Array:
    """What an operator gives of integers, elementwise; TooLarge beyond MOST_BITS.

    A divisor is not 0, an exponent not negative, a shift from 0 to 63.
    """
    a, b = integers(left), integers(right)
    reach = _bounded(*_EXTENTS[op](extent(a), extent(b)))
    if "O" in {a.dtype.kind, b.dtype.kind} or not fits(*reach):
        bounds.allow(WEIGHT * int(np.broadcast(a, b).size))
        return np.asarray(op(a.astype(object), b.astype(object)), dtype=object)
    return np.asarray(op(a, b))


def wrapped(bounds: Bounds, value: Any, least: int, bits: int) -> Array:
    """Integers modulo 2^bits, from `least` on: what C's conversion to such a type gives."""
    array = integers(value)
    low, high = extent(array)
    if least <= low and high < least + (1 << bits):
        return array
    rest = exact(bounds, operator.mod, exact(bounds, operator.sub, array, least), 1 << bits)
    return exact(bounds, operator.add, rest, least)


def truncated(value: Array) -> Array:
    """Finite floats toward zero, modulo 2^64 with their sign, as integers: exact, since fmod is."""
    rest = np.fmod(np.trunc(value), 2.0**64)
    if rest.size and np.abs(rest).max() >= 2.0**63:
        return np.asarray(np.frompyfunc(int, 1, 1)(rest), dtype=object)
    return np.asarray(rest.astype(np.int64))


def _all_equal(wide: Array, array: Array) -> bool:
    if array.dtype.kind == "O":
        return bool(np.all(np.frompyfunc(int, 1, 1)(wide) == array))
    return not np.any(wide >= 2.0**63) and bool(np.all(wide.astype(np.int64) == array))


def _bounded(least: int, greatest: int) -> Extent:
    if max(least.bit_length(), greatest.bit_length()) > MOST_BITS:
        raise TooLarge(f"an integer of more than {MOST_BITS} bits")
    return least, greatest


def _product(a: Extent, b: Extent) -> Extent:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _quotient(a: Extent, _: Extent) -> Extent:
    most = max(-a[0], a[1])
    return -most, most


def _remainder(_: Extent, b: Extent) -> Extent:
    return min(b[0], 0), max(b[1], 0)


def _power(a: Extent, b: Extent) -> Extent:
    base = max(-a[0], a[1])
    if (base.bit_length() - 1) * b[1] > MOST_BITS:
        raise TooLarge(f"an integer of more than {MOST_BITS} bits")
    most = base ** b[1] if base > 1 else 1
    return -most, most


def _bits(a: Extent, b: Extent) -> Extent:
    most = 1 << max(end.bit_length() for end in (*a, *b))
    return -most, most - 1


_EXTENTS: dict[Operator, Callable[[Extent, Extent], Extent]] = {
    operator.add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    operator.sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    operator.mul: _product,
    operator.floordiv: _quotient,
    operator.mod: _remainder,
    operator.pow: _power,
    operator.and_: _bits,
    operator.or_: _bits,
    operator.xor: _bits,
    operator.lshift: lambda a, b: (min(a[0], a[0] << b[1]), max(a[1], a[1] << b[1])),
    operator.rshift: lambda a, _: (min(a[0], 0), max(a[1], 0)),
}
