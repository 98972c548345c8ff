"""The approximate functions of the ISA: computed in f64 and rounded to f32, well inside the ISA's bounds.

A GPU's own approximations differ from these in the last bits. What the ISA
says of zeros, infinities, NaN and, with `.ftz`, of subnormals holds exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.floating import flushed

_LONG_HIGH = np.uint64(0xFFFFFFFF00000000)
_TINY64 = 2.0**-1022


def _through_f64(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def evaluate(a: Any) -> Any:
        return ufunc(a, dtype=np.float64).astype(np.float32)

    return evaluate


def _reciprocal_root(a: Any) -> Any:
    return (1.0 / np.sqrt(a, dtype=np.float64)).astype(np.float32)


def _reciprocal(a: Any) -> Any:
    return np.float32(1) / a


UNARY: dict[str, Callable[[Any], Any]] = {
    "rcp": _reciprocal,  # correctly rounded; the ISA allows 1 ulp
    "sqrt": np.sqrt,  # correctly rounded; the ISA allows a relative error of 2⁻²³
    "rsqrt": _reciprocal_root,  # 2⁻²²·⁹
    "sin": _through_f64(np.sin),  # 2⁻²⁰·⁵ absolute, between −π and π
    "cos": _through_f64(np.cos),  # the same
    "lg2": _through_f64(np.log2),  # 2⁻²²
    "ex2": _through_f64(np.exp2),  # 2⁻²²
    "tanh": _through_f64(np.tanh),  # 2⁻¹¹
}


def quotient(a: Any, b: Any) -> Any:
    """div.approx: a × (1 ÷ b), so that a divisor above 2¹²⁶ gives 0, or NaN for an infinite a."""
    result = np.divide(a, b)
    magnitude = np.abs(b)
    large = (magnitude > np.float32(2.0**126)) & np.isfinite(magnitude)
    if large.any():
        result = np.where(large, a * np.copysign(np.float32(0), b), result)
    return result


def _cut(values: Any) -> Any:
    """f64 with the lower 32 bits zero."""
    return (np.asarray(values).view(np.uint64) & _LONG_HIGH).view(np.float64)


def _flushed64(values: Any) -> Any:
    return np.where(np.abs(values) < _TINY64, np.copysign(0.0, values), values)


def reciprocal_64(a: Any) -> Any:
    """rcp.approx.ftz.f64: from the upper 32 bits of a to the upper 32 bits of the result."""
    return _cut(_flushed64(1.0 / _cut(_flushed64(a))))


def reciprocal_root_64(a: Any) -> Any:
    """rsqrt.approx.ftz.f64: from the upper 32 bits of a to the upper 32 bits of the result."""
    return _cut(1.0 / np.sqrt(_cut(_flushed64(a))))


def reciprocal_root_of_f64(a: Any) -> Any:
    """rsqrt.approx.f64."""
    return 1.0 / np.sqrt(a)


def with_flush(function: Callable[..., Any], ftz: bool) -> Callable[..., Any]:
    """A function of f32, subnormal inputs and results flushed."""
    if not ftz:
        return function
    return lambda *sources: flushed(function(*[flushed(source) for source in sources]))
