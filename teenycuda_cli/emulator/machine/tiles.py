"""Views of memory cut into tiles for the tiled part of a block (see `tiling`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

TILE = 32768
"""Elements of a tile: what a few arrays of may stay in the cache."""

Views = tuple[Any, ...]


def packed(
    lanes: Any, chains: Sequence[Views], stores: int, late: Sequence[tuple[int, int]], shared: Views
) -> list[Views] | None:
    """The views of each chain, cut into tiles along a new first axis; chains beside one another as one.

    None where a view is missing, where a value that all tiles share is an
    array, or where the order of chains would make a difference. `stores` is
    the bit set of the views that are stored to; `late` has a store and a load
    each whose elements are read again behind that store, and so must not change.
    """
    if any(view is None for chain in chains for view in chain):
        return None
    if any(type(value) is np.ndarray for value in shared):
        return None
    if len(chains) > 1:
        chains = _merged(chains, stores)
        if len(chains) > 1 and _conflict(chains, stores):
            return None
    for chain in chains:
        for stored, loaded in late:
            if np.may_share_memory(chain[stored], chain[loaded]):
                return None
    found: list[Views] = []
    for chain in chains:
        rows = len(chain[0])
        step = max(1, TILE * rows // chain[0].size)
        whole = rows // step * step
        if whole:
            found.append(tuple([v[:whole].reshape(whole // step, step, *v.shape[1:]) for v in chain]))
        if whole < rows:
            found.append(tuple([v[whole:][None] for v in chain]))
    return found


def _merged(chains: Sequence[Views], stores: int) -> Sequence[Views]:
    """Chains that are the same at equal distances, in every view, put together on a new axis.

    First those whose elements follow one another, then what came of it.
    """
    chains = _joined(chains, stores, [view.itemsize for view in chains[0]])
    return _joined(chains, stores, None) if len(chains) > 1 else chains


def _joined(chains: Sequence[Views], stores: int, distances: list[int] | None) -> list[Views]:
    """Chains put together whose views lie at these distances from one to the next, or at any, in bytes."""
    places = [[view.__array_interface__["data"][0] for view in chain] for chain in chains]
    layouts = [[(view.shape, view.strides) for view in chain] for chain in chains]
    found: list[Views] = []
    start = 0
    while start < len(chains):
        steps = distances
        if steps is None and start + 1 < len(chains):
            steps = [after - before for after, before in zip(places[start + 1], places[start], strict=True)]
        count = 1
        while (
            steps is not None
            and min(steps) > 0
            and start + count < len(chains)
            and layouts[start + count] == layouts[start]
            and places[start + count]
            == [at + count * step for at, step in zip(places[start], steps, strict=True)]
        ):
            count += 1
        if count > 1 and steps is not None:
            wide = tuple([_widened(v, count, step) for v, step in zip(chains[start], steps, strict=True)])
            if _may_join(wide, stores):
                found.append(wide)
                start += count
                continue
        found += chains[start : start + count]
        start += count
    return found


def _widened(view: Any, count: int, step: int) -> Any:
    """So many views at a distance as one: on an axis where the strides go on falling, never the first."""
    at = next((axis for axis in range(1, view.ndim) if view.strides[axis] < step), view.ndim)
    shape = (*view.shape[:at], count, *view.shape[at:])
    return as_strided(view, shape, (*view.strides[:at], step, *view.strides[at:]))


def _may_join(wide: Views, stores: int) -> bool:
    """Whether chains put together do the same: what one stores, the others neither store nor load.

    Views of the very same elements are fine: each chain has its own of them.
    """
    for number, stored in enumerate(wide):
        if not stores >> number & 1:
            continue
        if not distinct(stored.strides, stored.shape, stored.itemsize):
            return False
        for other in wide:
            place = other.__array_interface__["data"] == stored.__array_interface__["data"]
            if not (place and other.strides == stored.strides) and np.may_share_memory(stored, other):
                return False
    return True


def _stored(chain: Views, stores: int) -> list[Any]:
    return [view for number, view in enumerate(chain) if stores >> number & 1]


def _conflict(chains: Sequence[Views], stores: int) -> bool:
    """Whether what one chain stores may be what another loads."""
    for number, chain in enumerate(chains):
        for stored in _stored(chain, stores):
            for other in chains[number + 1 :]:
                for place, loaded in enumerate(other):
                    if not stores >> place & 1 and np.may_share_memory(stored, loaded):
                        return True
    return False


def distinct(strides: tuple[int, ...], shape: tuple[int, ...], size: int) -> bool:
    """Whether elements of a strided view do not overlap."""
    span = size
    for stride, extent in sorted([(abs(s), n) for s, n in zip(strides, shape, strict=True) if n > 1]):
        if stride < span:
            return False
        span = stride * (extent - 1) + span
    return True
