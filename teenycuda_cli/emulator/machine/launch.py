"""A launch under way: its parameters, its batches of blocks, and the memory that each batch sees."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from teenycuda_cli.driver.device import Dim3
from teenycuda_cli.emulator.machine.memory import ARENA_BASE, Arena, Typed
from teenycuda_cli.emulator.machine.printed import Printed
from teenycuda_cli.emulator.machine.values import Extents

if TYPE_CHECKING:
    from teenycuda_cli.emulator.machine.heap import Heap

POISON_BYTE = 0xCD
POISONED_BYTES = 1 << 26
"""Local memory of a batch above which it is left as it is: most of it may never be touched."""
INTERLEAVED = 16
"""Bytes of one lane beside those of the next; no access is longer."""
WORKSPACE_REGISTER = "%envreg1"
"""Names the upper half of the address of what cooperative groups synchronise a grid by."""


@dataclass(slots=True)
class Launch:
    """What stays the same for all batches of a launch."""

    arena: Arena
    grid: Dim3
    block: Dim3
    shared_size: int
    reserved_shared: int  # of that, before the kernel's own
    dynamic_shared: int
    local_size: int
    parameters: bytes
    heap: Heap
    frames: int = 0  # bytes of a thread's local memory before the stack
    cluster: Dim3 | None = None
    number: int = 1
    cooperative: bool = False
    deadline: float | None = None
    timeout: float = 0.0
    parameter_address: int = 0
    workspace: int = 0  # the address of what cooperative groups synchronise a grid by
    clock: int = 0
    printed: Printed = field(default_factory=Printed)

    @property
    def threads(self) -> int:
        """A block."""
        return self.block[0] * self.block[1] * self.block[2]


class Space:
    """Memory as the lanes of a batch see it: each block or lane its own part, or all the same.

    Lanes' own memory is interleaved, 16 bytes of each after the other, so that
    what all of them touch lies together, and what none touches takes no memory.
    """

    __slots__ = ("data", "kind", "name", "origin", "rows", "size", "stride", "weights")

    def __init__(
        self, name: str, data: Typed, kind: str, size: int, stride: int, weights: tuple[int, ...]
    ) -> None:
        """`kind` is whose memory it is: "all", "block" or "lane"; `weights` are bytes a step of an axis."""
        self.name = name
        self.data = data
        self.kind = kind
        self.size = size
        self.stride = stride
        self.weights = weights
        self.origin = ARENA_BASE if kind == "all" else 0
        self.rows = len(data.data) // max(size, 1) if kind == "lane" else 0

    def place(self, address: Any, start: Any) -> Any:
        """The byte of `data` that an owner's address means; `start` is where the owner's part begins."""
        if self.kind == "lane":
            return (address & -INTERLEAVED) * self.rows + (address & (INTERLEAVED - 1)) + start
        return address + start


class Batch:
    """A box of blocks run together; lanes are numbered by block, then by thread."""

    def __init__(self, launch: Launch, origin: Dim3, blocks: Dim3, buffers: Buffers) -> None:
        """`origin` is the first block, `blocks` the box's size along x, y and z."""
        self.launch = launch
        self.origin = origin
        self.box = blocks
        self.threads = launch.threads
        self.block_count = blocks[0] * blocks[1] * blocks[2]
        self.arguments: list[Any] = []
        axes: list[tuple[str, int, int]] = []  # kind, axis, extent: outermost first
        for axis in (2, 1, 0):
            axes.append(("c", axis, blocks[axis]))
        for axis in (2, 1, 0):
            axes.append(("t", axis, launch.block[axis]))
        self.axes = [item for item in axes if item[2] > 1] or [("t", 0, 1)]
        self.extents: Extents = tuple([extent for _, _, extent in self.axes])
        per_block = {0: 1, 1: blocks[0], 2: blocks[0] * blocks[1]}
        per_thread = {0: 1, 1: launch.block[0], 2: launch.block[0] * launch.block[1]}
        self.block_weights = tuple([per_block[axis] if kind == "c" else 0 for kind, axis, _ in self.axes])
        self.thread_weights = tuple([per_thread[axis] if kind == "t" else 0 for kind, axis, _ in self.axes])
        self.specials: dict[str, Any] = {}
        self.splits = False  # may still be given up and run in two parts: nothing was written yet
        self.scheduler: Any = None
        self.full: Any = None  # its lanes
        self.spaces = self._spaces(buffers)

    def _spaces(self, buffers: Buffers) -> dict[str, Space]:
        launch = self.launch
        nothing = (0,) * len(self.axes)
        everywhere = Space("global", launch.arena, "all", 0, 0, nothing)
        shared, stride = buffers.shared(self.block_count, launch.shared_size)
        local = buffers.local(self.block_count * self.threads, launch.local_size, launch.frames)
        return {
            "global": everywhere,
            "const": everywhere,
            "param": everywhere,
            "shared": Space(
                "shared",
                shared,
                "block",
                launch.shared_size,
                stride,
                tuple([weight * stride for weight in self.block_weights]),
            ),
            "local": Space(
                "local",
                local,
                "lane",
                launch.local_size,
                INTERLEAVED,
                tuple(
                    [
                        (b * self.threads + t) * INTERLEAVED
                        for b, t in zip(self.block_weights, self.thread_weights, strict=True)
                    ]
                ),
            ),
        }

    def steps_of(self, wanted: tuple[str, int]) -> tuple[int, ...]:
        """1 along one axis of the grid or the block, 0 along the others."""
        return tuple([1 if (kind, axis) == wanted else 0 for kind, axis, _ in self.axes])

    def clock(self, before: int) -> int:
        """Instructions that ran so far, `before` of them in the block under way; it never stands still."""
        self.launch.clock += 1
        return self.launch.clock + int(self.scheduler.instructions) + before

    def place(self, lane: int) -> tuple[Dim3, Dim3]:
        """Block and thread of a lane."""
        block, thread = divmod(lane, self.threads)
        x, y, z = self.origin
        return (
            (
                x + block % self.box[0],
                y + block // self.box[0] % self.box[1],
                z + block // (self.box[0] * self.box[1]),
            ),
            unravel(thread, self.launch.block),
        )

    def block_number(self, block: int) -> int:
        """The linear id in the grid of a block counted in the batch."""
        (x, y, z), _ = self.place(block * self.threads)
        grid = self.launch.grid
        return (z * grid[1] + y) * grid[0] + x


