"""call: functions of the program, and those that the driver brings (vprintf)."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator import faults
from teenycuda_cli.emulator.compute import plus64
from teenycuda_cli.emulator.effects import effect
from teenycuda_cli.emulator.emitter import Emitter
from teenycuda_cli.emulator.ir import Frame, Group, Label, Op, Source
from teenycuda_cli.emulator.opcodes.control import predicate_text, remaining
from teenycuda_cli.emulator.printing import AssertFail, Print
from teenycuda_cli.emulator.program import BUILT_IN, Program, callee

_CALL = "control-flow-instructions-call"


def local_rows(lanes: Any, start: Any, mask: Any, size: int) -> tuple[Any, Any]:
    """Local memory, and the positions in it of `size` bytes from an address for each lane of a mask."""
    space = lanes.batch.spaces["local"]
    numbers = lanes.numbers(mask)
    at = lanes.integers(start, 64)
    if type(at) is np.ndarray:
        at = np.broadcast_to(at, lanes.shape)
        at = at.reshape(-1) if mask is None else at[mask]
    rows = numbers * space.stride + at
    return space.data.data, rows[:, None] + np.arange(size)


def copy_local(lanes: Any, mask: Any, destination: Any, source: Any, size: int) -> None:
    """Bytes of local memory from one place to another, for each lane of a mask."""
    data, into = local_rows(lanes, destination, mask, size)
    _, out_of = local_rows(lanes, source, mask, size)
    data[into] = data[out_of]


class Push:
    """Room on the stack for one more call of a function that calls itself."""

    def __init__(self, program: Program, op: Op, size: int) -> None:
        """`size` bytes a call."""
        self.program = program
        self.op = op
        self.size = size

    def __call__(self, lanes: Any, pointer: Any, mask: Any) -> Any:
        """The stack pointer behind the new frame; a fault where local memory ends."""
        limit = self.program.local_size
        moved = lanes.integers(pointer, 64) + np.int64(self.size)
        active = np.broadcast_to(moved, lanes.shape)
        active = active.reshape(-1) if mask is None else active[mask]
        over = active > limit
        if over.any():
            numbers = lanes.numbers(mask)
            failing = np.flatnonzero(over)
            what = f"called too deeply: its stack of {limit} bytes a thread is full"
            raise faults.fault(self.program, self.op, lanes, int(numbers[failing[0]]), len(failing), what)
        return moved if type(moved) is np.ndarray else int(moved)


def save(lanes: Any, mask: Any, address: Any, value: Any, dtype: Any) -> None:
    """A register's bits into local memory, for each lane of a mask."""
    data, rows = local_rows(lanes, address, mask, dtype.itemsize)
    whole = lanes.dense(value, dtype)
    active = whole.reshape(-1) if mask is None else whole[mask]
    data[rows] = active.view(np.uint8).reshape(-1, dtype.itemsize)


def restore(lanes: Any, mask: Any, address: Any, dtype: Any) -> Any:
    """The opposite of `save`; lanes that are not in the mask get anything."""
    data, rows = local_rows(lanes, address, mask, dtype.itemsize)
    result = np.zeros(lanes.shape, dtype)
    values = np.ascontiguousarray(data[rows]).view(dtype).reshape(-1)
    if mask is None:
        result.reshape(-1)[:] = values
    else:
        result[mask] = values
    return result


