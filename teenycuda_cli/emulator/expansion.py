"""Instructions that stand for several: `mov` of whole vectors."""

from __future__ import annotations

from teenycuda_cli.emulator.scopes import Scopes
from teenycuda_cli.emulator.special import VECTORS
from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.syntax import Instruction, Name, Operand

_VECTORS = frozenset(("v2", "v4"))


def elementwise(instruction: Instruction, scopes: Scopes) -> list[Instruction]:
    """A `mov.v4` as one `mov` an element, through hidden registers; all else as it is."""
    modifiers = instruction.modifiers
    if instruction.opcode != "mov" or len(modifiers) < 2 or modifiers[0] not in _VECTORS:
        return [instruction]
    count = int(modifiers[0][1:])
    parts = [_parts(operand, count, scopes) for operand in instruction.operands]
    if len(parts) != 2 or any(len(part) != count for part in parts):
        return [instruction]
    hidden = [f"part {number}" for number in range(count)]
    for name in hidden:
        scopes.open[-1].registers[name] = scopes.register(f"%{name}", f"b{modifiers[1][1:]}")
    moves = [*zip(map(Name, hidden), parts[1], strict=True), *zip(parts[0], map(Name, hidden), strict=True)]
    first, second = moves[:count], moves[count:]
    return [
        Instruction(
            "mov", modifiers[1:], pair, instruction.offset, instruction.end, predicate, instruction.negated
        )
        for pairs, predicate in ((first, None), (second, instruction.predicate))
        for pair in pairs
    ]


def _parts(operand: Operand, count: int, scopes: Scopes) -> list[Operand]:
    if isinstance(operand, syntax.Vector):
        return list(operand.elements)
    if isinstance(operand, Name) and operand.text in VECTORS:
        return [Name(f"{operand.text}.{axis}") for axis in "xyzw"[:count]]
    if isinstance(operand, Name) and scopes.find_vector(operand.text) is not None:
        return [syntax.Component(operand, index) for index in range(count)]
    return []
