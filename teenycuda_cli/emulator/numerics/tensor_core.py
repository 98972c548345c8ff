"""The sum of products of Hopper's matrix unit, bit for bit.

The products are exact. All of them and c are aligned to the largest exponent
among them, where a product counts with the sum of its factors' exponents (so
that its significand is in [1, 4)); what lies more than 25 bits below is cut
off. Their sum is exact, and is cut to f32 or rounded to the nearest f16.

k is axis 1 of the factors a and b: `a[:, k] * b[:, k]` has the shape of c.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Width(NamedTuple):
    """How exact a unit is."""

    kept: int = 25  # bits below the largest exponent
    fraction: int = 23  # bits of a result in f32


WIDE = Width()

_NONE = np.int16(-10000)
"""The exponent of zero."""

_LEAST = -100
"""Least exponent of a product for which scaling it by a power of two stays within f32."""

_MOST = 120
_LEAST_EXPONENT = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126, "e4m3": -6, "e5m2": -14}
_IN_REACH = frozenset(("f16", "e4m3", "e5m2"))
"""Whose products can always be scaled."""
_LEAST_LARGEST = np.int16(-133)
"""What the largest exponent counts as where it is less."""
_BLOCK = 1 << 14
"""Elements of d at a time: what is computed with them fits the second-level cache."""

_NAN32 = np.uint32(0x7FFFFFFF).view(np.float32)
_MINUS_ZERO = np.uint16(0x8000)
_NAN16 = np.uint16(0x7FFF)
_LEAST_NORMAL = 2.0**-126


def multiply_add(a: Any, b: Any, c: Any, factors: tuple[str, str], result: str, width: Width = WIDE) -> Any:
    """a × b + c of float32 values.

    `factors` are f16, bf16, tf32, e4m3 or e5m2, whose values a and b hold;
    `result` is f32 or f16, which comes as uint16 bits. k is one sum, of 16
    products that are not zero at most, or of 32 of a narrow unit.
    """
    left, right, third = [
        exponents(values, _LEAST_EXPONENT[name])
        for values, name in zip((a, b, c), (*factors, "f32"), strict=True)
    ]
    special = bool((left == 128).any() or (right == 128).any() or (third == 128).any())
    align = _scaled if _IN_REACH.issuperset(factors) or _has_room(left, right) else _shifted
    out = np.empty(c.shape, np.float32 if result == "f32" else np.uint16)
    step = max(1, _BLOCK * len(c) // max(c.size, 1))
    for start in range(0, len(c), step):
        part = slice(start, start + step)
        own = part if len(b) == len(c) else slice(None)
        values = (a[part], b[own], c[part])
        found = align(*values, left[part], right[own], third[part], width)
        found = _cut_to_f32(found, width) if result == "f32" else _rounded_to_f16(found)
        if special:
            _repair(found, *values)
        out[part] = found
    return out


def exponents(values: Any, least: int) -> Any:
    """The exponents of float32 values as the unit takes them: at least `least`; `_NONE` for zero."""
    bits = values.view(np.uint32)
    found = ((bits >> np.uint32(23)) & np.uint32(255)).astype(np.int16)
    found -= np.int16(127)
    np.maximum(found, np.int16(least), out=found)
    found[values == 0] = _NONE
    return found


def _has_room(left: Any, right: Any) -> bool:
    """Whether all products, scaled to units of what is kept, are exact in f32."""
    if int(left.max(initial=-1)) + int(right.max(initial=-1)) > _MOST:
        return False
    least = [int(np.where(each == _NONE, np.int16(0), each).min(initial=0)) for each in (left, right)]
    return sum(least) >= _LEAST


def _largest(left: Any, right: Any) -> Any:
    """The largest exponent among the products of each element of d; far below all for none."""
    largest = left[:, 0] + right[:, 0]
    sums = np.empty_like(largest)
    for k in range(1, left.shape[1]):
        np.add(left[:, k], right[:, k], out=sums)
        np.maximum(largest, sums, out=largest)
    return largest


def _scaled(a: Any, b: Any, c: Any, left: Any, right: Any, third: Any, width: Width) -> Any:
    """The sums as float64, where the products can be scaled in f32."""
    largest = _largest(left, right)
    empty = largest < _NONE // 2
    np.maximum(largest, third, out=largest)
    np.maximum(largest, np.int16(_LEAST - 2), out=largest)
    scale = ((np.int32(127 + width.kept) - largest) << np.int32(23)).view(np.float32)
    product = np.empty(c.shape, np.float32)
    whole = np.empty(c.shape, np.int32)
    total = np.zeros(c.shape, np.int32)  # 16 products of less than 2²⁷ just fit
    for k in range(a.shape[1]):
        np.multiply(a[:, k], b[:, k], out=product)
        np.multiply(product, scale, out=product)
        np.copyto(whole, product, casting="unsafe")
        np.add(total, whole, out=total)
    np.trunc(np.multiply(c, scale, out=product), out=product)
    found = _in_units(total + product.astype(np.float64), largest - np.int16(width.kept))
    if empty.any():
        np.copyto(found, c, where=empty)
    return found


def _shifted(a: Any, b: Any, c: Any, left: Any, right: Any, third: Any, width: Width) -> Any:
    """The sums as float64, whatever the exponents: significands are multiplied, and moved by their sums."""
    sums = [left[:, k] + right[:, k] for k in range(a.shape[1])]
    largest = _largest(left, right)
    np.maximum(largest, third, out=largest)
    np.maximum(largest, _LEAST_LARGEST, out=largest)
    least = largest - np.int16(width.kept)
    whole = _moved(_significands(c, third), third - least)
    for k, exponent in enumerate(sums):
        product = _significands(a[:, k], left[:, k]) * _significands(b[:, k], right[:, k])
        whole += _moved(product, exponent - least)
    return _in_units(whole, least)


def _significands(values: Any, exponent: Any) -> Any:
    """As float64; zero has none."""
    return np.ldexp(values.astype(np.float64), np.where(exponent == _NONE, np.int16(0), -exponent))


def _moved(significands: Any, distance: Any) -> Any:
    """In units of what is kept, cut."""
    return np.trunc(np.ldexp(significands, np.maximum(distance, np.int16(-99))))


def _in_units(whole: Any, least: Any) -> Any:
    """Whole numbers of units of two to the power of `least` as values."""
    return np.ldexp(whole, least) if least.min() < -900 else whole * _power(least)


def _power(exponent: Any) -> Any:
    """2 to an exponent in the range of float64."""
    return ((exponent.astype(np.int64) + 1023) << 52).view(np.float64)


def _cut_to_f32(values: Any, width: Width) -> Any:
    """Toward zero, which is +0; what is beyond the largest number is infinite."""
    small = np.abs(values) < _LEAST_NORMAL
    lost = 52 - width.fraction
    cut = (values.view(np.int64) & ~np.int64((1 << lost) - 1)).view(np.float64)
    if small.any():
        unit = _LEAST_NORMAL * 2.0**-width.fraction
        np.copyto(cut, np.trunc(values / unit) * unit, where=small)
    return cut.astype(np.float32) + np.float32(0)


def _rounded_to_f16(values: Any) -> Any:
    """To nearest, ties to even; zero is +0."""
    found = values.astype(np.float16).view(np.uint16)
    found[found == _MINUS_ZERO] = 0
    return found


def canonical_f32(values: Any) -> Any:
    """Any NaN as the unit's; changes `values`."""
    values[np.isnan(values)] = _NAN32
    return values


def canonical_f16(bits: Any) -> Any:
    """The same for bits of f16."""
    bits[bits & np.uint16(0x7FFF) > np.uint16(0x7C00)] = _NAN16
    return bits


def _repair(found: Any, a: Any, b: Any, c: Any) -> None:
    """Put in what comes of infinities and NaNs among the inputs."""
    touched = ~(np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1) & np.isfinite(c))
    if not touched.any():
        return
    total = c.astype(np.float64)
    for k in range(a.shape[1]):
        total += a[:, k].astype(np.float64) * b[:, k]
    if found.dtype == np.uint16:
        np.copyto(found, canonical_f16(total.astype(np.float16).view(np.uint16)), where=touched)
    else:
        np.copyto(found, canonical_f32(total.astype(np.float32)), where=touched)
