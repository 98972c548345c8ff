"""Runs one instruction through the opcode table on columns of raw bits, in every tier that it has.

The array function, the same on scalars, the same into `out`, and the per-lane
expression must all give the same bits; the first is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.numerics.lane import NAMESPACE
from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.table import Operation, decode
from teenycuda_cli.ptx.syntax import Instruction, Name, Operand, Pair, Vector

SCALARS = 40

_REGISTER = Name("%r1")
_DESTINATIONS: dict[str, Operand] = {
    "d": _REGISTER,
    "p|q": Pair(_REGISTER, _REGISTER),
    "{2}": Vector((_REGISTER,) * 2),
    "{4}": Vector((_REGISTER,) * 4),
}


def find(name: str, sources: int, destination: str = "d", vector: bool = False) -> Operation:
    """The operation of a full instruction name with so many source operands."""
    opcode, *modifiers = name.split(".")
    inputs: tuple[Operand, ...] = (Vector((_REGISTER,) * sources),) if vector else (_REGISTER,) * sources
    operation = decode(Instruction(opcode, tuple(modifiers), (_DESTINATIONS[destination], *inputs), 0, 0))
    assert isinstance(operation, Operation), operation
    return operation


def column(values: Sequence[int] | int, kind: str) -> Any:
    """Raw bits as an array (or a scalar) of a PTX type."""
    target = dtype(kind)
    if target == np.bool_:
        return np.array(values, np.bool_)[()]
    mask = (1 << (8 * target.itemsize)) - 1
    raw = np.dtype(f"u{target.itemsize}")
    if isinstance(values, int):
        return raw.type(values & mask).view(target)
    return np.array([value & mask for value in values], raw).view(target)


def raw(value: Any) -> list[int]:
    """A result as raw bits, NaN made canonical."""
    array = np.atleast_1d(np.array(value))
    if array.dtype == np.bool_:
        return [int(item) for item in array]
    if array.dtype.kind == "f":
        array = canonical(array)
    return [int(item) for item in array.view(f"u{array.dtype.itemsize}")]


def _lane_argument(value: Any) -> Any:
    return value.item()


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def run(
    name: str,
    *columns: Sequence[int] | int,
    destination: str = "d",
    vector: bool = False,
    carry: Sequence[int] | None = None,
) -> list[Any]:
    """The instruction on columns of raw bits: a list of raw bits, or of tuples for several results."""
    operation = find(name, len(columns), destination, vector)
    assert len(operation.sources) == len(columns), operation.sources
    arguments = [column(values, kind) for values, kind in zip(columns, operation.sources, strict=True)]
    if operation.reads_carry:
        assert carry is not None
        arguments.append(np.array(carry, np.bool_))
    kinds = list(operation.destinations) + ["pred"] * operation.writes_carry
    count = max(np.size(argument) for argument in arguments)
    copies = [np.array(argument) for argument in arguments]
    with np.errstate(all="ignore"):
        results = _as_tuple(operation.evaluate(*arguments))
        _check_kinds(name, results, kinds, count)
        expected = [raw(result) for result in results]
        _check_out(name, operation, arguments, kinds, expected)
        _check_scalars(name, operation, arguments, expected)
    for argument, copy in zip(arguments, copies, strict=True):
        assert np.array(argument).tobytes() == copy.tobytes(), f"{name} changes its argument"
    if operation.lane is not None:
        _check_lanes(name, operation, arguments, expected, kinds)
    rows = list(zip(*expected, strict=True))
    return rows if len(kinds) > 1 else [row[0] for row in rows]


def _check_kinds(name: str, results: tuple[Any, ...], kinds: list[str], count: int) -> None:
    assert len(results) == len(kinds), name
    for result, kind in zip(results, kinds, strict=True):
        assert result.dtype == dtype(kind), f"{name} gives {result.dtype}, not {kind}"
        assert np.size(result) == count, name


def _check_out(
    name: str, operation: Operation, arguments: list[Any], kinds: list[str], expected: Any
) -> None:
    if len(kinds) > 1 or len(expected[0]) == 1:
        return
    out = np.empty(len(expected[0]), dtype(kinds[0]))
    assert raw(operation.evaluate(*arguments, out=out)) == expected[0], f"{name} with out"
    square = [np.stack([a, a]) if np.ndim(a) else a for a in arguments]
    assert raw(operation.evaluate(*square).reshape(-1)) == expected[0] * 2, f"{name} in two dimensions"


def _check_scalars(name: str, operation: Operation, arguments: list[Any], expected: list[list[int]]) -> None:
    for index in range(0, len(expected[0]), max(1, len(expected[0]) // SCALARS)):
        single = [argument if np.ndim(argument) == 0 else argument[index] for argument in arguments]
        results = _as_tuple(operation.evaluate(*single))
        assert all(isinstance(result, np.generic) for result in results), f"{name} of scalars: {results}"
        assert [raw(result)[0] for result in results] == [part[index] for part in expected], (name, single)


def _check_lanes(
    name: str, operation: Operation, arguments: list[Any], expected: list[list[int]], kinds: list[str]
) -> None:
    slots = [f"a{index}" for index in range(len(arguments))]
    code = compile(operation.lane.format(*slots), name, "eval")
    for index in range(len(expected[0])):
        single = [argument if np.ndim(argument) == 0 else argument[index] for argument in arguments]
        scope = {slot: _lane_argument(value) for slot, value in zip(slots, single, strict=True)}
        got = _as_tuple(eval(code, dict(NAMESPACE), scope))
        bits = [raw(np.array([value], dtype(kind)))[0] for value, kind in zip(got, kinds, strict=True)]
        assert bits == [part[index] for part in expected], f"{name} lane {operation.lane} of {single}: {got}"
