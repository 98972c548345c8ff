"""Lanes that wait at barriers, and when their blocks go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.compute import duplicate
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.launch import Batch
from teenycuda_cli.emulator.machine.mbarriers import Parking
from teenycuda_cli.emulator.machine.warps import WARP
from teenycuda_cli.emulator.opcodes.barrier import CLUSTER_BARRIER, BarrierSite
from teenycuda_cli.emulator.scheduling.compaction import joined
from teenycuda_cli.emulator.scheduling.kernel import Kernel
from teenycuda_cli.wording import counted, plural


@dataclass(slots=True, eq=False)
class Arrival:
    """Lanes at a barrier."""

    site: BarrierSite
    barrier: Any
    count: Any
    contribution: Any
    following: int
    mask: Any  # a bool array


def _rows(threads: Any) -> Any:
    """What is said of each thread of each block, by warp: lanes that a block lacks are zero."""
    blocks, count = threads.shape
    return np.pad(threads, ((0, 0), (0, -count % WARP))).reshape(blocks, -1, WARP)


def _by_whole_warps(arrived: Any, alive: Any) -> Any:
    """How many threads of each block a barrier counts: 32 for a warp of which all have come that there are.

    `parallel-synchronization-and-communication-instructions-bar`: the count
    goes up by the size of a warp, not by the number of its active threads.
    """
    arrived = _rows(arrived)
    there = np.maximum((_rows(alive) | (arrived > 0)).sum(axis=2), 1)
    count = arrived.sum(axis=2)
    return (count + (WARP - there) * (count // there)).sum(axis=1)


class Barriers:
    """The barriers of a batch's blocks."""

    def __init__(self, kernel: Kernel, batch: Batch, parking: Parking) -> None:
        """Nobody waits yet; lanes in `parking` wait elsewhere."""
        self.parking = parking
        self.kernel = kernel
        self.batch = batch
        self.waiting: list[Arrival] = []
        self.passed: Any = None  # lanes that have yet to come to `barrier.cluster.wait`, and need not wait

    def arrive(
        self,
        lanes: Lanes,
        site: BarrierSite,
        barrier: Any,
        count: Any,
        contribution: Any,
        following: int,
        mask: Mask,
    ) -> Any:
        """Lanes are at a barrier; those that do not wait go on."""
        here = np.ones(lanes.shape, bool) if mask is None else mask
        if site.op.operands:
            self._check(site, here, barrier, 15, 1, "a barrier that there is not: {}; they are 0 to 15")
        elif not site.counts and self.passed is not None:
            return self._pass(lanes, site, following, here)
        if count is not None:
            self._check(site, here, count, 1 << 31, 32, "a thread count that is no multiple of 32: {}")
        # other lanes run on while these wait, and use the same buffers
        barrier, count, contribution = duplicate(barrier), duplicate(count), duplicate(contribution)
        self.waiting.append(Arrival(site, barrier, count, contribution, following, here))
        return () if site.waits else ((following, mask),)

    def _pass(self, lanes: Lanes, site: BarrierSite, following: int, here: Any) -> Any:
        """Lanes come to wait for what may be over: those that it is over for go on."""
        passing = here & self.passed
        self.passed &= ~passing
        rest = here & ~passing
        if rest.any():
            self.waiting.append(Arrival(site, CLUSTER_BARRIER, None, None, following, rest))
        return ((following, passing),) if passing.any() else ()

    def _check(self, site: BarrierSite, here: Any, value: Any, most: int, step: int, what: str) -> None:
        """LaunchError where lanes give a barrier a number that it cannot have."""
        full = self.batch.full
        if type(value) is int and 0 <= value <= most and value % step == 0:
            return
        values = np.broadcast_to(full.integers(value, 32), full.shape).astype(np.int64) & 0xFFFFFFFF
        wrong = here & ((values > most) | (values % step != 0))
        if wrong.any():
            lanes = full.numbers(wrong)
            given = what.format(values[wrong].flat[0])
            raise faults.fault(
                self.kernel.program, site.op, full, int(lanes[0]), len(lanes), f"comes to {given}"
            )

    def release(self, lanes: Lanes, pending: dict[int, Mask]) -> bool:
        """Let blocks whose threads are all at a barrier go on, if there are any.

        LaunchError if there are none, and all lanes are at barriers.
        """
        first = self.waiting[0]
        running = bool(pending or self.parking)
        if not running and self._is_plain():
            self.waiting = []
            pending[first.following] = None if first.mask.all() else first.mask
            return True
        alive = self._alive(pending)
        living = alive.sum(axis=1)
        split = self._by_barrier()
        going = self._going(split, alive)
        if not any(g.any() for g in going.values()):
            if running:
                return False
            raise self._deadlock(living)
        nowhere = np.zeros(len(alive), bool)
        if CLUSTER_BARRIER in going:
            self._over(split, going[CLUSTER_BARRIER])
        left: list[Arrival] = []
        reductions: list[tuple[int, Arrival, Any]] = []
        for barrier, arrival in split:
            here = arrival.mask.reshape(alive.shape)
            goes = going.get(barrier, nowhere)[:, None]
            leaving = here & goes
            staying = here & ~goes
            if arrival.site.waits and leaving.any():
                part = leaving.reshape(lanes.shape)
                if arrival.site.reduction:
                    reductions.append((barrier, arrival, leaving))
                target = arrival.following
                pending[target] = joined(pending[target], part) if target in pending else part
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
        return True

    def _going(self, split: list[tuple[int, Arrival]], alive: Any) -> dict[int, Any]:
        """For each barrier, in which blocks all have come that it waits for."""
        times: dict[int, Any] = {}  # how often each thread has arrived
        expected: dict[int, Any] = {}
        for barrier, arrival in split:
            if not arrival.site.counts:
                continue
            here = arrival.mask.reshape(alive.shape)
            if arrival.count is not None:
                wanted = self._counts(arrival, alive.shape)
            elif barrier == CLUSTER_BARRIER:
                wanted = self._by_cluster(alive.sum(axis=1))
            else:
                wanted = WARP * _rows(alive).any(axis=2).sum(axis=1)
            if barrier != CLUSTER_BARRIER:  # where nobody has come, a block's own barriers wait for nobody
                wanted = np.where(here.any(axis=1), wanted, expected.get(barrier, 0))
            expected[barrier] = wanted
            times[barrier] = times.get(barrier, 0) + here
        going = {}
        for barrier, arrived in times.items():
            if barrier == CLUSTER_BARRIER:
                total = self._by_cluster(arrived.sum(axis=1))
            else:
                total = _by_whole_warps(arrived, alive)
            going[barrier] = (total >= expected[barrier]) & (total > 0)
        return going

    def _by_cluster(self, counts: Any) -> Any:
        """For each block the sum over the blocks of its cluster, all of which are in the batch."""
        unit = self.batch.launch.cluster
        if unit is None or unit == (1, 1, 1):
            return counts
        x, y, z = (extent // step for extent, step in zip(self.batch.box, unit, strict=True))
        parts = counts.reshape(z, unit[2], y, unit[1], x, unit[0])
        sums = parts.sum(axis=(1, 3, 5), keepdims=True)
        return np.broadcast_to(sums, parts.shape).reshape(-1)

    def _is_plain(self) -> bool:
        """Whether one arrival of all lanes at one barrier is all there is."""
        first = self.waiting[0]
        return (
            len(self.waiting) == 1 and first.count is None and not first.site.reduction and first.site.counts
        )

    def _over(self, split: list[tuple[int, Arrival]], going: Any) -> None:
        """The cluster's barrier is over in some blocks: lanes that have not come to wait for it need not."""
        if self.passed is None:
            self.passed = np.zeros(self.batch.full.shape, bool)
        going = np.repeat(going, self.batch.threads).reshape(self.passed.shape)
        for barrier, arrival in split:
            if barrier == CLUSTER_BARRIER and arrival.site.counts:
                self.passed |= arrival.mask & going
        for barrier, arrival in split:
            if barrier == CLUSTER_BARRIER and not arrival.site.counts:
                self.passed &= ~(arrival.mask & going)

    def _alive(self, pending: dict[int, Mask]) -> Any:
        """The threads of each block that wait or run."""
        alive = np.zeros((self.batch.block_count, self.batch.threads), bool)
        for arrival in self.waiting:
            if arrival.site.waits:
                alive |= arrival.mask.reshape(alive.shape)
        for mask in (*pending.values(), *self.parking.masks()):
            alive |= True if mask is None else mask.reshape(alive.shape)
        return alive

    def _by_barrier(self) -> list[tuple[int, Arrival]]:
        """Arrivals with one barrier number each."""
        found = []
        for arrival in self.waiting:
            if type(arrival.barrier) is int:
                found.append((arrival.barrier, arrival))
                continue
            values = np.broadcast_to(self.batch.full.integers(arrival.barrier, 32), self.batch.full.shape)
            for number in np.unique(values[arrival.mask]):
                part = arrival.mask & (values == number)
                found.append(
                    (
                        int(number),
                        Arrival(
                            arrival.site,
                            int(number),
                            arrival.count,
                            arrival.contribution,
                            arrival.following,
                            part,
                        ),
                    )
                )
        return found

    def _counts(self, arrival: Arrival, shape: tuple[int, int]) -> Any:
        if type(arrival.count) is int:
            return np.full(shape[0], arrival.count)
        values = np.broadcast_to(self.batch.full.integers(arrival.count, 32), self.batch.full.shape).reshape(
            shape
        )
        return np.where(arrival.mask.reshape(shape), values, 0).max(axis=1)

    def _reduce(self, reductions: list[tuple[int, Arrival, Any]]) -> None:
        """What `bar.red` makes of the predicates of all threads that were at the barrier."""
        lanes = self.batch.full
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
                arrival.site.home,
                np.ascontiguousarray(spread),
                leaving.reshape(lanes.shape),
                True,
                spread.dtype,
            )

    def described(self, block: int) -> tuple[str, ...]:
        """How many threads of a block are at which barrier."""
        lines = []
        for barrier, arrival in self._by_barrier():
            count = int(arrival.mask.reshape(-1, self.batch.threads)[block].sum())
            if count:
                line, _, _ = faults.where(self.kernel.program, arrival.site.op)
                verb = plural(count, "waits", "wait") if arrival.site.waits else "arrived"
                name = "the cluster's barrier" if barrier == CLUSTER_BARRIER else f"barrier {barrier}"
                lines.append(f"{counted(count, 'thread')} {verb} at {name}, line {line}")
        return tuple(lines)

    def _deadlock(self, living: Any) -> Exception:
        lanes = self.batch.full
        threads = self.batch.threads
        first = self.waiting[0]
        lane = int(lanes.numbers(first.mask)[0])
        block = lane // threads
        lines = self.described(block)
        gone = threads - int(living[block])
        if gone:
            lines += (f"{counted(gone, 'thread')} {plural(gone, 'has', 'have')} ended",)
        what = "is stuck at a barrier that the other threads of the block do not come to"
        return faults.fault(self.kernel.program, first.site.op, lanes, lane, 1, what, lines)
