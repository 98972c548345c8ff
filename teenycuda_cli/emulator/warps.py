"""Warps as a whole: what instructions on matrices need, which a warp's 32 lanes hold together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from teenycuda_cli.emulator import faults
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.lanes import Lanes, Mask
from teenycuda_cli.emulator.program import Program

WARP = 32


def active_warps(program: Program, op: Op, lanes: Lanes, mask: Mask) -> Any:
    """The numbers of the warps that are here, None for all of the batch.

    Raises LaunchError where some lanes of a warp are here and others are
    not: they have ended, do other things, or do not exist.
    """
    threads = lanes.batch.threads
    if mask is None and threads % WARP == 0:
        return None
    rows = _by_warp(np.ones(lanes.shape, bool) if mask is None else mask, lanes.batch.block_count, threads)
    counts = np.count_nonzero(rows, axis=1)
    part = (counts != 0) & (counts != WARP)
    if part.any():
        lacking = np.flatnonzero(part[:, None] & rows)
        per_block = -(-threads // WARP) * WARP
        first = int(lacking[0]) // per_block * threads + int(lacking[0]) % per_block
        count = int(counts[part][0])
        what = (
            f"ran {op.instruction.opcode} with {count} lane{'s' if count > 1 else ''} of a warp, not all 32"
        )
        raise faults.fault(program, op, lanes, first, len(lacking), what)
    found = np.flatnonzero(counts)
    return None if len(found) == len(counts) else found


def _by_warp(mask: Any, blocks: int, threads: int) -> Any:
    if threads % WARP == 0:
        return mask.reshape(-1, WARP)
    per_block = -(-threads // WARP) * WARP
    padded = np.zeros((blocks, per_block), bool)
    padded[:, :threads] = mask.reshape(-1, threads)
    return padded.reshape(-1, WARP)


def gather_registers(lanes: Lanes, values: Sequence[Any], dtype: Any, warps: Any) -> Any:
    """Registers, as arrays or scalars of `dtype`, as one array: (registers, warps that are here, 32)."""
    count = lanes.count // WARP if warps is None else len(warps)
    found = np.empty((len(values), count, WARP), dtype)
    for number, value in enumerate(values):
        if warps is None:
            found[number].reshape(lanes.shape)[...] = value
        else:
            found[number] = np.broadcast_to(value, lanes.shape).reshape(-1, WARP)[warps]
    return found


def scatter_registers(lanes: Lanes, found: Any, warps: Any) -> list[Any]:
    """The opposite: an array of all lanes for each register, zero for the warps that are not here."""
    if warps is not None:
        whole = np.zeros((len(found), lanes.count // WARP, WARP), found.dtype)
        whole[:, warps] = found
        found = whole
    return [part.reshape(lanes.shape) for part in found]
