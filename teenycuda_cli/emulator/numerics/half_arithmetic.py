"""Arithmetic on f16 and bf16 bits, one half at a time or two in a register, rounded once to nearest.

f32 sums and products of two halves lose nothing that a second rounding could
miss; a × b + c is kept exact or rounded to odd in f64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import special_functions as unit
from teenycuda_cli.emulator.numerics.conversions import narrow, relu, widen
from teenycuda_cli.emulator.numerics.floating import extreme, extreme_of_magnitudes, flushed, saturated
from teenycuda_cli.emulator.numerics.fma import odd_sum
from teenycuda_cli.emulator.numerics.half import lower, odd32, upper
from teenycuda_cli.emulator.numerics.types import merged, split

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "abs": np.absolute,
}


def _fused(lost_bits: int, least: float) -> Callable[..., Any]:
    """a × b + c in f32, rounded to odd where that looks like a tie of the half type or is its subnormal.

    `lost_bits` are the fraction bits that the half type drops, `least` is its least normal value.
    """
    mask, tie = np.uint32((1 << lost_bits) - 1), np.uint32(1 << (lost_bits - 1))
    tiny = np.float32(least)

    def fma(a: Any, b: Any, c: Any) -> Any:
        total = np.asarray((np.multiply(a, b, dtype=np.float64) + c).astype(np.float32))
        doubtful = (np.bitwise_and(total.view(np.uint32), mask) == tie) | (np.abs(total) < tiny)
        if doubtful.any():
            index = np.nonzero(np.atleast_1d(doubtful))
            parts = [np.broadcast_to(part, total.shape or (1,))[index] for part in (a, b, c)]
            np.atleast_1d(total)[index] = odd32(odd_sum(*parts))
        return total

    return fma


APPROXIMATE: dict[str, Callable[..., Any]] = {
    "ex2": unit.power_of_two,
    "tanh": unit.hyperbolic_tangent,
}


def approximated(name: str, kind: str) -> Callable[..., Any]:
    """ex2 or tanh on raw half bits: the f32's result rounded toward zero, overflow to infinity."""
    function, infinity = APPROXIMATE[name], np.uint16(0x7C00 if kind == "f16" else 0x7F80)
    beyond = np.float32(65536.0) if kind == "f16" else np.float32(np.inf)

    def evaluate(a: Any) -> Any:
        values = widen(np.asarray(a), kind)
        if name == "ex2":
            values = flushed(values)
        values = function(values)
        return np.where(values >= beyond, infinity, narrow(values, kind, "rz"))

    return evaluate


FMA: dict[str, Callable[..., Any]] = {"f16": _fused(13, 2.0**-14), "bf16": _fused(16, 2.0**-126)}


def extremes(greatest: bool, keep_nan: bool, xorsign: bool) -> Callable[..., Any]:
    """min or max of f32 values, of their magnitudes with `xorsign`."""
    return extreme_of_magnitudes(greatest, keep_nan, True) if xorsign else extreme(greatest, keep_nan)


_FLUSHED = {"f16": np.float32(2.0**-14 - 2.0**-26), "bf16": np.float32(2.0**-126)}
"""Up to which magnitude `.ftz` makes a result zero: it looks at it before it meets the subnormal range."""


def _flush(bits: Any, kind: str) -> Any:
    """Raw half bits with subnormals made zero of their sign."""
    exponent, sign = np.uint16(0x7C00 if kind == "f16" else 0x7F80), np.uint16(0x8000)
    return np.where(bits & exponent == 0, bits & sign, bits)


def on_halves(
    function: Callable[..., Any], kind: str, *, ftz: bool = False, sat: bool = False, clamp: bool = False
) -> Callable[..., Any]:
    """A function of f32 values on raw half bits, with `.ftz`, `.sat` and (`clamp`) `.relu`."""

    def evaluate(*sources: Any) -> Any:
        if ftz:
            sources = tuple([_flush(source, kind) for source in sources])
        values = function(*[widen(np.asarray(source), kind) for source in sources])
        if sat:
            values = saturated(values)
        if clamp:
            values = relu(values)
        if ftz:  # what rounds up to the least normal number from below it stays
            values = np.where(np.abs(values) < _FLUSHED[kind], np.copysign(np.float32(0), values), values)
        return narrow(values, kind, "rn")

    return evaluate


def on_pairs(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of raw half bits on both halves of 32 bits."""

    def evaluate(*sources: Any) -> Any:
        return merged(function(*[split(source, np.uint16) for source in sources]), np.uint32)

    return evaluate


def compare(test: Callable[..., Any], kind: str, ftz: bool) -> Callable[..., Any]:
    """A comparison of f32 values on raw half bits."""

    def evaluate(a: Any, b: Any, out: Any = None) -> Any:
        if ftz:
            a, b = _flush(a, kind), _flush(b, kind)
        return test(widen(np.asarray(a), kind), widen(np.asarray(b), kind))[()]

    return evaluate


def compare_lower(test: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of raw half bits on the lower halves of 32 bits."""

    def evaluate(a: Any, b: Any, out: Any = None) -> Any:
        return test(lower(a), lower(b))

    return evaluate


def compare_pairs(test: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of raw half bits on both halves of 32 bits: the lower's result, then the upper's."""

    def evaluate(a: Any, b: Any, out: Any = None) -> Any:
        return test(lower(a), lower(b)), test(upper(a), upper(b))

    return evaluate
