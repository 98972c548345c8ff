"""cp.async.bulk: copies of runs of bytes, which one lane begins.

They are made at once, which is one of the orders in which hardware may make
them; what is due then is counted at the mbarrier. So groups of them are
complete as soon as they are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK, Argument, fixed
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op, Place, Source
from teenycuda_cli.emulator.machine import clusters
from teenycuda_cli.emulator.machine import mbarriers as objects
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.spans import Actor, blocks_of, values
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.opcodes.atomics import change_of
from teenycuda_cli.emulator.opcodes.effects import Build, effect
from teenycuda_cli.emulator.program import Program

ISA = "data-movement-and-conversion-instructions-cp-async-bulk"
REDUCE = "data-movement-and-conversion-instructions-cp-reduce-async-bulk"
CHUNK = 16
ALONE = 1 << clusters.MOST
_ORDERED = objects.Arrival(arrives=False)


class Bulk:
    """What all copies share: who copies, and what is told when it is done."""

    def __init__(self, program: Program, op: Op) -> None:
        """The instruction that copies."""
        self.program = program
        self.op = op

    def actors(self, lanes: Lanes, mask: Mask, *operands: Any) -> Iterator[tuple[Any, ...]]:
        """Each lane of a mask with its values of operands of 64 bits."""
        columns = [values(lanes, operand, mask, 64).tolist() for operand in operands]
        owners = blocks_of(lanes, mask).tolist()
        for number, block, *given in zip(lanes.numbers(mask).tolist(), owners, *columns, strict=True):
            yield Actor(self.program, self.op, lanes, number, block), *given

    def complete(self, actor: Actor, barrier: int, size: int) -> None:
        """So many bytes are complete at an mbarrier."""
        actor.aligned(barrier, 8, "an mbarrier")
        data = actor.shared(barrier, 8, writes=True).view(objects.WORD)
        try:
            _, ended = objects.arrive(data, np.zeros(1, np.int64), 0, -size, _ORDERED)
        except objects.Misuse as misuse:
            raise actor.fault(misuse.what) from None
        if ended:
            actor.lanes.batch.scheduler.parking.settle()


def targets(actor: Actor, chosen: int, *addresses: int) -> Iterator[tuple[int, ...]]:
    """Addresses in the blocks of a cluster whose ranks are chosen by 16 bits; `ALONE`: as they are."""
    if chosen == ALONE:
        yield addresses
        return
    for rank in range(clusters.MOST):
        if chosen >> rank & 1:
            if rank >= clusters.size(actor.lanes.batch):
                raise actor.fault(f"copies to the block of rank {rank}, which its cluster does not have")
            yield tuple(int(clusters.mapped(np.int64(address), rank)) for address in addresses)


class CopyIn(Bulk):
    """From global memory to shared memory, or from shared to a cluster's: with an mbarrier."""

    def __init__(self, program: Program, op: Op, offsets: tuple[int, int, int], *, from_shared: bool) -> None:
        """`offsets` are those of the target, the source and the mbarrier."""
        super().__init__(program, op)
        self.offsets = offsets
        self.from_shared = from_shared

    def __call__(
        self, lanes: Lanes, to: Any, origin: Any, size: Any, barrier: Any, chosen: Any, mask: Mask
    ) -> None:
        """Raises LaunchError for what must not be touched."""
        to_at, from_at, barrier_at = self.offsets
        for actor, target, source, length, told, ranks in self.actors(
            lanes, mask, to, origin, size, barrier, chosen
        ):
            count = _checked(actor, target + to_at, source + from_at, length)
            read = actor.shared if self.from_shared else actor.device
            data = read(source + from_at, count, writes=False).copy()
            for place, where in targets(actor, ranks, target + to_at, told + barrier_at):
                put(self.op, actor.shared(place, count, writes=True), data)
                self.complete(actor, where, count)


class CopyOut(Bulk):
    """From shared to global memory, or combined with what is there."""

    def __init__(self, program: Program, op: Op, offsets: tuple[int, int]) -> None:
        """`offsets` are those of the target and the source."""
        super().__init__(program, op)
        self.offsets = offsets

    def __call__(self, lanes: Lanes, to: Any, origin: Any, size: Any, mask: Mask) -> None:
        """Raises LaunchError for what must not be touched."""
        for actor, target, source, length in self.actors(lanes, mask, to, origin, size):
            address = target + self.offsets[0]
            count = _checked(actor, address, source + self.offsets[1], length)
            data = actor.shared(source + self.offsets[1], count, writes=False)
            put(self.op, actor.device(address, count, writes=True), data)


def _checked(actor: Actor, target: int, source: int, length: int) -> int:
    """The bytes to copy."""
    count = length & 0xFFFFFFFF
    if count % CHUNK:
        raise actor.fault(f"copies {count} bytes in bulk, which is no multiple of {CHUNK}")
    actor.aligned(target, CHUNK, "the target of a bulk copy")
    actor.aligned(source, CHUNK, "the source of a bulk copy")
    return count


def put(op: Op, place: Any, data: Any) -> None:
    """Bytes to where they go, combined with what is there where the instruction reduces."""
    modifiers = op.operation.modifiers
    if "op" in modifiers:
        number = dtype_of(modifiers["type"])
        old, new = place.view(number), data.view(number)
        old[:] = reduced(modifiers["op"], modifiers["type"], old, new)
    else:
        place[:] = data


