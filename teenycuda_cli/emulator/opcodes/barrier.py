"""bar and barrier: threads of a block that wait for one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from teenycuda_cli.emulator.codegen.arguments import MASK, Argument
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Nowhere, Op, Register, Source
from teenycuda_cli.emulator.opcodes.control import predicate_text, remaining
from teenycuda_cli.emulator.opcodes.effects import effect

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
    contribution = emit.argument(op.operands[-1], "pred")
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
    emit: Emitter,
    op: Op,
    site: BarrierSite,
    operands: tuple[Source, ...],
    contribution: Argument | None = None,
) -> None:
    arguments = {"barrier": emit.integer_argument(operands[0], 32)}
    if len(operands) > 1 and not isinstance(operands[1], Nowhere):
        arguments["count"] = emit.integer_argument(operands[1], 32)
    if contribution is not None:
        arguments["contribution"] = contribution
    run = Arrive(site, emit.next_block, tuple(arguments))
    if op.predicate is None:
        emit.leave_by(run, MASK, *arguments.values())
        return
    mask = emit.mask(op)
    texts = ", ".join([argument.text for argument in arguments.values()])
    rest = f"{emit.bind(remaining)}(S, {predicate_text(op)}, m, {emit.next_block})"
    emit.leave(f"(() if {mask} is False else {emit.bind(run)}(S, {mask}, {texts})) + {rest}")


class Arrive:
    """Lanes come to a barrier: (lanes, mask, *arguments) → pairs of block and mask."""

    def __init__(self, site: BarrierSite, following: int, names: tuple[str, ...]) -> None:
        """`names` are those of the arguments: barrier, count, contribution."""
        self.site = site
        self.following = following
        self.names = names

    def __call__(self, lanes: Any, mask: Any, *arguments: Any) -> Any:
        """Those that do not wait go on."""
        given = {"count": None, "contribution": None} | dict(zip(self.names, arguments, strict=True))
        barriers = lanes.batch.scheduler.barriers
        return barriers.arrive(lanes, self.site, mask=mask, following=self.following, **given)
