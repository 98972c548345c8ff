"""Integer arithmetic as PTX has it where numpy differs: wide products, carries, division by zero, saturation.

Each function takes arrays or numpy scalars that broadcast, and `out`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype, highest, lowest, merged, signed, split, wide, width


def multiply_add(a: Any, b: Any, c: Any, out: Any = None) -> Any:
    """a × b + c, wrapping."""
    if out is None:
        return a * b + c
    np.multiply(a, b, out=out)
    return np.add(out, c, out=out)


def multiply_wide(name: str) -> Callable[..., Any]:
    """a × b in the type `name`, which is twice as wide as the factors."""
    result = dtype(name)

    def multiply(a: Any, b: Any, out: Any = None) -> Any:
        return np.multiply(a, b, out=out, dtype=result)

    return multiply


def multiply_wide_add(name: str) -> Callable[..., Any]:
    """a × b + c in the type `name`, which is twice as wide as the factors."""
    result = dtype(name)

    def multiply(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        return np.add(np.multiply(a, b, out=out, dtype=result), c, out=out)

    return multiply


def _high_product_64(a: Any, b: Any) -> Any:
    """The upper 64 bits of u64 × u64, from four products of halves."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a_low, a_high, b_low, b_high = a & low, a >> half, b & low, b >> half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & low)
    return a_high * b_high + (middle >> half) + (other >> half)


