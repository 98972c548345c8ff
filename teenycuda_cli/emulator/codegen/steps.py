"""Runs of instructions as data: a list of calls to go through instead of source to compile.

A line of source costs more to compile than most instructions take on a small
batch, and outside of loops it runs once a batch. There, instructions that
follow one another become one call: `v7, v9, = K3(S, v2, v1)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from teenycuda_cli.emulator.codegen.arguments import MASK, WRITES, Argument
from teenycuda_cli.emulator.codegen.compute import both, chosen, negate
from teenycuda_cli.emulator.ir import Register, Source
from teenycuda_cli.emulator.machine import special
from teenycuda_cli.records import record

FEWEST = 3
"""Instructions that are worth a list."""


@record
class Step:
    """One instruction: what it calls (None: it only copies), with what, and where the results go."""

    run: Callable[..., Any] | None
    name: str  # of `run` in generated source
    destinations: Sequence[Source]
    arguments: Sequence[Argument]


class _Layout:
    """Where the values of steps lie in a list: constants and results first, inputs behind, from the end."""

    __slots__ = ("calls", "inputs", "places", "values", "written")

    def __init__(self, *known: Argument) -> None:
        """`known` are the last inputs."""
        self.values: list[Any] = []
        self.calls: list[tuple[Any, Any, Any]] = []  # function, place of its results, what takes arguments
        self.inputs = [*known[::-1]]
        self.places = {argument.register: -1 - at for at, argument in enumerate(self.inputs)}
        self.written: dict[Register, None] = {}

    def take(self, arguments: Sequence[Argument]) -> list[int]:
        """The places of arguments; those that are not there yet become inputs."""
        taken = []
        values, places = self.values, self.places
        for argument in arguments:
            register = argument.register
            if argument.made is not None:
                run, source = argument.made
                call = _getter(self.take((source,)))
                place = len(values)
                values.append(None)
                self.calls.append((run, place, call))
            elif register is None:
                place = len(values)
                values.append(argument.scalar if argument.constant is None else argument.constant)
            else:
                known = places.get(register)
                if known is None:
                    self.inputs.append(argument)
                    known = places[register] = -len(self.inputs)
                place = known
            taken.append(place)
        return taken

    def add(self, step: Step) -> None:
        """One more step."""
        run, destinations = step.run, step.destinations
        taken = self.take(step.arguments)
        values = self.values
        first = len(values)
        for destination in destinations:
            if type(destination) is Register:
                self.written[destination] = None
                self.places[destination] = taken[0] if run is None else len(values)
            if run is not None:
                values.append(None)
        if run is not None:
            count = len(values) - first
            where = first if count == 1 else slice(first, len(values)) if count else None
            self.calls.append((run, where, _getter(taken)))


class Steps:
    """A run of steps, ready: (lanes, *inputs) → the values of `outputs`."""

    __slots__ = ("_calls", "_outputs", "_values", "inputs", "outputs")

    def __init__(self, steps: Sequence[Step], wanted: Callable[[Register], bool]) -> None:
        """`wanted` tells which registers are read later; `inputs` is what must be given, in that order."""
        layout = _Layout()
        for step in steps:
            layout.add(step)
        self._values, self._calls = layout.values, layout.calls
        self.inputs = [argument.text for argument in layout.inputs[::-1]]
        self.outputs = [register for register in layout.written if wanted(register)]
        self._outputs = _getter([layout.places[register] for register in self.outputs])

    def __call__(self, lanes: Any, *inputs: Any) -> Any:
        """Go through the steps."""
        values = [*self._values, *inputs]
        for run, where, take in self._calls:
            if where is None:
                run(lanes, *take(values))
            else:
                values[where] = run(lanes, *take(values))
        return self._outputs(values)


class StraightBlock:
    """A block that is all steps: (lanes, mask, those that are written) → pairs of block and mask."""

    __slots__ = ("_arguments", "_calls", "_homes", "_inputs", "_outputs", "_run", "_target", "_values")

    def __init__(
        self, steps: Sequence[Step], outputs: Sequence[tuple[Argument, Any]], ending: Step | int
    ) -> None:
        """`outputs` live across blocks, with their dtypes; then comes the ending, or a block (-1: none)."""
        layout = _Layout(MASK, WRITES)
        for step in steps:
            layout.add(step)
        self._outputs = _getter(layout.take([argument for argument, _ in outputs]))
        self._homes = tuple([(_home(argument), dtype) for argument, dtype in outputs])
        self._run, self._target = (None, ending) if isinstance(ending, int) else (ending.run, -1)
        self._arguments = _getter([] if isinstance(ending, int) else layout.take(ending.arguments))
        self._values, self._calls = layout.values, layout.calls
        self._inputs = _getter([_home(argument) for argument in layout.inputs[:1:-1]])

    def __call__(self, lanes: Any, mask: Any, writes: Any) -> Any:
        """Go through the steps, give registers their values, and go on."""
        values = [*self._values, *self._inputs(lanes.R), mask, writes]
        for run, where, take in self._calls:
            if where is None:
                run(lanes, *take(values))
            else:
                values[where] = run(lanes, *take(values))
        if self._homes:
            lanes.put(self._homes, self._outputs(values), writes)
        if self._run is not None:
            return self._run(lanes, *self._arguments(values))
        return ((self._target, mask),) if self._target >= 0 else ()


def _home(argument: Argument) -> int:
    register = argument.register
    assert register is not None
    assert register.home >= 0, f"{register.name} does not live across blocks"
    return register.home


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
