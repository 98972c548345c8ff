"""Exact arithmetic on one value in Python integers, rounded once, to any format and in any mode.

It is the last resort of the array functions, for the few lanes where floating
error terms would under- or overflow, and the ground that the per-lane tier
stands on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating format: significand bits with the leading one, least and greatest exponent."""

    precision: int
    lowest: int  # exponent of the least subnormal
    highest: int  # exponent of the greatest power of two


F64 = Format(53, -1074, 1023)
F32 = Format(24, -149, 127)


def _rounds_up(mode: str, negative: bool, odd: bool, tie: int) -> bool:
    """Whether the magnitude grows; `tie` compares the lost part, which is not 0, with one half."""
    if mode == "rn":
        return tie > 0 or (tie == 0 and odd)
    if mode == "rna":
        return tie >= 0
    if mode == "rz":
        return False
    return negative == (mode == "rm")


def rounded(number: int, scale: int, mode: str, target: Format, sticky: bool = False) -> float:
    """number × 2^scale in a format and rounding mode; `sticky`: the magnitude is a trifle more.

    number must not be 0. Overflow gives infinity or the greatest finite value,
    as the mode says. The result is exact as a Python float.
    """
    negative, magnitude = number < 0, abs(number)
    if sticky:
        magnitude, scale = (magnitude << 2) | 1, scale - 2
    drop = max(magnitude.bit_length() - target.precision, target.lowest - scale)
    if drop > 0:
        lost = magnitude & ((1 << drop) - 1)
        magnitude >>= drop
        scale += drop
        if lost:
            half = 1 << (drop - 1)
            tie = (lost > half) - (lost < half)
            magnitude += _rounds_up(mode, negative, bool(magnitude & 1), tie)
    if magnitude and magnitude.bit_length() + scale - 1 > target.highest:
        grows = mode in ("rn", "rna") or (mode != "rz" and negative == (mode == "rm"))
        greatest = math.ldexp((1 << target.precision) - 1, target.highest - target.precision + 1)
        value = math.inf if grows else greatest
    else:
        value = math.ldexp(magnitude, scale)
    return -value if negative else value


def parts(value: float) -> tuple[int, int]:
    """A finite float as integer × 2^exponent."""
    fraction, exponent = math.frexp(value)
    return int(fraction * (1 << 53)), exponent - 53


def fma(a: float, b: float, c: float, mode: str, target: Format) -> float:
    """a × b + c of floats in a format, rounded once; special values as IEEE 754 has them."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)) or a == 0 or b == 0:
        if math.isinf(c) and not math.isnan(a) and not math.isnan(b) and not (math.isinf(a) or math.isinf(b)):
            return c
        product = a * b
        return _zero_sum(product, c, mode) if product == 0 and c == 0 else product + c
    a_number, a_scale = parts(a)
    b_number, b_scale = parts(b)
    c_number, c_scale = parts(c) if c else (0, a_scale + b_scale)
    number, scale = a_number * b_number, a_scale + b_scale
    gap = scale - c_scale
    if gap > 0:
        number, scale = number << gap, c_scale
    else:
        c_number <<= -gap
    number += c_number
    if number == 0:
        return _zero_sum(a * b if c == 0 else math.copysign(0.0, -c), c, mode)
    return rounded(number, scale, mode, target)


def _zero_sum(a: float, c: float, mode: str) -> float:
    """The sign of a sum that is exactly zero."""
    if math.copysign(1.0, a) == math.copysign(1.0, c):
        return math.copysign(0.0, c)
    return -0.0 if mode == "rm" else 0.0


def fma64(a: float, b: float, c: float) -> float:
    """a × b + c in f64, to nearest."""
    return fma(a, b, c, "rn", F64)


def divide(a: float, b: float, mode: str, target: Format) -> float:
    """a ÷ b of finite floats that are not zero."""
    a_number, a_scale = parts(a)
    b_number, b_scale = parts(b)
    extra = 128
    quotient, rest = divmod(abs(a_number) << extra, abs(b_number))
    sign = -1 if (a_number < 0) != (b_number < 0) else 1
    return rounded(sign * quotient, a_scale - b_scale - extra, mode, target, sticky=rest != 0)


def root(a: float, mode: str, target: Format) -> float:
    """√a of a positive finite float."""
    number, scale = parts(a)
    if scale & 1:
        number, scale = number << 1, scale - 1
    number <<= 128
    whole = math.isqrt(number)
    return rounded(whole, scale // 2 - 64, mode, target, sticky=whole * whole != number)
