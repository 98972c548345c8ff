"""malloc and free: memory that kernels take for themselves, of a heap as large as CUDA's."""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import Any

import numpy as np

from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.builtin import BuiltIn
from teenycuda_cli.emulator.machine.launch import POISON_BYTE
from teenycuda_cli.emulator.machine.memory import Arena, Region

HEAP_BYTES = 8 << 20
"""What `cudaLimitMallocHeapSize` is when nobody sets it."""
_ALIGN = 16
_GAP = 16
"""Bytes between two blocks, which belong to none: an overrun is seen."""


class Heap:
    """The heap of a device; what a kernel leaves allocated is there for the next."""

    def __init__(self, arena: Arena) -> None:
        """It takes no memory until a kernel does."""
        self.arena = arena
        self.live: dict[int, int] = {}  # start → bytes taken, the gap behind included
        self.freed: dict[int, Region] = {}  # not used again as long as there is other memory
        self._free: list[tuple[int, int]] = []  # start, bytes
        self._top = self._end = 0

    def take(self, sizes: list[int], name: str) -> list[int]:
        """A block for each size, and 0 where there is no room for it."""
        if not self._end:
            start = self.arena.reserve(HEAP_BYTES, "the heap")
            self._top, self._end = start, start + HEAP_BYTES
        found: list[int] = []
        regions = []
        for size in sizes:
            room = (size + _GAP + _ALIGN - 1) // _ALIGN * _ALIGN
            start = self._room(room)
            found.append(start)
            if start:
                self.live[start] = room
                regions.append(Region(start, start + size, name))
                self.arena.bytes_at(start, size)[:] = POISON_BYTE
        self.arena.grow(regions)
        return found

    def _room(self, room: int) -> int:
        if self._top + room <= self._end:
            self._top += room
            return self._top - room
        if self.freed and room <= HEAP_BYTES:
            self._collect()
        for number, (start, size) in enumerate(self._free):
            if size >= room:
                self._free[number : number + 1] = [(start + room, size - room)] if size > room else []
                return start
        return 0

    def _collect(self) -> None:
        """Let freed blocks be used again, those beside one another as one."""
        for start, region in self.freed.items():
            room = (region.end - start + _GAP + _ALIGN - 1) // _ALIGN * _ALIGN
            insort(self._free, (start, room))
        self.freed.clear()
        joined: list[tuple[int, int]] = []
        for start, size in self._free:
            if joined and joined[-1][0] + joined[-1][1] == start:
                joined[-1] = (joined[-1][0], joined[-1][1] + size)
            else:
                joined.append((start, size))
        self._free = joined

    def give_back(self, address: int, name: str) -> str:
        """Free a block; what is wrong, or nothing."""
        if self.live.pop(address, None) is None:
            return "freed already" if address in self.freed else "which malloc did not give"
        region = self.arena.shrink(address)
        self.freed[address] = Region(region.start, region.end, name)
        return ""

    def was(self, address: int) -> Region | None:
        """The freed block that an address lies in, named by who freed it."""
        starts = sorted(self.freed)
        at = bisect_right(starts, address) - 1
        region = self.freed[starts[at]] if at >= 0 else None
        return region if region is not None and address < region.end else None


class Malloc(BuiltIn):
    """`malloc(size)`: null where the heap has no room."""

    def __call__(self, lanes: Any, mask: Any, result: Any, arguments: tuple[Any, ...]) -> None:
        """A block for each lane."""
        sizes = self.argument(lanes, mask, arguments[0]).tolist()
        line, _, _ = faults.where(self.program, self.op)
        found = lanes.batch.launch.heap.take(sizes, f"memory from malloc, line {line},")
        self.answer(lanes, mask, result, found, np.int64)


class Free(BuiltIn):
    """`free(address)`: nothing for null; a fault for what is not allocated."""

    def __call__(self, lanes: Any, mask: Any, result: Any, arguments: tuple[Any, ...]) -> None:
        """Lane by lane: the second of two that free the same is wrong."""
        heap = lanes.batch.launch.heap
        numbers = lanes.numbers(mask).tolist()
        line, _, _ = faults.where(self.program, self.op)
        for lane, address in zip(numbers, self.argument(lanes, mask, arguments[0]).tolist(), strict=True):
            wrong = heap.give_back(address, f"freed in line {line}") if address else ""
            if wrong:
                before = heap.was(address)
                extra = () if before is None else (before.name,)
                raise self.fault(lanes, lane, 1, f"freed {address:#x}, {wrong}", extra)
