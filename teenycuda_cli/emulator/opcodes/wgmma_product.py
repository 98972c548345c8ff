"""A product of wgmma: matrices out of shared memory and registers of warpgroups, and into registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.compute import Reader
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.access import Site
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.warps import (
    WARP,
    WARPGROUP,
    active_warps,
    by_warp,
    gather_registers,
    scatter_registers,
    warps_a_block,
)
from teenycuda_cli.emulator.numerics.matrix import (
    Spec,
    sparse_warpgroup_multiply_add,
    warpgroup_multiply_add,
)
from teenycuda_cli.emulator.opcodes.fragments import BITS, Fragment
from teenycuda_cli.emulator.opcodes.mma_sparse import Metadata
from teenycuda_cli.emulator.opcodes.wgmma_descriptors import CHUNK, chunks
from teenycuda_cli.emulator.program import Program

_WARPS = WARPGROUP // WARP
ROWS = 64
_CHUNK = np.dtype(np.complex128)  # what numpy moves 16 bytes at a time
WORD = np.dtype(np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Here:
    """The warpgroups that carry an instruction out."""

    program: Program
    op: Op
    lanes: Lanes
    warps: Any  # the numbers of their warps, None for all of the batch

    def first_lanes(self) -> Any:
        """The number in the batch of each one's first lane."""
        count = warps_a_block(self.lanes)
        warps = np.arange(self.lanes.count // WARP) if self.warps is None else self.warps
        first = warps[::_WARPS]
        return first // count * self.lanes.batch.threads + first % count * WARP

    def same(self, value: Any, what: str) -> Any:
        """One value for all, or for each one; LaunchError where the lanes of one give different ones."""
        if type(value) is not np.ndarray:
            return value
        rows = by_warp(self.lanes, value, 0)
        rows = (rows if self.warps is None else rows[self.warps]).reshape(-1, WARPGROUP)
        bad = rows != rows[:, :1]
        if bad.any():
            group, lane = divmod(int(np.flatnonzero(bad)[0]), WARPGROUP)
            told = f"ran wgmma with lanes of a warpgroup that give another {what} than the first"
            first = int(self.first_lanes()[group]) + lane
            raise faults.fault(self.program, self.op, self.lanes, first, int(bad.sum()), told)
        return rows[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class SharedFactor:
    """A factor in shared memory, of which a line lies along its own side where it is transposed."""

    side: int
    depth: int
    element: Any  # bits are counted in words of 32
    transposed: bool

    def matrix(self, here: Here, descriptor: Any) -> Any:
        """The elements, (groups, side, depth); LaunchError where the block has no such memory."""
        firsts = here.first_lanes()
        if type(descriptor) is not np.ndarray:
            return self._read(here, int(descriptor), firsts)
        values, which = np.unique(descriptor, return_inverse=True)
        found = np.empty((len(firsts), self.side, self.depth), self.element)
        for number, value in enumerate(values.tolist()):
            found[which == number] = self._read(here, value, firsts[which == number])
        return found

    def _read(self, here: Here, descriptor: int, firsts: Any) -> Any:
        lines, along = (self.depth, self.side) if self.transposed else (self.side, self.depth)
        numbers = chunks(descriptor, lines, along * self.element.itemsize // CHUNK, self.transposed)
        space = here.lanes.batch.spaces["shared"]
        past = numbers >= space.size // CHUNK
        if past.any():
            site = Site(here.program, here.op, "shared", 0, CHUNK, 1, _CHUNK, 32, False)
            address = numbers[past][:1] * CHUNK
            raise faults.refuse(site, here.lanes, firsts, address, np.ones(1, bool), "shared")
        starts = firsts // here.lanes.batch.threads * (space.stride // CHUNK)
        found = space.data.view(_CHUNK).take(starts[:, None, None] + numbers, mode="clip")
        found = found.view(self.element)
        return found.swapaxes(1, 2) if self.transposed else found


@dataclass(frozen=True, slots=True, eq=False)
class HeldMatrix:
    """A matrix in registers: sixteen rows in each warp."""

    fragment: Fragment

    def matrix(self, here: Here, bits: list[Any]) -> Any:
        """The elements, (groups, 64, columns)."""
        words = gather_registers(here.lanes, bits, WORD, here.warps)
        parts = np.ascontiguousarray(words.swapaxes(0, 1)).view(self.fragment.element)
        rows = parts.reshape(len(parts), -1).take(self.fragment.sources, axis=1)
        return rows.reshape(-1, ROWS, self.fragment.width)

    def registers(self, here: Here, matrix: Any) -> list[Any]:
        """The opposite."""
        rows = matrix.reshape(-1, self.fragment.height * self.fragment.width)
        parts = rows.take(self.fragment.places, axis=1).view(WORD)
        words = parts.reshape(len(rows), self.fragment.registers, WARP).swapaxes(0, 1)
        return scatter_registers(here.lanes, np.ascontiguousarray(words), here.warps)


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """d = a × b + d."""

    program: Program
    op: Op
    spec: Spec
    a: SharedFactor | HeldMatrix
    b: SharedFactor
    sum: HeldMatrix
    negated: tuple[bool, bool]
    metadata: Metadata | None
    readers: tuple[Reader, ...]  # of the registers of a, of the metadata, and of d where it is added to
    dtypes: tuple[Any, ...]  # of the destinations

    def __call__(self, lanes: Lanes, mask: Mask, adds: Any, a: Any, b: Any, *values: Any) -> Any:
        """Whether d is added to, descriptors and registers in; those of d out."""
        here = Here(self.program, self.op, lanes, active_warps(self.program, self.op, lanes, mask, WARPGROUP))
        bits = [read(lanes, value) for read, value in zip(self.readers, values, strict=True)]
        count = self.a.fragment.registers if isinstance(self.a, HeldMatrix) else 0
        if isinstance(self.a, HeldMatrix):
            left = self.a.matrix(here, bits[:count])
        else:
            left = self.a.matrix(here, here.same(lanes.integers(a, 64), "descriptor of a"))
        right = self.b.matrix(here, here.same(lanes.integers(b, 64), "descriptor of b"))
        left, right = (
            _signed(self.spec.a, left, self.negated[0]),
            _signed(self.spec.b, right, self.negated[1]),
        )
        right = np.ascontiguousarray(right.swapaxes(1, 2))
        rest = bits[count:]
        chosen = None
        if self.metadata is not None:
            words = gather_registers(lanes, rest[:1], WORD, here.warps)
            chosen = np.moveaxis(self.metadata.matrix(words), 2, 0).reshape(len(left), ROWS, -1)
            rest = rest[1:]
        c = self._added_to(here, adds, rest, len(left))
        if chosen is None:
            found = warpgroup_multiply_add(self.spec, left, right, c)
        else:
            found = sparse_warpgroup_multiply_add(self.spec, left, right, c, chosen)
        results = self.sum.registers(here, found)
        return tuple([part.view(dtype) for part, dtype in zip(results, self.dtypes, strict=True)])

    def _added_to(self, here: Here, adds: Any, bits: list[Any], count: int) -> Any:
        adds = here.same(adds, "scale-d")
        if type(adds) is np.ndarray or adds:
            before = self.sum.matrix(here, bits)
            if type(adds) is not np.ndarray:
                return before
            return np.where(adds[:, None, None], before, before.dtype.type(0))
        return np.zeros((count, ROWS, self.sum.fragment.width), self.sum.fragment.element)


def _signed(type_name: str, bits: Any, negated: bool) -> Any:
    """Floats by their bits, with the sign turned or not."""
    return bits ^ bits.dtype.type(1 << (BITS[type_name] - 1)) if negated else bits
