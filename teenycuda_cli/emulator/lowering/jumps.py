"""Jumps that lowering puts in the place of other instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from teenycuda_cli.emulator.ir import meets_elsewhere
from teenycuda_cli.emulator.lowering.scopes import Scopes
from teenycuda_cli.emulator.opcodes.table import Operation, decode
from teenycuda_cli.ptx.syntax import Instruction, Name

Lower = Callable[[Instruction, Scopes], None]


class JumpSink(Protocol):
    """What lowers the jumps, and knows where labels are."""

    def instruction(self, instruction: Instruction, scopes: Scopes) -> None:
        """Lower one instruction."""

    def label(self, name: str, scopes: Scopes) -> None:
        """A label here."""


def jump(instruction: Instruction, label: str) -> Instruction:
    """A jump of all lanes to a label, in the place of an instruction."""
    return Instruction("bra", (), (Name(label),), instruction.offset, instruction.end)


def meets(instruction: Instruction) -> bool:
    """Whether lanes wait there for others, which may be at another instruction, or jump past this one."""
    operation = decode(instruction) if "sync" in instruction.modifiers else None
    return isinstance(operation, Operation) and meets_elsewhere(operation)


def guard(sink: JumpSink, instruction: Instruction, scopes: Scopes, lower: Lower) -> None:
    """Lower an instruction for the lanes for which its predicate holds: the others jump past it."""
    if instruction.predicate is None:
        lower(instruction, scopes)
        return
    behind = f"behind {instruction.offset}"
    scopes.mark(behind)
    past = replace(
        jump(instruction, behind), predicate=instruction.predicate, negated=not instruction.negated
    )
    sink.instruction(past, scopes)
    lower(replace(instruction, predicate=None, negated=False), scopes)
    sink.label(behind, scopes)
