"""A program: an entry with all that it can reach, lowered."""

from __future__ import annotations

from dataclasses import dataclass, field

from teenycuda_cli.emulator.ir import BasicBlock, FunctionBody, Register
from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.source import Source as Text
from teenycuda_cli.ptx.syntax import Instruction, Operand


@dataclass(frozen=True, slots=True)
class BuiltInSignature:
    """Bytes of what a function takes and gives; it may be declared to give nothing."""

    arguments: tuple[int, ...]
    result: int = 0


BUILT_IN = {
    "vprintf": BuiltInSignature((8, 8), 4),
    "__assertfail": BuiltInSignature((8, 8, 4, 8, 8)),
    "malloc": BuiltInSignature((8,), 8),
    "free": BuiltInSignature((8,)),
}
"""Functions that the driver brings."""


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
    reserved_shared: int = 0  # at the start of a block's shared memory
    static_shared: int = 0  # with what is reserved
    dynamic_offset: int = 0  # where dynamic shared memory begins
    local_size: int = 0  # bytes of local memory a thread
    targets: dict[str, dict[int, str]] = field(default_factory=dict)  # of calls by address: address → label
    code: dict[str, int] = field(default_factory=dict)  # addresses of functions
    stack_pointer: Register | None = None  # behind the frame of a function that calls itself
    dynamic_pointer: Register | None = None  # down to where `alloca` has taken memory
    stack_base: int = 0
    parameter_size: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """What a `call` says: the function or the register with its address, and what stands around it."""

    target: str
    returns: tuple[Operand, ...]
    arguments: tuple[Operand, ...]
    prototype: str | None


def call_of(instruction: Instruction) -> Call:
    """A call's operands by what they are."""
    names = [operand.text for operand in instruction.operands if isinstance(operand, syntax.Name)]
    before: tuple[Operand, ...] = ()
    after: tuple[Operand, ...] = ()
    seen = False
    for operand in instruction.operands:
        if isinstance(operand, syntax.Arguments):
            if seen:
                after = operand.elements
            else:
                before = operand.elements
        seen = seen or isinstance(operand, syntax.Name)
    return Call(names[0] if names else "", before, after, names[1] if len(names) > 1 else None)


def callee(instruction: Instruction) -> str:
    """The function that a call names, or the register."""
    return call_of(instruction).target
