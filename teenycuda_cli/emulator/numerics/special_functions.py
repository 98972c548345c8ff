"""The instructions of the special function unit (MUFU): f32 to f32, bit for bit what an H200 gives.

Subnormal arguments and results count as zero; what the ISA's instructions do
about them stands in `approximations`. NaN comes out as some NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.interpolation import UNITS, quadratics

_EXPONENT = np.int32(0x7F800000)
_MANTISSA = np.int32(0x7FFFFF)
_ONE = np.int32(1 << 23)
_LOW = np.int32(0x1FFFF)
_TURN = np.float64(np.uint32(0x3E22F983).view(np.float32))
"""1/2π as the f32 that the assembler multiplies angles with."""


def _bits(a: Any) -> Any:
    return np.asarray(a).view(np.int32)


def _is_special(bits: Any) -> Any:
    """Zeros and subnormals, infinities and NaN."""
    exponent = bits & _EXPONENT
    return (exponent == 0) | (exponent == _EXPONENT)


def _patched(result: Any, where: Any, function: Callable[[Any], Any], a: Any) -> Any:
    """The result with `function(a)` in some lanes, subnormal arguments taken for zero."""
    if where.any():
        flushed = np.where(_bits(a) & _EXPONENT, a, np.copysign(np.float32(0), a))
        result = np.where(where, function(flushed), result)
    return result


def _mantissas(name: str, row: Any, x: Any) -> Any:
    """A function's value as a whole number of 2⁻²⁴, as int32."""
    value = quadratics(name).at(row, x)
    value *= 2.0 ** (24 - UNITS)
    return value.astype(np.int32)  # all are positive: the fraction is cut off


def reciprocal(a: Any) -> Any:
    """MUFU.RCP: 1/a."""
    bits = _bits(a)
    mantissa = bits & _MANTISSA
    value = _mantissas("rcp", mantissa >> np.int32(16), (mantissa & np.int32(0xFFFF)) << np.int32(1))
    exponent = np.int32(252) - ((bits >> np.int32(23)) & np.int32(0xFF))
    magnitude = value + exponent * _ONE
    magnitude = np.where(magnitude < _ONE, np.int32(0), magnitude)
    result = (magnitude | (bits & np.int32(-(2**31)))).view(np.float32)
    return _patched(result, _is_special(bits), lambda number: np.float32(1) / number, a)


def _root_place(bits: Any) -> tuple[Any, Any, Any]:
    """Row, x and half the exponent: arguments count from 1 to 4."""
    exponent = ((bits >> np.int32(23)) & np.int32(0xFF)) - np.int32(127)
    row = ((bits & _MANTISSA) >> np.int32(17)) + ((exponent & np.int32(1)) << np.int32(6))
    return row, bits & _LOW, exponent >> np.int32(1)


def reciprocal_root(a: Any) -> Any:
    """MUFU.RSQ: 1/√a."""
    bits = _bits(a)
    row, x, half = _root_place(bits)
    value = _mantissas("rsqrt", row, x) + ((row | x) == 0)  # 1/√1 is 1
    result = (value + (np.int32(125) - half) * _ONE).view(np.float32)
    return _patched(result, _is_special(bits) | (bits < 0), lambda number: np.float32(1) / np.sqrt(number), a)


def root(a: Any) -> Any:
    """MUFU.SQRT: √a."""
    bits = _bits(a)
    row, x, half = _root_place(bits)
    value = _mantissas("sqrt", row, x) >> np.int32(1)
    result = (value + (np.int32(126) + half) * _ONE).view(np.float32)
    return _patched(result, _is_special(bits) | (bits < 0), np.sqrt, a)


