"""IEEE 754 arithmetic done the slow way, on fractions, for any format and rounding mode: bits in, bits out.

It shares nothing with the package. NaN is the one that PTX gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Layout:
    """A binary format by its field widths."""

    exponent: int
    fraction: int
    nan: int

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def sign(self) -> int:
        return 1 << (self.width - 1)


F32 = Layout(8, 23, 0x7FFFFFFF)
F64 = Layout(11, 52, 0x7FF8000000000000)
F16 = Layout(5, 10, 0x7FFF)
BF16 = Layout(8, 7, 0x7FFF)
LAYOUTS = {"f32": F32, "f64": F64, "f16": F16, "bf16": BF16}


def power(exponent: int) -> Fraction:
    """2^exponent."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def is_nan(bits: int, layout: Layout) -> bool:
    return bits & ~layout.sign > layout.infinity


def is_infinite(bits: int, layout: Layout) -> bool:
    return bits & ~layout.sign == layout.infinity


def is_zero(bits: int, layout: Layout) -> bool:
    return bits & ~layout.sign == 0


def negative(bits: int, layout: Layout) -> bool:
    return bool(bits & layout.sign)


def value(bits: int, layout: Layout) -> Fraction:
    """The number that finite bits stand for."""
    exponent = bits >> layout.fraction & ((1 << layout.exponent) - 1)
    fraction = bits & ((1 << layout.fraction) - 1)
    if exponent:
        fraction |= 1 << layout.fraction
    magnitude = fraction * power(max(exponent, 1) - layout.bias - layout.fraction)
    return -magnitude if negative(bits, layout) else magnitude


def rounded(number: Fraction, layout: Layout, mode: str) -> int:
    """The bits of a number that is not zero, rounded in a mode."""
    sign = layout.sign if number < 0 else 0
    magnitude = abs(number)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if power(exponent) > magnitude:
        exponent -= 1
    if power(exponent + 1) <= magnitude:
        exponent += 1
    exponent = max(exponent, 1 - layout.bias)
    unit = power(exponent - layout.fraction)
    count, lost = divmod(magnitude, unit)
    up = {
        "rn": 2 * lost > unit or (2 * lost == unit and count % 2 == 1),
        "rna": 2 * lost >= unit,
        "rz": False,
        "rm": number < 0 and lost > 0,
        "rp": number > 0 and lost > 0,
    }[mode]
    # bits of consecutive numbers are consecutive, subnormals and infinity included
    bits = (exponent + layout.bias - 1 << layout.fraction) + int(count) + up
    if bits >= layout.infinity:
        bits = layout.infinity
        if mode == "rz" or (mode == "rm" and number > 0) or (mode == "rp" and number < 0):
            bits -= 1
    return sign | bits


def _sum_of_zeros(a_negative: bool, b_negative: bool, layout: Layout, mode: str) -> int:
    if a_negative == b_negative:
        return layout.sign if a_negative else 0
    return layout.sign if mode == "rm" else 0


def fma(a: int, b: int, c: int, layout: Layout, mode: str) -> int:
    """a × b + c."""
    if any(is_nan(x, layout) for x in (a, b, c)):
        return layout.nan
    product_negative = negative(a, layout) != negative(b, layout)
    if is_infinite(a, layout) or is_infinite(b, layout):
        opposite = is_infinite(c, layout) and negative(c, layout) != product_negative
        if opposite or is_zero(a, layout) or is_zero(b, layout):
            return layout.nan
        return layout.infinity | (layout.sign if product_negative else 0)
    if is_infinite(c, layout):
        return c
    return _finite_fma(a, b, c, layout, mode)


def _finite_fma(a: int, b: int, c: int, layout: Layout, mode: str) -> int:
    product_negative = negative(a, layout) != negative(b, layout)
    product, other = value(a, layout) * value(b, layout), value(c, layout)
    if product == 0 and other == 0:
        return _sum_of_zeros(product_negative, negative(c, layout), layout, mode)
    total = product + other
    if total == 0:
        return layout.sign if mode == "rm" else 0
    return rounded(total, layout, mode)


def add(a: int, b: int, layout: Layout, mode: str) -> int:
    """a + b."""
    return fma(layout.bias << layout.fraction, a, b, layout, mode)


def mul(a: int, b: int, layout: Layout, mode: str) -> int:
    """a × b."""
    product_negative = negative(a, layout) != negative(b, layout)
    return fma(a, b, layout.sign if product_negative else 0, layout, mode)


def div(a: int, b: int, layout: Layout, mode: str) -> int:
    """a ÷ b."""
    if is_nan(a, layout) or is_nan(b, layout):
        return layout.nan
    sign = layout.sign if negative(a, layout) != negative(b, layout) else 0
    if is_infinite(a, layout):
        return layout.nan if is_infinite(b, layout) else sign | layout.infinity
    if is_infinite(b, layout):
        return sign
    if is_zero(b, layout):
        return layout.nan if is_zero(a, layout) else sign | layout.infinity
    if is_zero(a, layout):
        return sign
    return rounded(value(a, layout) / value(b, layout), layout, mode)


def sqrt(a: int, layout: Layout, mode: str) -> int:
    """√a; the root is bracketed closely enough that it rounds as the real one does."""
    if is_nan(a, layout) or (negative(a, layout) and not is_zero(a, layout)):
        return layout.nan
    if is_zero(a, layout) or is_infinite(a, layout):
        return a
    scaled = value(a, layout) * power(2400)
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    root = whole * power(-1200)
    if root * root != value(a, layout):
        root += power(-1201)
    return rounded(root, layout, mode)


def flush(bits: int, layout: Layout) -> int:
    """Subnormals to zero of their sign."""
    return bits & layout.sign if bits & layout.infinity == 0 else bits


def saturate(bits: int, layout: Layout) -> int:
    """To [0, 1], NaN and −0 to +0."""
    one = layout.bias << layout.fraction
    if is_nan(bits, layout) or negative(bits, layout):
        return 0
    return min(bits, one)
