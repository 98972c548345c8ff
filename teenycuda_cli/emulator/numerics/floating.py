"""f32 and f64 values: canonical NaN, flushing of subnormals, saturation, minimum and maximum.

`raw` results of f32 arithmetic may hold any NaN; `canonical` turns them into
PTX's one NaN, in place, where the bits come to light. f64 hands payloads on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.types import merged, split

NAN32 = np.uint32(0x7FFFFFFF).view(np.float32)
NAN64 = np.uint64(0x7FF8000000000000).view(np.float64)
INVALID64 = np.uint64(0xFFF8000000000000)
QUIET64 = np.uint64(1 << 51)
TINY32 = np.float32(2.0**-126)
_NANS: dict[np.dtype[Any], Any] = {np.dtype("f4"): NAN32, np.dtype("f8"): NAN64}
_RAW: dict[np.dtype[Any], np.dtype[Any]] = {np.dtype("f4"): np.dtype("u4"), np.dtype("f8"): np.dtype("u8")}


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
    result = np.add(values, zero, out=out)  # quiet, and no −0
    return np.fmin(np.fmax(result, zero, out=out), one, out=out)


def modified(operation: Callable[..., Any], ftz: bool, sat: bool) -> Callable[..., Any]:
    """An operation with `.ftz` (inputs and output flushed) and `.sat` around it, or itself without them."""
    if not (ftz or sat):
        return operation

    def evaluate(*sources: Any, out: Any = None) -> Any:
        if ftz:
            sources = tuple([flushed(source) if _is_f32(source) else source for source in sources])
        result = operation(*sources, out=out)
        if ftz and _is_f32(result):
            result = flushed(result)
        return saturated(result) if sat else result

    return evaluate


def _is_f32(values: Any) -> bool:
    return bool(values.dtype == np.float32)


def bits_of(values: Any) -> Any:
    """The raw bits of f32 or f64 as unsigned integers."""
    return values.view(_RAW[values.dtype])


def with_payloads(operation: Callable[..., Any], order: tuple[int, ...]) -> Callable[..., Any]:
    """An f64 operation whose NaN is that of the first source in this order that is NaN: quieted, sign kept.

    An invalid operation on numbers gives 0xfff8000000000000.
    """

    def evaluate(*sources: Any, out: Any = None) -> Any:
        result = operation(*sources, out=out)
        if not np.isnan(np.maximum.reduce(result, axis=None)):
            return result
        payload: Any = INVALID64
        for index in reversed(order):
            source = sources[index]
            payload = np.where(np.isnan(source), bits_of(source) | QUIET64, payload)
        fixed = np.where(np.isnan(result), np.asarray(payload, np.uint64).view(np.float64), result)[()]
        if out is None:
            return fixed
        np.copyto(out, fixed)
        return out

    return evaluate


def extreme(greatest: bool, keep_nan: bool) -> Callable[..., Any]:
    """min or max with −0 below +0; NaN wins with `keep_nan`, and otherwise loses to a number."""
    ufuncs: dict[tuple[bool, bool], np.ufunc] = {
        (True, True): np.maximum,
        (True, False): np.fmax,
        (False, True): np.minimum,
        (False, False): np.fmin,
    }
    ufunc = ufuncs[greatest, keep_nan]
    join = np.bitwise_and if greatest else np.bitwise_or

    def evaluate(a: Any, b: Any, out: Any = None) -> Any:
        result = ufunc(a, b, out=out)
        if not keep_nan and np.isnan(np.maximum.reduce(result, axis=None)):
            # numpy's fmax and fmin let a signalling NaN win in some lanes
            result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))[()]
        left, right = bits_of(a), bits_of(b)
        sign = left.dtype.type(1 << (8 * left.dtype.itemsize - 1))
        opposite = np.equal(np.bitwise_xor(left, right), sign)
        if opposite.any():
            zeros = opposite & (a == 0)
            if zeros.any():
                result = np.where(zeros, join(left, right).view(a.dtype), result)[()]
        return result

    return evaluate


def extreme_of_magnitudes(greatest: bool, keep_nan: bool, flip: bool) -> Callable[..., Any]:
    """min or max of |a| and |b|; with `flip` its sign is the exclusive or of theirs."""
    ufunc = extreme(greatest, keep_nan)

    def evaluate(a: Any, b: Any, out: Any = None) -> Any:
        result = ufunc(np.abs(a), np.abs(b), out=out)
        if not flip:
            return result
        negative = np.signbit(a) != np.signbit(b)
        return np.where(np.isnan(result), result, np.where(negative, -result, result))[()]

    return evaluate


def of_three(pairwise: Callable[..., Any]) -> Callable[..., Any]:
    """A minimum or maximum of three."""

    def evaluate(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        return pairwise(pairwise(a, b), c, out=out)

    return evaluate


def copy_sign(a: Any, b: Any, out: Any = None) -> Any:
    """b with the sign of a, NaNs too."""
    sign = bits_of(a).dtype.type(1 << (8 * a.dtype.itemsize - 1))
    result = np.bitwise_or(np.bitwise_and(bits_of(a), sign), np.bitwise_and(bits_of(b), sign - type(sign)(1)))
    if out is None:
        return result.view(a.dtype)
    np.copyto(out, result.view(a.dtype))
    return out


def _subnormal(a: Any) -> Any:
    least = np.finfo(a.dtype).smallest_normal
    return (np.abs(a) < least) & (a != 0)


_PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= np.finfo(a.dtype).smallest_normal) | (a == 0)),
    "subnormal": _subnormal,
}


def has_property(name: str) -> Callable[..., Any]:
    """testp: whether a float has a property."""
    test = _PROPERTIES[name]

    def evaluate(a: Any, out: Any = None) -> Any:
        return test(a)

    return evaluate


def on_pairs(operation: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on f32 done on both halves of f32x2 (u64 bits), NaN canonical."""

    def evaluate(*sources: Any) -> Any:
        return merged(canonical(operation(*[split(source, np.float32) for source in sources])), np.uint64)

    return evaluate
