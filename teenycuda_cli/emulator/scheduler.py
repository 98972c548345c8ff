"""Runs a batch of blocks: which basic block next, for which lanes, and when lanes wait.

Lanes that meet at a basic block go on together. The block of the least rank
goes first, so that those behind catch up; where lanes spin, others get their
turn. A few lanes left in a loop are compacted and run there by themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator import faults
from teenycuda_cli.emulator.barriers import Barriers
from teenycuda_cli.emulator.compaction import COMPACT_BELOW, COMPACT_WITH_FRAMES, Exits, joined
from teenycuda_cli.emulator.copies import Copies
from teenycuda_cli.emulator.flow import Loop
from teenycuda_cli.emulator.kernel import Kernel
from teenycuda_cli.emulator.lanes import FewLanes, FullLanes, Lanes, Mask
from teenycuda_cli.emulator.machine import Batch, now
from teenycuda_cli.emulator.mbarriers import Parked, Parking
from teenycuda_cli.emulator.opcodes.warp import bits
from teenycuda_cli.emulator.warps import WARP, WARPGROUP, by_warp, from_warps

PATIENCE = 4096
"""Steps that lanes wait while others run; far fewer while those spin."""
SPIN_PATIENCE = 8
TURNS_A_STEP = 64
"""Turns of a loop by one lane that take about as long as a step of many."""
TURNS_OF_OTHERS = 8
"""Steps that others take before lanes that polled in vain do so again."""
IDLE_ROUNDS = 1024
"""How often all lanes that wait for mbarriers may be told that nothing happened, with nothing else to run."""
_LANES = np.arange(WARP, dtype=np.uint32)


def _named(lanes: Lanes, member: Any) -> Any:
    """The member mask of each lane, by warp; of one row and lane where all have the same."""
    if type(member) is int:
        return np.full((1, 1), member, np.uint32)
    return by_warp(lanes, member, 0).astype(np.uint32)


def _masks(rows: Any) -> Any:
    """Rows of rows of 32 bools as rows of masks."""
    return bits(rows.reshape(-1, WARP)).reshape(rows.shape[:2])


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
        self._met: dict[int, Any] = {}  # lanes at a bar.warp.sync that others have met from elsewhere

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
            if mask is None and block in self._met:
                mask = np.ones(lanes.shape, bool)
            writes = mask if pending or self.barriers.waiting or self.parking else None
            parts = None
            if mask is not None:
                if block in self.kernel.gathering:
                    mask = self._gather(lanes, block, mask, pending, deferred)
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
            raise self._stuck_warp(lanes, pending)
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

    # ----------------------------------------------------------------- warps

    def _alive(self, lanes: Lanes, pending: dict[int, Mask], mask: Any) -> Any:
        alive = mask.copy()
        for other in pending.values():
            alive |= True if other is None else other
        for arrival in self.barriers.waiting:
            alive |= arrival.mask
        for parked in self.parking.masks():
            alive |= parked
        return alive

    def _gather(
        self, lanes: Lanes, block: int, mask: Any, pending: dict[int, Mask], deferred: set[int]
    ) -> Any:
        """The lanes of a mask whose warp has all lanes that the member mask names; the rest stay pending.

        A member mask of more than 32 bits is one of a warpgroup, of which it names all. Lanes at different
        `bar.warp.sync` meet: those elsewhere are noted, and go on when their block has its turn.
        """
        if block in self._met:
            return self._part(block, mask, mask & self._met.pop(block), pending)
        if not pending and not self.barriers.waiting and not self.parking:
            return mask
        absent = self._alive(lanes, pending, mask) & ~mask
        if not absent.any():
            return mask
        member = self._member(lanes, block)
        elsewhere: dict[int, Any] = {}
        if type(member) is int and member >> WARP:
            lacking = by_warp(lanes, absent, False, WARPGROUP).any(axis=1, keepdims=True)
            ready = mask & from_warps(lanes, ~lacking, WARPGROUP)
        else:
            named = _named(lanes, member)
            missing = bits(by_warp(lanes, absent, False)) & named
            if block in self.kernel.meeting:
                elsewhere = self._elsewhere(lanes, named, pending)
                for same in elsewhere.values():
                    missing = missing & ~_masks(same)
            ready = mask & from_warps(lanes, np.broadcast_to(missing == 0, (len(missing), WARP)))
        if not ready.any():
            pending[block] = mask
            deferred.add(block)
            return False
        going = by_warp(lanes, ready, False)[:, :, None] if elsewhere else None
        for other, same in elsewhere.items():
            partners = (same & going & (named[:, :, None] >> _LANES & 1).astype(bool)).any(axis=1)
            if partners.any():
                self._met[other] = from_warps(lanes, partners) | self._met.get(other, np.False_)
        return self._part(block, mask, ready, pending)

    def _elsewhere(self, lanes: Lanes, named: Any, pending: dict[int, Mask]) -> dict[int, Any]:
        """Which lanes wait at other `bar.warp.sync` by the same member mask: (warps, here, there)."""
        found = {}
        for other in self.kernel.meeting & pending.keys():
            waiting = by_warp(lanes, pending[other] & ~self._met.get(other, np.False_), False)
            theirs = np.broadcast_to(_named(lanes, self._member(lanes, other)), waiting.shape)
            ours = np.broadcast_to(named, waiting.shape)
            found[other] = (ours[:, :, None] == theirs[:, None, :]) & waiting[:, None, :]
        return found

    @staticmethod
    def _part(block: int, mask: Any, ready: Any, pending: dict[int, Mask]) -> Any:
        """The lanes that go on; the rest stay pending."""
        rest = mask & ~ready
        if rest.any():
            pending[block] = rest
        return ready

    def _member(self, lanes: Lanes, block: int) -> Any:
        value = self.kernel.members[block]
        if type(value) is int:
            return value
        found = lanes.R[value.home]
        return found & 0xFFFFFFFF if type(found) is int else lanes.integers(found, 32)

    def _stuck_warp(self, lanes: Lanes, pending: dict[int, Mask]) -> Exception:
        block = min(pending)
        op = self.kernel.program.blocks[block].ops[0]
        numbers = lanes.numbers(pending[block])
        build: Any = op.operation.form.build
        who = "lanes that the member mask names"
        if getattr(build, "whole_warps", False) or getattr(build, "whole_warpgroups", False):
            who = f"other lanes of the {'warp' if build.whole_warps else 'warpgroup'}"
        what = f"is stuck: {who} do not come to this instruction"
        return faults.fault(self.kernel.program, op, lanes, int(numbers[0]), len(numbers), what)
