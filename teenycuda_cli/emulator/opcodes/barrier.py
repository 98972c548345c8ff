"""bar and barrier: threads of a block that wait for one another."""

from __future__ import annotations

from dataclasses import dataclass

from teenycuda_cli.emulator.effects import effect
from teenycuda_cli.emulator.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Nowhere, Op, Register, Source
from teenycuda_cli.emulator.opcodes.control import predicate_text, remaining

_BAR = "parallel-synchronization-and-communication-instructions-bar"


@dataclass(frozen=True, slots=True, eq=False)
class BarrierSite:
    """A barrier instruction: whether lanes wait at it and count, and what it reduces into which register."""

    op: Op
    waits: bool
    counts: bool = True
    reduction: str = ""
    home: int = -1


@effect("bar{.cta}.sync a{, b}", cta="cta", types="a:u32 b:u32", isa=_BAR, ends_block=True)
@effect(
    "barrier{.cta}.sync{.aligned} a{, b}",
    cta="cta",
    aligned="aligned",
    types="a:u32 b:u32",
    isa=_BAR,
    ends_block=True,
)
def bar_sync(emit: Emitter, op: Op) -> None:
    """Wait until all threads of the block, or `b` of them, are at barrier `a`."""
    _arrive(emit, op, BarrierSite(op, True), op.operands)


@effect("bar{.cta}.arrive a, b", cta="cta", types="a:u32 b:u32", isa=_BAR, ends_block=True)
@effect(
    "barrier{.cta}.arrive{.aligned} a, b",
    cta="cta",
    aligned="aligned",
    types="a:u32 b:u32",
    isa=_BAR,
    ends_block=True,
)
def bar_arrive(emit: Emitter, op: Op) -> None:
    """Count at barrier `a`, and go on."""
    _arrive(emit, op, BarrierSite(op, False), op.operands)


@effect("bar{.cta}.red.popc.u32 d, a, {!}c", cta="cta", types="d:u32 a:u32 c:pred", isa=_BAR, ends_block=True)
@effect(
    "bar{.cta}.red.popc.u32 d, a, b, {!}c",
    cta="cta",
    types="d:u32 a:u32 b:u32 c:pred",
    isa=_BAR,
    ends_block=True,
)
@effect(
    "bar{.cta}.red.op.pred p, a, {!}c",
    cta="cta",
    op="and or",
    types="p:pred a:u32 c:pred",
    isa=_BAR,
    ends_block=True,
)
@effect(
    "bar{.cta}.red.op.pred p, a, b, {!}c",
    cta="cta",
    op="and or",
    types="p:pred a:u32 b:u32 c:pred",
    isa=_BAR,
    ends_block=True,
)
@effect(
    "barrier{.cta}.red.popc{.aligned}.u32 d, a, {!}c",
    "barrier{.cta}.red.popc{.aligned}.u32 d, a, b, {!}c",
    cta="cta",
    types="d:u32 a:u32 b:u32 c:pred",
    isa=_BAR,
    ends_block=True,
)
@effect(
    "barrier{.cta}.red.op{.aligned}.pred p, a, {!}c",
    "barrier{.cta}.red.op{.aligned}.pred p, a, b, {!}c",
    cta="cta",
    op="and or",
    types="p:pred a:u32 b:u32 c:pred",
    isa=_BAR,
    ends_block=True,
)
def bar_red(emit: Emitter, op: Op) -> None:
    """Wait, and combine a predicate over the threads that do."""
    destination = op.operands[0]
    home = destination.home if isinstance(destination, Register) else -1
    reduction = op.operation.modifiers.get("op", "popc")
    contribution = emit.argument(op.operands[-1], "pred").text
    site = BarrierSite(op, True, reduction=reduction, home=home)
    _arrive(emit, op, site, op.operands[1:-1], contribution)
    if isinstance(destination, Register):
        emit.forget(destination)


_CLUSTER = "parallel-synchronization-and-communication-instructions-barrier-cluster"
CLUSTER_BARRIER = 16
"""The number of the barrier of a cluster, behind the sixteen of a block."""


@effect("barrier.cluster.arrive{.sem}{.aligned} ", sem="release relaxed", isa=_CLUSTER, ends_block=True)
def cluster_arrive(emit: Emitter, op: Op) -> None:
    """Count at the cluster's barrier, and go on."""
    _arrive(emit, op, BarrierSite(op, False), (Constant(CLUSTER_BARRIER),))


@effect("barrier.cluster.wait{.sem}{.aligned} ", sem="acquire", isa=_CLUSTER, ends_block=True)
def cluster_wait(emit: Emitter, op: Op) -> None:
    """Wait until all threads of the cluster have counted."""
    _arrive(emit, op, BarrierSite(op, True, counts=False), (Constant(CLUSTER_BARRIER),))


def _arrive(
    emit: Emitter, op: Op, site: BarrierSite, operands: tuple[Source, ...], contribution: str = "None"
) -> None:
    name = emit.bind(site)
    barrier = emit.integer(operands[0], 32)
    count = (
        emit.integer(operands[1], 32)
        if len(operands) > 1 and not isinstance(operands[1], Nowhere)
        else "None"
    )
    following = emit.next_block
    mask = emit.mask(op)
    ending = f"S.batch.scheduler.arrive(S, {name}, {barrier}, {count}, {contribution}, {following}, {mask})"
    if op.predicate is not None:
        rest = f"{emit.bind(remaining)}(S, {predicate_text(op)}, m, {following})"
        ending = f"(() if {mask} is False else {ending}) + {rest}"
    emit.leave(ending)
