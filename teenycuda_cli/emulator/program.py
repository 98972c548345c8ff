"""A program: an entry with all that it can reach, lowered."""

from __future__ import annotations

from dataclasses import dataclass, field

from teenycuda_cli.emulator.ir import BasicBlock, FunctionBody, Register
from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.source import Source as Text
from teenycuda_cli.ptx.syntax import Instruction

BUILT_IN = {"vprintf": 2, "__assertfail": 5}
"""Functions that the driver brings, and how many arguments they take."""


@dataclass(slots=True)
class Program:
    """An entry and all that it can reach, lowered."""

    entry: str
    text: Text
    files: dict[int, str]
    functions: dict[str, FunctionBody] = field(default_factory=dict)
    blocks: list[BasicBlock] = field(default_factory=list)
    registers: list[Register] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)  # unique name → block
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    static_shared: int = 0
    dynamic_offset: int = 0  # where dynamic shared memory begins
    local_size: int = 0  # bytes of local memory a thread
    stack_pointer: Register | None = None
    stack_base: int = 0
    parameter_size: int = 0


def callee(instruction: Instruction) -> str | None:
    """The function that a call names."""
    for operand in instruction.operands:
        if isinstance(operand, syntax.Name):
            return operand.text
    return None