def power_of_two(a: Any) -> Any:
    """MUFU.EX2: 2 to the power of a, whose fraction is cut to 23 bits; a negative one's is complemented."""
    fixed = (np.fmin(np.abs(a), np.float32(200)) * np.float64(2.0**23)).astype(np.int32)
    negative = np.where(fixed & _MANTISSA, ~fixed, -fixed)
    fixed = np.where(a < 0, negative, fixed)
    fraction = fixed & _MANTISSA
    value = _mantissas("ex2", fraction >> np.int32(17), fraction & _LOW)
    whole = fixed >> np.int32(23)
    inside = value + (np.clip(whole, -127, 128) + np.int32(126)) * _ONE
    result = np.where(whole < -126, np.int32(0), np.where(whole > 127, _EXPONENT, inside)).view(np.float32)
    return np.where(np.isnan(a), a, result)


def _cut(values: Any) -> Any:
    """f64 as f32, rounded toward zero."""
    return (np.asarray(values).view(np.int64) & np.int64(-(1 << 29))).view(np.float64).astype(np.float32)


def logarithm(a: Any) -> Any:
    """MUFU.LG2: log₂ a."""
    bits = _bits(a)
    mantissa = bits & _MANTISSA
    fraction = quadratics("lg2").at(mantissa >> np.int32(17), mantissa & _LOW)
    fraction = np.floor(fraction * 2.0**-5) * 2.0**5
    exponent = (bits >> np.int32(23)) - np.int32(127)
    value = exponent * 2.0**UNITS + fraction
    value = np.where(value < 0, value + 32, value)  # a negative number by its complement
    result = _cut(np.where(bits == np.int32(0x3F800000), 0.0, value * 2.0**-UNITS))
    return _patched(result, _is_special(bits) | (bits < 0), np.log2, a)


def turns(a: Any) -> Any:
    """An angle in turns, as the assembler makes it before MUFU.SIN: a/2π rounded toward zero."""
    return _cut(np.asarray(a) * _TURN)


def _of_quarters(fixed: Any) -> Any:
    """The sine of an angle in units of 2⁻²⁵ turns."""
    within = fixed & _MANTISSA
    within = np.where(fixed & _ONE, _MANTISSA - within, within)
    value = quadratics("sin").at(within >> np.int32(17), within & _LOW)
    value *= 2.0**-UNITS
    return np.where(fixed & (_ONE << np.int32(1)), -value, value)


def _fixed(turn: Any) -> Any:
    """The magnitude of an angle in units of 2⁻²⁵ turns, without whole turns."""
    magnitude = np.abs(turn, dtype=np.float64)
    whole = np.where(magnitude < 2.0**24, magnitude, 0.0) * 2.0**25
    return (whole.astype(np.int64) & np.int64((1 << 25) - 1)).astype(np.int32)


def sine(turn: Any) -> Any:
    """MUFU.SIN: the sine of an angle in turns."""
    value = _of_quarters(_fixed(turn))
    result = _cut(np.where(np.signbit(turn), -value, value))
    return np.where(np.isfinite(turn), result, np.float32(np.nan))


def cosine(turn: Any) -> Any:
    """MUFU.COS: the cosine of an angle in turns."""
    result = _cut(_of_quarters(_fixed(turn) + _ONE))
    return np.where(np.isfinite(turn), result, np.float32(np.nan))


_TANH_BITS = np.array((0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3), np.int32)
"""Rows of an exponent from −8 to 2, as a power of two."""
_TANH_ROWS = (np.cumsum(1 << _TANH_BITS) - (1 << _TANH_BITS)).astype(np.int32)


def hyperbolic_tangent(a: Any) -> Any:
    """MUFU.TANH: tanh a, which is a below 2⁻⁸ and 1 from 8 on."""
    bits = _bits(a)
    exponent = ((bits >> np.int32(23)) & np.int32(0xFF)) - np.int32(127)
    place = np.clip(exponent + np.int32(8), 0, 10)
    wide = _TANH_BITS.take(place)
    mantissa = bits & _MANTISSA
    row = _TANH_ROWS.take(place) + (mantissa >> (np.int32(23) - wide))
    x = (mantissa >> (np.int32(6) - wide)) & _LOW
    value = _cut(quadratics("tanh").at(row, x) * 2.0**-UNITS)
    magnitude = np.where(exponent >= 3, np.float32(1), value)
    result = np.where(exponent < -8, a, np.copysign(magnitude, a))
    return np.where(np.isnan(a), a, result)
