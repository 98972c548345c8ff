"""Runs a batch of blocks: which basic block next, for which lanes, and when lanes wait.

Lanes that meet at a basic block go on together. The block of the least rank
goes first, so that those behind catch up; where lanes spin, others get their
turn. A few lanes left in a loop are compacted and run there by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator import faults
from teenycuda_cli.emulator.flow import Loop
from teenycuda_cli.emulator.kernel import Kernel
from teenycuda_cli.emulator.lanes import FewLanes, FullLanes, Lanes, Mask
from teenycuda_cli.emulator.machine import Batch, now
from teenycuda_cli.emulator.opcodes.barrier import BarrierSite
from teenycuda_cli.emulator.opcodes.warp import active, bits, by_warp, from_warps

PATIENCE = 4096
"""Steps that lanes wait while others run; far fewer while those spin."""
SPIN_PATIENCE = 8
COMPACT_BELOW = 0.8
"""The part of a batch's lanes below which those in a loop are compacted."""


@dataclass(slots=True, eq=False)
class Arrival:
    """Lanes at a barrier."""

    site: BarrierSite
    barrier: Any
    count: Any
    contribution: Any
    following: int
    mask: Any  # a bool array


class Scheduler:
    """One batch."""

    def __init__(self, kernel: Kernel, batch: Batch, limit: int) -> None:
        """`limit` is the watchdog's, in steps."""
        self.kernel = kernel
        self.batch = batch
        self.limit = limit
        self.steps = 0
        self.waiting: list[Arrival] = []
        self.lanes: FullLanes

    def run(self, lanes: FullLanes) -> None:
        """All lanes from the entry to their end."""
        self.lanes = lanes
        pending: dict[int, Mask] = {self.kernel.first: None}
        while True:
            self._drain(lanes, pending, None, None)
            if not self.waiting:
                return
            self._release(pending)

    # ------------------------------------------------------------ scheduling

    def _drain(self, lanes: Lanes, pending: dict[int, Mask], loop: Loop | None, exits: Exits | None) -> None:
        """Run until nothing is pending; within a loop, hand lanes that leave it to `exits`."""
        kernel = self.kernel
        functions, ranks, loops = kernel.functions, kernel.ranks, kernel.loops
        since: dict[int, int] = {block: self.steps for block in pending}
        deferred: set[int] = set()
        inside = None if loop is None else loop.blocks
        while pending:
            if len(pending) == 1:
                (block,) = pending
                if deferred:
                    raise self._stuck_warp(lanes, pending)
            else:
                block = self._choose(pending, since, deferred, lanes)
            mask = pending.pop(block)
            self.steps += 1
            if not self.steps & 15:
                self._watch(block)
            writes = mask if pending or self.waiting else None
            parts = None
            if mask is not None:
                if block in kernel.gathering:
                    mask = self._gather(lanes, block, mask, pending, deferred)
                    if mask is False:
                        since[block] = self.steps
                        continue
                    if block in pending:
                        writes = mask
                elif block in loops and loops[block].compacts:
                    if loop is None or loop.header != block:
                        parts = self._compact(lanes, loops[block], mask, writes, pending)
                    elif not pending:
                        count = np.count_nonzero(mask)
                        if count < COMPACT_BELOW * lanes.count:
                            assert isinstance(lanes, FewLanes) and exits is not None
                            keep = np.flatnonzero(mask)
                            lanes.shrink(keep)
                            exits.shrink(keep)
                            mask = writes = None
            deferred.clear()
            for target, part in functions[block](lanes, mask, writes) if parts is None else parts:
                if inside is not None and target not in inside:
                    assert exits is not None
                    exits.leave(target, part)
                elif target in pending:
                    pending[target] = _joined(pending[target], part)
                else:
                    pending[target] = part
                    since[target] = self.steps

    def _choose(self, pending: dict[int, Mask], since: dict[int, int], deferred: set[int], lanes: Lanes) -> int:
        """The block of the least rank, unless another has waited too long."""
        ranks = self.kernel.ranks
        candidates = [block for block in pending if block not in deferred] if deferred else pending
        if not candidates:
            raise self._stuck_warp(lanes, pending)
        best = min(candidates, key=ranks.__getitem__)
        oldest = min(candidates, key=since.__getitem__)
        patience = SPIN_PATIENCE if best in self.kernel.spinning else PATIENCE
        if oldest != best and self.steps - since[oldest] > patience:
            for block in pending:
                since[block] = max(since[block], self.steps - patience + 1)
            return oldest
        return best

    def _watch(self, block: int) -> None:
        launch = self.batch.launch
        if launch.deadline is not None and now() > launch.deadline:
            raise faults.timeout(self.kernel.program, self._op(block), launch.timeout)
        if self.steps > self.limit:
            raise faults.watchdog(self.kernel.program, self._op(block), self.limit)

    def _op(self, block: int) -> Any:
        ops = self.kernel.program.blocks[block].ops
        return ops[-1] if ops else None

    # ------------------------------------------------------------ compaction

    def _compact(
        self, lanes: Lanes, loop: Loop, mask: Any, writes: Mask, pending: dict[int, Mask]
    ) -> list[tuple[int, Any]] | None:
        """Run the lanes of a mask through a loop by themselves; where they leave it, or None: not worth it."""
        if any(block in loop.blocks for block in pending):
            return None
        where = np.flatnonzero(mask)
        if writes is None and len(where) >= COMPACT_BELOW * lanes.count:
            return None
        kernel = self.kernel
        few = FewLanes(self.batch, lanes.numbers(mask), kernel.dtypes, len(lanes.R))
        for home in kernel.needs[loop.header]:
            value = lanes.R[home]
            if type(value) is np.ndarray:
                value = np.broadcast_to(value, lanes.shape)[mask]
            few.R[home] = value
        exits = Exits(kernel, loop, lanes, few, where)
        self._drain(few, {loop.header: None}, loop, exits)
        return exits.finish()

    # ----------------------------------------------------------------- warps

    def _alive(self, lanes: Lanes, pending: dict[int, Mask], mask: Any) -> Any:
        alive = mask.copy()
        for other in pending.values():
            alive |= True if other is None else other
        for arrival in self.waiting:
            alive |= arrival.mask
        return alive

    def _gather(
        self, lanes: Lanes, block: int, mask: Any, pending: dict[int, Mask], deferred: set[int]
    ) -> Any:
        """The lanes of a mask whose warp has all lanes that the member mask names; the rest stay pending."""
        if not pending and not self.waiting:
            return mask
        missing = by_warp(lanes, self._alive(lanes, pending, mask) & ~mask, False)
        if not missing.any():
            return mask
        member = self._member(lanes, block)
        absent = bits(missing)
        if type(member) is int:
            lacking = absent & np.uint32(member & 0xFFFFFFFF)
        else:
            rows = by_warp(lanes, member, 0)
            here = active(lanes, mask)
            first = here.argmax(axis=1)
            lacking = absent & np.take_along_axis(rows, first[:, None], axis=1).astype(np.uint32)
        ready = mask & from_warps(lanes, lacking == 0)
        if not ready.any():
            pending[block] = mask
            deferred.add(block)
            return False
        rest = mask & ~ready
        if rest.any():
            pending[block] = rest
        return ready

    def _member(self, lanes: Lanes, block: int) -> Any:
        value = self.kernel.members[block]
        if type(value) is int:
            return value
        found = lanes.R[value.home]
        return found if type(found) is int else lanes.integers(found, 32)

    def _stuck_warp(self, lanes: Lanes, pending: dict[int, Mask]) -> Exception:
        block = min(pending)
        op = self.kernel.program.blocks[block].ops[0]
        numbers = lanes.numbers(pending[block])
        what = "is stuck: lanes that the member mask names do not come to this instruction"
        return faults.fault(self.kernel.program, op, lanes, int(numbers[0]), len(numbers), what)

    # -------------------------------------------------------------- barriers

    def arrive(
        self, lanes: Lanes, site: BarrierSite, barrier: Any, count: Any, contribution: Any, following: int, mask: Mask
    ) -> Any:
        """Lanes are at a barrier; those that do not wait go on."""
        here = np.ones(lanes.shape, bool) if mask is None else mask
        self.waiting.append(Arrival(site, barrier, count, contribution, following, here))
        return () if site.waits else ((following, mask),)

    def _release(self, pending: dict[int, Mask]) -> None:
        """Nothing else can run: let blocks whose threads are all at a barrier go on."""
        first = self.waiting[0]
        if len(self.waiting) == 1 and first.count is None and not first.site.reduction:
            self.waiting = []
            pending[first.following] = None if first.mask.all() else first.mask
            return
        lanes = self.lanes
        threads = self.batch.threads
        alive = np.zeros((self.batch.block_count, threads), bool)
        for arrival in self.waiting:
            if arrival.site.waits:
                alive |= arrival.mask.reshape(alive.shape)
        living = alive.sum(axis=1)
        arrived: dict[int, Any] = {}
        expected: dict[int, Any] = {}
        split = self._by_barrier()
        for barrier, arrival in split:
            here = arrival.mask.reshape(alive.shape).sum(axis=1)
            arrived[barrier] = arrived.get(barrier, 0) + here
            wanted = living
            if arrival.count is not None:
                wanted = self._counts(arrival, alive.shape)
            previous = expected.get(barrier)
            now_expected = np.where(here > 0, wanted, 0 if previous is None else previous)
            expected[barrier] = now_expected
        going = {b: (arrived[b] >= expected[b]) & (arrived[b] > 0) for b in arrived}
        if not any(g.any() for g in going.values()):
            raise self._deadlock(living)
        left: list[Arrival] = []
        reductions: list[tuple[int, Arrival, Any]] = []
        for barrier, arrival in split:
            here = arrival.mask.reshape(alive.shape)
            leaving = here & going[barrier][:, None]
            staying = here & ~going[barrier][:, None]
            if arrival.site.waits and leaving.any():
                part = leaving.reshape(lanes.shape)
                if arrival.site.reduction:
                    reductions.append((barrier, arrival, leaving))
                target = arrival.following
                pending[target] = _joined(pending[target], part) if target in pending else part
            if staying.any():
                left.append(
                    Arrival(
                        arrival.site,
                        barrier,
                        arrival.count,
                        arrival.contribution,
                        arrival.following,
                        staying.reshape(lanes.shape),
                    )
                )
        self._reduce(reductions)
        self.waiting = left
        for block, mask in list(pending.items()):
            if mask is not None and mask.all():
                pending[block] = None

    def _by_barrier(self) -> list[tuple[int, Arrival]]:
        """Arrivals with one barrier number each."""
        found = []
        for arrival in self.waiting:
            if type(arrival.barrier) is int:
                found.append((arrival.barrier, arrival))
                continue
            values = np.broadcast_to(self.lanes.integers(arrival.barrier, 32), self.lanes.shape)
            for number in np.unique(values[arrival.mask]):
                part = arrival.mask & (values == number)
                found.append(
                    (
                        int(number),
                        Arrival(
                            arrival.site, int(number), arrival.count, arrival.contribution, arrival.following, part
                        ),
                    )
                )
        return found

    def _counts(self, arrival: Arrival, shape: tuple[int, int]) -> Any:
        if type(arrival.count) is int:
            return np.full(shape[0], arrival.count)
        values = np.broadcast_to(self.lanes.integers(arrival.count, 32), self.lanes.shape).reshape(shape)
        return np.where(arrival.mask.reshape(shape), values, 0).max(axis=1)

    def _reduce(self, reductions: list[tuple[int, Arrival, Any]]) -> None:
        """What `bar.red` makes of the predicates of all threads that were at the barrier."""
        lanes = self.lanes
        totals: dict[int, list[Any]] = {}
        for barrier, arrival, leaving in reductions:
            predicate = arrival.contribution
            if type(predicate) is not np.ndarray:
                predicate = np.full(lanes.shape, bool(predicate))
            values = np.broadcast_to(predicate, lanes.shape).reshape(leaving.shape)
            holds, came = (leaving & values).sum(axis=1), leaving.sum(axis=1)
            known = totals.setdefault(barrier, [0, 0])
            known[0] = known[0] + holds
            known[1] = known[1] + came
        for barrier, arrival, leaving in reductions:
            if arrival.site.home < 0:
                continue
            holds, came = totals[barrier]
            result: Any = {"popc": holds.astype(np.int32), "or": holds > 0, "and": holds == came}[
                arrival.site.reduction
            ]
            spread = np.broadcast_to(result[:, None], leaving.shape).reshape(lanes.shape)
            lanes.assign(
                arrival.site.home, np.ascontiguousarray(spread), leaving.reshape(lanes.shape), True, spread.dtype
            )

    def _deadlock(self, living: Any) -> Exception:
        lanes = self.lanes
        threads = self.batch.threads
        first = self.waiting[0]
        lane = int(lanes.numbers(first.mask)[0])
        block = lane // threads
        lines = []
        for barrier, arrival in self._by_barrier():
            count = int(arrival.mask.reshape(-1, threads)[block].sum())
            if count:
                line, _, _ = faults.where(self.kernel.program, arrival.site.op)
                verb = "wait" if arrival.site.waits else "arrived"
                lines.append(f"{count} threads {verb} at barrier {barrier}, line {line}")
        gone = threads - int(living[block])
        if gone:
            lines.append(f"{gone} threads have ended")
        what = "is stuck at a barrier that the other threads of the block do not come to"
        return faults.fault(self.kernel.program, first.site.op, lanes, lane, 1, what, tuple(lines))


