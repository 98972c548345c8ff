"""call: functions of the program, by name or by address, and those that the driver brings."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK, WRITES, Argument, fixed
from teenycuda_cli.emulator.codegen.compute import Kept, both, plus64
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Frame, FunctionBody, Group, Label, Op, Source
from teenycuda_cli.emulator.machine import faults, frames
from teenycuda_cli.emulator.machine.builtin import AssertFail, BuiltIn
from teenycuda_cli.emulator.machine.heap import Free, Malloc
from teenycuda_cli.emulator.machine.printing import Print
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.program import Program, callee

_CALL = "control-flow-instructions-call"
_BUILT_IN: dict[str, type[BuiltIn]] = {
    "vprintf": Print,
    "__assertfail": AssertFail,
    "malloc": Malloc,
    "free": Free,
}
_INT64 = "K_int64"


class Push:
    """Room on the stack for one more call of a function that calls itself."""

    def __init__(self, program: Program, op: Op, size: int) -> None:
        """`size` bytes a call."""
        self.program = program
        self.op = op
        self.size = size

    def __call__(self, lanes: Any, pointer: Any, limit: Any, mask: Any) -> Any:
        """The stack pointer behind the new frame; a fault where it would pass the limit of its lane."""
        moved = lanes.integers(pointer, 64) + np.int64(self.size)
        over = np.broadcast_to(moved > lanes.integers(limit, 64), lanes.shape)
        over = over.reshape(-1) if mask is None else over[mask]
        if over.any():
            size = self.program.local_size - self.program.stack_base
            what = f"called too deeply: its stack of {size} bytes a thread is full"
            raise faults.first_of(self.program, self.op, lanes, mask, over, what)
        return moved if type(moved) is np.ndarray else int(moved)


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
    name = callee(op.instruction)
    returns, arguments = lists(op.operands)
    if name not in emit.program.functions:
        _built_in(emit, op, _BUILT_IN[name], returns, arguments)
        return
    body = emit.program.functions[name]
    landing = emit.next_block
    for number, register in enumerate(emit.saved(body)):
        dtype = emit.bind(emit.kept(register).dtype)
        address = emit.argument(Frame(emit.block.function.spill_offset + 8 * number, 8)).text
        emit.line(f"{emit.bind(frames.save)}(S, m, {address}, {emit.current(register)}, {dtype})")
    pointer = emit.program.stack_pointer
    base = ""
    if body.recursive:
        assert pointer is not None
        base = f"S.R[{pointer.home}]"
        limit = emit.program.dynamic_pointer
        ends = str(emit.program.local_size) if limit is None else f"S.R[{limit.home}]"
        moved = emit.temporary()
        emit.line(f"{moved} = {emit.bind(Push(emit.program, op, body.frame_size))}(S, {base}, {ends}, m)")
    for argument, variable in zip(arguments, body.params, strict=True):
        offset = body.frame[f"0:{variable.name}"][0]
        target = _place(emit, body, base, offset)
        _copy(emit, op, target, emit.argument(argument), variable.size)
    assert body.return_to is not None
    site = (fixed(body.return_to.home), fixed(emit.return_site(landing)))
    emit.call(op, [], emit.bind(_come_back), (MASK, WRITES, *site))
    if base:
        assert pointer is not None
        emit.line(f"S.assign({pointer.home}, {moved}, m, w, {_INT64})")
    emit.go_to(body.first)


def _come_back(lanes: Any, mask: Any, writes: Any, home: int, site: int) -> None:
    """Lanes remember which call they came from."""
    lanes.assign(home, site, mask, writes, np.dtype(np.int32))


def _place(emit: Emitter, body: FunctionBody, base: str, offset: int) -> Argument:
    """A place in a function's frame, behind the expression `base` where it calls itself."""
    if base:
        return Argument(f"{emit.bind(plus64)}(S, {base}, {offset})", Kept("i", 64))
    return fixed(body.frame_base + offset)


def _copy(emit: Emitter, op: Op, target: Argument, source: Argument, size: int | None) -> None:
    emit.call(op, [], emit.bind(frames.copy), (MASK, target, source, fixed(size)))


