"""Functions that go element by element, and those that bring elements together; integers stay exact."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import Array, decode, encode
from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.driver.checks.expression_bounds import Bounds, TooLarge
from teenycuda_cli.driver.checks.expression_integers import (
    LEAST,
    MOST_BITS,
    Operator,
    exact,
    extent,
    fits,
    is_exact,
    magnitude,
    truncated,
    unbounded,
    wrapped,
)
from teenycuda_cli.driver.checks.expression_registry import Body, function, plain_axis
from teenycuda_cli.driver.checks.expression_values import (
    alike,
    arithmetic,
    as_array,
    as_floats,
    broadcast_size,
    plain_index,
)

# ----------------------------------------------------------- elementwise


def _of_floats(ufunc: Any) -> Body:
    def body(bounds: Bounds, *values: Any) -> Any:
        bounds.allow(broadcast_size(*values))
        return ufunc(*map(as_floats, values))

    return body


def _of_fractions(ufunc: Any) -> Body:
    """What leaves integers as they are."""

    def body(_: Bounds, value: Any) -> Any:
        array = as_array(value)
        return array if is_exact(array) else ufunc(array)

    return body


def _of_pairs(ufunc: Any) -> Body:
    def body(bounds: Bounds, *values: Any) -> Any:
        bounds.allow(broadcast_size(*values))
        return ufunc(*alike(*values))

    return body


def _of_truth(ufunc: Any) -> Body:
    def body(bounds: Bounds, *values: Any) -> Any:
        bounds.allow(broadcast_size(*values))
        return ufunc(*(as_array(value) != 0 for value in values))

    return body


def _operation(op: Operator) -> Body:
    return lambda bounds, left, right: arithmetic(bounds, op, left, right)


_FLOATS = """
    exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh
    arccosh arctanh reciprocal isnan isinf isfinite signbit degrees radians
"""
_OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "mod remainder": operator.mod,
    "power pow": operator.pow,
}

for _name in _FLOATS.split():
    function(_name, 1, 1)(_of_floats(getattr(np, _name)))
for _name in ("hypot", "arctan2", "copysign", "logaddexp"):
    function(_name, 2, 2)(_of_floats(getattr(np, _name)))
for _name in ("floor", "ceil", "trunc", "rint", "conj"):
    function(_name, 1, 1)(_of_fractions(getattr(np, _name)))
for _name in ("minimum", "maximum", "fmin", "fmax"):
    function(_name, 2, 2)(_of_pairs(getattr(np, _name)))
for _name in ("logical_and", "logical_or", "logical_xor"):
    function(_name, 2, 2)(_of_truth(getattr(np, _name)))
for _name, _op in _OPERATORS.items():
    function(_name, 2, 2)(_operation(_op))
function("logical_not", 1, 1)(_of_truth(np.logical_not))
function("sign", 1, 1)(_of_pairs(np.sign))
function("square", 1, 1)(lambda bounds, value: arithmetic(bounds, operator.mul, value, value))


@function("negative", 1, 1)
def negative(bounds: Bounds, value: Any) -> Any:
    """The value with the other sign; 0.0 becomes -0.0."""
    array = as_array(value)
    return exact(bounds, operator.sub, 0, array) if is_exact(array) else -array


@function("absolute abs fabs", 1, 1)
def _absolute(bounds: Bounds, value: Any) -> Any:
    array = as_array(value)
    return np.abs(unbounded(bounds, array) if is_exact(array) and extent(array)[0] == LEAST else array)


@function("fmod", 2, 2)
def _fmod(bounds: Bounds, left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend, as C's `%`."""
    bounds.allow(broadcast_size(left, right))
    a, b = alike(left, right)
    if not is_exact(a) or not np.all(b != 0):
        return np.fmod(as_floats(a), as_floats(b))
    if a.dtype.kind == "i":
        return np.fmod(a, b)
    rest = np.abs(a) % np.abs(b)
    return np.where(a < 0, -rest, rest)


@function("round", 1, 2, "decimals")
def _round(_: Bounds, value: Any, decimals: Any = 0) -> Any:
    array, digits = as_array(value), int(plain_index(decimals))
    return array if is_exact(array) and digits >= 0 else np.round(as_floats(array), digits)


@function("clip", 3, 3)
def _clip(bounds: Bounds, value: Any, low: Any, high: Any) -> Any:
    bounds.allow(broadcast_size(*(each for each in (value, low, high) if each is not None)))
    result = as_array(value)
    if low is not None:
        result = np.maximum(*alike(result, low))
    return np.minimum(*alike(result, high)) if high is not None else result


@function("where", 3, 3)
def _where(bounds: Bounds, condition: Any, yes: Any, no: Any) -> Any:
    bounds.allow(broadcast_size(condition, yes, no))
    return np.where(as_array(condition) != 0, *alike(yes, no))