class Exits:
    """Lanes that leave a compacted loop: their registers go back to where they came from."""

    def __init__(self, kernel: Kernel, loop: Loop, outer: Lanes, few: FewLanes, where: Any) -> None:
        """`where` are the positions in `outer` of the few lanes."""
        self.kernel = kernel
        self.loop = loop
        self.outer = outer
        self.few = few
        self.where = where
        self.dense: dict[int, Any] = {}
        self.masks: dict[int, Any] = {}

    def shrink(self, keep: Any) -> None:
        """Go on with the lanes at the positions `keep` alone."""
        self.where = self.where[keep]

    def leave(self, target: int, mask: Mask) -> None:
        """The lanes of a mask go to a block outside."""
        gone = slice(None) if mask is None else np.flatnonzero(mask)
        places = self.where[gone]
        part = self.masks.get(target)
        if part is None:
            part = self.masks[target] = np.zeros(self.outer.count, bool)
        part[places] = True
        for home, dtype in self.kernel.changes(self.loop.header, target):
            dense = self.dense.get(home)
            if dense is None:
                dense = self.dense[home] = self.outer.dense(self.outer.R[home], dtype).reshape(-1)
            value = self.few.R[home]
            if value is None:
                continue
            if dtype.kind == "i":
                value = self.few.integers(value, 8 * dtype.itemsize)
            dense[places] = value[gone] if type(value) is np.ndarray and value.shape == self.few.shape else value

    def finish(self) -> list[tuple[int, Any]]:
        """Give the outer lanes their registers; where the lanes went."""
        for home, dense in self.dense.items():
            self.outer.R[home] = dense.reshape(self.outer.shape)
        return [(target, part.reshape(self.outer.shape)) for target, part in self.masks.items()]


def _joined(a: Mask, b: Mask) -> Mask:
    if a is None or b is None:
        return None
    both = a | b
    return None if both.all() else both
