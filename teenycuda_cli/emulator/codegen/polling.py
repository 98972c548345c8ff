"""Loops that only look whether another lane has done something."""

from __future__ import annotations

from teenycuda_cli.emulator.codegen.flow import Loop
from teenycuda_cli.emulator.ir import Constant, Op, Special
from teenycuda_cli.emulator.machine.special import VARYING
from teenycuda_cli.emulator.program import Program

_LOOKING = frozenset(("ld", "bra", "nanosleep", "membar", "fence"))


def polling_blocks(program: Program, loops: dict[int, Loop]) -> dict[int, int]:
    """The blocks of loops that do nothing else, and how many blocks the loop has."""
    found: dict[int, int] = {}
    for loop in loops.values():
        if loop.spins and all(_looks(op) for number in loop.blocks for op in program.blocks[number].ops):
            found |= dict.fromkeys(loop.blocks, len(loop.blocks))
    return found


def _looks(op: Op) -> bool:
    """Whether an instruction may stand in such a loop: it changes no memory, or tries to take a lock."""
    opcode = op.instruction.opcode
    if opcode == "atom":
        locks = not {"cas", "exch"}.isdisjoint(op.instruction.modifiers)
        return locks or op.operands[-1] == Constant(0)
    if any(isinstance(source, Special) and source.name in VARYING for source in op.operands):
        return False  # it may give up after a time
    return op.operation.form.kind == "value" or opcode in _LOOKING
