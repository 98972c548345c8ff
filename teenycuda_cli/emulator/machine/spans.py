"""Runs of bytes in global and shared memory, checked, for copies that one lane makes in bulk."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import Any

import numpy as np

from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.machine import clusters, faults
from teenycuda_cli.emulator.machine.access import Site
from teenycuda_cli.emulator.machine.lanes import Lanes
from teenycuda_cli.emulator.machine.memory import ARENA_BASE, Arena
from teenycuda_cli.emulator.program import Program

BYTE = np.dtype(np.uint8)


def values(lanes: Lanes, value: Any, mask: Any, width: int) -> Any:
    """An operand's values for the lanes of a mask in order, as int64."""
    found = np.broadcast_to(lanes.integers(value, width), lanes.shape)
    return (found.reshape(-1) if mask is None else found[mask]).astype(np.int64)


def blocks_of(lanes: Lanes, mask: Any) -> Any:
    """The blocks, counted in the batch, of the lanes of a mask in order."""
    found = np.broadcast_to(lanes.blocks(), lanes.shape)
    return found.reshape(-1) if mask is None else found[mask]


class Actor:
    """One lane at an instruction: reaches memory for it, and tells what it does wrong."""

    def __init__(self, program: Program, op: Op, lanes: Lanes, number: int, block: int) -> None:
        """The lane's number in the batch, and its block's."""
        self.site = Site(program, op, "global", 0, 1, 1, BYTE, 64, False)
        self.lanes = lanes
        self.number = number
        self.block = block

    def fault(self, what: str, *more: str) -> Exception:
        """An error that continues "the kernel k …"."""
        return faults.fault(self.site.program, self.site.op, self.lanes, self.number, 1, what, more)

    def aligned(self, address: int, to: int, what: str) -> None:
        """Raises LaunchError for an address that is no multiple."""
        if address % to:
            raise self.fault(
                f"used a misaligned address: {what} at {address & (1 << 64) - 1:#x} must be aligned to {to}"
            )

    def shared(self, address: int, size: int, *, writes: bool) -> Any:
        """Bytes of the block's shared memory, or of another's in its cluster; a generic address is none."""
        batch = self.lanes.batch
        space = batch.spaces["shared"]
        owner, place = clusters.located(batch, np.array([self.block]), np.array([address]))
        start = int(place[0])
        if start < 0 or start + size > space.size:
            raise self._refuse(start, size, "shared", writes=writes)
        start += int(owner[0]) * space.stride
        return space.data.data[start : start + size]

    def device(self, address: int, size: int, *, writes: bool) -> Any:
        """Bytes of global memory."""
        arena: Arena = self.lanes.batch.launch.arena
        at = bisect_right(arena.starts, address) - 1
        if at < 0 or address + size > arena.ends[at] or (writes and not arena.regions[at].writable):
            raise self._refuse(address, size, "global", writes=writes)
        return arena.data[address - ARENA_BASE : address - ARENA_BASE + size]

    def _refuse(self, address: int, size: int, space: str, *, writes: bool) -> Exception:
        site = replace(self.site, space=space, size=size, writes=writes)
        found = np.array([True])
        return faults.refuse(site, self.lanes, [self.number], [address], found, space)
