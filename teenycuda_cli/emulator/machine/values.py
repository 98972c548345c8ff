"""What a register holds: one integer for all lanes, an affine form of the lanes' coordinates, or an array.

Integers are kept in the signed range of their register's width, whatever the
type that an instruction reads them as: a Python int or an `Affine` where that
is possible, else a numpy array of the signed dtype. Floats are numpy scalars
or float arrays, predicates Python bools or bool arrays. An array's shape
broadcasts to the shape of the lanes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Extents: TypeAlias = tuple[int, ...]
"""Lanes along each axis of a batch: a box of blocks, then a box of threads; axes of one lane are left out."""

SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


class Affine:
    """`base + Σ steps[i] × coordinate[i]` over a box of lanes, exact, with its least and greatest value."""

    __slots__ = ("base", "extents", "high", "low", "made", "maker", "steps")

    def __init__(self, base: int, steps: tuple[int, ...], extents: Extents) -> None:
        """Work out the range at once; `made` is a place for `maker`, the lanes, to keep the array."""
        self.base = base
        self.steps = steps
        self.extents = extents
        low = high = base
        for step, extent in zip(steps, extents, strict=True):
            if step > 0:
                high += step * (extent - 1)
            elif step:
                low += step * (extent - 1)
        self.low = low
        self.high = high
        self.made: Any = None
        self.maker: Any = None


Exact: TypeAlias = "int | Affine"
"""A value that Python integers describe: the same for all lanes, or affine."""


def affine(base: int, steps: tuple[int, ...], extents: Extents) -> Exact:
    """The affine form, or its base where no step is left."""
    return Affine(base, steps, extents) if any(steps) else base


def wrap(value: int, width: int) -> int:
    """An integer brought into the signed range of a width."""
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def fit(value: Exact, width: int) -> Exact | None:
    """The same bits in the signed range of a width; None where lanes would wrap at different points."""
    if isinstance(value, int):
        half = 1 << (width - 1)
        return value if -half <= value < half else wrap(value, width)
    half = 1 << (width - 1)
    if value.low >= -half and value.high < half:
        return value
    turns = (value.low + half) >> width
    if (value.high + half) >> width != turns:
        return None
    return Affine(value.base - (turns << width), value.steps, value.extents)


def typed(value: Exact, signed: bool, width: int) -> Exact | None:
    """A register's value as an integer of a PTX type, exactly; None where lanes wrap differently."""
    if signed:
        return fit(value, width)
    if isinstance(value, int):
        return value & ((1 << width) - 1)
    if value.low >= 0 and not value.high >> width:
        return value
    turns = value.low >> width
    if value.high >> width != turns:
        return None
    return Affine(value.base - (turns << width), value.steps, value.extents)


def bounds(value: Exact) -> tuple[int, int]:
    """The least and the greatest value over the lanes."""
    return (value, value) if isinstance(value, int) else (value.low, value.high)


def trailing_zeros(value: Exact) -> int:
    """How many low bits are zero in every lane; 64 for zero."""
    bits = value if isinstance(value, int) else value.base
    if not isinstance(value, int):
        for step in value.steps:
            bits |= step
    return (bits & -bits).bit_length() - 1 if bits else 64


def plus(a: Exact, b: Exact) -> Exact:
    """The sum, not wrapped."""
    if isinstance(a, int):
        if isinstance(b, int):
            return a + b
        a, b = b, a
    if isinstance(b, int):
        return Affine(a.base + b, a.steps, a.extents)
    steps = tuple([x + y for x, y in zip(a.steps, b.steps, strict=True)])
    return affine(a.base + b.base, steps, a.extents)


def times(a: Exact, factor: int) -> Exact:
    """The product with an integer, not wrapped."""
    if isinstance(a, int):
        return a * factor
    return affine(a.base * factor, tuple([step * factor for step in a.steps]), a.extents)


def split_low(value: Exact, bits: int) -> tuple[Exact, Exact] | None:
    """`value` as a multiple of 2**bits plus a part within [0, 2**bits); None where it is no such sum."""
    low_mask = (1 << bits) - 1
    if isinstance(value, int):
        return value & ~low_mask, value & low_mask
    upper = tuple([0 if step & low_mask else step for step in value.steps])
    lower = tuple([step if step & low_mask else 0 for step in value.steps])
    part = affine(value.base & low_mask, lower, value.extents)
    low, high = bounds(part)
    if low < 0 or high > low_mask:
        return None
    return affine(value.base & ~low_mask, upper, value.extents), part
