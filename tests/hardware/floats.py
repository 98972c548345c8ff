"""Floats worth trying, in every format, as bits: edge cases and draws that meet them often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.hardware.counter import Bits, Counter


@dataclass(frozen=True, slots=True)
class Format:
    """A float format: a sign, so many exponent and so many mantissa bits."""

    exponent: int
    mantissa: int

    @property
    def width(self) -> int:
        """Bits in all."""
        return 1 + self.exponent + self.mantissa

    @property
    def bias(self) -> int:
        """What the exponent of 1.0 is stored as."""
        return (1 << (self.exponent - 1)) - 1

    def of(self, value: float) -> int:
        """The bits of a value, cut to the format (the values tried here are short, or may be cut)."""
        wide = int(np.float64(value).view(np.uint64))
        sign, power, mantissa = wide >> 63, (wide >> 52) & 0x7FF, wide & ((1 << 52) - 1)
        power = power - 1023 + self.bias
        if value == 0 or power >= (1 << self.exponent) - 1:
            power, mantissa = (0 if value == 0 else (1 << self.exponent) - 1), 0
        elif power < 1:
            mantissa = (mantissa | 1 << 52) >> min(1 - power, 63)
            power = 0
        bits = power << self.mantissa | mantissa >> (52 - self.mantissa)
        return sign << (self.width - 1) | bits


FORMATS = {
    "f16": Format(5, 10),
    "bf16": Format(8, 7),
    "f32": Format(8, 23),
    "tf32": Format(8, 23),
    "f64": Format(11, 52),
}
_TARGETS = (52, 23, 10, 7, 3, 2)  # mantissa bits of the formats that conversions round to
_INTEGER_WIDTHS = (7, 8, 15, 16, 24, 31, 32, 53, 63, 64)
_NARROW = (448.0, 464.0, 57344.0, 61440.0, 65504.0, 65520.0, 65535.0, 240.0, 127.5, 255.5, 254.5, 32767.5)


def few(format: Format) -> list[int]:
    """The dozen magnitudes that matter most, to be crossed with one another, with both signs."""
    one = format.bias << format.mantissa
    infinity = ((1 << format.exponent) - 1) << format.mantissa
    quiet = infinity | 1 << (format.mantissa - 1)
    least = 1 << format.mantissa
    magnitudes = [0, one, infinity, quiet, 1, infinity - 1, least, least - 1]
    magnitudes += [one + 1, one - 1, infinity | 1, quiet | 5]
    sign = 1 << (format.width - 1)
    return [bits | each for bits in magnitudes for each in (0, sign)]


def edges(format: Format) -> list[int]:
    """All edge cases: `few`, limits of integer types and of narrower formats, halves, ties, constants."""
    one = format.bias << format.mantissa
    infinity = ((1 << format.exponent) - 1) << format.mantissa
    values = [
        0.5,
        1.5,
        2.0,
        2.5,
        3.0,
        3.5,
        4.0,
        10.0,
        0.1,
        1 / 3,
        np.pi,
        np.pi / 2,
        np.e,
        88.0,
        104.0,
        *_NARROW,
    ]
    for width in _INTEGER_WIDTHS:
        values += [2.0**width, 2.0**width - 1, 2.0**width - 0.5, 2.0**width + 1]
    for power in (
        -14,
        -15,
        -24,
        -25,
        -26,
        -6,
        -9,
        -10,
        -16,
        -17,
        -126,
        -127,
        -133,
        -134,
        -149,
        -150,
        15,
        16,
        127,
    ):
        values += [2.0**power, 1.5 * 2.0**power, 1.25 * 2.0**power]
    magnitudes = {format.of(value) + step for value in values for step in (-1, 0, 1)}
    for kept in _TARGETS:
        dropped = format.mantissa - kept
        if dropped > 0:
            half = 1 << (dropped - 1)
            starts = (one, one | 1 << dropped, one | (1 << format.mantissa) - (1 << dropped))
            magnitudes |= {start | tail for start in starts for tail in (half, half - 1, half + 1)}
    magnitudes |= {infinity | (1 << format.mantissa) - 1, infinity | 0b11 << (format.mantissa - 2)}
    sign = 1 << (format.width - 1)
    magnitudes = {bits for bits in magnitudes if 0 <= bits < sign}
    return few(format) + [bits | each for bits in sorted(magnitudes) for each in (0, sign)]


def draw(format: Format, counter: Counter, count: int) -> Bits:
    """Random floats of many kinds: any bits, near 1, short, ties, halves, subnormal, edge cases."""
    raw = counter.bits(count) >> np.uint64(64 - format.width)
    mantissa_mask = np.uint64((1 << format.mantissa) - 1)
    width = np.uint64(format.mantissa)
    sign = (counter.below(2, count)) << np.uint64(format.width - 1)
    mantissa = raw & mantissa_mask
    near = counter.below(min(40, 2 * format.bias - 2), count) + np.uint64(max(format.bias - 20, 1))
    moderate = sign | near << width | mantissa
    kept = counter.below(format.mantissa + 1, count)
    short_mask = mantissa_mask ^ (mantissa_mask >> kept)
    short = sign | near << width | (mantissa & short_mask)
    tie = short | (np.uint64(1 << format.mantissa) >> (kept + np.uint64(1)))
    off_tie = tie + counter.below(3, count) - np.uint64(1)
    subnormal = sign | mantissa >> counter.below(format.mantissa, count)
    doubled = _integers(format, counter, count)
    listed = counter.choice(np.array(edges(format), np.uint64), count)
    kind = counter.below(20, count)
    limits = (
        (kind < 5, raw),
        (kind < 10, moderate),
        (kind < 12, short),
        (kind < 14, tie),
        (kind < 16, off_tie),
    )
    chosen: Bits = np.select(
        [test for test, _ in limits] + [kind < 17, kind < 19],
        [value for _, value in limits] + [subnormal, sign | doubled],
        listed,
    )
    chosen &= np.uint64((1 << format.width) - 1)
    return chosen


def _mantissa(format: Format, counter: Counter, count: int) -> Bits:
    """Mantissas: any bits, or within a few units of a power of two from either side."""
    mask = np.uint64((1 << format.mantissa) - 1)
    step = (counter.below(7, count) - np.uint64(3)) & mask
    return np.where(counter.below(2, count) == 0, counter.bits(count) & mask, step)


def normal(format: Format, counter: Counter, count: int) -> Bits:
    """Normal floats of any exponent, many of them next to a power of two."""
    sign = counter.below(2, count) << np.uint64(format.width - 1)
    exponent = counter.below((1 << format.exponent) - 2, count) + np.uint64(1)
    return sign | exponent << np.uint64(format.mantissa) | _mantissa(format, counter, count)


def opposite(format: Format, first: Bits, counter: Counter) -> Bits:
    """For each float one whose product or quotient with it is about the least normal or the greatest."""
    count = len(first)
    top = (1 << format.exponent) - 2
    exponent = ((first >> np.uint64(format.mantissa)) & np.uint64(top + 1)).astype(np.int64)
    step = counter.below(4, count).astype(np.int64) - 2
    kind = counter.below(4, count)
    least_product = format.bias + 1 - exponent
    greatest_product = top + format.bias - exponent
    least_quotient = exponent + format.bias - 1
    greatest_quotient = exponent + format.bias - top
    wanted = np.select(
        [kind == 0, kind == 1, kind == 2],
        [least_product, greatest_product, least_quotient],
        greatest_quotient,
    )
    power: Bits = np.clip(wanted + step, 1, top).astype(np.uint64)
    sign = counter.below(2, count) << np.uint64(format.width - 1)
    power = sign | power << np.uint64(format.mantissa) | _mantissa(format, counter, count)
    return power


def tiny(format: Format, counter: Counter, count: int) -> Bits:
    """Zeros, subnormals and the least normals."""
    sign = counter.below(2, count) << np.uint64(format.width - 1)
    length = counter.below(format.mantissa + 3, count)
    return sign | (counter.bits(count) >> np.uint64(63 - format.mantissa)) >> length


def _integers(format: Format, counter: Counter, count: int) -> Bits:
    """Halves of integers of every size, as bits of the format (cut where they are too long)."""
    number = (counter.bits(count) | np.uint64(1 << 63)) >> np.uint64(63 - format.mantissa)
    most = min(format.bias, 66)
    power = counter.below(most + 2, count)
    fraction = np.clip(format.mantissa - power.astype(np.int64), 0, format.mantissa).astype(np.uint64)
    mantissa = (number & np.uint64((1 << format.mantissa) - 1)) >> fraction << fraction
    return (power + np.uint64(format.bias - 1)) << np.uint64(format.mantissa) | mantissa
