"""Runs of instructions as data: a list of calls to go through instead of source to compile.

A line of source costs more to compile than most instructions take on a small
batch, and outside of loops it runs once a batch. There, instructions that
follow one another become one call: `v7, v9, = K3(S, v2, v1)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from teenycuda_cli.emulator import special
from teenycuda_cli.emulator.compute import both, chosen, negate
from teenycuda_cli.emulator.ir import Register, Source

FEWEST = 3
"""Instructions that are worth a list."""


class Step(NamedTuple):
    """One instruction: what it calls (None: it only copies), with what, and where the results go."""

    run: Callable[..., Any] | None
    name: str  # of `run` in generated source
    destinations: Sequence[Source]
    arguments: Sequence[Any]  # of Argument


class Steps:
    """A run of steps, ready: (lanes, *inputs) → the values of `outputs`."""

    __slots__ = ("_outputs", "_steps", "_values", "inputs", "outputs")

    def __init__(self, steps: Sequence[Step], wanted: Callable[[Register], bool]) -> None:
        """`wanted` tells which registers are read later; `inputs` is what must be given, in that order."""
        self._values: list[Any] = []
        self._steps: list[tuple[Any, Any, Any]] = []
        inputs: list[str] = []
        places: dict[Register, int] = {}  # inputs lie behind all else, and are counted from the end
        written: dict[Register, None] = {}
        for run, _, destinations, arguments in steps:
            taken = []
            for argument in arguments:
                register = argument.register
                if register is None:
                    place = len(self._values)
                    self._values.append(argument.scalar if argument.constant is None else argument.constant)
                else:
                    known = places.get(register)
                    if known is None:
                        inputs.append(argument.text)
                        known = places[register] = -len(inputs)
                    place = known
                taken.append(place)
            made = []
            for destination in destinations:
                made.append(len(self._values))
                if isinstance(destination, Register):
                    written[destination] = None
                    places[destination] = taken[0] if run is None else made[-1]
                if run is not None:
                    self._values.append(None)
            if run is not None:
                where = made[0] if len(made) == 1 else slice(made[0], made[-1] + 1) if made else None
                self._steps.append((run, where, _getter(taken)))
        self.inputs = inputs[::-1]
        self.outputs = [register for register in written if wanted(register)]
        self._outputs = _getter([places[register] for register in self.outputs])

    def __call__(self, lanes: Any, *inputs: Any) -> Any:
        """Go through the steps."""
        values = [*self._values, *inputs]
        for run, where, take in self._steps:
            if where is None:
                run(lanes, *take(values))
            else:
                values[where] = run(lanes, *take(values))
        return self._outputs(values)


def _getter(places: Sequence[int]) -> Callable[[list[Any]], Any]:
    """What takes the values at these places, always as a sequence."""
    if len(places) > 1:
        return itemgetter(*places)
    place = places[0] if places else 0
    end = place + 1 if places else 0
    return itemgetter(slice(place, end if end or not places else None))


class Guarded:
    """A call for the lanes that a predicate holds for: (lanes, predicate, mask, *old values, *arguments)."""

    __slots__ = ("_at", "_dtypes", "_negated", "_run")

    def __init__(self, run: Callable[..., Any], negated: bool, dtypes: tuple[Any, ...], at: int) -> None:
        """`dtypes` are those of the destinations' registers; `run` takes the mask behind `at` arguments."""
        self._run = run
        self._at = at
        self._negated = negated
        self._dtypes = dtypes

    def __call__(self, lanes: Any, predicate: Any, mask: Any, *rest: Any) -> Any:
        """The results where the predicate holds, the old values elsewhere."""
        here = both(negate(predicate) if self._negated else predicate, mask, lanes)
        count = len(self._dtypes)
        if here is False:
            return rest[0] if count == 1 else rest[:count]
        at = count + self._at
        results = self._run(lanes, *rest[count:at], here, *rest[at:])
        if not count or here is mask:
            return results
        if count == 1:
            return chosen(lanes, here, mask, results, rest[0], self._dtypes[0])
        return [
            chosen(lanes, here, mask, new, old, dtype)
            for new, old, dtype in zip(results, rest, self._dtypes, strict=False)
        ]


def parameter(lanes: Any, number: int) -> Any:
    """A kernel's parameter as a register keeps it."""
    return lanes.A[number]


def special_register(lanes: Any, name: str, position: int) -> Any:
    """What a special register holds for an instruction at a position of its block."""
    return special.read(lanes, name, position)
