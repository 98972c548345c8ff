"""The special function unit on one lane, in plain Python: `special_functions` for a float."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import cache

from teenycuda_cli.emulator.numerics.interpolation import UNITS, quadratics, squares

_F32 = struct.Struct("<f")
_U32 = struct.Struct("<I")
_TURN = float(_F32.unpack(b"\x83\xf9\x22\x3e")[0])
_LEAST = 2.0**-126
_LOW = 0x1FFFF
_CUT = UNITS - 24


def _f32(value: float) -> float:
    try:
        return float(_F32.unpack(_F32.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


@cache
def _rows(name: str) -> tuple[list[tuple[int, int, int]], memoryview]:
    """(base, slope, curve) of each row, and the squares."""
    table = quadratics(name)
    columns = [[int(number) for number in column] for column in (table.base, table.slope, table.curve)]
    return list(zip(*columns, strict=True)), memoryview(squares().data)


def _at(name: str, row: int, x: int) -> int:
    """The interpolator's value in units of 2⁻⁴¹."""
    rows, square = _rows(name)
    base, slope, curve = rows[row]
    return base + slope * x + curve * int(square[x])


def _parts(a: float) -> tuple[int, int]:
    """Biased exponent and mantissa of an f32."""
    bits = _U32.unpack(_F32.pack(a))[0]
    return bits >> 23 & 0xFF, bits & 0x7FFFFF


def _cut(value: int) -> float:
    """So many units of 2⁻⁴¹ as an f32, rounded toward zero."""
    drop = max(value.bit_length() - 24, 0)
    return math.ldexp(value >> drop, drop - UNITS)


def _flushed(a: float) -> float:
    """A subnormal as the zero of its sign, any other number as it is."""
    return math.copysign(0.0, a) if abs(a) < _LEAST else a


def reciprocal(a: float) -> float:
    """MUFU.RCP."""
    exponent, mantissa = _parts(a)
    if exponent == 0:
        return math.copysign(math.inf, a)
    if exponent == 0xFF:
        return a if math.isnan(a) else math.copysign(0.0, a)
    value = _at("rcp", mantissa >> 16, (mantissa & 0xFFFF) << 1) >> _CUT
    result = math.ldexp(value, 103 - exponent)
    return math.copysign(result if result >= _LEAST else 0.0, a)


def _root(a: float, name: str) -> tuple[int, int] | None:
    """The interpolator's value for the root of a positive number, and half the exponent."""
    exponent, mantissa = _parts(a)
    if not a > 0 or exponent in (0, 0xFF):
        return None
    half, odd = divmod(exponent - 127, 2)
    return _at(name, (mantissa >> 17) + 64 * odd, mantissa & _LOW) >> _CUT, half


def reciprocal_root(a: float) -> float:
    """MUFU.RSQ."""
    found = _root(a, "rsqrt")
    if found is None:
        a = _flushed(a)
        if a == 0:
            return math.copysign(math.inf, a)
        return 0.0 if a == math.inf else math.nan
    value, half = found
    return math.ldexp(value + (value == 0xFFFFFF and _parts(a)[1] == 0), -24 - half)


def root(a: float) -> float:
    """MUFU.SQRT."""
    found = _root(a, "sqrt")
    if found is None:
        a = _flushed(a)
        return a if a in (0, math.inf) else math.nan
    value, half = found
    return math.ldexp(value >> 1, half - 23)


def power_of_two(a: float) -> float:
    """MUFU.EX2."""
    if math.isnan(a):
        return a
    fixed = int(min(abs(a), 200.0) * 2.0**23)
    if a < 0:
        fixed = ~fixed if fixed & 0x7FFFFF else -fixed
    whole, fraction = fixed >> 23, fixed & 0x7FFFFF
    if whole < -126 or whole > 127:
        return 0.0 if whole < 0 else math.inf
    return math.ldexp(_at("ex2", fraction >> 17, fraction & _LOW) >> _CUT, whole - 23)


