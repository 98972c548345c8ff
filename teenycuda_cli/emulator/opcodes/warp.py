"""Among the lanes of a warp: shfl, vote, match, redux, activemask, elect."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op, Source
from teenycuda_cli.emulator.machine.lanes import FullLanes
from teenycuda_cli.emulator.machine.warps import WARP, by_warp, from_warps
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.memory import elements

_ALL = 0xFFFFFFFF


def active(lanes: Any, mask: Any) -> Any:
    """Which lanes of each warp are here, as rows of 32 bools."""
    return by_warp(lanes, np.ones(lanes.shape, bool) if mask is None else mask, False)


def bits(rows: Any) -> Any:
    """Rows of 32 bools as a column of 32-bit masks."""
    return np.packbits(rows, axis=1, bitorder="little").view("<u4").astype(np.uint32)


def taking_part(lanes: Any, member: Any, mask: Any) -> Any:
    """Which lanes of its warp each lane's member mask names, of those that are here: (warps, 32 or 1, 32).

    1 where all lanes of every warp name the same ones, as nearly always.
    """
    here = active(lanes, mask)
    if type(member) is int:
        if member & _ALL != _ALL:
            here = here & ((member >> np.arange(WARP)) & 1).astype(bool)
        return here[:, None, :]
    rows = _rows(lanes, member)
    first = np.take_along_axis(rows, here.argmax(axis=1)[:, None], axis=1)
    if not (here & (rows != first)).any():
        rows = first
    return here[:, None, :] & ((rows[:, :, None] >> np.arange(WARP)) & 1).astype(bool)


def masks(part: Any) -> Any:
    """`taking_part`, or the like, as one mask of 32 bits each, in signed numbers."""
    return bits(part.reshape(-1, WARP)).view(np.int32).reshape(part.shape[:2])


_SHFL = "data-movement-and-conversion-instructions-shfl-sync"


class Shuffle:
    """`shfl.sync`: values from other lanes of the warp, and whether the lane was in range."""

    def __init__(self, mode: str, wants_predicate: bool) -> None:
        """`mode` is up, down, bfly or idx."""
        self.mode = mode
        self.wants_predicate = wants_predicate

    def __call__(self, lanes: Any, value: Any, b: Any, c: Any, mask: Any) -> Any:
        """The value, with the predicate where it is wanted."""
        if type(value) is int and not self.wants_predicate:
            return value
        values = np.broadcast_to(lanes.integers(value, 32), lanes.shape)
        if type(b) is int and type(c) is int:
            simple = self._simple(lanes, values, b & 31, c)
            if simple is not None:
                return simple
        return self._general(lanes, values, b, c)

    def _simple(self, lanes: Any, values: Any, b: int, c: int) -> Any:
        """Whole warps, the clamp at the warp's end: slices do."""
        if self.wants_predicate or lanes.batch.threads % WARP:
            return None
        rows = values.reshape(-1, WARP)
        if self.mode == "bfly" and c & 0x1F1F == 0x1F and b.bit_count() == 1:
            pairs = rows.reshape(-1, WARP // (2 * b), 2, b)
            return pairs[:, :, ::-1].reshape(lanes.shape)
        if self.mode == "down" and c & 0x1F1F == 0x1F:
            moved = rows.copy()
            if b:
                moved[:, : WARP - b] = rows[:, b:]
            return moved.reshape(lanes.shape)
        if self.mode == "up" and c & 0x1F1F == 0:
            moved = rows.copy()
            if b:
                moved[:, b:] = rows[:, : WARP - b]
            return moved.reshape(lanes.shape)
        return None

    def _general(self, lanes: Any, values: Any, b: Any, c: Any) -> Any:
        rows = by_warp(lanes, values, 0)
        lane = np.arange(WARP, dtype=np.int64)[None, :]
        delta = _rows(lanes, b) & 31
        clamp = _rows(lanes, c)
        segment = (clamp >> 8) & 31
        clamp = clamp & 31
        high = (lane & segment) | (clamp & ~segment)
        low = lane & segment
        if self.mode == "up":
            source = lane - delta
            inside = source >= high
        elif self.mode == "down":
            source = lane + delta
            inside = source <= high
        elif self.mode == "bfly":
            source = lane ^ delta
            inside = source <= high
        else:
            source = low | (delta & ~segment)
            inside = source <= high
        source, inside, _ = np.broadcast_arrays(np.where(inside, source, lane), inside, rows)
        moved = from_warps(lanes, np.take_along_axis(rows, source, axis=1))
        if not self.wants_predicate:
            return moved
        return moved, from_warps(lanes, inside)


def _rows(lanes: Any, value: Any) -> Any:
    if type(value) is int:
        return np.int64(value)
    return by_warp(lanes, lanes.integers(value, 32).astype(np.int64), 0)


@effect(
    "shfl.mode.b32 d, a, b, c",
    "shfl.mode.b32 d|p, a, b, c",
    mode="up down bfly idx",
    types="p:pred b:b32 c:b32",
    isa=_SHFL,
    gathers=True,
    keeps_memory=True,
)
def shfl_of_those_here(emit: Emitter, op: Op) -> None:
    """A register of another lane, of those that happen to be here."""
    shfl(emit, op)


@effect(
    "shfl.sync.mode.b32 d, a, b, c, membermask",
    "shfl.sync.mode.b32 d|p, a, b, c, membermask",
    mode="up down bfly idx",
    types="p:pred b:b32 c:b32 membermask:u32",
    isa=_SHFL,
    gathers=True,
    meets_elsewhere=True,
    keeps_memory=True,
)
def shfl(emit: Emitter, op: Op) -> None:
    """A register of another lane."""
    destinations = elements(op.operands[0])
    wanted = len(destinations) > 1 and emit.is_used(destinations[1])
    run = emit.function(Shuffle, op.operation.modifiers["mode"], wanted)
    values = [emit.integer_argument(operand, 32) for operand in op.operands[1:4]]
    dtypes = [np.dtype(np.int32), np.dtype(np.bool_)]
    if not wanted:
        destinations = destinations[:1]
    emit.call(op, destinations, run, (*values, MASK), dtypes[: len(destinations)])


class Vote:
    """`vote.sync`: a predicate over the lanes of the warp that take part."""

    def __init__(self, mode: str) -> None:
        """`mode` is all, any, uni or ballot."""
        self.mode = mode

    def __call__(self, lanes: Any, predicate: Any, member: Any, mask: Any) -> Any:
        """A bool, or the ballot's 32 bits, for each lane."""
        here = taking_part(lanes, member, mask)
        if type(predicate) is not np.ndarray:
            holds = here if predicate else np.zeros_like(here)
        else:
            holds = here & by_warp(lanes, predicate, False)[:, None, :]
        if self.mode == "ballot":
            return from_warps(lanes, masks(holds))
        some = holds.any(axis=2)
        every = (holds == here).all(axis=2)
        result = {"any": some, "all": every, "uni": every | ~some}[self.mode]
        return from_warps(lanes, result)


@effect(
    "vote.sync.mode.pred d, {!}a, membermask",
    mode="all any uni",
    types="d:pred a:pred membermask:u32",
    isa="parallel-synchronization-and-communication-instructions-vote-sync",
    gathers=True,
    meets_elsewhere=True,
    keeps_memory=True,
)
@effect(
    "vote.sync.ballot.b32 d, {!}a, membermask",
    types="d:b32 a:pred membermask:u32",
    isa="parallel-synchronization-and-communication-instructions-vote-sync",
    gathers=True,
    meets_elsewhere=True,
    keeps_memory=True,
)
def vote(emit: Emitter, op: Op) -> None:
    """What holds for lanes of the warp."""
    mode = op.operation.modifiers.get("mode") or "ballot"
    run = emit.function(Vote, mode)
    predicate = emit.argument(op.operands[1], "pred").text
    mask = emit.mask(op)
    call = f"{run}(S, {predicate}, {emit.integer(op.operands[2], 32)}, {mask})"
    dtype = np.dtype(np.int32) if mode == "ballot" else np.dtype(np.bool_)
    emit.store_results(op, [op.operands[0]], call, mask, [dtype])


def active_mask(lanes: Any, mask: Any) -> Any:
    """The lanes of each warp that are here, as 32 bits for each lane."""
    if not isinstance(lanes, FullLanes):
        full = np.zeros(lanes.batch.extents, bool)
        full.reshape(-1)[lanes.numbers(mask)] = True
        whole = lanes.batch.full
        return from_warps(whole, bits(active(whole, full)).view(np.int32)).reshape(-1)[lanes.index]
    return from_warps(lanes, bits(active(lanes, mask)).view(np.int32))


@effect(
    "activemask.b32 d",
    types="d:b32",
    isa="parallel-synchronization-and-communication-instructions-activemask",
    keeps_memory=True,
)
def activemask(emit: Emitter, op: Op) -> None:
    """Which lanes of the warp are here."""
    mask = emit.mask(op)
    call = f"{emit.bind(active_mask)}(S, {mask})"
    emit.store_results(op, [op.operands[0]], call, mask, [np.dtype(np.int32)])


@effect(
    "bar.warp.sync membermask",
    types="membermask:u32",
    isa="parallel-synchronization-and-communication-instructions-bar-warp-sync",
    gathers=True,
    meets_elsewhere=True,
    keeps_memory=True,
)
def bar_warp_sync(emit: Emitter, op: Op) -> None:
    """Wait for the lanes of a member mask: done before the block that this begins."""


class Match:
    """`match.sync`: the lanes of the warp that hold the same value."""

    def __init__(self, mode: str, width: int, wants_predicate: bool) -> None:
        """`mode` is any or all."""
        self.mode = mode
        self.width = width
        self.wants_predicate = wants_predicate

    def __call__(self, lanes: Any, value: Any, member: Any, mask: Any) -> Any:
        """32 bits for each lane, with whether all agree where that is wanted."""
        rows = by_warp(lanes, np.broadcast_to(lanes.integers(value, self.width), lanes.shape), 0)
        here = taking_part(lanes, member, mask)
        equal = rows[:, :, None] == rows[:, None, :]
        if self.mode == "any":
            return from_warps(lanes, masks(equal & here))
        agree = (equal | ~here).all(axis=2)
        everyone = np.where(agree, masks(here), np.int32(0))
        result = from_warps(lanes, everyone)
        return (result, from_warps(lanes, agree)) if self.wants_predicate else result


@effect(
    "match.any.sync.type d, a, membermask",
    type="b32 b64",
    types="d:b32 membermask:u32",
    isa="parallel-synchronization-and-communication-instructions-match-sync",
    gathers=True,
    meets_elsewhere=True,
    keeps_memory=True,
)
@effect(
    "match.all.sync.type d, a, membermask",
    "match.all.sync.type d|p, a, membermask",
    type="b32 b64",
    types="d:b32? p:pred membermask:u32",
    isa="parallel-synchronization-and-communication-instructions-match-sync",
    gathers=True,
    meets_elsewhere=True,
    keeps_memory=True,
)
def match(emit: Emitter, op: Op) -> None:
    """Lanes with the same value."""
    destinations = elements(op.operands[0])
    wanted = len(destinations) > 1
    width = int(op.operation.modifiers["type"][1:])
    run = emit.function(Match, op.instruction.modifiers[0], width, wanted)
    mask = emit.mask(op)
    call = f"{run}(S, {emit.integer(op.operands[1], width)}, {emit.integer(op.operands[2], 32)}, {mask})"
    dtypes = [np.dtype(np.int32), np.dtype(np.bool_)]
    emit.store_results(op, destinations, call, mask, dtypes[: len(destinations)])


_REDUCE: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class Reduce:
    """`redux.sync`: an integer combined over the lanes of the warp that take part."""

    def __init__(self, name: str, signed: bool) -> None:
        """`name` is the operation's."""
        self.ufunc = _REDUCE[name]
        self.dtype = np.dtype(np.int32 if signed else np.uint32)
        info = np.iinfo(self.dtype)
        self.neutral = {"min": info.max, "max": info.min, "and": info.max if not signed else -1}.get(name, 0)

    def __call__(self, lanes: Any, value: Any, member: Any, mask: Any) -> Any:
        """The same value for each lane of a warp."""
        rows = by_warp(lanes, np.broadcast_to(lanes.integers(value, 32), lanes.shape), 0).view(self.dtype)
        here = taking_part(lanes, member, mask)
        filled = np.where(here, rows[:, None, :], self.dtype.type(self.neutral))
        result = self.ufunc.reduce(filled, axis=2, dtype=self.dtype)
        return from_warps(lanes, result.view(np.int32))


@effect(
    "redux.sync.op.type d, a, membermask",
    op="add min max",
    type="u32 s32",
    types="membermask:u32",
    isa="parallel-synchronization-and-communication-instructions-redux-sync",
    gathers=True,
    meets_elsewhere=True,
    keeps_memory=True,
)
@effect(
    "redux.sync.op.type d, a, membermask",
    op="and or xor",
    type="b32",
    types="membermask:u32",
    isa="parallel-synchronization-and-communication-instructions-redux-sync",
    gathers=True,
    meets_elsewhere=True,
    keeps_memory=True,
)
def redux(emit: Emitter, op: Op) -> None:
    """A reduction over the warp."""
    modifiers = op.operation.modifiers
    run = emit.function(Reduce, modifiers["op"], modifiers["type"][0] == "s")
    mask = emit.mask(op)
    call = f"{run}(S, {emit.integer(op.operands[1], 32)}, {emit.integer(op.operands[2], 32)}, {mask})"
    emit.store_results(op, [op.operands[0]], call, mask, [np.dtype(np.int32)])


def elect_one(lanes: Any, member: Any, mask: Any) -> Any:
    """The number of the warp's first lane that takes part, and whether this lane is it."""
    first = taking_part(lanes, member, mask).argmax(axis=2)
    return from_warps(lanes, first.astype(np.int32)), from_warps(lanes, np.arange(WARP)[None, :] == first)


@effect(
    "elect.sync d|p, membermask",
    types="d:b32 p:pred membermask:u32",
    isa="parallel-synchronization-and-communication-instructions-elect-sync",
    gathers=True,
    meets_elsewhere=True,
    keeps_memory=True,
)
def elect(emit: Emitter, op: Op) -> None:
    """One lane of the warp chosen: the first."""
    mask = emit.mask(op)
    call = f"{emit.bind(elect_one)}(S, {emit.integer(op.operands[1], 32)}, {mask})"
    dtypes = [np.dtype(np.int32), np.dtype(np.bool_)]
    destinations: list[Source] = elements(op.operands[0])
    emit.store_results(op, destinations, call, mask, dtypes)