def reduced(name: str, kind: str, old: Any, new: Any, *, flushes: bool = False) -> Any:
    """Old elements combined with new ones, like the atomic operation of a type, but f32 keeps subnormals."""
    change = change_of(name, kind, in_shared=False, flushes=flushes)
    with np.errstate(all="ignore"):
        return change.function(old, new)


# ---------------------------------------------------------------- rows


def address_of(emit: Emitter, source: Source) -> tuple[Argument, int]:
    """The base of an address, and what is added to it."""
    assert isinstance(source, Place)
    return emit.argument(source.base, "b64"), source.offset


EVICTION: Any = {"hint": "L2::cache_hint"}


def _rows(kinds: Iterable[tuple[str, str]], *lines: str, **more: Any) -> Callable[[Build], Build]:
    """Rows that reduce: the types of each operation."""

    def register(build: Build) -> Build:
        for name, types in kinds:
            effect(*lines, op=name, type=types, types="size:u32 policy:b64", isa=REDUCE, **EVICTION, **more)(
                build
            )
        return build

    return register


def ranks_of(emit: Emitter, op: Op, rest: list[Source]) -> Argument:
    """The ranks of blocks, as bits, that a copy goes to; `ALONE`: to where its address is."""
    return emit.integer_argument(rest[0], 16) if op.operation.modifiers.get("multicast") else fixed(ALONE)


@effect(
    "cp.async.bulk.dst.global.mbarrier::complete_tx::bytes [a], [b], size, [mbar]",
    "cp.async.bulk.dst.global.mbarrier::complete_tx::bytes.hint [a], [b], size, [mbar], policy",
    dst="shared::cluster shared::cta",
    types="size:u32 policy:b64",
    isa=ISA,
    **EVICTION,
)
@effect(
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast"
    " [a], [b], size, [mbar], mask",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast.hint"
    " [a], [b], size, [mbar], mask, policy",
    multicast="multicast::cluster",
    types="size:u32 mask:b16 policy:b64",
    isa=ISA,
    **EVICTION,
)
@effect(
    "cp.async.bulk.shared::cluster.src.mbarrier::complete_tx::bytes [a], [b], size, [mbar]",
    src="shared::cta",
    types="size:u32",
    isa=ISA,
)
@_rows(
    {"and or xor": "b32", "add": "u32 s32 u64", "min max": "u32 s32", "inc dec": "u32"}.items(),
    "cp.reduce.async.bulk.shared::cluster.src.mbarrier::complete_tx::bytes.op.type [a], [b], size, [mbar]",
    src="shared::cta",
)
def copy_in(emit: Emitter, op: Op) -> None:
    """Bytes into shared memory."""
    to, origin, size, barrier, *rest = op.operands
    (target, to_at), (source, from_at) = address_of(emit, to), address_of(emit, origin)
    told, barrier_at = address_of(emit, barrier)
    run = CopyIn(
        emit.program, op, (to_at, from_at, barrier_at), from_shared=bool(op.operation.modifiers.get("src"))
    )
    count = emit.integer_argument(size, 32)
    emit.call(op, [], emit.bind(run), (target, source, count, told, ranks_of(emit, op, rest), MASK))


_OUT = "cp.reduce.async.bulk.global.shared::cta.bulk_group"
_NUMBERS = {"add": "u32 s32 u64 f32 f64", "min max": "u32 s32 u64 s64 f16 bf16", "inc dec": "u32"}
_BITS = {"and or xor": "b32 b64"}
_HALVES = {"add": "f16 bf16"}


@effect(
    "cp.async.bulk.global.shared::cta.bulk_group [a], [b], size",
    "cp.async.bulk.global.shared::cta.bulk_group.hint [a], [b], size, policy",
    types="size:u32 policy:b64",
    isa=ISA,
    **EVICTION,
)
@_rows(
    (_NUMBERS | _BITS).items(),
    f"{_OUT}.op.type [a], [b], size",
    f"{_OUT}.hint.op.type [a], [b], size, policy",
)
@_rows(
    _HALVES.items(),
    f"{_OUT}.op.noftz.type [a], [b], size",
    f"{_OUT}.hint.op.noftz.type [a], [b], size, policy",
)
def copy_out(emit: Emitter, op: Op) -> None:
    """Bytes of shared memory into global memory."""
    to, origin, size, *_ = op.operands
    (target, to_at), (source, from_at) = address_of(emit, to), address_of(emit, origin)
    run = emit.bind(CopyOut(emit.program, op, (to_at, from_at)))
    emit.call(op, [], run, (target, source, emit.integer_argument(size, 32), MASK))


@effect("cp.async.bulk.commit_group ", isa=ISA + "-commit-group", keeps_memory=True)
@effect("cp.async.bulk.wait_group{.read} n", types="n:u32=", isa=ISA + "-wait-group", keeps_memory=True)
@effect(
    "cp.async.bulk.prefetch.L2.global [a], size",
    "cp.async.bulk.prefetch.L2.global.hint [a], size, policy",
    types="size:u32 policy:b64",
    isa=ISA + "-prefetch",
    keeps_memory=True,
    **EVICTION,
)
def nothing(emit: Emitter, op: Op) -> None:
    """Nothing is left to do: copies are made when they begin, and there is no cache."""
