"""`.ftz` in f32 mul, div, rcp and fma: what is flushed is the result before it meets the subnormal range.

The hardware rounds to 24 bits with an exponent without bounds, and then takes
anything below 2⁻¹²⁶ for zero. Rounding in the subnormal range first would lift
results just below 2⁻¹²⁶ up to it. Only results of exactly that magnitude can
be in doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.floating import TINY32, flushed
from teenycuda_cli.emulator.numerics.fma import odd_sum

_BORDERS = {"rn": 2.0**-126 - 2.0**-151, "rz": 0.0, "rm": 2.0**-126 - 2.0**-150, "rp": 2.0**-126 - 2.0**-150}
"""Up to which magnitude the exact result is flushed: below it, and at it for `rm` and `rp`."""


def _is_below(magnitude: Any, mode: str) -> Any:
    border = _BORDERS[mode]
    return magnitude < border if mode in ("rn", "rz") else magnitude <= border


def _product(sources: list[Any], mode: str) -> Any:
    return _is_below(np.abs(np.multiply(sources[0], sources[1], dtype=np.float64)), mode)


def _quotient(sources: list[Any], mode: str) -> Any:
    a, b = (np.abs(source).astype(np.float64) for source in sources)
    border = _BORDERS[mode] * b
    return a < border if mode in ("rn", "rz") else a <= border


def _reciprocal(sources: list[Any], mode: str) -> Any:
    return _quotient([np.float32(1), sources[0]], mode)


def _fused(sources: list[Any], mode: str) -> Any:
    return _is_below(np.abs(odd_sum(*sources)), mode)


_TESTS: dict[str, Callable[[list[Any], str], Any]] = {
    "mul": _product,
    "div": _quotient,
    "rcp": _reciprocal,
    "fma": _fused,
}
FLUSHED_BEFORE = frozenset(_TESTS)
"""The operations whose flushing cannot be told from the rounded result."""


def flushing(operation: Callable[..., Any], name: str, mode: str) -> Callable[..., Any]:
    """An f32 operation with inputs and result flushed as the hardware does it."""
    test = _TESTS.get(name)

    def evaluate(*sources: Any, out: Any = None) -> Any:
        sources = tuple([flushed(source) for source in sources])
        result = operation(*sources, out=out)
        if test is not None:
            least = np.abs(result) == TINY32
            if least.any():
                shape = np.shape(result)
                index = np.nonzero(np.atleast_1d(least))
                parts = [np.broadcast_to(source, shape or (1,))[index] for source in sources]
                result = np.array(result)
                lanes = np.atleast_1d(result)
                found = lanes[index]
                lanes[index] = np.where(test(parts, mode or "rn"), np.copysign(np.float32(0), found), found)
                result = result[()]
        return flushed(result)

    return evaluate


flushed_product = flushing(np.multiply, "mul", "rn")
"""mul.ftz.f32."""
