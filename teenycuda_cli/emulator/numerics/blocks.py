"""Long arrays worked through in pieces, so that temporaries stay in the cache and off the page-fault path."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype

LANES = 12288
"""Lanes of a piece: its f64 temporaries still come from the allocator's heap, not page by page."""


def blockwise(function: Callable[..., Any], result: Any, lanes: int = LANES) -> Callable[..., Any]:
    """An evaluate that calls `function(*sources)` on at most so many lanes at a time.

    `result` is the dtype of what it gives. The function never sees `out`; it
    may return an array without dimensions for scalars.
    """
    result = np.dtype(result)

    def evaluate(*sources: Any, out: Any = None) -> Any:
        shape = shape_of(sources, out)
        if math.prod(shape) <= lanes:
            value = function(*sources)
            if out is None:
                return value if shape else np.asarray(value)[()]
            np.copyto(out, value)
            return out
        target = np.empty(shape, result) if out is None else out
        for piece, parts in slabs(target, sources, lanes):
            piece[...] = function(*parts)
        return target

    return evaluate


def blocked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`blockwise` for a function that gives a PTX type."""
    return blockwise(function, dtype(name))


def shape_of(sources: tuple[Any, ...], out: Any) -> tuple[int, ...]:
    """The shape of an evaluate's result."""
    if out is not None:
        return tuple(out.shape)
    return np.broadcast_shapes(*[np.shape(source) for source in sources])


def slabs(
    target: Any, sources: tuple[Any, ...], lanes: int = LANES, *, whole: bool = True
) -> Iterator[tuple[Any, list[Any]]]:
    """`target` and the sources cut along the outer axes into pieces of so many lanes, nothing copied.

    Sources come in the piece's shape; unless `whole`, in one that broadcasts to it.
    """
    arrays = [np.asarray(source) for source in sources]
    shape = target.shape
    if all(array.ndim == 0 or (array.shape == shape and array.flags.c_contiguous) for array in arrays):
        target = target.reshape(-1)
        arrays = [array.reshape(-1) if array.ndim else array for array in arrays]
    elif whole or any(0 < array.ndim < len(shape) for array in arrays):
        arrays = [np.broadcast_to(array, shape) if array.ndim else array for array in arrays]
    yield from _cut(target, arrays, lanes)


def _cut(target: Any, arrays: list[Any], lanes: int) -> Iterator[tuple[Any, list[Any]]]:
    if target.size <= lanes:
        yield target, arrays
        return
    rows = len(target)
    step = max(1, lanes * rows // target.size)
    for start in range(0, rows, step):
        place: Any = slice(start, start + step) if step > 1 or target.ndim == 1 else start
        repeated: Any = slice(None) if isinstance(place, slice) else 0
        parts = [
            array[place if len(array) == rows else repeated] if array.ndim else array for array in arrays
        ]
        yield from _cut(target[place], parts, lanes)