@effect(
    "call{.uni} f",
    "call{.uni} f, a",
    "call{.uni} r, f, a",
    uni="uni",
    types="r:arguments f:function a:arguments",
    isa=_CALL,
    ends_block=True,
)
def call(emit: Emitter, op: Op) -> None:
    """Arguments into the callee's frame, and on at its first block."""
    name = callee(op.instruction) or ""
    returns, arguments = lists(op.operands)
    mask = emit.mask(op)
    if name in BUILT_IN:
        _built_in(emit, op, name, returns, arguments, mask)
        return
    body = emit.program.functions[name]
    landing = emit.next_block
    emit.line(f"if {mask} is not False:")
    for number, register in enumerate(emit.saved(body)):
        dtype = emit.kept(register).dtype
        address = emit.argument(Frame(emit.block.function.spill_offset + 8 * number, 8)).text
        emit.line(f"  {emit.bind(save)}(S, {mask}, {address}, {emit.current(register)}, {emit.bind(dtype)})")
    pointer = emit.program.stack_pointer
    base = ""
    if body.recursive:
        assert pointer is not None
        base = f"S.R[{pointer.home}]"
        moved = emit.temporary()
        push = emit.bind(Push(emit.program, op, body.frame_size))
        emit.line(f"  {moved} = {push}(S, {base}, {mask})")
    for argument, variable in zip(arguments, body.params, strict=True):
        offset = body.frame[f"0:{variable.name}"][0]
        target = f"{emit.bind(plus64)}(S, {base}, {offset})" if base else str(body.frame_base + offset)
        source = emit.argument(argument).text
        emit.line(f"  {emit.bind(copy_local)}(S, {mask}, {target}, {source}, {variable.size})")
    assert body.return_to is not None
    emit.line(f"  S.assign({body.return_to.home}, {emit.return_site(landing)}, {mask}, w, {_INT32})")
    if base:
        assert pointer is not None
        emit.line(f"  S.assign({pointer.home}, {moved}, {mask}, w, {_INT64})")
    ending = f"(({body.first}, {mask}),)"
    if op.predicate is not None:
        behind = emit.program.blocks[landing].successors[0]
        rest = f"{emit.bind(remaining)}(S, {predicate_text(op)}, m, {behind})"
        ending = f"(() if {mask} is False else {ending}) + {rest}"
    emit.leave(ending)


_INT32 = "K_int32"
_INT64 = "K_int64"


def land(emit: Emitter, op: Op) -> None:
    """Where a call comes back: results into the caller's frame, and what it had saved into registers."""
    body = emit.program.functions[callee(op.instruction) or ""]
    returns, _ = lists(op.operands)
    pointer = emit.program.stack_pointer
    if body.recursive:
        assert pointer is not None
        emit.line(f"t0 = {emit.bind(plus64)}(S, S.R[{pointer.home}], {-body.frame_size})")
        emit.line(f"S.assign({pointer.home}, t0, m, w, {_INT64})")
    for target, variable in zip(returns, body.returns, strict=True):
        offset = body.frame[f"0:{variable.name}"][0]
        source = f"{emit.bind(plus64)}(S, t0, {offset})" if body.recursive else str(body.frame_base + offset)
        into = emit.argument(target).text
        emit.line(f"{emit.bind(copy_local)}(S, m, {into}, {source}, {variable.size})")
    for number, register in enumerate(emit.saved(body)):
        dtype = emit.bind(emit.kept(register).dtype)
        address = emit.argument(Frame(emit.block.function.spill_offset + 8 * number, 8)).text
        emit.line(f"S.assign({register.home}, {emit.bind(restore)}(S, m, {address}, {dtype}), m, w, {dtype})")


def lists(operands: tuple[Source, ...]) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
    """A call's returns and arguments."""
    before: tuple[Source, ...] = ()
    after: tuple[Source, ...] = ()
    seen = False
    for operand in operands:
        if isinstance(operand, Label):
            seen = True
        elif isinstance(operand, Group):
            if seen:
                after = operand.elements
            else:
                before = operand.elements
    return before, after


def _built_in(
    emit: Emitter, op: Op, name: str, returns: tuple[Source, ...], arguments: tuple[Source, ...], mask: str
) -> None:
    run = emit.bind(Print(emit.program, op) if name == "vprintf" else AssertFail(emit.program, op))
    frames = ", ".join([emit.argument(argument).text for argument in arguments])
    answer = emit.argument(returns[0]).text if returns else "None"
    emit.line(f"if {mask} is not False: {run}(S, {mask}, {answer}, ({frames},))")
