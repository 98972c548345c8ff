"""The functions that an expression can call: a list of numpy's own, within bounds.

Each takes plain values and keyword parameters out of a fixed set; none reaches
`out=`, a file or an object. Results are float64, complex128 or bool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import decode, encode
from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.driver.checks.expression_bounds import Bounds
from teenycuda_cli.driver.checks.expression_values import (
    as_array,
    as_number,
    broadcast_size,
    plain_index,
    plain_shape,
    whole_numbers,
)
from teenycuda_cli.wording import plural

Body: TypeAlias = Callable[..., Any]
MOST_ITEMS = 64  # values given to one function


@dataclass(frozen=True, slots=True)
class Function:
    """A callable of the language: how many positional values, which keywords."""

    name: str
    body: Body
    least: int
    most: int
    keywords: frozenset[str]

    def __call__(self, bounds: Bounds, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Check the values' number and the keywords' names, and call; raises what the body does."""
        count = len(positional)
        if not self.least <= count <= self.most:
            wanted = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
            raise TypeError(f"{self.name} takes {wanted} {plural(self.most, 'value')}, not {count}")
        for keyword in keywords:
            if keyword not in self.keywords:
                known = f"; it takes {', '.join(sorted(self.keywords))}" if self.keywords else ""
                raise TypeError(f"{self.name} has no parameter {keyword!r}{known}")
        return self.body(bounds, *positional, **keywords)


FUNCTIONS: dict[str, Function] = {}


def _function(names: str, least: int, most: int, keywords: str = "") -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        for name in names.split():
            FUNCTIONS[name] = Function(name, body, least, most, frozenset(keywords.split()))
        return body

    return register


def _axis(axis: Any) -> Any:
    if isinstance(axis, np.ndarray):
        raise ValueError(
            "an axis is a whole number; for two arrays there are maximum(a, b) and minimum(a, b)"
        )
    return None if axis is None else plain_index(tuple(axis) if isinstance(axis, list) else axis)


# ------------------------------------------------------------- families


def _elementwise(ufunc: Any) -> Body:
    def body(bounds: Bounds, *values: Any) -> Any:
        bounds.allow(broadcast_size(*values))
        return ufunc(*(as_array(value) for value in values))[()]

    return body


def _logical(ufunc: Any) -> Body:
    def body(bounds: Bounds, *values: Any) -> Any:
        bounds.allow(broadcast_size(*values))
        return ufunc(*values)

    return body