def land(emit: Emitter, op: Op) -> None:
    """Where a call comes back: results into the caller's frame, and what it had saved into registers."""
    body = emit.program.functions[callee(op.instruction)]
    returns, _ = lists(op.operands)
    pointer = emit.program.stack_pointer
    if body.recursive:
        assert pointer is not None
        emit.line(f"t0 = {emit.bind(plus64)}(S, S.R[{pointer.home}], {-body.frame_size})")
        emit.line(f"S.assign({pointer.home}, t0, m, w, {_INT64})")
    for target, variable in zip(returns, body.returns, strict=False):
        offset = body.frame[f"0:{variable.name}"][0]
        source = _place(emit, body, "t0" if body.recursive else "", offset)
        _copy(emit, op, emit.argument(target), source, variable.size)
    for number, register in enumerate(emit.saved(body)):
        dtype = emit.bind(emit.kept(register).dtype)
        address = emit.argument(Frame(emit.block.function.spill_offset + 8 * number, 8)).text
        restored = f"{emit.bind(frames.restore)}(S, m, {address}, {dtype})"
        emit.line(f"S.assign({register.home}, {restored}, m, w, {dtype})")


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
    emit: Emitter, op: Op, kind: type[BuiltIn], returns: tuple[Source, ...], arguments: tuple[Source, ...]
) -> None:
    run = emit.bind(kind(emit.program, op))
    places = ", ".join([emit.argument(argument).text for argument in arguments])
    answer = emit.argument(returns[0]).text if returns else "None"
    emit.line(f"{run}(S, m, {answer}, ({places},))")


class Dispatch:
    """A call by address: each lane goes to the call of the function whose address it has."""

    def __init__(self, program: Program, op: Op, blocks: dict[int, int]) -> None:
        """`blocks` are those of the calls, by the function's address."""
        self.program = program
        self.op = op
        self.blocks = blocks

    def __call__(self, lanes: Any, address: Any, mask: Any) -> Any:
        """Pairs of block and mask; a fault where no function is, or one of other parameters."""
        if type(address) is int:
            if address not in self.blocks:
                raise self._wild(lanes, mask, np.full(len(lanes.numbers(mask)), True), address)
            return ((self.blocks[address], mask),)
        values = np.broadcast_to(lanes.integers(address, 64), lanes.shape)
        active = values.reshape(-1) if mask is None else values[mask]
        pairs = []
        for found in np.unique(active).tolist():
            if found not in self.blocks:
                raise self._wild(lanes, mask, active == found, found)
            here = both(values == found, mask, lanes)
            pairs.append((self.blocks[found], here))
        return tuple(pairs)

    def _wild(self, lanes: Any, mask: Any, bad: Any, address: int) -> Exception:
        program = self.program
        name = next((name for name, at in program.code.items() if at == address), None)
        if address == 0:
            what = "called a null function pointer"
        elif name is None:
            what = f"called {address & (1 << 64) - 1:#x}, where no function is"
        else:
            what = f"called {name} as a function of other parameters, or one not in the call's list"
        return faults.first_of(program, self.op, lanes, mask, bad, what)


def dispatch(emit: Emitter, op: Op) -> None:
    """On to the call of the function that an address means."""
    table = op.operands[1]
    assert isinstance(table, Label)
    program = emit.program
    blocks = {at: program.labels[label] for at, label in program.targets[table.name].items()}
    run = emit.bind(Dispatch(program, op, blocks))
    emit.leave(f"{run}(S, {emit.argument(op.operands[0]).text}, m)")


dispatch.ends_block = True  # type: ignore[attr-defined]  # traits, as `effect` sets them
dispatch.leaves = True  # type: ignore[attr-defined]


@effect(
    "call{.uni} p, t",
    "call{.uni} p, a, t",
    "call{.uni} r, p, a, t",
    uni="uni",
    types="r:arguments p:pointer a:arguments t:prototype",
    isa=_CALL,
)
def call_by_address(emit: Emitter, op: Op) -> None:
    """Lowered to a dispatch and calls by name: never emitted itself."""
    raise NotImplementedError(op.instruction.name)
