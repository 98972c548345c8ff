"""The blocks of a launch in batches, one after the other; several at a time where blocks wait for later ones.

A batch whose lanes all poll memory is laid aside, and the next one begins.
Those that were laid aside go on in turns, as the warps of a GPU do, until all
have ended. No more lanes are under way at a time than a GPU holds.
"""

from __future__ import annotations

from typing import Any

from teenycuda_cli.driver.device import Dim3
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.lanes import FullLanes
from teenycuda_cli.emulator.machine.launch import Batch, Buffers, Launch, Split, boxes, now
from teenycuda_cli.emulator.scheduling.kernel import Kernel
from teenycuda_cli.emulator.scheduling.scheduler import Scheduler

LOCAL_BYTES = 1 << 26
"""Local and shared memory of one batch, at most, unless a single block needs more."""
REGISTER_BYTES = 1 << 27
"""The same for the arrays of registers."""
STACK_EXPECTED = 1 << 12
"""Bytes of its stack that a thread will hardly pass."""
RESIDENT_LANES = 132 * 2048
"""Threads that an H200 holds at a time."""
POLLS = 256
"""Steps in which a batch does nothing but poll before it is laid aside, when others have yet to begin."""
POLLS_AGAIN = 32
"""The same when it was laid aside before."""
POLLS_ALONE = 1 << 15
"""The same when nothing else can run; then it is stuck."""
VAIN_TURNS = 100
"""Turns in which all batches did nothing but poll: then they are stuck."""


class Batches:
    """Runs the launches of one kernel; what batches need is kept for the next."""

    def __init__(self, kernel: Kernel, watchdog: int, few_lanes: int) -> None:
        """`watchdog` counts steps of a batch; loops of at most `few_lanes` run lane by lane."""
        self._kernel = kernel
        self._watchdog = watchdog
        self._few_lanes = few_lanes
        self._buffers = Buffers()
        self._lanes: FullLanes | None = None  # of the last batch: the next may be of the same shape

    def run(self, launch: Launch, lanes: int) -> None:
        """All blocks, as many at a time as `lanes` and their memory allow; LaunchError or TimeoutExpired."""
        kernel = self._kernel
        arguments = kernel.arguments(launch.parameters)
        aside: list[Batch] = []
        for origin, box in _whole_clusters(launch, self._blocks(launch, lanes)):
            if launch.deadline is not None and now() > launch.deadline:
                raise faults.timeout(kernel.program, None, launch.timeout)
            self._make_room(aside, box)
            batch = Batch(launch, origin, box, self._buffers)
            batch.splits = kernel.streams and box[0] > 1
            try:
                ended = self._begin(batch, arguments)
            except Split:
                ended = True
                (x, y, z), (width, height, depth) = origin, box
                for start, size in ((x, width - 1), (x + width - 1, 1)):
                    self._begin(Batch(launch, (start, y, z), (size, height, depth), self._buffers), arguments)
            if not ended:
                aside.append(batch)
                self._lanes, self._buffers = None, Buffers()
            elif aside:
                self._take_turns(aside)
        self._finish(aside, 0)

    def _make_room(self, aside: list[Batch], box: Dim3) -> None:
        """Wait until so many batches have ended that another one has room."""
        if aside:
            more = box[0] * box[1] * box[2] * aside[0].threads
            self._finish(aside, max(0, RESIDENT_LANES - more))

    def _finish(self, aside: list[Batch], lanes: int) -> None:
        """Let batches take turns until at most so many lanes are under way; LaunchError if all are stuck."""
        vain = 0
        while sum(batch.block_count * batch.threads for batch in aside) > lanes:
            before = sum(batch.scheduler.done for batch in aside)
            self._take_turns(aside)
            vain = vain + 1 if aside and sum(batch.scheduler.done for batch in aside) == before else 0
            if vain > VAIN_TURNS:
                raise aside[0].scheduler.stuck(more_blocks=lanes > 0)

    def _take_turns(self, aside: list[Batch]) -> None:
        """Let each batch that was laid aside go on for a while; those that end are taken out."""
        aside[:] = [batch for batch in aside if not self._advance(batch, POLLS_AGAIN)]

    def _blocks(self, launch: Launch, lanes: int) -> int:
        """The blocks of a batch: as many as its lanes, its memory and its registers allow."""
        kernel = self._kernel
        lanes = min(lanes, REGISTER_BYTES // max(1, kernel.lane_bytes))
        blocks = lanes // launch.threads
        stack = min(STACK_EXPECTED, launch.local_size - launch.frames)
        memory = launch.shared_size + (launch.frames + stack) * launch.threads
        if memory:
            blocks = min(blocks, LOCAL_BYTES // memory)
        return max(1, blocks)

    def _begin(self, batch: Batch, arguments: list[Any]) -> bool:
        kernel = self._kernel
        batch.arguments = arguments
        lanes = self._lanes
        if lanes is None or lanes.shape != batch.extents or lanes.batch.box != batch.box:
            lanes = self._lanes = FullLanes(batch, kernel.dtypes, kernel.homes)
        lanes.start(batch, kernel.undefined)
        batch.full = lanes
        batch.scheduler = Scheduler(kernel, batch, self._watchdog, self._few_lanes)
        return self._advance(batch, POLLS)

    def _advance(self, batch: Batch, polls: int) -> bool:
        """Run a batch until it ends, or does nothing but poll; whether it has ended."""
        scheduler: Scheduler = batch.scheduler
        grid = batch.launch.grid
        alone = batch.block_count == grid[0] * grid[1] * grid[2]
        if not scheduler.run(batch.full, POLLS_ALONE if alone else polls):
            if alone:
                raise scheduler.stuck(more_blocks=False)
            return False
        batch.launch.clock += scheduler.instructions
        return True


def _whole_clusters(launch: Launch, blocks: int) -> list[tuple[Dim3, Dim3]] | Any:
    """Boxes of at most `blocks` blocks, but of whole clusters: origin and size."""
    unit = launch.cluster
    if unit is None or unit == (1, 1, 1):
        return boxes(launch.grid, blocks)
    x, y, z = unit
    grid = launch.grid
    clusters = (grid[0] // x, grid[1] // y, grid[2] // z)
    return (
        ((a * x, b * y, c * z), (width * x, height * y, depth * z))
        for (a, b, c), (width, height, depth) in boxes(clusters, max(1, blocks // (x * y * z)))
    )
