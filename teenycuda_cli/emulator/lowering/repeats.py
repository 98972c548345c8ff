"""Instructions like earlier ones: what decoding and checking found is kept, also from kernel to kernel."""

from __future__ import annotations

from collections.abc import Hashable

from teenycuda_cli.emulator.ir import (
    Constant,
    FloatConstant,
    Frame,
    Group,
    KernelParameter,
    Label,
    Op,
    Place,
    Register,
    Source,
    flat_registers,
)
from teenycuda_cli.emulator.opcodes.table import Operation
from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.syntax import Instruction

_SEEN: dict[tuple[str, tuple[str, ...]], dict[Hashable, Operation]] = {}
"""Opcode and modifiers → what operands are like → the operation that the instruction became, and no other."""
_DETAILED = frozenset((syntax.Selected, syntax.Minus))
"""Operands of which more counts than their kind and what they are lowered to."""
_CALLS = frozenset(("call", "ret"))


def may_recall(instruction: Instruction) -> bool:
    """Whether one of that name was remembered."""
    return (instruction.opcode, instruction.modifiers) in _SEEN


def recall(instruction: Instruction, operands: tuple[Source, ...]) -> Operation | None:
    """The operation of an earlier instruction with operands that are like these."""
    return _SEEN[instruction.opcode, instruction.modifiers].get(_alike(instruction, operands))


def remember(op: Op, lowered: tuple[Source, ...]) -> None:
    """Note what an instruction became, unless more than that is to be done for one like it."""
    operation, instruction = op.operation, op.instruction
    build = operation.form.build
    if lowered != op.operands or operation.reads_carry or operation.writes_carry:
        return
    if getattr(build, "uses_stack", False) or getattr(build, "accumulates", False):
        return
    if instruction.opcode not in _CALLS and _DETAILED.isdisjoint(map(type, instruction.operands)):
        seen = _SEEN.setdefault((instruction.opcode, instruction.modifiers), {})
        seen[_alike(instruction, op.operands)] = operation


def _alike(instruction: Instruction, operands: tuple[Source, ...]) -> Hashable:
    """What operands have in common that the same instruction takes in the same way."""
    kinds = tuple(map(type, instruction.operands))
    return kinds, tuple([item.type if type(item) is Register else _likeness(item) for item in operands])


def _likeness(source: Source) -> Hashable:  # noqa: PLR0911  (a case each)
    if isinstance(source, Register):
        return source.type
    kind = type(source)
    if isinstance(source, Place):
        return kind, _likeness(source.base)
    if isinstance(source, Group):
        return kind, *[_likeness(element) for element in source.elements]
    if isinstance(source, FloatConstant):
        return kind, source.width
    if isinstance(source, Label):
        return kind, source.kind
    if isinstance(source, Constant):
        return kind, source.space
    return kind.__name__ if isinstance(source, (Frame, KernelParameter)) else source


def reads_and_writes(
    operation: Operation, operands: tuple[Source, ...]
) -> tuple[list[Register], list[Register]]:
    """The registers that operands name: those read, those written."""
    reads: list[Register] = []
    writes: list[Register] = []
    named = writes if operation.destinations else reads
    for operand in operands:
        if type(operand) is Register:
            named.append(operand)
        elif type(operand) is not Constant:
            named += flat_registers(operand)
        named = reads
    return reads, writes
