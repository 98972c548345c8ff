"""Instructions that stand for others: `mov` of whole vectors and of 128 bits in four parts, `setp p|_`."""

from __future__ import annotations

from dataclasses import replace

from teenycuda_cli.emulator.lowering.scopes import Scopes
from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.operands import VECTOR_SPECIALS
from teenycuda_cli.ptx.syntax import Instruction, Name, Operand

_VECTORS = frozenset(("v2", "v4"))


def elementwise(instruction: Instruction, scopes: Scopes) -> list[Instruction]:
    """An instruction as those that it stands for, through hidden registers; most are what they are."""
    modifiers = instruction.modifiers
    if instruction.opcode == "setp":
        return [_without_sink(instruction)]
    if instruction.opcode != "mov":
        return [instruction]
    if modifiers == ("b128",):
        return _in_quarters(instruction, scopes)
    if len(modifiers) < 2 or modifiers[0] not in _VECTORS:
        return [instruction]
    count = int(modifiers[0][1:])
    parts = [_parts(operand, count, scopes) for operand in instruction.operands]
    if len(parts) != 2 or any(len(part) != count for part in parts):
        return [instruction]
    hidden = _hidden(count, f"b{modifiers[1][1:]}", scopes)
    before = [
        replace(instruction, modifiers=modifiers[1:], operands=pair, predicate=None)
        for pair in zip(hidden, parts[1], strict=True)
    ]
    after = [
        replace(instruction, modifiers=modifiers[1:], operands=pair)
        for pair in zip(parts[0], hidden, strict=True)
    ]
    return before + after


def _without_sink(instruction: Instruction) -> Instruction:
    """`setp p|_` is `setp p`, also of halves, which have no p|q."""
    first = instruction.operands[0] if instruction.operands else None
    if isinstance(first, syntax.Pair) and isinstance(first.second, syntax.Sink):
        return replace(instruction, operands=(first.first, *instruction.operands[1:]))
    return instruction


def _in_quarters(instruction: Instruction, scopes: Scopes) -> list[Instruction]:
    """A `mov.b128` from or to four parts by way of two halves."""
    quarters = [
        index
        for index, operand in enumerate(instruction.operands)
        if isinstance(operand, syntax.Vector) and len(operand.elements) == 4
    ]
    if len(quarters) != 1:
        return [instruction]
    (place,) = quarters
    given = instruction.operands[place]
    assert isinstance(given, syntax.Vector)
    hidden = _hidden(2, "b64", scopes)
    halves = [
        (half, syntax.Vector(given.elements[2 * index : 2 * index + 2])) for index, half in enumerate(hidden)
    ]
    whole = list(instruction.operands)
    whole[place] = syntax.Vector(hidden)
    moves = [
        replace(instruction, modifiers=("b64",), operands=half if place else half[::-1]) for half in halves
    ]
    all_of_it = replace(instruction, operands=tuple(whole))
    return [*moves, all_of_it] if place else [all_of_it, *moves]


def _hidden(count: int, type_name: str, scopes: Scopes) -> tuple[Name, ...]:
    """Registers that no program can name."""
    names = tuple([f"part {number} of {type_name}" for number in range(count)])
    for name in names:
        if scopes.find_register(name) is None:
            scopes.open[-1].registers[name] = scopes.register(f"%{name}", type_name)
    return tuple(map(Name, names))


def _parts(operand: Operand, count: int, scopes: Scopes) -> list[Operand]:
    if isinstance(operand, syntax.Vector):
        return list(operand.elements)
    if isinstance(operand, Name) and operand.text in VECTOR_SPECIALS:
        return [Name(f"{operand.text}.{axis}") for axis in "xyzw"[:count]]
    if isinstance(operand, Name) and scopes.find_vector(operand.text) is not None:
        return [syntax.Component(operand, index) for index in range(count)]
    return []
