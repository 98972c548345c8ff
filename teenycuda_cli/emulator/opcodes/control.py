"""Where lanes go: bra, brx, ret, exit, trap; and what only passes time."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK, fixed
from teenycuda_cli.emulator.codegen.compute import both, negate
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Label, Op
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.launch import WORKSPACE_REGISTER
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.wording import counted

_BRANCH = "control-flow-instructions-bra"


def branch(lanes: Any, predicate: Any, mask: Any, taken: int, other: int) -> Any:
    """Lanes for which a predicate holds go to one block, the rest to another."""
    if type(predicate) is not np.ndarray:
        return ((taken if predicate else other, mask),)
    holds = both(predicate, mask, lanes)
    if holds is False:
        return ((other, mask),)
    rest = both(~predicate, mask, lanes)
    if rest is False:
        return ((taken, mask),)
    lanes.split()
    return ((taken, holds), (other, rest))


def remaining(lanes: Any, predicate: Any, mask: Any, block: int) -> Any:
    """Lanes for which a predicate does not hold go on to a block, the others are gone."""
    rest = both(negate(predicate), mask, lanes)
    if rest is False:
        return ()
    if rest is not mask:
        lanes.split()
    return ((block, rest),)


def spread(lanes: Any, value: Any, mask: Any, blocks: Sequence[int]) -> Any:
    """Each lane goes to the block that its value numbers."""
    if type(value) is int:
        return ((blocks[value], mask),)
    values = np.broadcast_to(lanes.integers(value, 32), lanes.shape)
    active = values.reshape(-1) if mask is None else values[mask]
    if (active == active[0]).all():
        return ((blocks[int(active[0])], mask),)
    present = np.unique(active)
    pairs = []
    for number in present:
        here = both(values == number, mask, lanes)
        if here is not False:
            pairs.append((blocks[int(number)], here))
    return tuple(pairs)


def predicate_text(op: Op) -> str:
    """The expression of an instruction's predicate."""
    assert op.predicate is not None
    text = f"v{op.predicate.number}"
    return f"negate({text})" if op.negated else text


@effect("bra{.uni} target", uni="uni", types="target:label", isa=_BRANCH, ends_block=True, leaves=True)
def bra(emit: Emitter, op: Op) -> None:
    """A jump, for the lanes whose predicate holds."""
    label = op.operands[0]
    assert isinstance(label, Label)
    target = emit.program.labels[label.name]
    if op.predicate is None:
        emit.go_to(target)
        return
    taken, other = (emit.next_block, target) if op.negated else (target, emit.next_block)
    emit.leave_by(branch, emit.argument(op.predicate), MASK, fixed(taken), fixed(other))


@effect(
    "brx.idx{.uni} index, table",
    uni="uni",
    types="index:u32 table:table",
    isa="control-flow-instructions-brx-idx",
    ends_block=True,
    leaves=True,
)
def brx(emit: Emitter, op: Op) -> None:
    """A jump to the label of a table that an index chooses."""
    label = op.operands[1]
    assert isinstance(label, Label)
    blocks = tuple([emit.program.labels[name] for name in emit.program.tables[label.name]])
    run = emit.bind(Jump(emit.program, op, blocks))
    index = emit.integer(op.operands[0], 32)
    if op.predicate is None:
        emit.leave(f"{run}(S, {index}, m)")
        return
    mask = emit.mask(op)
    rest = f"{emit.bind(remaining)}(S, {predicate_text(op)}, m, {emit.next_block})"
    emit.leave(f"(() if {mask} is False else {run}(S, {index}, {mask})) + {rest}")


