"""Sources of instructions as generated code has them."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from teenycuda_cli.emulator import compute
from teenycuda_cli.emulator.compute import Kept
from teenycuda_cli.emulator.ir import Register
from teenycuda_cli.emulator.numerics.floating import canonical


class Argument(NamedTuple):
    """A source as generated code has it: an expression, and how its value is kept."""

    text: str
    kept: Kept
    register: Register | None = None
    constant: int | None = None  # an integer known now
    scalar: Any = None  # a float known now


MASK = Argument("m", Kept("p", 1), Register(-1, "m", "pred", 1, "p"))
"""The lanes that carry an instruction out."""
WRITES = Argument("w", Kept("p", 1), Register(-2, "w", "pred", 1, "p"))
"""The lanes for which registers are written; None: no other lives."""


@cache
def fixed(thing: Hashable) -> Argument:
    """A number, name or tuple that is known now, as an argument."""
    return Argument(repr(thing), Kept("i", 64), scalar=thing)


def constant_reader(scalar: Any) -> compute.Reader:
    """A reader that gives a constant."""
    return lambda lanes, value: scalar


def bits_of(dtype: Any, raw_nan: bool) -> Any:
    """A function from floats to their bits as signed integers, exact for a scalar."""

    def bits(value: Any) -> Any:
        if raw_nan:
            value = canonical(value)
        if type(value) is np.ndarray:
            return value.view(dtype)
        return int(value.view(dtype))

    return bits


def floats_of(dtype: Any, width: int) -> Any:
    """A function (lanes, integers) → the floats of those bits."""

    def floats(lanes: Any, value: Any) -> Any:
        return lanes.integers(value, width).view(dtype)

    return floats