def multiply_high(name: str) -> Callable[..., Any]:
    """The upper half of a × b."""
    result = dtype(name)

    def narrow(a: Any, b: Any, out: Any = None) -> Any:
        product = np.multiply(a, b, dtype=dtype(wide(name)))
        return _cast(np.right_shift(product, product.dtype.type(width(name))), result, out)

    def unsigned_64(a: Any, b: Any, out: Any = None) -> Any:
        return _given(_high_product_64(a, b), out)

    def signed_64(a: Any, b: Any, out: Any = None) -> Any:
        high = _high_product_64(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
        high = high - np.multiply(a < 0, b, dtype=np.int64) - np.multiply(b < 0, a, dtype=np.int64)
        return _given(high, out)

    if width(name) < 64:
        return narrow
    return signed_64 if signed(name) else unsigned_64


def multiply_high_add(name: str, saturate: bool = False) -> Callable[..., Any]:
    """The upper half of a × b, plus c; `saturate` clamps the s32 sum."""
    high = multiply_high(name)
    add = add_saturated if saturate else np.add

    def evaluate(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        return add(high(a, b), c, out=out)

    return evaluate


def add_saturated(a: Any, b: Any, out: Any = None) -> Any:
    """s32 a + b, clamped."""
    return _clamped(np.add(a, b, dtype=np.int64), "s32", out)


def subtract_saturated(a: Any, b: Any, out: Any = None) -> Any:
    """s32 a − b, clamped."""
    return _clamped(np.subtract(a, b, dtype=np.int64), "s32", out)


def multiply_24(name: str, high: bool) -> Callable[..., Any]:
    """The product of the low 24 bits: its low 32 bits, or its high 32 of 48."""
    long = dtype(wide(name))

    def evaluate(a: Any, b: Any, out: Any = None) -> Any:
        eight = a.dtype.type(8)
        left = np.right_shift(np.left_shift(a, eight), eight)
        right = np.right_shift(np.left_shift(b, eight), eight)
        product = np.multiply(left, right, dtype=long)
        return _cast(product >> long.type(16) if high else product, dtype(name), out)

    return evaluate


def multiply_24_add(name: str, high: bool, saturate: bool) -> Callable[..., Any]:
    """The product of the low 24 bits (low or high half), plus c; `saturate` clamps the s32 sum."""
    multiply = multiply_24(name, high)
    add = add_saturated if saturate else np.add

    def evaluate(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        return add(multiply(a, b), c, out=out)

    return evaluate


def absolute_difference_add(a: Any, b: Any, c: Any, out: Any = None) -> Any:
    """c + |a − b|, wrapping."""
    return np.add(c, np.maximum(a, b) - np.minimum(a, b), out=out)


def divide(a: Any, b: Any, out: Any = None) -> Any:
    """a ÷ b toward zero; all ones where b is zero; the least value ÷ −1 is itself."""
    if a.dtype.kind == "i" and a.dtype.itemsize < 8:
        return _divide_signed(a, b)
    quotient = np.floor_divide(a, b, out=out)
    if a.dtype.kind == "i":
        inexact = (quotient * b != a) & ((a < 0) != (b < 0))
        quotient = np.add(quotient, inexact, out=out, dtype=a.dtype)
    return _where(b == 0, ~a.dtype.type(0), quotient)


def _divide_signed(a: Any, b: Any) -> Any:
    """a ÷ b through f64, whose quotient of 32-bit integers never rounds up to the next integer."""
    none = np.equal(b, 0)
    quotient = np.divide(a, b + none if none.any() else b, dtype=np.float64)
    return _where(none, ~a.dtype.type(0), quotient.astype(np.int64).astype(a.dtype))


def remainder(a: Any, b: Any, out: Any = None) -> Any:
    """a − (a ÷ b) × b with the sign of a; all ones where b is zero."""
    rest = np.remainder(a, b, out=out) if a.dtype.kind == "u" else np.fmod(a, b, out=out)
    return _where(b == 0, ~a.dtype.type(0), rest)


def relu(ufunc: np.ufunc) -> Callable[..., Any]:
    """min or max, with negative results clamped to zero."""

    def evaluate(a: Any, b: Any, out: Any = None) -> Any:
        return np.maximum(ufunc(a, b, out=out), a.dtype.type(0), out=out)

    return evaluate


def halves(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on u16 or s16, done on both halves of u16x2 or s16x2 (u32 bits)."""
    part = dtype(name)

    def evaluate(*sources: Any, out: Any = None) -> Any:
        return merged(operation(*[split(source, part) for source in sources]), np.uint32)

    return evaluate


def _bytes(value: Any, count: int) -> list[Any]:
    """The `count` bytes of a u32 or s32, in its signedness, as that type."""
    top = value.dtype.type(24)
    return [(value << value.dtype.type(24 - 8 * index)) >> top for index in range(count)]


def _words(value: Any) -> list[Any]:
    sixteen = value.dtype.type(16)
    return [(value << sixteen) >> sixteen, value >> sixteen]


def dot_4(name: str) -> Callable[..., Any]:
    """c + the dot product of the four bytes of a and of b, each in its own signedness, wrapping."""
    return _dot(name, lambda a, b: zip(_bytes(a, 4), _bytes(b, 4), strict=True))


def dot_2(name: str, high: bool) -> Callable[..., Any]:
    """c + the dot product of the two words of a and the lower or upper two bytes of b."""
    start = 2 if high else 0
    return _dot(name, lambda a, b: zip(_words(a), _bytes(b, 4)[start : start + 2], strict=True))


def _dot(name: str, split: Callable[[Any, Any], Iterable[tuple[Any, Any]]]) -> Callable[..., Any]:
    result = dtype(name)

    def evaluate(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        total = c.view(np.uint32)
        for left, right in split(a, b):
            total = total + left.view(np.uint32) * right.view(np.uint32)
        return _given(total.view(result), out)

    return evaluate


def _where(chosen: Any, value: Any, otherwise: Any) -> Any:
    """`otherwise` with `value` where chosen; an array is changed in place, being a fresh result."""
    if not isinstance(otherwise, np.ndarray):
        return otherwise.dtype.type(value) if chosen else otherwise
    if np.any(chosen):
        np.copyto(otherwise, value, where=chosen)
    return otherwise


def _given(value: Any, out: Any) -> Any:
    if out is None:
        return value
    np.copyto(out, value)
    return out


def _cast(value: Any, kind: np.dtype[Any], out: Any) -> Any:
    if out is None:
        return value.astype(kind)
    np.copyto(out, value, casting="unsafe")
    return out


def _clamped(value: Any, name: str, out: Any) -> Any:
    return _cast(np.clip(value, lowest(name), highest(name)), dtype(name), out)
