"""Device memory: one arena for global and constant data, and what a batch has of shared and local memory.

Nothing outside a region (an allocation, or the buffers in it that the user
named) can be reached: a range is checked before a view is made, addresses
before they become indices.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.driver.device import Allocation
from teenycuda_cli.errors import LaunchError
from teenycuda_cli.wording import counted

ARENA_BASE = 0x10_0000_0000
SHARED_WINDOW = 0x1000_0000_0000
LOCAL_WINDOW = 0x2000_0000_0000
WINDOW_SIZE = 1 << 32
_NORESERVE = 0x4000  # MAP_NORESERVE of Linux; the mmap module has no name for it


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """Addresses that a kernel may touch, and what they are called in messages."""

    start: int
    end: int
    name: str
    writable: bool = True


def _reserve() -> Any:
    """As much address space as the system gives; pages come when they are touched."""
    size = 1 << 38
    while True:
        try:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
            return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)
        except (OSError, ValueError, OverflowError):
            size >>= 1
            if size < 1 << 24:
                raise LaunchError("the emulator could not reserve memory") from None


class Typed:
    """Bytes seen as arrays of each dtype, the views kept."""

    __slots__ = ("_views", "data")

    def __init__(self, data: Any) -> None:
        """The length of `data` must be a multiple of 16."""
        self.data = data
        self._views: dict[Any, Any] = {}

    def view(self, dtype: Any) -> Any:
        """All the bytes as elements of `dtype`."""
        view = self._views.get(dtype)
        if view is None:
            view = self._views[dtype] = self.data.view(dtype)
        return view


class Arena(Typed):
    """Global memory: allocations, variables, and the regions that a launch may touch."""

    __slots__ = (
        "_arrays",
        "_free",
        "_named",
        "_reused",
        "_top",
        "allocations",
        "blocks",
        "ends",
        "names",
        "regions",
        "starts",
        "writable",
    )

    def __init__(self) -> None:
        """Reserve address space; nothing is allocated yet."""
        super().__init__(_reserve())
        self._top = 256
        self._free: list[tuple[int, int]] = []  # (size, offset) of blocks given back
        self._reused: set[int] = set()  # starts of regions that held something else before
        self._named: tuple[Allocation, ...] = ()
        self.allocations: dict[int, Region] = {}
        self.blocks: dict[int, Region] = {}  # what kernels have allocated
        self.regions: list[Region] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self._arrays: tuple[Any, Any, Any] | None = None

    @property
    def argument_names(self) -> frozenset[str]:
        """What the user's buffers are called."""
        return frozenset(item.name for item in self._named)

    def allocate(self, size: int, name: str, *, writable: bool = True) -> Region:
        """A region of `size` bytes, 256-byte aligned; raises LaunchError when memory is out."""
        room = max(256, (size + 511) // 256 * 256)
        at = bisect_right(self._free, (room, -1))
        if at < len(self._free):
            found, offset = self._free.pop(at)
            self._reused.add(ARENA_BASE + offset)
            if found - room >= 256:
                insort(self._free, (found - room, offset + room))
        else:
            offset = self._top
            limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            if offset + room > min(len(self.data), limit):
                raise LaunchError(
                    f"the emulator is out of memory: {name} takes {counted(size, 'byte')},"
                    f" {limit - offset} are left"
                )
            self._top += room
        region = Region(ARENA_BASE + offset, ARENA_BASE + offset + size, name, writable)
        self.allocations[region.start] = region
        return region

    def free(self, address: int) -> None:
        """Give a region back."""
        region = self.allocations.pop(address)
        room = max(256, (region.end - region.start + 511) // 256 * 256)
        insort(self._free, (room, address - ARENA_BASE))

    def zero(self, region: Region) -> None:
        """Zero a region that nothing was written to yet; memory that is new costs neither time nor pages."""
        if region.start in self._reused:
            self.bytes_at(region.start, region.end - region.start)[:] = 0

    def annotate(self, named: tuple[Allocation, ...]) -> None:
        """Inside allocations, let launches touch these buffers alone."""
        self._named = named

    def prepare(self) -> None:
        """Work out the regions of the next launch."""
        inner = [Region(item.address, item.address + item.size, item.name) for item in self._named]
        inner.sort()
        starts = [region.start for region in inner]
        regions: list[Region] = []
        for region in self.allocations.values():
            first = bisect_right(starts, region.start - 1)
            last = bisect_right(starts, region.end)
            inside = [
                item
                for item in inner[first:last]
                if item.end <= region.end and item.start < max(region.end, 1)
            ]
            regions += _without_overlap(inside) or [region]
        self._settle([*regions, *self.blocks.values()])

    def _settle(self, regions: list[Region]) -> None:
        regions.sort()
        self.regions = regions
        self.starts = [region.start for region in regions]
        self.ends = [region.end for region in regions]
        self._arrays = None

    def reserve(self, size: int, name: str) -> int:
        """Where memory begins of which no part may be touched until it is in `grow`."""
        return self.allocations.pop(self.allocate(size, name).start).start

    def grow(self, regions: list[Region]) -> None:
        """Kernels may touch more: parts of what was reserved."""
        self.blocks |= {region.start: region for region in regions}
        self._settle([*self.regions, *regions])

    def shrink(self, start: int) -> Region:
        """Kernels may not touch one of these parts any more."""
        region = self.blocks.pop(start)
        at = bisect_right(self.starts, start) - 1
        del self.regions[at], self.starts[at], self.ends[at]
        self._arrays = None
        return region

    def arrays(self) -> tuple[Any, Any, Any]:
        """The regions' starts, ends, and whether they can be written."""
        if self._arrays is None:
            writable = np.array([region.writable for region in self.regions], bool)
            self._arrays = np.array(self.starts, np.int64), np.array(self.ends, np.int64), writable
        return self._arrays

    def region(self, address: int) -> Region | None:
        """The region that an address lies in."""
        at = bisect_right(self.starts, address) - 1
        return self.regions[at] if at >= 0 and address < self.ends[at] else None

    def bytes_at(self, address: int, size: int) -> Any:
        """A view of bytes that the device's owner, not a kernel, reads or writes."""
        offset = address - ARENA_BASE
        if offset < 0 or size < 0 or offset + size > self._top:
            raise LaunchError(f"no device memory at {address:#x} for {counted(size, 'byte')}")
        return self.data[offset : offset + size]


def _without_overlap(regions: list[Region]) -> list[Region]:
    """Buffers that lie in one another (a sub-buffer passed beside the whole) joined into the larger."""
    joined: list[Region] = []
    for region in regions:
        if joined and region.start < joined[-1].end:
            last = joined[-1]
            if region.end > last.end:
                joined[-1] = Region(last.start, region.end, last.name)
        else:
            joined.append(region)
    return joined


def read_text(arena: Arena, address: int, limit: int = 1 << 16) -> bytes:
    """The bytes of a C string in global memory, at most `limit`; raises ValueError where there is none."""
    region = arena.region(address)
    if region is None:
        raise ValueError
    data: bytes = arena.bytes_at(address, min(region.end - address, limit)).tobytes()
    end = data.find(b"\0")
    return data if end < 0 else data[:end]
