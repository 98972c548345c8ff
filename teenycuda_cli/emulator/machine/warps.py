"""Warps as a whole: what instructions on matrices need, which a warp's 32 lanes hold together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.wording import counted

WARP = 32
WARPGROUP = 4 * WARP
"""Four warps that follow one another: what wgmma needs together."""

_NAMES = {WARP: "warp", WARPGROUP: "warpgroup"}


def by_warp(lanes: Any, values: Any, fill: Any, size: int = WARP) -> Any:
    """Values of all lanes as rows of a warp (or of `size` lanes), the last row of a block filled up."""
    threads = lanes.batch.threads
    values = np.broadcast_to(values, lanes.shape)
    if threads % size == 0:
        return values.reshape(-1, size)
    rows = -(-threads // size)
    padded = np.full((lanes.batch.block_count, rows * size), fill, values.dtype)
    padded[:, :threads] = values.reshape(-1, threads)
    return padded.reshape(-1, size)


def from_warps(lanes: Any, rows: Any, size: int = WARP) -> Any:
    """The opposite: rows of `size` lanes, or a column of one value a row, in the lanes' shape."""
    threads = lanes.batch.threads
    if rows.shape[1] == 1:
        rows = np.broadcast_to(rows, (rows.shape[0], size))
    if threads % size == 0:
        return rows.reshape(lanes.shape)
    return rows.reshape(lanes.batch.block_count, -1)[:, :threads].reshape(lanes.shape)


def warps_a_block(lanes: Lanes) -> int:
    """How many rows `by_warp` makes of a block."""
    return -(-lanes.batch.threads // WARP)


def warp_numbers(lanes: Lanes, mask: Mask) -> Any:
    """For each lane of a mask, in order, the number of its warp in the batch."""
    block, thread = np.divmod(lanes.numbers(mask), lanes.batch.threads)
    return block * warps_a_block(lanes) + thread // WARP


def warp_count(lanes: Lanes) -> int:
    """How many rows `by_warp` makes of all."""
    return lanes.batch.block_count * warps_a_block(lanes)


def active_warps(program: Program, op: Op, lanes: Lanes, mask: Mask, size: int = WARP) -> Any:
    """The numbers of the warps that are here, as rows of `by_warp`; None for all of the batch.

    They come in groups of `size` lanes. Raises LaunchError where some lanes
    of a group are here and others are not: they have ended, do other things,
    or do not exist.
    """
    threads = lanes.batch.threads
    if mask is None and threads % size == 0:
        return None
    rows = by_warp(lanes, True if mask is None else mask, False, size)
    counts = np.count_nonzero(rows, axis=1)
    part = (counts != 0) & (counts != size)
    if part.any():
        lacking = np.flatnonzero(part[:, None] & rows)
        per_block = -(-threads // size) * size
        first = int(lacking[0]) // per_block * threads + int(lacking[0]) % per_block
        count = int(counts[part][0])
        what = (
            f"ran {op.instruction.opcode} with {counted(count, 'lane')} of a {_NAMES[size]}, not all {size}"
        )
        raise faults.fault(program, op, lanes, first, len(lacking), what)
    whole = by_warp(lanes, True if mask is None else mask, False).all(axis=1)
    found = np.flatnonzero(whole)
    return None if len(found) == len(whole) else found


def gather_registers(lanes: Lanes, values: Sequence[Any], dtype: Any, warps: Any) -> Any:
    """Registers, as arrays or scalars of `dtype`, as one array: (registers, warps that are here, 32)."""
    count = warp_count(lanes) if warps is None else len(warps)
    found = np.empty((len(values), count, WARP), dtype)
    for number, value in enumerate(values):
        if warps is None:
            found[number].reshape(lanes.shape)[...] = value
        else:
            found[number] = by_warp(lanes, value, 0)[warps]
    return found


def scatter_registers(lanes: Lanes, found: Any, warps: Any) -> list[Any]:
    """The opposite: an array of all lanes for each register, zero for the warps that are not here."""
    if warps is not None:
        whole = np.zeros((len(found), warp_count(lanes), WARP), found.dtype)
        whole[:, warps] = found
        found = whole
    return [from_warps(lanes, part) for part in found]