def logarithm(a: float) -> float:
    """MUFU.LG2."""
    a = _flushed(a)
    if not 0 < a < math.inf:
        return -math.inf if a == 0 else a if a == math.inf else math.nan
    if a == 1:
        return 0.0
    exponent, mantissa = _parts(a)
    value = ((exponent - 127) << UNITS) + (_at("lg2", mantissa >> 17, mantissa & _LOW) & ~31)
    return _cut(value) if value >= 0 else -_cut(-value - 32)


def _of_quarters(fixed: int) -> float:
    within = fixed & 0x7FFFFF
    if fixed >> 23 & 1:
        within = 0x7FFFFF - within
    value = _cut(_at("sin", within >> 17, within & _LOW))
    return -value if fixed >> 24 & 1 else value


def _turns(a: float) -> int:
    """The magnitude of an angle in units of 2⁻²⁵ turns, without whole turns."""
    product = abs(a) * _TURN
    fraction, exponent = math.frexp(product)
    turn = math.ldexp(int(math.ldexp(fraction, 24)), exponent - 24)
    return int(turn * 2.0**25) & 0x1FFFFFF if turn < 2.0**24 else 0


def sine(a: float) -> float:
    """MUFU.SIN of an angle in radians."""
    if not math.isfinite(a):
        return math.nan
    value = _of_quarters(_turns(a))
    return -value if math.copysign(1.0, a) < 0 else value


def cosine(a: float) -> float:
    """MUFU.COS of an angle in radians."""
    return _of_quarters(_turns(a) + (1 << 23)) if math.isfinite(a) else math.nan


_TANH = ((0, 0), (0, 1), (0, 2), (1, 3), (1, 5), (2, 7), (2, 11), (2, 15), (3, 19), (4, 27), (3, 43))
"""Of an exponent from −8 to 2: how many bits choose the row, and the first row."""


def hyperbolic_tangent(a: float) -> float:
    """MUFU.TANH."""
    exponent, mantissa = _parts(a)
    if math.isnan(a) or exponent < 119:
        return a
    if exponent >= 130:
        return math.copysign(1.0, a)
    bits, first = _TANH[exponent - 119]
    row, x = first + (mantissa >> (23 - bits)), mantissa >> (6 - bits) & _LOW
    return math.copysign(_cut(_at("tanh", row, x)), a)


_PLAIN: dict[str, Callable[[float], float]] = {
    "rcp": reciprocal,
    "rsqrt": reciprocal_root,
    "sqrt": root,
    "lg2": logarithm,
    "ex2": power_of_two,
    "sin": sine,
    "cos": cosine,
    "tanh": hyperbolic_tangent,
}


def _reciprocal_of_any(a: float) -> float:
    factor = 0.25 if abs(a) > 2.0**126 else 2.0**24 if abs(a) < _LEAST else 1.0
    return _f32(factor * reciprocal(a * factor))


def _power_of_any(a: float) -> float:
    if not a < -126:
        return power_of_two(a)
    half = power_of_two(a * 0.5)
    return _f32(half * half)


def _scaled(function: Callable[[float], float], back: Callable[[float], float]) -> Callable[[float], float]:
    def evaluate(a: float) -> float:
        return _f32(back(function(a * 2.0**24))) if abs(a) < _LEAST else function(a)

    return evaluate


_WITH_SUBNORMALS: dict[str, Callable[[float], float]] = {
    **_PLAIN,
    "rcp": _reciprocal_of_any,
    "ex2": _power_of_any,
    "sqrt": _scaled(root, lambda result: result * 2.0**-12),
    "rsqrt": _scaled(reciprocal_root, lambda result: result * 2.0**12),
    "lg2": _scaled(logarithm, lambda result: result - 24),
}


def approximate(name: str, ftz: bool, a: float) -> float:
    """An approximate function of one f32; see `approximations`."""
    return (_PLAIN if ftz else _WITH_SUBNORMALS)[name](a)
