"""Runs of value instructions as data: a list of calls to go through instead of source to compile.

A line of source costs more to compile than most instructions take on a small
batch, and outside of loops it runs once a batch. There, instructions that
follow one another become one call: `v7, v9 = K3(S, v2, v1)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from teenycuda_cli.emulator.ir import Register

FEWEST = 3
"""Instructions that are worth a list."""


class Step(NamedTuple):
    """One instruction: what it calls (None: it only copies), its buffer's number, destination, arguments."""

    run: Callable[..., Any] | None
    name: str  # of `run` in generated source
    buffer: int
    destination: Register
    arguments: Sequence[Any]  # of Argument


class Steps:
    """A run of steps, ready: (lanes, *inputs) → the values of `outputs`."""

    __slots__ = ("_outputs", "_steps", "_values", "inputs", "outputs")

    def __init__(self, steps: Sequence[Step], wanted: Callable[[Register], bool]) -> None:
        """`wanted` tells which registers are read later; `inputs` is what must be given, in that order."""
        self._values: list[Any] = []
        self._steps = []
        inputs: list[Register] = []
        places: dict[Register, int] = {}  # inputs lie behind all else, and are counted from the end
        written: dict[Register, None] = {}
        for run, _, buffer, destination, arguments in steps:
            taken = []
            for argument in arguments:
                register = argument.register
                if register is None:
                    place = len(self._values)
                    self._values.append(argument.scalar if argument.constant is None else argument.constant)
                else:
                    known = places.get(register)
                    if known is None:
                        inputs.append(register)
                        known = places[register] = -len(inputs)
                    place = known
                taken.append(place)
            written[destination] = None
            if run is None:
                places[destination] = taken[0]
                continue
            place = places[destination] = len(self._values)
            self._values.append(None)
            self._steps.append((run, buffer, place, _getter(taken)))
        self.inputs = inputs[::-1]
        self.outputs = [register for register in written if wanted(register)]
        self._outputs = _getter([places[register] for register in self.outputs])

    def __call__(self, lanes: Any, *inputs: Any) -> Any:
        """Go through the steps."""
        values = [*self._values, *inputs]
        for run, buffer, place, take in self._steps:
            values[place] = run(lanes, buffer, *take(values))
        return self._outputs(values)


def _getter(places: Sequence[int]) -> Callable[[list[Any]], Any]:
    """What takes the values at these places, always as a sequence."""
    if len(places) > 1:
        return itemgetter(*places)
    place = places[0] if places else 0
    end = place + 1 if places else 0
    return itemgetter(slice(place, end if end else None))
