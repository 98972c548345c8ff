"""Shared memory of a cluster: addresses in it, and whose block they mean.

A block's own addresses are those of `shared::cta`, below 2^24. One in the block of a certain
rank in the cluster has that rank, plus one, in the bits above.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from teenycuda_cli.emulator.machine.launch import Batch

SHIFT = 24
OWN = 1 << SHIFT
"""Addresses below are in the block's own shared memory."""
MOST = 16
"""Blocks that a cluster may have."""


def size(batch: Batch) -> int:
    """How many blocks a cluster has."""
    return prod(batch.launch.cluster or (1,))


def ranks(batch: Batch, blocks: Any) -> Any:
    """The ranks in their clusters of blocks counted in the batch."""
    unit = batch.launch.cluster or (1, 1, 1)
    x, y, z = _coordinates(batch, blocks)
    return (z % unit[2] * unit[1] + y % unit[1]) * unit[0] + x % unit[0]


def mates(batch: Batch, blocks: Any, wanted: Any) -> Any:
    """The blocks, counted in the batch, that have the wanted ranks in the clusters of these blocks."""
    unit = batch.launch.cluster or (1, 1, 1)
    x, y, z = _coordinates(batch, blocks)
    x = x - x % unit[0] + wanted % unit[0]
    y = y - y % unit[1] + wanted // unit[0] % unit[1]
    z = z - z % unit[2] + wanted // (unit[0] * unit[1])
    return (z * batch.box[1] + y) * batch.box[0] + x


def _coordinates(batch: Batch, blocks: Any) -> tuple[Any, Any, Any]:
    width, height, _ = batch.box
    return blocks % width, blocks // width % height, blocks // (width * height)


def mapped(address: Any, rank: Any) -> Any:
    """The same place in the block of a rank, as an array of int64."""
    return (address & ~(((1 << 8) - 1) << SHIFT)) | (rank + 1) << SHIFT


def ranks_of(batch: Batch, blocks: Any, address: Any) -> Any:
    """The ranks of the blocks that addresses in shared memory mean, as seen from these blocks."""
    given = address >> SHIFT & ((1 << 8) - 1)
    return np.where(given > 0, given - 1, ranks(batch, blocks))


def located(batch: Batch, blocks: Any, address: Any) -> tuple[Any, Any]:
    """The blocks that addresses mean, and the places in their memory; what means none stays as it is."""
    given = address >> SHIFT
    away = (given > 0) & (given <= size(batch))
    where = np.where(away, mates(batch, blocks, np.where(away, given - 1, 0)), blocks)
    return where, np.where(away, address & (OWN - 1), address)
