"""Directed rounding (.rz .rm .rp) of add, sub, mul, div, sqrt, rcp and fma, exact in every case.

Each operation is first rounded to nearest; the sign of what that rounding
lost then says whether to step to a neighbour. For f32 the lost part follows
exactly in f64. For f64 it comes from error-free transformations, and lanes
without room for their error terms are computed one by one in integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import exact
from teenycuda_cli.emulator.numerics.blocks import blockwise
from teenycuda_cli.emulator.numerics.fma import fma32, fma64, of_specials, two_product, two_sum

_ROOM_LOW = 2.0**-400
_ROOM_HIGH = 2.0**400


def stepped(nearest: Any, lost: Any, mode: str) -> Any:
    """The neighbour of `nearest` that a mode asks for, `lost` having the sign of exact − nearest.

    Bits of neighbours differ by one: up in magnitude is +1, infinity and zero included.
    """
    nearest = np.asarray(nearest)
    bits = nearest.view(f"i{nearest.dtype.itemsize}")
    negative = np.signbit(nearest)
    if mode == "rz":
        step = np.negative((np.where(negative, lost, -lost) > 0).view(np.int8))
    else:
        moves = (lost < 0 if mode == "rm" else lost > 0).view(np.int8)
        grows = negative if mode == "rm" else np.logical_not(negative)
        step = np.multiply(moves, np.subtract(2 * grows.view(np.int8), np.int8(1)))
    return np.add(bits, step, dtype=bits.dtype).view(nearest.dtype)[()]


def _signs(value: Any, mode: str, exact_zero: Any) -> Any:
    """An exact zero sum of opposite signs is −0 when rounding down."""
    if mode != "rm" or not np.any(exact_zero):
        return value
    return np.where(exact_zero, -value.dtype.type(0), value)[()]


def narrowed(value: Any, mode: str) -> Any:
    """f64 to f32 in a mode."""
    nearest = np.asarray(value).astype(np.float32)[()]
    if mode == "rn":
        return nearest
    return stepped(nearest, np.asarray(_compare(value, nearest)), mode)


def _compare(value: Any, nearest: Any) -> Any:
    """The sign of value − nearest, without ∞ − ∞."""
    return np.subtract(np.greater(value, nearest).view(np.int8), np.less(value, nearest).view(np.int8))


def _zero_of_opposites(a: Any, b: Any, total: Any) -> Any:
    zero = np.equal(total, 0)
    return zero & ((a != 0) | (np.signbit(a) != np.signbit(b))) if zero.any() else zero


def _sum32(total: Any, error: Any, mode: str) -> Any:
    """An f64 sum and its error as f32: where the sum is an f32 itself, the error says what was lost."""
    nearest = np.asarray(total).astype(np.float32)
    lost = _compare(total, nearest)
    tied = np.equal(lost, 0) & np.not_equal(error, 0)
    if tied.any():
        lost = np.where(tied & np.isfinite(total), np.sign(error), lost)
    return stepped(nearest, lost, mode)


def _add32(mode: str) -> Callable[..., Any]:
    def add(a: Any, b: Any) -> Any:
        total, error = two_sum(a.astype(np.float64), b.astype(np.float64))
        return _signs(_sum32(total, error, mode), mode, _zero_of_opposites(a, b, total))

    return add


def _mul32(mode: str) -> Callable[..., Any]:
    def multiply(a: Any, b: Any) -> Any:
        return narrowed(np.multiply(a, b, dtype=np.float64), mode)

    return multiply


def _fma32(mode: str) -> Callable[..., Any]:
    def fma(a: Any, b: Any, c: Any) -> Any:
        product = np.multiply(a, b, dtype=np.float64)
        total, error = two_sum(product, c.astype(np.float64))
        return _signs(_sum32(total, error, mode), mode, _zero_of_opposites(product, c, total))

    return fma


def _div32(mode: str) -> Callable[..., Any]:
    def divide(a: Any, b: Any) -> Any:
        nearest = np.divide(a, b)
        back = np.multiply(nearest, b, dtype=np.float64)
        lost = _compare(a, back) * np.where(np.signbit(b), np.int8(-1), np.int8(1))
        settled = np.isinf(a) | (b == 0) | np.isinf(b)
        return stepped(nearest, np.where(settled, np.int8(0), lost), mode)

    return divide


def _sqrt32(mode: str) -> Callable[..., Any]:
    def root(a: Any) -> Any:
        nearest = np.sqrt(a)
        lost = _compare(a, np.multiply(nearest, nearest, dtype=np.float64))
        return stepped(nearest, np.where(np.isinf(a), np.int8(0), lost), mode)

    return root


# ------------------------------------------------------------------------ f64


def _repaired(result: Any, doubtful: Any, single: Callable[..., float], sources: tuple[Any, ...]) -> Any:
    """`result` with the doubtful lanes computed singly."""
    doubtful = np.broadcast_to(doubtful, np.shape(result))
    if not doubtful.any():
        return result
    result = np.array(result)
    lanes = result.reshape(-1)
    flat = [np.broadcast_to(source, result.shape).reshape(-1) for source in sources]
    for lane in np.nonzero(doubtful.reshape(-1))[0]:
        lanes[lane] = single(*[float(source[lane]) for source in flat])
    return result[()]


def _finite(*sources: Any) -> Any:
    held = np.isfinite(sources[0])
    for source in sources[1:]:
        held = held & np.isfinite(source)
    return held


def _roomy(*sources: Any) -> Any:
    held: Any = True
    for source in sources:
        magnitude = np.abs(source)
        held = held & (magnitude > _ROOM_LOW) & (magnitude < _ROOM_HIGH)
    return held


def _add64(mode: str) -> Callable[..., Any]:
    def add(a: Any, b: Any) -> Any:
        total, lost = two_sum(a, b)
        finite = _finite(a, b)
        result = stepped(total, np.where(finite, lost, 0.0), mode)
        result = _signs(result, mode, _zero_of_opposites(a, b, total) & finite)
        large = finite & (np.maximum(np.abs(a), np.abs(b)) > 2.0**1000)
        return _repaired(result, large, lambda x, y: exact.fma(1.0, x, y, mode, exact.F64), (a, b))

    return add


def _mul64(mode: str) -> Callable[..., Any]:
    def multiply(a: Any, b: Any) -> Any:
        product, lost = two_product(a, b)
        plain = a * b
        usual = _roomy(a, b)
        result = np.where(usual, stepped(product, np.where(usual, lost, 0.0), mode), plain)
        odd = _finite(a, b) & (a != 0) & (b != 0) & ~usual
        return _repaired(result, odd, lambda x, y: exact.fma(x, y, 0.0, mode, exact.F64), (a, b))

    return multiply


def _fma64(mode: str) -> Callable[..., Any]:
    def fma(a: Any, b: Any, c: Any) -> Any:
        product, low = two_product(a, b)
        total, rest = two_sum(product, c)
        tail, last = two_sum(rest, low)
        nearest, lost = two_sum(total, tail)
        lost = np.where(lost != 0, lost, last)
        return stepped(nearest, lost, mode)

    def evaluate(a: Any, b: Any, c: Any) -> Any:
        usual = _roomy(a, b) & _roomy(c)
        nearest = np.asarray(fma(a, b, c))
        result = np.where(usual, nearest, of_specials(a, b, c))
        singly = ~usual & _finite(a, b, c) | _zero_of_opposites(a, b, nearest)
        return _repaired(result, singly, lambda x, y, z: exact.fma(x, y, z, mode, exact.F64), (a, b, c))

    return evaluate


def _div64(mode: str) -> Callable[..., Any]:
    def divide(a: Any, b: Any) -> Any:
        nearest = np.divide(a, b)
        back, low = two_product(nearest, b)
        lost = ((a - back) - low) * np.where(np.signbit(b), -1.0, 1.0)
        usual = _roomy(a, b) & _roomy(nearest)
        result = np.where(usual, stepped(nearest, np.where(usual, lost, 0.0), mode), nearest)
        singly = _finite(a, b) & (a != 0) & (b != 0) & ~usual
        return _repaired(result, singly, lambda x, y: exact.divide(x, y, mode, exact.F64), (a, b))

    return divide


def _sqrt64(mode: str) -> Callable[..., Any]:
    def root(a: Any) -> Any:
        nearest = np.sqrt(a)
        back, low = two_product(nearest, nearest)
        usual = _roomy(a) & (a > 0)
        lost = np.where(usual, (a - back) - low, 0.0)
        result = np.where(usual, stepped(nearest, lost, mode), nearest)
        singly = (a > 0) & np.isfinite(a) & ~usual
        return _repaired(result, singly, lambda x: exact.root(x, mode, exact.F64), (a,))

    return root


def _reciprocal(divide: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(a: Any, out: Any = None) -> Any:
        return divide(a.dtype.type(1), a, out=out)

    return evaluate


_DIRECTED: dict[tuple[str, str], Callable[[str], Callable[..., Any]]] = {
    ("add", "f32"): _add32,
    ("mul", "f32"): _mul32,
    ("fma", "f32"): _fma32,
    ("div", "f32"): _div32,
    ("sqrt", "f32"): _sqrt32,
    ("add", "f64"): _add64,
    ("mul", "f64"): _mul64,
    ("fma", "f64"): _fma64,
    ("div", "f64"): _div64,
    ("sqrt", "f64"): _sqrt64,
}
_NEAREST: dict[tuple[str, str], Callable[..., Any]] = {
    ("fma", "f32"): fma32,
    ("fma", "f64"): fma64,
}
_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
}


def operation(name: str, kind: str, mode: str) -> Callable[..., Any]:
    """add sub mul div sqrt rcp fma on f32 or f64 in a rounding mode; "" is to nearest."""
    if name == "rcp":
        return _reciprocal(operation("div", kind, mode))
    if mode in ("", "rn"):
        return _NEAREST.get((name, kind)) or _UFUNCS[name]
    if name == "sub":
        add = operation("add", kind, mode)
        return lambda a, b, out=None: add(a, np.negative(b), out=out)
    return blockwise(_DIRECTED[name, kind](mode), np.float32 if kind == "f32" else np.float64)
