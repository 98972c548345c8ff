"""alloca, stacksave, stackrestore: memory of a thread's own, taken while it runs.

It grows down from the end of local memory, towards the frames of functions
that call themselves; what a function took goes when it returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.compute import duplicate
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Op, Register
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.program import Program

_ISA = "stack-manipulation-instructions"
_LEAST = 16
"""Alignment of what `alloca` gives, at least."""


class Alloca:
    """Memory of the stack for the lanes of a mask."""

    def __init__(self, program: Program, op: Op, align: int) -> None:
        """`align` is a power of two, in bytes."""
        self.program = program
        self.op = op
        self.align = align

    def __call__(self, lanes: Any, pointer: Any, size: Any, least: Any, mask: Any) -> Any:
        """The address, which is the new end of the stack; a fault where it would pass the `least` one."""
        unsigned = np.dtype(f"u{lanes.integers(size, 64).dtype.itemsize}")
        wanted = lanes.integers(size, 64).view(unsigned).astype(np.float64)
        end = lanes.integers(pointer, 64)
        bottom = lanes.integers(least, 64)
        over = np.broadcast_to(wanted > end - bottom, lanes.shape)
        moved = (end - lanes.integers(size, 64)) & np.int64(-self.align)
        over = over | (moved < bottom)
        over = over.reshape(-1) if mask is None else over[mask]
        if over.any():
            room = self.program.local_size - self.program.stack_base
            what = f"took more stack than the {room} bytes that a thread has"
            raise faults.first_of(self.program, self.op, lanes, mask, over, what)
        return moved if type(moved) is np.ndarray else int(moved)


def narrow(value: Any) -> Any:
    """A local address as a 32-bit register holds it."""
    return value.astype(np.int32) if type(value) is np.ndarray else value


@effect(
    "alloca.type d, a",
    "alloca.type d, a, b",
    type="u32 u64",
    types="b:u32=",
    isa=f"{_ISA}-alloca",
    uses_stack=True,
    keeps_memory=True,
)
def alloca(emit: Emitter, op: Op) -> None:
    """`a` bytes of local memory, until the function returns."""
    program = emit.program
    pointer, (register, size, *align) = program.dynamic_pointer, op.operands
    assert pointer is not None
    least = str(program.stack_base) if program.stack_pointer is None else f"S.R[{program.stack_pointer.home}]"
    given = max([_LEAST, *[item.value for item in align if isinstance(item, Constant)]])
    run = emit.bind(Alloca(program, op, given))
    text = emit.integer(size, int(op.operation.modifiers["type"][1:]))
    mask = emit.mask(op)
    name = emit.temporary()
    old = f"v{pointer.number}"
    called = f"{run}(S, {old}, {text}, {least}, {mask})"
    emit.line(f"{name} = {called}" + ("" if mask == "m" else f" if {mask} is not False else {old}"))
    emit.assign(op, pointer, name)
    if isinstance(register, Register):
        emit.assign(op, register, _as_register(emit, register, name))


@effect("stacksave.type d", type="u32 u64", isa=f"{_ISA}-stacksave", uses_stack=True, keeps_memory=True)
def stacksave(emit: Emitter, op: Op) -> None:
    """Where the stack ends now."""
    pointer, register = emit.program.dynamic_pointer, op.operands[0]
    assert pointer is not None
    if isinstance(register, Register):
        emit.assign(op, register, _as_register(emit, register, f"{emit.bind(duplicate)}(v{pointer.number})"))


@effect("stackrestore.type a", type="u32 u64", isa=f"{_ISA}-stackrestore", uses_stack=True, keeps_memory=True)
def stackrestore(emit: Emitter, op: Op) -> None:
    """Give back what was taken since a `stacksave`."""
    pointer = emit.program.dynamic_pointer
    assert pointer is not None
    text = emit.integer(op.operands[0], int(op.operation.modifiers["type"][1:]))
    emit.assign(op, pointer, f"{emit.bind(widened)}(S, {text})")


def widened(lanes: Any, value: Any) -> Any:
    """A saved end of the stack as the stack pointer holds it: a value of its own."""
    if type(value) is int:
        return value
    return np.array(lanes.integers(value, 64), np.int64)


def _as_register(emit: Emitter, register: Register, text: str) -> str:
    return f"{emit.bind(narrow)}({text})" if register.width < 64 else text