def _reduction(function: Any) -> Body:
    def body(_: Bounds, value: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return as_number(function(as_array(value), axis=_axis(axis), keepdims=bool(keepdims)))

    return body


def _truth(function: Any) -> Body:
    def body(_: Bounds, value: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return function(np.asarray(value), axis=_axis(axis), keepdims=bool(keepdims))

    return body


def _along(function: Any, default: Any) -> Body:
    def body(_: Bounds, value: Any, axis: Any = default) -> Any:
        return as_number(function(as_array(value), axis=_axis(axis)))

    return body


_UNARY = """
    exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh
    arccosh arctanh absolute fabs sign floor ceil trunc rint square reciprocal negative isnan isinf isfinite
    signbit degrees radians conj
"""
_BINARY = """
    minimum maximum fmin fmax hypot arctan2 power mod fmod remainder floor_divide add subtract multiply divide
    copysign logaddexp
"""
_REDUCTIONS = "sum prod max min amax amin mean std var argmax argmin median nansum nanmax nanmin ptp"

for _name in _UNARY.split():
    _function(_name, 1, 1)(_elementwise(getattr(np, _name)))
for _name in _BINARY.split():
    _function(_name, 2, 2)(_elementwise(getattr(np, _name)))
for _name in _REDUCTIONS.split():
    _function(_name, 1, 2, "axis keepdims")(_reduction(getattr(np, _name)))
for _name in ("any", "all", "count_nonzero"):
    _function(_name, 1, 2, "axis keepdims")(_truth(getattr(np, _name)))
for _name in ("cumsum", "cumprod", "flip", "squeeze"):
    _function(_name, 1, 2, "axis")(_along(getattr(np, _name), None))
for _name in ("sort", "argsort"):
    _function(_name, 1, 2, "axis")(_along(getattr(np, _name), -1))
for _name in ("logical_and", "logical_or", "logical_xor"):
    _function(_name, 2, 2)(_logical(getattr(np, _name)))
_function("logical_not", 1, 1)(_logical(np.logical_not))
_function("trace", 1, 1)(lambda _, value: as_number(np.trace(as_array(value))))
_function("abs", 1, 1)(_elementwise(np.absolute))
_function("pow", 2, 2)(_elementwise(np.power))


# ----------------------------------------------------------- elementwise


@_function("round", 1, 2, "decimals")
def _round(_: Bounds, value: Any, decimals: Any = 0) -> Any:
    return as_number(np.round(as_array(value), int(plain_index(decimals))))


@_function("clip", 3, 3)
def _clip(bounds: Bounds, value: Any, low: Any, high: Any) -> Any:
    limits = [as_array(limit) for limit in (low, high) if limit is not None]
    bounds.allow(broadcast_size(value, *limits))
    result = as_array(value)
    if low is not None:
        result = np.maximum(result, as_array(low))
    return (np.minimum(result, as_array(high)) if high is not None else result)[()]


@_function("where", 3, 3)
def _where(bounds: Bounds, condition: Any, yes: Any, no: Any) -> Any:
    bounds.allow(broadcast_size(condition, yes, no))
    return np.where(np.asarray(condition) != 0, as_array(yes), as_array(no))[()]


@_function("erf", 1, 1)
def _erf(_: Bounds, value: Any) -> Any:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(as_array(value)), dtype=np.float64)[()]


@_function("astype", 2, 2)
def _astype(_: Bounds, value: Any, element: Any) -> Any:
    """Rounded to an element type and back; toward zero and modulo 2^bits for integers, as C casts."""
    if not isinstance(element, ElementType):
        raise TypeError("astype takes a type: f16, bf16, f32, i32, u8, bool …")
    array = as_array(value)
    if element.kind == "bool":
        return (array != 0)[()]
    if element.kind == "complex" or array.dtype.kind == "c":
        return array.astype(np.complex128)[()]
    if element.kind == "float":
        return as_number(decode(element, encode(element, array)))
    whole = np.trunc(array)
    span = 2.0**element.bits
    wrapped = np.mod(whole, span)
    return np.where(wrapped > element.highest, wrapped - span, wrapped)[()]


# ----------------------------------------------------------------- shape


@_function("reshape", 2, MOST_ITEMS)
def _reshape(_: Bounds, value: Any, *shape: Any) -> Any:
    return as_array(value).reshape(plain_shape(shape[0] if len(shape) == 1 else shape))


@_function("transpose", 1, MOST_ITEMS)
def _transpose(_: Bounds, value: Any, *axes: Any) -> Any:
    order = plain_shape(axes[0] if len(axes) == 1 else axes) if axes else None
    return np.transpose(as_array(value), order)


@_function("flatten ravel", 1, 1)
def _ravel(_: Bounds, value: Any) -> Any:
    return as_array(value).ravel()


@_function("swapaxes", 3, 3)
def _swapaxes(_: Bounds, value: Any, first: Any, second: Any) -> Any:
    return np.swapaxes(as_array(value), plain_index(first), plain_index(second))


@_function("expand_dims", 2, 2, "axis")
def _expand_dims(_: Bounds, value: Any, axis: Any) -> Any:
    return np.expand_dims(as_array(value), _axis(axis))


@_function("broadcast_to", 2, 2)
def _broadcast_to(bounds: Bounds, value: Any, shape: Any) -> Any:
    bounds.allow(prod(plain_shape(shape)))
    return np.broadcast_to(as_array(value), plain_shape(shape)).copy()


def _joined(function: Any) -> Body:
    def body(bounds: Bounds, values: Any, axis: Any = 0) -> Any:
        if not isinstance(values, (tuple, list)):
            raise TypeError("several arrays are needed, in brackets: [a, b]")
        bounds.allow(sum(np.size(value) for value in values))
        return function([as_array(value) for value in values], axis=_axis(axis))

    return body


_function("concatenate", 1, 2, "axis")(_joined(np.concatenate))
_function("stack", 1, 2, "axis")(_joined(np.stack))


@_function("roll", 2, 3, "axis")
def _roll(_: Bounds, value: Any, shift: Any, axis: Any = None) -> Any:
    return np.roll(as_array(value), plain_index(shift), axis=_axis(axis))


@_function("repeat", 2, 3, "axis")
def _repeat(bounds: Bounds, value: Any, times: Any, axis: Any = None) -> Any:
    count = plain_index(times)
    if not isinstance(count, int) or count < 0:
        raise ValueError("repeat takes one count")
    bounds.allow(np.size(value) * count)
    return np.repeat(as_array(value), count, axis=_axis(axis))


@_function("tile", 2, 2)
def _tile(bounds: Bounds, value: Any, times: Any) -> Any:
    counts = plain_shape(times)
    if min(counts) < 0:
        raise ValueError("tile takes counts")
    bounds.allow(np.size(value) * prod(counts))
    return np.tile(as_array(value), counts)


@_function("take", 2, 3, "axis")
def _take(bounds: Bounds, value: Any, indices: Any, axis: Any = None) -> Any:
    array = as_array(value)
    extent = array.size if axis is None else array.shape[plain_index(axis)]
    bounds.allow(np.size(indices) * (array.size // max(1, extent)))
    return np.take(array, plain_index(indices), axis=_axis(axis))


@_function("diag", 1, 1)
def _diag(bounds: Bounds, value: Any) -> Any:
    array = as_array(value)
    if array.ndim == 1:
        bounds.allow(array.size**2)
    return np.diag(array)


def _triangle(function: Any) -> Body:
    def body(_: Bounds, value: Any, diagonal: Any = 0) -> Any:
        return function(as_array(value), int(plain_index(diagonal)))

    return body


_function("tril", 1, 2)(_triangle(np.tril))
_function("triu", 1, 2)(_triangle(np.triu))


@_function("diff", 1, 2, "axis")
def _diff(_: Bounds, value: Any, axis: Any = -1) -> Any:
    return np.diff(as_array(value), axis=plain_index(axis))


# -------------------------------------------------------------- creation


@_function("arange", 1, 3)
def _arange(bounds: Bounds, first: Any, last: Any = None, step: Any = 1) -> Any:
    start, stop = (0, first) if last is None else (first, last)
    numbers = [float(as_number(number)) for number in (start, stop, step)]
    if not all(math.isfinite(number) for number in numbers) or not numbers[2]:
        raise ValueError("arange takes finite numbers, and a step other than 0")
    bounds.allow(max(0, math.ceil((numbers[1] - numbers[0]) / numbers[2])))
    return np.arange(*numbers, dtype=np.float64)


@_function("linspace", 3, 3)
def _linspace(bounds: Bounds, first: Any, last: Any, count: Any) -> Any:
    bounds.allow(plain_index(count))
    return np.linspace(float(as_number(first)), float(as_number(last)), plain_index(count))


def _filled(number: float) -> Body:
    def body(bounds: Bounds, shape: Any) -> Any:
        extents = plain_shape(shape)
        bounds.allow(prod(extents))
        return np.full(extents, number)

    return body


_function("zeros", 1, 1)(_filled(0.0))
_function("ones", 1, 1)(_filled(1.0))


@_function("full", 2, 2)
def _full(bounds: Bounds, shape: Any, number: Any) -> Any:
    extents = plain_shape(shape)
    bounds.allow(prod(extents))
    return np.full(extents, as_array(number))


def _like(number: float) -> Body:
    def body(_: Bounds, value: Any) -> Any:
        return np.full(np.shape(value), number)

    return body


_function("zeros_like", 1, 1)(_like(0.0))
_function("ones_like", 1, 1)(_like(1.0))


@_function("full_like", 2, 2)
def _full_like(_: Bounds, value: Any, number: Any) -> Any:
    return np.full(np.shape(value), as_array(number))


@_function("eye identity", 1, 2)
def _eye(bounds: Bounds, rows: Any, columns: Any = None) -> Any:
    height = plain_index(rows)
    width = height if columns is None else plain_index(columns)
    bounds.allow(height * width)
    return np.eye(height, width)


@_function("array asarray copy", 1, 1)
def _array(_: Bounds, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return np.stack([as_array(_array(_, item)) for item in value])
    return as_number(value)


# --------------------------------------------------------------- algebra


@_function("matmul dot", 2, 2)
def _matmul(bounds: Bounds, left: Any, right: Any) -> Any:
    a, b = as_array(left), as_array(right)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("a matrix product of a scalar; use *")
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError(f"a matrix product of shapes {a.shape} and {b.shape}")
    columns = b.shape[-1] if b.ndim > 1 else 1
    rows = a.shape[-2] if a.ndim > 1 else 1
    batch = prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    bounds.allow(batch * rows * columns)
    bounds.multiply(batch * rows * columns * a.shape[-1])
    return np.matmul(a, b)


@_function("outer", 2, 2)
def _outer(bounds: Bounds, left: Any, right: Any) -> Any:
    bounds.allow(np.size(left) * np.size(right))
    return np.outer(as_array(left), as_array(right))


@_function("bincount", 1, 2, "minlength")
def _bincount(bounds: Bounds, value: Any, minlength: Any = 0) -> Any:
    indices = np.asarray(whole_numbers(as_number(value)))
    if indices.ndim != 1 or (indices.size and indices.min() < 0):
        raise ValueError("bincount takes numbers from 0 in one dimension; .ravel() makes one of several")
    bounds.allow(max(int(indices.max(initial=0)) + 1, plain_index(minlength)))
    return np.bincount(indices, minlength=plain_index(minlength)).astype(np.float64)


_METHODS = """
    reshape astype sum max min mean std var prod any all argmax argmin cumsum cumprod dot transpose flatten
    ravel clip round sort argsort swapaxes squeeze copy conj repeat take trace ptp
"""
METHODS = tuple(_METHODS.split())
OUTLINED = {"zeros_like", "ones_like", "full_like"}  # of their first value the shape alone counts
