"""f32 and f64 values: canonical NaN, flushing of subnormals, saturation.

`raw` results of arithmetic may hold any NaN; `canonical` turns them into
PTX's one NaN, in place, where the bits come to light.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NAN32 = np.uint32(0x7FFFFFFF).view(np.float32)
NAN64 = np.uint64(0x7FFFFFFFFFFFFFFF).view(np.float64)
TINY32 = np.float32(2.0**-126)
_NANS: dict[np.dtype[Any], Any] = {np.dtype("f4"): NAN32, np.dtype("f8"): NAN64}


def canonical(values: Any) -> Any:
    """NaNs replaced by PTX's one NaN: in place in an array, returned for a scalar.

    The test is a maximum, which keeps NaN and costs less than half an addition.
    """
    nan = _NANS[values.dtype]
    if not isinstance(values, np.ndarray):
        return nan if np.isnan(values) else values
    if values.size and np.isnan(np.maximum.reduce(values, axis=None)):
        np.copyto(values, nan, where=np.isnan(values))
    return values


def flushed(values: Any) -> Any:
    """f32 with subnormals replaced by zero of the same sign; the argument itself where there are none."""
    small = np.less(np.abs(values), TINY32)
    if not small.any():
        return values
    return np.multiply(values, np.logical_not(small), dtype=np.float32)


def saturated(values: Any, out: Any = None) -> Any:
    """Clamped to [0, 1]; NaN and −0 become +0."""
    one, zero = values.dtype.type(1), values.dtype.type(0)
    result = np.fmax(np.fmin(values, one, out=out), zero, out=out)
    return np.add(result, zero, out=out)


def modified(operation: Callable[..., Any], ftz: bool, sat: bool) -> Callable[..., Any]:
    """An operation with `.ftz` (inputs and output flushed) and `.sat` around it, or itself without them."""
    if not (ftz or sat):
        return operation

    def evaluate(*sources: Any, out: Any = None) -> Any:
        if ftz:
            sources = tuple([flushed(source) for source in sources])
        result = operation(*sources, out=out)
        if ftz:
            result = flushed(result)
        return saturated(result) if sat else result

    return evaluate
