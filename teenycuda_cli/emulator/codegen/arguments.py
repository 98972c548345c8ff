"""Sources of instructions as generated code has them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

from teenycuda_cli.emulator.codegen import compute
from teenycuda_cli.emulator.codegen.compute import Kept
from teenycuda_cli.emulator.ir import Register
from teenycuda_cli.records import record


@record
class Argument:
    """A source as generated code has it: an expression, and how its value is kept."""

    text: str
    kept: Kept
    register: Register | None = None
    constant: int | None = None  # an integer known now
    scalar: Any = None  # a float known now
    made: tuple[Callable[..., Any], Any] | None = None  # what (lanes, value) makes it of another argument

    @property
    def address_width(self) -> int:
        """Bits of it as an address."""
        return 64 if self.constant is not None else self.kept.width


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


def floats_of(dtype: Any, width: int) -> Any:
    """A function (lanes, integers) → the floats of those bits."""

    def floats(lanes: Any, value: Any) -> Any:
        return lanes.integers(value, width).view(dtype)

    return floats


def are_values(arguments: Sequence[Argument]) -> bool:
    """Whether arguments are registers, what is known now, or made of those, and no other expressions."""
    for argument in arguments:
        if argument.register is not None or argument.constant is not None or argument.scalar is not None:
            continue
        if argument.made is None or not are_values((argument.made[1],)):
            return False
    return True