@function("erf", 1, 1)
def _erf(_: Bounds, value: Any) -> Any:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(as_floats(value)), dtype=np.float64)


@function("astype", 2, 2)
def _astype(bounds: Bounds, value: Any, element: Any) -> Any:
    """Rounded to an element type and back; toward zero and modulo 2^bits for integers, as C casts."""
    if not isinstance(element, ElementType):
        raise TypeError("astype takes a type: f16, bf16, f32, i32, u8, bool …")
    array = as_array(value)
    if element.kind == "bool":
        return array != 0
    if element.kind == "complex" or array.dtype.kind == "c":
        return array.astype(np.complex128)
    if element.kind == "float":
        return decode(element, encode(element, array.astype(np.float64) if array.dtype == object else array))
    if is_exact(array):
        return wrapped(bounds, array, element.lowest, element.bits)
    finite = np.isfinite(array)
    whole = wrapped(bounds, truncated(np.where(finite, array, 0.0)), element.lowest, element.bits)
    return whole if finite.all() else np.where(finite, as_floats(whole), np.nan)


# ------------------------------------------------------------ reductions


def _statistic(reduce: Any) -> Body:
    def body(_: Bounds, value: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return reduce(as_floats(value), axis=plain_axis(axis), keepdims=bool(keepdims))

    return body


def _extreme(reduce: Any) -> Body:
    def body(_: Bounds, value: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return reduce(as_array(value), axis=plain_axis(axis), keepdims=bool(keepdims))

    return body


def _truth(reduce: Any) -> Body:
    def body(_: Bounds, value: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return reduce(as_array(value) != 0, axis=plain_axis(axis), keepdims=bool(keepdims))

    return body


def _summed(reduce: Any) -> Body:
    def body(bounds: Bounds, value: Any, axis: Any = None, **keywords: Any) -> Any:
        array = as_array(value)
        if is_exact(array):
            most = magnitude(array) * array.size
            array = array if fits(-most, most) else unbounded(bounds, array)
        return reduce(array, axis=plain_axis(axis), **keywords)

    return body


def _multiplied(reduce: Any) -> Body:
    def body(bounds: Bounds, value: Any, axis: Any = None, **keywords: Any) -> Any:
        array = as_array(value)
        if is_exact(array):
            bits = _bits_of_product(array, plain_axis(axis))
            if bits > MOST_BITS:
                raise TooLarge(
                    f"a product of more than {MOST_BITS} bits; .astype(f64) makes it one of floats"
                )
            array = array if bits < 62 else unbounded(bounds, array)
        return reduce(array, axis=plain_axis(axis), **keywords)

    return body


def _bits_of_product(array: Array, axis: Any) -> float:
    """At most how many bits the products along an axis have, to a small part of one."""
    lengths = np.log2(np.maximum(np.abs(array.astype(np.float64)), 1.0))
    return float(np.max(lengths.sum(axis=axis), initial=0.0))


for _name in ("mean", "std", "var", "median"):
    function(_name, 1, 2, "axis keepdims")(_statistic(getattr(np, _name)))
for _name in ("max", "min", "amax", "amin", "argmax", "argmin"):
    function(_name, 1, 2, "axis keepdims")(_extreme(getattr(np, _name)))
for _name in ("any", "all", "count_nonzero"):
    function(_name, 1, 2, "axis keepdims")(_truth(getattr(np, _name)))
function("nanmax", 1, 2, "axis keepdims")(_extreme(np.fmax.reduce))
function("nanmin", 1, 2, "axis keepdims")(_extreme(np.fmin.reduce))
function("sum", 1, 2, "axis keepdims")(_summed(np.sum))
function("prod", 1, 2, "axis keepdims")(_multiplied(np.prod))
function("cumsum", 1, 2, "axis")(_summed(np.cumsum))
function("cumprod", 1, 2, "axis")(_multiplied(np.cumprod))


@function("nansum", 1, 2, "axis keepdims")
def _nansum(bounds: Bounds, value: Any, axis: Any = None, **keywords: Any) -> Any:
    array = as_array(value)
    if not is_exact(array):
        array = np.where(np.isnan(array), 0.0, array)
    return _summed(np.sum)(bounds, array, axis, **keywords)


@function("ptp", 1, 2, "axis keepdims")
def _ptp(bounds: Bounds, value: Any, axis: Any = None, keepdims: Any = False) -> Any:
    greatest = _extreme(np.max)(bounds, value, axis, keepdims)
    return arithmetic(bounds, operator.sub, greatest, _extreme(np.min)(bounds, value, axis, keepdims))


@function("trace", 1, 1)
def _trace(bounds: Bounds, value: Any) -> Any:
    return _summed(np.sum)(bounds, np.diagonal(as_array(value)), -1)
