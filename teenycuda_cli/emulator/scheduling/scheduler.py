"""Runs a batch of blocks: which basic block next, for which lanes, and when lanes wait.

Lanes that meet at a basic block go on together. The block of the least rank
goes first, so that those behind catch up; where lanes spin, others get their
turn. A few lanes left in a loop are compacted and run there by themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.flow import Loop
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.copies import Copies
from teenycuda_cli.emulator.machine.lanes import FewLanes, FullLanes, Lanes, Mask
from teenycuda_cli.emulator.machine.launch import Batch, now
from teenycuda_cli.emulator.machine.mbarriers import Parked, Parking
from teenycuda_cli.emulator.scheduling.barriers import Barriers
from teenycuda_cli.emulator.scheduling.compaction import COMPACT_BELOW, COMPACT_WITH_FRAMES, Exits, joined
from teenycuda_cli.emulator.scheduling.gathering import Gathering
from teenycuda_cli.emulator.scheduling.kernel import Kernel

PATIENCE = 4096
"""Steps that lanes wait while others run; far fewer while those spin."""
SPIN_PATIENCE = 8
TURNS_A_STEP = 64
"""Turns of a loop by one lane that take about as long as a step of many."""
TURNS_OF_OTHERS = 8
"""Steps that others take before lanes that polled in vain do so again."""
IDLE_ROUNDS = 1024
"""How often all lanes that wait for mbarriers may be told that nothing happened, with nothing else to run."""


class Scheduler:
    """One batch."""

    def __init__(self, kernel: Kernel, batch: Batch, limit: int, few_lanes: int) -> None:
        """`limit` is the watchdog's, in steps; loops of at most `few_lanes` run lane by lane."""
        self.few_lanes = few_lanes
        self.kernel = kernel
        self.batch = batch
        self.limit = limit
        self.steps = 0
        self.instructions = 0
        self.parking = Parking()
        self.copies = Copies()
        self.barriers = Barriers(kernel, batch, self.parking)
        self._idle = 0
        self._pending: dict[int, Mask] = {kernel.first: None}
        self._polls = self._polls_left = 0  # steps before the batch is laid aside
        self.done = 0  # steps in which lanes did not poll
        self._vain = 0  # steps in which lanes polled and none of them went on
        self._others = 0  # steps of others since
        self._gathering = Gathering(kernel, self.barriers, self.parking)

    def run(self, lanes: FullLanes, polls: int) -> bool:
        """All lanes to their end, or until for `polls` steps they have only polled; whether they ended.

        Called again, it goes on where it was.
        """
        pending = self._pending
        self._polls_left = self._polls = polls
        while True:
            self._drain(lanes, pending, None, None)
            if pending:
                return False
            if not self._wake(lanes, pending):
                return True

    def _wake(self, lanes: Lanes, pending: dict[int, Mask]) -> bool:
        """Nothing runs: let those go on that wait for nothing any more; whether there are any.

        LaunchError where all wait for one another.
        """
        if self.parking.ready:
            self._idle = 0
            self._resume_parked(lanes, pending, everybody=False)
            return True
        waits = any(arrival.site.waits for arrival in self.barriers.waiting)
        if not self.parking:
            if waits:
                self.barriers.release(lanes, pending)
            return waits
        if waits and self.barriers.release(lanes, pending):
            self._idle = 0
            return True
        self._idle += 1
        if self._idle > IDLE_ROUNDS:
            raise self._stuck_phase(lanes)
        self._watch(self.parking.waiting[0].following)
        self._resume_parked(lanes, pending, everybody=True)
        return True

    def _resume_parked(self, lanes: Lanes, pending: dict[int, Mask], *, everybody: bool) -> None:
        """Let lanes go on that waited for mbarriers: those whose phase is over, or all."""

        def resume(parked: Parked, over: bool) -> None:
            if parked.home >= 0:
                lanes.assign(parked.home, over, parked.mask, True, np.dtype(np.bool_))
            target = parked.following
            mask = joined(pending[target], parked.mask) if target in pending else parked.mask
            pending[target] = None if mask is None or mask.all() else mask

        self.parking.wake(resume, everybody=everybody)

    def _stuck_phase(self, lanes: Lanes) -> Exception:
        """All lanes that are left wait for mbarriers, and nobody arrives."""
        first = self.parking.waiting[0]
        numbers = lanes.numbers(first.mask)
        what = "is stuck: it waits for a phase of an mbarrier that does not end"
        count = sum(int(parked.mask.sum()) for parked in self.parking.waiting)
        lines = self.barriers.described(int(numbers[0]) // self.batch.threads)
        return faults.fault(self.kernel.program, first.op, lanes, int(numbers[0]), count, what, lines)

    # ------------------------------------------------------------ scheduling

    def _drain(  # noqa: PLR0912, PLR0915  (the one loop that all goes through)
        self, lanes: Lanes, pending: dict[int, Mask], loop: Loop | None, exits: Exits | None
    ) -> None:
        """Run until nothing is pending; within a loop, hand lanes that leave it to `exits`."""
        functions, sizes = self.kernel.functions, self.kernel.sizes
        inside, polling = None if loop is None else loop.blocks, self.kernel.polling
        waiting = self.kernel.members
        since: dict[int, int] = dict.fromkeys(pending, self.steps)
        deferred: set[int] = set()
        while pending:
            if len(deferred) == len(pending) and loop is None and self._wake_warps(lanes, pending, since):
                deferred.clear()
            block = self._choose(pending, since, deferred, lanes)
            if loop is None:
                if block not in polling:
                    self._polls_left = self._polls
                    self.done += 1
                    self._give_turn()
                elif self._lays_aside(pending):
                    return
                if block in self.kernel.spinning and not self.steps % SPIN_PATIENCE:
                    self._release_others(lanes, pending, since)
            mask = pending.pop(block)
            self.steps += 1
            if not self.steps & 15:
                self._watch(block)
            writes = mask if pending or self.barriers.waiting or self.parking else None
            parts = None
            if mask is not None:
                if block in waiting:
                    mask, parts = self._gathering.gather(lanes, block, mask, pending, deferred)
                    if mask is False:
                        since[block] = self.steps
                        continue
                    writes = mask if block in pending else writes
                elif exits is not None and loop is not None and loop.header == block:
                    if not pending and exits.shrink(lanes, mask):
                        mask = writes = None
                        if self._by_lane(exits):
                            return
                else:
                    parts = self._compact(lanes, block, mask, writes, pending)
            elif lanes.count <= self.few_lanes and not lanes.compact:
                parts = self._compact(lanes, block, None, None, pending)
            deferred.clear()
            went_on = False
            for target, part in functions[block](lanes, mask, writes) if parts is None else parts:
                if exits is not None and inside is not None and target not in inside:
                    exits.leave(target, part)
                elif target in pending:
                    pending[target] = joined(pending[target], part)
                else:
                    pending[target] = part
                    since[target] = self.steps
                went_on = went_on or target not in polling
            if block in polling:
                self._vain = 0 if went_on else self._vain + 1
            self.instructions += sizes[block]

    def _give_turn(self) -> None:
        """Lanes take a step that is no polling; after some, those that poll are to look again."""
        self._others += 1
        if self._others >= TURNS_OF_OTHERS:
            self._vain = self._others = 0

    def _lays_aside(self, pending: dict[int, Mask]) -> bool:
        """Lanes poll: whether they have done so for long, and all others do or wait."""
        self._polls_left -= 1
        return self._polls_left < 0 and self.kernel.polling.keys() >= pending.keys()

    def stuck(self, *, more_blocks: bool) -> Exception:
        """The error of lanes that poll for what nobody does."""
        block = min(self._pending)
        numbers = self.batch.full.numbers(self._pending[block])
        extra = ("blocks have yet to begin, but the device holds no more at a time",) if more_blocks else ()
        what = "is stuck: it waits for what no thread that is left does"
        op = self._op(block) or self._op(min(self.kernel.polling))
        return faults.fault(
            self.kernel.program, op, self.batch.full, int(numbers[0]), len(numbers), what, extra
        )

    def _release_others(self, lanes: Lanes, pending: dict[int, Mask], since: dict[int, int]) -> None:
        """Lanes spin: what they wait for may stand behind a barrier that all of a block have come to."""
        waits = any(arrival.site.waits for arrival in self.barriers.waiting)
        if not waits and not self.parking:
            return
        before = set(pending)
        if waits:
            self.barriers.release(lanes, pending)
        self._resume_parked(lanes, pending, everybody=True)
        for block in pending.keys() - before:
            since[block] = self.steps

    def _wake_warps(self, lanes: Lanes, pending: dict[int, Mask], since: dict[int, int]) -> bool:
        """All that run wait for lanes of their warps: whether some of those go on, whose own wait is over."""
        before = set(pending)
        if self.parking.ready:
            self._idle = 0
            self._resume_parked(lanes, pending, everybody=False)
        elif any(arrival.site.waits for arrival in self.barriers.waiting) and self.barriers.release(
            lanes, pending
        ):
            self._idle = 0
        elif self.parking and self._idle < IDLE_ROUNDS:
            self._idle += 1
            self._resume_parked(lanes, pending, everybody=True)
        else:
            return False
        for block in pending.keys() - before:
            since[block] = self.steps
        return True

    def _choose(
        self, pending: dict[int, Mask], since: dict[int, int], deferred: set[int], lanes: Lanes
    ) -> int:
        """The block of the least rank, unless another has waited too long."""
        if len(pending) == 1 and not deferred:
            return next(iter(pending))
        ranks = self.kernel.ranks
        candidates = [block for block in pending if block not in deferred] if deferred else pending
        if not candidates:
            raise self._gathering.stuck(lanes, pending)
        best = min(candidates, key=ranks.__getitem__)
        if self._vain >= self.kernel.polling.get(best, 1 << 30):
            others = [block for block in candidates if block not in self.kernel.polling]
            if others:
                return min(others, key=ranks.__getitem__)
        oldest = min(candidates, key=since.__getitem__)
        patience = SPIN_PATIENCE if best in self.kernel.spinning else PATIENCE
        if oldest != best and self.steps - since[oldest] > patience:
            for block in pending:
                since[block] = max(since[block], self.steps - patience + 1)
            return oldest
        return best

    def _watch(self, block: int, turns: int = 0) -> None:
        launch = self.batch.launch
        if launch.deadline is not None:
            if now() > launch.deadline:
                raise faults.timeout(self.kernel.program, self._op(block), launch.timeout)
        elif max(self.steps, turns // TURNS_A_STEP) > self.limit:
            raise faults.watchdog(self.kernel.program, self._op(block), self.limit)

    def _op(self, block: int) -> Any:
        ops = self.kernel.program.blocks[block].ops
        return ops[-1] if ops else None

    # ------------------------------------------------------------ compaction

    def _compact(
        self, lanes: Lanes, block: int, mask: Mask, writes: Mask, pending: dict[int, Mask]
    ) -> list[tuple[int, Any]] | None:
        """Run lanes through a loop by themselves; where they leave it, or None: no loop, or not worth it."""
        loop = self.kernel.loops.get(block)
        if loop is None or not loop.compacts or any(other in loop.blocks for other in pending):
            return None
        if mask is None:
            if self.kernel.lanewise(block) is None:
                return None
            mask = np.ones(lanes.shape, bool)
        where = np.flatnonzero(mask)
        if len(where) > self.few_lanes and len(where) >= lanes.count * (
            COMPACT_WITH_FRAMES if loop.uses_frames else COMPACT_BELOW if writes is None else 2
        ):
            return None
        kernel = self.kernel
        few = FewLanes(self.batch, lanes.numbers(mask), kernel.dtypes, len(lanes.R))
        for home in kernel.needs[loop.header]:
            value = lanes.R[home]
            if type(value) is np.ndarray:
                value = np.broadcast_to(value, lanes.shape)[mask]
            few.R[home] = value
        exits = Exits(kernel, loop, lanes, few, where)
        if self._by_lane(exits):
            return exits.finish()
        self._drain(few, {loop.header: None}, loop, exits)
        return exits.finish()

    def _by_lane(self, exits: Exits) -> bool:
        """Run the few lanes of a loop in plain Python, if they are few enough; whether it was done."""
        if exits.few.count > self.few_lanes:
            return False
        run = self.kernel.lanewise(exits.loop.header)
        if run is None:
            return False

        def tick(turns: int) -> None:
            self.steps += 1
            self._watch(exits.loop.header, turns)

        exits.finish_lanes(run, tick)
        return True
