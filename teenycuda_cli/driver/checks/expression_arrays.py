"""Functions that shape arrays, make them, and multiply matrices; integers stay exact."""

from __future__ import annotations

import math
import operator
from math import prod
from typing import Any

import numpy as np

from teenycuda_cli.driver.checks.expression_bounds import Bounds
from teenycuda_cli.driver.checks.expression_integers import (
    EXACT,
    WEIGHT,
    exact,
    fits,
    is_exact,
    magnitude,
    unbounded,
)
from teenycuda_cli.driver.checks.expression_registry import Body, function, plain_axis
from teenycuda_cli.driver.checks.expression_values import (
    alike,
    arithmetic,
    as_array,
    as_floats,
    plain_index,
    plain_shape,
    whole_numbers,
)

MOST_ITEMS = 64  # values given to one function

# ----------------------------------------------------------------- shape


def _along(change: Any, default: Any) -> Body:
    def body(_: Bounds, value: Any, axis: Any = default) -> Any:
        return change(as_array(value), axis=plain_axis(axis))

    return body


for _name in ("flip", "squeeze"):
    function(_name, 1, 2, "axis")(_along(getattr(np, _name), None))
for _name in ("sort", "argsort"):
    function(_name, 1, 2, "axis")(_along(getattr(np, _name), -1))


@function("reshape", 2, MOST_ITEMS)
def _reshape(_: Bounds, value: Any, *shape: Any) -> Any:
    return as_array(value).reshape(plain_shape(shape[0] if len(shape) == 1 else shape))


@function("transpose", 1, MOST_ITEMS)
def _transpose(_: Bounds, value: Any, *axes: Any) -> Any:
    order = plain_shape(axes[0] if len(axes) == 1 else axes) if axes else None
    return np.transpose(as_array(value), order)


@function("flatten ravel", 1, 1)
def _ravel(_: Bounds, value: Any) -> Any:
    return as_array(value).ravel()


@function("swapaxes", 3, 3)
def _swapaxes(_: Bounds, value: Any, first: Any, second: Any) -> Any:
    return np.swapaxes(as_array(value), plain_index(first), plain_index(second))


@function("expand_dims", 2, 2, "axis")
def _expand_dims(_: Bounds, value: Any, axis: Any) -> Any:
    return np.expand_dims(as_array(value), plain_axis(axis))


@function("broadcast_to", 2, 2)
def _broadcast_to(bounds: Bounds, value: Any, shape: Any) -> Any:
    bounds.allow(prod(plain_shape(shape)))
    return np.broadcast_to(as_array(value), plain_shape(shape)).copy()


def _joined(join: Any) -> Body:
    def body(bounds: Bounds, values: Any, axis: Any = 0) -> Any:
        if not isinstance(values, (tuple, list)):
            raise TypeError("several arrays are needed, in brackets: [a, b]")
        bounds.allow(sum(np.size(value) for value in values))
        return join(alike(*values), axis=plain_axis(axis))

    return body


function("concatenate", 1, 2, "axis")(_joined(np.concatenate))
function("stack", 1, 2, "axis")(_joined(np.stack))


@function("roll", 2, 3, "axis")
def _roll(_: Bounds, value: Any, shift: Any, axis: Any = None) -> Any:
    return np.roll(as_array(value), plain_index(shift), axis=plain_axis(axis))


@function("repeat", 2, 3, "axis")
def _repeat(bounds: Bounds, value: Any, times: Any, axis: Any = None) -> Any:
    count = plain_index(times)
    if not isinstance(count, int) or count < 0:
        raise ValueError("repeat takes one count")
    bounds.allow(np.size(value) * count)
    return np.repeat(as_array(value), count, axis=plain_axis(axis))


@function("tile", 2, 2)
def _tile(bounds: Bounds, value: Any, times: Any) -> Any:
    counts = plain_shape(times)
    if min(counts) < 0:
        raise ValueError("tile takes counts")
    bounds.allow(np.size(value) * prod(counts))
    return np.tile(as_array(value), counts)