class Jump:
    """`brx.idx`: lanes go by index; one past the table is a fault."""

    def __init__(self, program: Program, op: Op, blocks: tuple[int, ...]) -> None:
        """`blocks` are the targets, in the table's order."""
        self.program = program
        self.op = op
        self.blocks = blocks

    def __call__(self, lanes: Any, index: Any, mask: Any) -> Any:
        """Pairs of block and mask."""
        values = np.broadcast_to(lanes.integers(index, 32), lanes.shape)
        active = values if mask is None else values[mask]
        wrong = (active < 0) | (active >= len(self.blocks))
        if wrong.any():
            numbers = lanes.numbers(mask)
            failing = np.flatnonzero(wrong)
            chosen = int(active.reshape(-1)[failing[0]])
            what = f"jumped past its table: index {chosen} of {counted(len(self.blocks), 'target')}"
            raise faults.fault(self.program, self.op, lanes, int(numbers[failing[0]]), len(failing), what)
        return spread(lanes, index, mask, self.blocks)


@effect("ret{.uni} ", uni="uni", isa="control-flow-instructions-ret", ends_block=True, leaves=True)
def ret(emit: Emitter, op: Op) -> None:
    """Back to the caller; out of the kernel in the entry."""
    back = emit.block.function.return_to
    if back is None:
        exit_(emit, op)
        return
    run = Return(back.home, emit.return_sites)
    if op.predicate is None:
        emit.leave_by(run, MASK)
        return
    mask = emit.mask(op)
    rest = f"{emit.bind(remaining)}(S, {predicate_text(op)}, m, {emit.next_block})"
    emit.leave(f"(() if {mask} is False else {emit.bind(run)}(S, {mask})) + {rest}")


class Return:
    """`ret`: lanes go back to where the register `home` says that they came from."""

    def __init__(self, home: int, sites: list[int]) -> None:
        """`sites` are the blocks behind the calls, by the number that lanes remember."""
        self.home = home
        self.sites = sites

    def __call__(self, lanes: Any, mask: Any) -> Any:
        """Pairs of block and mask."""
        return spread(lanes, lanes.R[self.home], mask, self.sites)


@effect("exit ", isa="control-flow-instructions-exit", ends_block=True, leaves=True)
def exit_(emit: Emitter, op: Op) -> None:
    """The lanes are done."""
    if op.predicate is None:
        emit.go_to(-1)
    else:
        emit.leave(f"{emit.bind(remaining)}(S, {predicate_text(op)}, m, {emit.next_block})")


class Trap:
    """`trap` and `brkpt`: the launch fails."""

    def __init__(self, program: Program, op: Op, specials: AbstractSet[str]) -> None:
        """Keep what the message needs; `specials` will be the registers that the kernel reads."""
        self.program = program
        self.op = op
        self.specials = specials

    def __call__(self, lanes: Any, mask: Any) -> None:
        """Raise for the lanes of a mask."""
        if mask is False:
            return
        numbers = lanes.numbers(mask)
        what = "trapped" if self.op.instruction.opcode == "trap" else "stopped at a breakpoint"
        extra: tuple[str, ...] = ()
        if WORKSPACE_REGISTER in self.specials and not lanes.batch.launch.cooperative:
            extra = ("a barrier of the whole grid traps without --cooperative",)
        raise faults.fault(self.program, self.op, lanes, int(numbers[0]), len(numbers), what, extra)


@effect("trap ", isa="miscellaneous-instructions-trap")
@effect("brkpt ", isa="miscellaneous-instructions-brkpt")
def trap(emit: Emitter, op: Op) -> None:
    """The launch fails."""
    run = emit.bind(Trap(emit.program, op, emit.specials))
    emit.line(f"{run}(S, {emit.mask(op)})")


@effect("nanosleep.u32 t", isa="miscellaneous-instructions-nanosleep", types="t:u32", keeps_memory=True)
@effect(
    "griddepcontrol.action ",
    action="launch_dependents wait",
    isa="parallel-synchronization-and-communication-instructions-griddepcontrol",
    keeps_memory=True,
)
@effect("pmevent a", isa="miscellaneous-instructions-pmevent", types="a:u32=", keeps_memory=True)
@effect("pmevent.mask a", isa="miscellaneous-instructions-pmevent", types="a:u32=", keeps_memory=True)
def nothing(emit: Emitter, op: Op) -> None:
    """Nothing that a kernel could see."""
