"""Addresses into memory: checked first, then a strided view where they are affine, else positions.

No address of a kernel becomes an index or a view unless the range that it
spans was found to lie in one space, in regions that may be touched, and
aligned.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.machine import clusters
from teenycuda_cli.emulator.machine.faults import refuse
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.launch import INTERLEAVED, Space
from teenycuda_cli.emulator.machine.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE, Arena
from teenycuda_cli.emulator.machine.values import Affine, Exact, bounds, fit, plus
from teenycuda_cli.emulator.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A memory access in the program: its instruction, space, and the shape of its elements."""

    program: Program
    op: Op
    space: str  # "generic" where the address tells
    offset: int
    size: int  # bytes of an element
    count: int  # elements
    dtype: Any  # of an element
    width: int  # bits of the address
    writes: bool


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Checked places of accesses: byte positions in `space.data`; `mask` are the lanes they belong to."""

    space: Space
    bytes: Any
    mask: Mask

    def elements(self, dtype: Any, number: int = 0) -> tuple[Any, Any]:
        """The memory as elements of a dtype, and the index of element `number` of each access."""
        size = dtype.itemsize
        index = self.bytes >> (size.bit_length() - 1) if size > 1 else self.bytes
        return self.space.data.view(dtype), index + number if number else index


def window(address: int) -> tuple[str, int]:
    """The space that a generic address lies in, and what to subtract from it."""
    if SHARED_WINDOW <= address < SHARED_WINDOW + WINDOW_SIZE:
        return "shared", SHARED_WINDOW
    if LOCAL_WINDOW <= address < LOCAL_WINDOW + WINDOW_SIZE:
        return "local", LOCAL_WINDOW
    return "global", 0


def view(site: Site, lanes: Lanes, address: Exact) -> Any:
    """Memory at an affine address as an array of the lanes' shape (1 along an axis where all use the same).

    None where the lanes are not a whole batch, or the range fails a check:
    then `positions` finds out which lanes, and whether they take part.
    An array of (elements, lanes' shape…) where the access has several.
    """
    if lanes.compact:
        return None
    name = site.space
    offset = site.offset
    low, high = bounds(address)
    if name == "generic":
        name, base = window(low + offset)
        if window(high + offset) != (name, base):
            return None
        offset -= base
    total = site.size * site.count
    low += offset
    high += offset + total
    space = lanes.batch.spaces[name]
    weights = space.weights
    if isinstance(address, int):
        start, steps = address + offset, weights
        aligned = start
    else:
        start = address.base + offset
        aligned = start
        steps = address.steps
        for step in steps:
            aligned |= step
        if space.kind == "lane":
            if any(step & (INTERLEAVED - 1) for step in steps):
                return None
            steps = tuple([step * space.rows for step in steps])
        if space.kind != "all":
            steps = tuple([step + weight for step, weight in zip(steps, weights, strict=True)])
    if aligned & (total - 1) or not _inside(space, low, high, site.writes):
        return None
    shape = tuple([extent if step else 1 for extent, step in zip(lanes.shape, steps, strict=True)])
    start = space.place(start, -space.origin)
    if site.count == 1:
        return np.ndarray(shape, site.dtype, space.data.data, start, steps)
    return np.ndarray((site.count, *shape), site.dtype, space.data.data, start, (site.size, *steps))


def _inside(space: Space, low: int, end: int, writes: bool) -> bool:
    if space.kind != "all":
        return low >= 0 and end <= space.size
    arena: Arena = space.data  # type: ignore[assignment]  # the data of such a space is the arena
    at = bisect_right(arena.starts, low) - 1
    return at >= 0 and end <= arena.ends[at] and (not writes or arena.regions[at].writable)


def positions(site: Site, lanes: Lanes, address: Any, mask: Mask) -> Iterator[Positions]:
    """Where the lanes of a mask access memory, one part for each space that they use.

    Raises LaunchError at the first access that must not be.
    """
    if type(address) is int:
        found = _same_of_own(site, lanes, address + site.offset, mask)
        if found is not None:
            yield found
            return
    flat = lanes.integers(address, site.width)
    if flat.dtype != np.int64:
        flat = flat.astype(np.int64)
    flat = flat + site.offset if site.offset else flat
    if mask is not None:
        flat = np.broadcast_to(flat, lanes.shape)[mask]
    elif type(flat) is not np.ndarray:
        flat = np.full((1,) * len(lanes.shape), flat)
    if site.space != "generic":
        yield _checked(site, lanes, lanes.batch.spaces[site.space], flat, mask)
        return
    low, high = int(flat.min()), int(flat.max())
    name, base = window(low)
    if window(high) == (name, base):
        yield _checked(site, lanes, lanes.batch.spaces[name], flat - base if base else flat, mask)
        return
    if mask is None:
        mask = np.ones(lanes.shape, bool)
        flat = np.broadcast_to(flat, lanes.shape)[mask]
    for name, base in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW), ("global", 0)):
        inside = (flat >= base) & (flat < base + WINDOW_SIZE) if base else np.ones(len(flat), bool)
        if not base:
            for start in (SHARED_WINDOW, LOCAL_WINDOW):
                inside &= (flat < start) | (flat >= start + WINDOW_SIZE)
        if inside.any():
            part = np.zeros(lanes.shape, bool)
            part[mask] = inside
            yield _checked(site, lanes, lanes.batch.spaces[name], flat[inside] - base, part)


def _same_of_own(site: Site, lanes: Lanes, at: int, mask: Mask) -> Positions | None:
    """The places of one address in each lane's own memory; None where it is elsewhere or may not be."""
    name, base = (site.space, 0) if site.space != "generic" else window(at)
    space = lanes.batch.spaces[name]
    at -= base
    total = site.size * site.count
    if space.kind != "lane" or at & (total - 1) or not _inside(space, at, at + total, site.writes):
        return None
    owners = offsets(lanes, space)
    if mask is not None:
        owners = np.broadcast_to(owners, lanes.shape)[mask]
    return Positions(space, space.place(at, owners), mask)


def _checked(site: Site, lanes: Lanes, space: Space, flat: Any, mask: Mask) -> Positions:
    total = site.size * site.count
    low, high = int(flat.min()), int(flat.max()) + total
    owners = None
    if high > clusters.OWN and space.kind == "block":
        here = lanes.blocks()
        if mask is not None:
            here = np.broadcast_to(here, lanes.shape)[mask]
        owners, flat = clusters.located(lanes.batch, here, flat)
        owners = owners * space.stride
        low, high = int(flat.min()), int(flat.max()) + total
    misaligned = total > 1 and int(np.bitwise_or.reduce(flat, axis=None)) & (total - 1)
    if misaligned or not _inside(space, low, high, site.writes):
        _check_each(site, lanes, space, flat, mask, total)
    if space.kind == "all":
        return Positions(space, flat - space.origin, mask)
    if owners is None:
        owners = offsets(lanes, space)
        if mask is not None:
            owners = np.broadcast_to(owners, lanes.shape)[mask]
    return Positions(space, space.place(flat, owners), mask)


def offsets(lanes: Lanes, space: Space) -> Any:
    """Where each lane's own part of a space begins, in bytes."""
    known: Any = lanes.owners.get(space.name)
    if known is None:
        owner = lanes.blocks() if space.kind == "block" else lanes.ordinals()
        known = lanes.owners[space.name] = owner * space.stride
    return known


def _check_each(site: Site, lanes: Lanes, space: Space, flat: Any, mask: Mask, total: int) -> None:
    if space.kind != "all":
        bad = (flat < 0) | (flat > space.size - total)
    else:
        arena: Arena = space.data  # type: ignore[assignment]  # the data of such a space is the arena
        if not arena.regions:
            bad = np.ones(flat.shape, bool)
        else:
            starts, ends, writable = arena.arrays()
            at = np.searchsorted(starts, flat, "right") - 1
            bad = (at < 0) | (flat > ends[at] - total)
            if site.writes:
                bad |= ~writable[at]
    if total > 1:
        bad |= (flat & (total - 1)) != 0
    if not bad.any():
        return
    if mask is None:
        bad = np.broadcast_to(bad, lanes.shape).reshape(-1)
        flat = np.broadcast_to(flat, lanes.shape).reshape(-1)
    raise refuse(site, lanes, lanes.numbers(mask), flat, bad, space.name)


def shifted(delta: int) -> Callable[[Lanes, Any], Any]:
    """A function (lanes, address) → address + delta, for `cvta`."""

    def shift(lanes: Lanes, address: Any) -> Any:
        if type(address) is int or type(address) is Affine:
            exact = fit(plus(address, delta), 64)
            if exact is not None:
                return exact
        return lanes.integers(address, 64) + np.int64(delta)

    return shift