@function("take", 2, 3, "axis")
def _take(bounds: Bounds, value: Any, indices: Any, axis: Any = None) -> Any:
    array = as_array(value)
    length = array.size if axis is None else array.shape[plain_index(axis)]
    bounds.allow(np.size(indices) * (array.size // max(1, length)))
    return np.take(array, plain_index(indices), axis=plain_axis(axis))


@function("diag", 1, 1)
def _diag(bounds: Bounds, value: Any) -> Any:
    array = as_array(value)
    if array.ndim == 1:
        bounds.allow(array.size**2)
    return np.diag(array)


def _triangle(cut: Any) -> Body:
    def body(_: Bounds, value: Any, diagonal: Any = 0) -> Any:
        return cut(as_array(value), int(plain_index(diagonal)))

    return body


function("tril", 1, 2)(_triangle(np.tril))
function("triu", 1, 2)(_triangle(np.triu))


@function("diff", 1, 2, "axis")
def _diff(bounds: Bounds, value: Any, axis: Any = -1) -> Any:
    array = np.moveaxis(as_array(value), plain_index(axis), -1)
    return np.moveaxis(
        arithmetic(bounds, operator.sub, array[..., 1:], array[..., :-1]), -1, plain_index(axis)
    )


# -------------------------------------------------------------- creation


@function("arange", 1, 3)
def _arange(bounds: Bounds, first: Any, last: Any = None, step: Any = 1) -> Any:
    start, stop = (0, first) if last is None else (first, last)
    ends = [as_array(number)[()] for number in (start, stop, step)]
    if not all(np.ndim(end) == 0 and np.isreal(end) and abs(end) < math.inf for end in ends) or not ends[2]:
        raise ValueError("arange takes finite numbers, and a step other than 0")
    if all(isinstance(end, (int, np.int64)) for end in ends):
        begin, end, by = map(int, ends)
        count = max(0, -((begin - end) // by))
        bounds.allow(count)
        return exact(bounds, operator.add, exact(bounds, operator.mul, np.arange(count), by), begin)
    numbers = [float(as_floats(end)) for end in ends]
    bounds.allow(max(0, math.ceil((numbers[1] - numbers[0]) / numbers[2])))
    return np.arange(*numbers, dtype=np.float64)


@function("linspace", 3, 3)
def _linspace(bounds: Bounds, first: Any, last: Any, count: Any) -> Any:
    bounds.allow(plain_index(count))
    return np.linspace(float(as_floats(first)), float(as_floats(last)), plain_index(count))


def _filled(number: float) -> Body:
    def body(bounds: Bounds, shape: Any) -> Any:
        extents = plain_shape(shape)
        bounds.allow(prod(extents))
        return np.full(extents, number)

    return body


function("zeros", 1, 1)(_filled(0.0))
function("ones", 1, 1)(_filled(1.0))


@function("full", 2, 2)
def _full(bounds: Bounds, shape: Any, number: Any) -> Any:
    extents = plain_shape(shape)
    bounds.allow(prod(extents))
    return np.full(extents, as_array(number))


def _like(number: float) -> Body:
    def body(_: Bounds, value: Any) -> Any:
        return np.full(np.shape(value), number)

    return body


function("zeros_like", 1, 1)(_like(0.0))
function("ones_like", 1, 1)(_like(1.0))


@function("full_like", 2, 2)
def _full_like(_: Bounds, value: Any, number: Any) -> Any:
    return np.full(np.shape(value), as_array(number))


@function("eye identity", 1, 2)
def _eye(bounds: Bounds, rows: Any, columns: Any = None) -> Any:
    height = plain_index(rows)
    width = height if columns is None else plain_index(columns)
    bounds.allow(height * width)
    return np.eye(height, width)


@function("array asarray copy", 1, 1)
def _array(_: Bounds, value: Any) -> Any:
    return as_array(value)


# --------------------------------------------------------------- algebra


@function("matmul dot", 2, 2)
def _matmul(bounds: Bounds, left: Any, right: Any) -> Any:
    a, b = alike(left, right)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("a matrix product of a scalar; use *")
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError(f"a matrix product of shapes {a.shape} and {b.shape}")
    columns = b.shape[-1] if b.ndim > 1 else 1
    rows = a.shape[-2] if a.ndim > 1 else 1
    batch = prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    bounds.allow(batch * rows * columns)
    products = batch * rows * columns * a.shape[-1]
    if not is_exact(a):
        bounds.multiply(products)
        return np.matmul(a, b)
    most = magnitude(a) * magnitude(b) * a.shape[-1]
    if most <= EXACT:
        bounds.multiply(products)
        return np.matmul(as_floats(a), as_floats(b)).astype(np.int64)
    bounds.multiply(SLOWER * products)
    if fits(-most, most):
        return np.matmul(a, b)
    bounds.allow(WEIGHT * batch * rows * columns)
    return np.matmul(unbounded(bounds, a), unbounded(bounds, b))


SLOWER = 256
"""How many products of floats take as long as one of integers beyond 2^53, which no library multiplies."""


@function("outer", 2, 2)
def _outer(bounds: Bounds, left: Any, right: Any) -> Any:
    return arithmetic(bounds, operator.mul, as_array(left).reshape(-1, 1), as_array(right).reshape(1, -1))


@function("bincount", 1, 2, "minlength")
def _bincount(bounds: Bounds, value: Any, minlength: Any = 0) -> Any:
    indices = np.asarray(whole_numbers(as_array(value)))
    if indices.ndim != 1 or (indices.size and indices.min() < 0):
        raise ValueError("bincount takes numbers from 0 in one dimension; .ravel() makes one of several")
    bounds.allow(max(int(indices.max(initial=0)) + 1, plain_index(minlength)))
    return np.bincount(indices, minlength=plain_index(minlength))
