"""How many blocks of a kernel a multiprocessor holds, by the architecture's limits and without a GPU."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
_REGISTERS = 65536  # of a multiprocessor, on each architecture here
_REGISTERS_AT_ONCE = 256  # a warp gets its registers in such lots
_PARTS = 4  # of a multiprocessor, with a quarter of the registers each
_MAX_THREADS = 1024  # of a block
_MAX_REGISTERS = 255  # of a thread


@dataclass(frozen=True, slots=True)
class _Multiprocessor:
    """A multiprocessor's warps, blocks, bytes of shared memory, and what a block takes of them beforehand."""

    warps: int
    blocks: int
    shared: int
    reserved: int = 1024
    shared_at_once: int = 128


_KIB = 1024
_MULTIPROCESSORS = {
    75: _Multiprocessor(32, 16, 64 * _KIB, reserved=0, shared_at_once=256),
    80: _Multiprocessor(64, 32, 164 * _KIB),
    86: _Multiprocessor(48, 16, 100 * _KIB),
    87: _Multiprocessor(48, 16, 164 * _KIB),
    89: _Multiprocessor(48, 24, 100 * _KIB),
    90: _Multiprocessor(64, 32, 228 * _KIB),
    100: _Multiprocessor(64, 32, 228 * _KIB),
    103: _Multiprocessor(64, 32, 228 * _KIB),
    110: _Multiprocessor(48, 24, 228 * _KIB),
    120: _Multiprocessor(48, 24, 100 * _KIB),
    121: _Multiprocessor(48, 24, 100 * _KIB),
}
"""By compute capability: the CUDA C++ programming guide's table of technical specifications."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks of `threads` threads and `shared_bytes` of shared memory that one multiprocessor holds.

    `percent` is the share of its warps that they fill; no blocks means that
    the kernel does not fit. Of a kernel launched in clusters, a GPU also tells
    how many of them it holds, `active_clusters`.
    """

    threads: int
    shared_bytes: int
    blocks_per_sm: int
    percent: float
    active_clusters: int | None = None


def largest_block(sm: int, registers: int) -> int | None:
    """The most threads a block of a kernel can have that needs so many registers; None for an unknown SM."""
    if sm not in _MULTIPROCESSORS:
        return None
    sizes = range(_MAX_THREADS, 0, -WARP)
    fits = (size for size in sizes if (_registers_allow(registers) // (size // WARP)))
    return next(fits, None)


def theoretical_occupancy(sm: int, registers: int, threads: int, shared_bytes: int) -> Occupancy | None:
    """The occupancy with `threads` and `shared_bytes`, static included, a block; None for an unknown SM.

    Example: on sm_90, 128 threads with 26 registers and no shared memory: 16
    blocks, 100 %.
    """
    unit = _MULTIPROCESSORS.get(sm)
    if unit is None or threads < 1:
        return None
    warps = -(-threads // WARP)
    blocks = 0 if threads > _MAX_THREADS else min(unit.blocks, unit.warps // warps)
    blocks = min(blocks, _registers_allow(registers) // warps)
    block_shared = _round_up(shared_bytes + unit.reserved, unit.shared_at_once)
    if block_shared:
        blocks = min(blocks, unit.shared // block_shared)
    return Occupancy(threads, shared_bytes, blocks, 100.0 * blocks * warps / unit.warps)


def _registers_allow(registers: int) -> int:
    """How many warps of so many registers a thread a multiprocessor has room for."""
    warp_registers = _round_up(min(max(registers, 1), _MAX_REGISTERS) * WARP, _REGISTERS_AT_ONCE)
    return _REGISTERS // warp_registers // _PARTS * _PARTS


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step
