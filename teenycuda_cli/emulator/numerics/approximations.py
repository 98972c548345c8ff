"""The approximate functions of the ISA, as the assembler makes them of the special function unit's.

Without `.ftz` it scales what the unit would take for zero. Every result is,
bit for bit, what an H200 gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import special_functions as unit
from teenycuda_cli.emulator.numerics.floating import TINY32
from teenycuda_cli.emulator.numerics.flushing import flushed_product
from teenycuda_cli.emulator.numerics.fma import fma64

_QUARTER = np.float32(0.25)
_UP = np.float32(2.0**24)
_LARGE = np.float32(2.0**126)
_LONG_HIGH = np.uint64(0xFFFFFFFF00000000)
_NAN64 = np.uint64(0x7FFFFFFF00000000).view(np.float64)  # what the unit gives for f64

Function = Callable[[Any], Any]


def _scaled(function: Function, small: Callable[[Any], Any], back: Function, factor: Any) -> Function:
    """A function that the unit has, with small arguments scaled and their results brought back."""

    def evaluate(a: Any) -> Any:
        tiny = small(a)
        if not tiny.any():
            return function(a)
        result = function(np.where(tiny, a * factor, a))
        return np.where(tiny, back(result), result)

    return evaluate


def _is_tiny(a: Any) -> Any:
    return np.abs(a) < TINY32


def _reciprocal(a: Any) -> Any:
    magnitude = np.abs(a)
    factor = np.where(magnitude > _LARGE, _QUARTER, np.where(magnitude < TINY32, _UP, np.float32(1)))
    return factor * unit.reciprocal(a * factor)


_WITH_SUBNORMALS: dict[str, Function] = {
    "rcp": _reciprocal,
    "sqrt": _scaled(unit.root, _is_tiny, lambda r: r * np.float32(2.0**-12), _UP),
    "rsqrt": _scaled(unit.reciprocal_root, _is_tiny, lambda r: r * np.float32(2.0**12), _UP),
    "lg2": _scaled(unit.logarithm, _is_tiny, lambda r: r - np.float32(24), _UP),
    "ex2": _scaled(unit.power_of_two, lambda a: a < np.float32(-126), lambda r: r * r, np.float32(0.5)),
}
_PLAIN: dict[str, Function] = {
    "rcp": unit.reciprocal,
    "sqrt": unit.root,
    "rsqrt": unit.reciprocal_root,
    "lg2": unit.logarithm,
    "ex2": unit.power_of_two,
    "sin": lambda a: unit.sine(unit.turns(a)),
    "cos": lambda a: unit.cosine(unit.turns(a)),
    "tanh": unit.hyperbolic_tangent,
}


def function(name: str, ftz: bool) -> Function:
    """An approximate function of f32."""
    return _PLAIN[name] if ftz or name not in _WITH_SUBNORMALS else _WITH_SUBNORMALS[name]


def quotient(a: Any, b: Any) -> Any:
    """div.approx: a times the reciprocal of b, which is 0 for a b above 2¹²⁶."""
    tiny = _is_tiny(b)
    if tiny.any():
        a, b = np.where(tiny, a * _UP, a), np.where(tiny, b * _UP, b)
    return a * unit.reciprocal(b)


def flushed_quotient(a: Any, b: Any) -> Any:
    """div.approx.ftz."""
    return flushed_product(a, unit.reciprocal(b))


def full_quotient(a: Any, b: Any) -> Any:
    """div.full: as div.approx, with both scaled where b is above 2¹²⁶."""
    large = np.abs(b) > _LARGE
    if large.any():
        a, b = np.where(large, a * _QUARTER, a), np.where(large, b * _QUARTER, b)
    return quotient(a, b)


def flushed_full_quotient(a: Any, b: Any) -> Any:
    """div.full.ftz."""
    large = np.abs(b) > _LARGE
    if large.any():
        a = np.where(large, flushed_product(a, _QUARTER), a)
        b = np.where(large, b * _QUARTER, b)
    return flushed_product(a, unit.reciprocal(b))


def _from_upper(unit_function: Function, of_exponent: Callable[[Any], tuple[Any, Any]]) -> Function:
    """A function of the unit on the upper 32 bits of an f64, subnormals taken for zero.

    `of_exponent` says for an exponent which one the unit's argument has, and by
    which power of two its result is then multiplied.
    """

    def evaluate(a: Any) -> Any:
        bits = np.asarray(a).view(np.int64) >> np.int64(32)
        exponent = (bits >> np.int64(20)) & np.int64(0x7FF)
        inner, power = of_exponent(exponent - 1023)
        usual = ((inner + 127) << 23) | (bits & np.int64(0xFFFFF)) << 3
        # zeros, infinities and NaN as the f32 of the same upper bits
        odd = np.where(exponent == 0, 0, (bits & np.int64(0xFFFFF)) << 3 | np.int64(0x7F800000))
        special = (exponent == 0) | (exponent == 0x7FF)
        sign = (bits << 31 >> 31) & np.int64(-(2**31))
        argument = (np.where(special, odd, usual) | sign).astype(np.int32).view(np.float32)
        result = np.ldexp(unit_function(argument).astype(np.float64), np.where(special, 0, power))
        result = np.where(np.abs(result) < 2.0**-1022, np.copysign(0.0, result), result)
        upper = (np.asarray(result).view(np.uint64) & _LONG_HIGH).view(np.float64)
        return np.where(np.isnan(upper), _NAN64, upper)

    return evaluate


reciprocal_64 = _from_upper(unit.reciprocal, lambda e: (0 * e, -e))
"""rcp.approx.ftz.f64."""
reciprocal_root_64 = _from_upper(unit.reciprocal_root, lambda e: (e & 1, -(e >> 1)))
"""rsqrt.approx.ftz.f64."""


def reciprocal_root_of_f64(a: Any) -> Any:
    """rsqrt.approx.f64: the unit's approximation, refined once."""
    tiny = np.abs(a) < 2.0**-1022
    scaled = np.where(tiny, a * 2.0**54, a)
    first = reciprocal_root_64(scaled)
    rest = np.asarray(fma64(scaled, -(first * first), np.float64(1)))
    refined = fma64(np.asarray(fma64(rest, np.float64(0.375), np.float64(0.5))), first * rest, first)
    refined = np.where(tiny, refined * 2.0**27, refined)
    settled = np.where(a == np.inf, 0.0, np.where(a == 0, np.copysign(np.inf, a), a + a))
    result = np.where((a > 0) & (a < np.inf), refined, settled)
    return np.where(a < 0, -np.float64(np.nan), result)
