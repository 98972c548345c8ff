"""a × b + c with one rounding to nearest even, for f32 and f64, in every case.

f32: the product is exact in f64, the sum there is rounded once and then again
to f32. The second rounding goes wrong only where the first result looks like
a tie, or where the f32 is subnormal; those lanes are summed anew with the
error made odd ("round to odd", Boldo and Melquiond), which no later rounding
can mistake.

f64: the same authors' algorithm on the exact product (Dekker) and exact sums
(Knuth). Lanes whose exponents leave no room for the error terms are computed
one by one in integers.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import exact, lane
from teenycuda_cli.emulator.numerics.blocks import LANES, blockwise, shape_of, slabs
from teenycuda_cli.emulator.numerics.fused import FusedMultiplyAdd

_THREE = np.uint32(3)
_TIE = np.int32(-(2**31))
_TINY32 = np.float32(2.0**-126)
_SPLIT = np.float64(134217729.0)  # 2²⁷ + 1
_ROOM_LOW = 2.0**-400
_ROOM_HIGH = 2.0**400
_FIRST_LOW = 2.0**-900


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum and its exact error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded f64 product and its exact error (Dekker); exponents must leave room."""
    product = a * b
    high = _SPLIT * a
    a_high = high - (high - a)
    a_low = a - a_high
    high = _SPLIT * b
    b_high = high - (high - b)
    b_low = b - b_high
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def odd(total: Any, error: Any) -> Any:
    """The f64 `total` with its last bit set where `error` says that it is not exact: rounded to odd."""
    total = np.asarray(total)
    bits = total.view(np.int64)
    inexact = (error != 0) & ((bits & 1) == 0) & np.isfinite(total)
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact, bits + step, bits).view(np.float64)[()]


def odd_sum(a: Any, b: Any, c: Any) -> Any:
    """a × b + c of f32 values as f64, rounded to odd: any later rounding to f32 or less is exact."""
    product = np.multiply(a, b, dtype=np.float64)
    total, error = two_sum(product, np.asarray(c, np.float64))
    return odd(total, error) if np.any(error) else total


class _Scratch(threading.local):
    """Temporaries of `fma32`, kept: memory fresh from the system costs more than the arithmetic."""

    def __init__(self) -> None:
        self.product = np.empty(LANES)
        self.total = np.empty(LANES)
        self.addend = np.empty(LANES)
        self.low = np.empty(LANES, np.uint32)


_SCRATCH = _Scratch()


def exact_fma32(a: Any, b: Any, c: Any, out: Any = None) -> Any:
    """a × b + c of f32, rounded once, by way of f64."""
    sources = (a, b, c)
    shape = shape_of(sources, out)
    if shape == ():
        return np.float32(lane.fma32(float(a), float(b), float(c)))
    target = np.empty(shape, np.float32) if out is None else out
    for result, (x, y, z) in slabs(target, sources):
        size, form = result.size, result.shape
        flat, low = _SCRATCH.total[:size], _SCRATCH.low[:size]
        total, product = flat.reshape(form), _SCRATCH.product[:size].reshape(form)
        addend = _SCRATCH.addend[:size].reshape(form)
        factor, other = (x, y) if x.ndim else (y, x)
        np.copyto(product, factor)
        np.copyto(addend, other)
        np.multiply(product, addend, out=product)
        np.copyto(addend, z)
        np.add(product, addend, out=total)
        np.copyto(result, total, casting="same_kind")
        # a tie: the 29 bits that f32 lacks are 100…0
        np.copyto(low, flat.view(np.uint64), casting="unsafe")
        np.left_shift(low, _THREE, out=low)
        doubtful = None
        if low.view(np.int32).min() == _TIE:
            inexact = (total - product) != addend
            inexact |= (total - addend) != product
            doubtful = (low.view(np.int32) == _TIE) & inexact.reshape(-1)
        magnitude = low.view(np.float32).reshape(form)
        if np.fmin.reduce(np.abs(result, out=magnitude), axis=None) < _TINY32:
            tiny = (np.abs(flat) < _TINY32) & (flat != 0)
            doubtful = tiny if doubtful is None else doubtful | tiny
        if doubtful is not None and doubtful.any():
            index = np.unravel_index(np.flatnonzero(doubtful), form)
            result[index] = odd_sum(*[part if part.ndim == 0 else part[index] for part in (x, y, z)])
    return target


fma32 = FusedMultiplyAdd(np.float32, exact_fma32)


def of_specials(a: Any, b: Any, c: Any) -> Any:
    """a × b + c with two roundings, where a zero, an infinity or NaN makes it exact or settles it."""
    only_c = np.isinf(c) & np.isfinite(a) & np.isfinite(b)
    return np.where(only_c, c, a * b + c)


def _in_room(a: Any, b: Any, c: Any) -> Any:
    """Lanes where no error term of the f64 algorithm can under- or overflow."""
    high = np.maximum(np.abs(a), np.maximum(np.abs(b), np.abs(c)))
    low = np.minimum(np.abs(a), np.abs(b))
    return (high < _ROOM_HIGH) & (low > _ROOM_LOW) & ((np.abs(c) > _FIRST_LOW) | (c == 0))


def _fma64(a: Any, b: Any, c: Any) -> Any:
    high, low = two_product(a, b)
    total, low = two_sum(c, low)
    high, rest = two_sum(high, total)
    result = np.asarray(high + odd(*two_sum(rest, low)))
    narrow = ~np.asarray(_in_room(a, b, c))
    if narrow.any():
        plain = of_specials(a, b, c)
        special = ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)) | (a == 0) | (b == 0)
        result = np.where(special, plain, result)
        for index in zip(*np.nonzero(np.atleast_1d(narrow & ~special)), strict=True):
            parts = [float(np.broadcast_to(source, result.shape or (1,))[index]) for source in (a, b, c)]
            np.atleast_1d(result)[index] = exact.fma64(*parts)
    return result[()]


fma64 = FusedMultiplyAdd(np.float64, blockwise(_fma64, np.float64, 8192))
