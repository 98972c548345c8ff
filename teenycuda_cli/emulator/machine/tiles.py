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


def _merged(chains: Sequence[Views], stores: int) -> list[Views]:
    """Chains whose elements follow one another in memory, in every view, put together on a new axis."""
    places = [[view.__array_interface__["data"][0] for view in chain] for chain in chains]
    sizes = [view.itemsize for view in chains[0]]
    found: list[Views] = []
    start = 0
    while start < len(chains):
        count = 1
        steps = [view.strides for view in chains[start]]
        while (
            start + count < len(chains)
            and [view.strides for view in chains[start + count]] == steps
            and all(
                after - before == count * size
                for after, before, size in zip(places[start + count], places[start], sizes, strict=True)
            )
        ):
            count += 1
        wide = tuple([as_strided(v, (*v.shape, count), (*v.strides, v.itemsize)) for v in chains[start]])
        if count > 1 and _may_join(wide, stores):
            found.append(wide)
        else:
            found += chains[start : start + count]
        start += count
    return found


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