class Split(Exception):
    """The last blocks of a batch have threads with nothing to do: they are better run by themselves."""


class Buffers:
    """Shared and local memory, kept from batch to batch."""

    def __init__(self) -> None:
        """Nothing is taken until the first batch."""
        self._shared = Typed(np.empty(0, np.uint8))
        self._local = Typed(np.empty(0, np.uint8))

    def shared(self, blocks: int, size: int) -> tuple[Typed, int]:
        """Poisoned memory for each of `blocks` blocks, and the bytes from one to the next."""
        stride = (size + 127) // 64 * 64 if size else 0
        self._shared = _room(self._shared, blocks * stride)
        self._shared.data[:] = POISON_BYTE
        return self._shared, stride

    def local(self, lanes: int, size: int, frames: int) -> Typed:
        """Memory for each lane, `size` bytes, a multiple of 16; the frames are poisoned unless very large."""
        self._local = _room(self._local, lanes * size)
        if lanes * frames <= POISONED_BYTES:
            self._local.data[: lanes * frames] = POISON_BYTE
        return self._local


def _room(typed: Typed, size: int) -> Typed:
    size = (size + 15) // 16 * 16
    return typed if len(typed.data) == size else Typed(np.empty(size, np.uint8))


def unravel(number: int, extents: Dim3) -> Dim3:
    """Coordinates of a linear id."""
    return (
        number % extents[0],
        number // extents[0] % extents[1],
        number // (extents[0] * extents[1]),
    )


def boxes(grid: Dim3, blocks: int) -> Iterator[tuple[Dim3, Dim3]]:
    """The grid cut into boxes of at most `blocks` blocks, in the order of linear ids: origin and size."""
    gx, gy, gz = grid
    if blocks >= gx * gy:
        step = blocks // (gx * gy)
        for z in range(0, gz, step):
            yield (0, 0, z), (gx, gy, min(step, gz - z))
    elif blocks >= gx:
        step = blocks // gx
        for z in range(gz):
            for y in range(0, gy, step):
                yield (0, y, z), (gx, min(step, gy - y), 1)
    else:
        for z in range(gz):
            for y in range(gy):
                for x in range(0, gx, blocks):
                    yield (x, y, z), (min(blocks, gx - x), 1, 1)


def now() -> float:
    """Seconds of a clock that only goes forward."""
    return time.monotonic()
