"""wmma.load and wmma.store: matrices between memory and the fragments of a warp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.compute import Reader
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Op, Place, Register, Source
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.access import Positions, Site, positions
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.warps import (
    WARP,
    active_warps,
    by_warp,
    from_warps,
    warp_count,
)
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.fragments import BITS, Fragment, fragment, registers
from teenycuda_cli.emulator.opcodes.ldmatrix import transposed
from teenycuda_cli.emulator.opcodes.memory import elements, make_site
from teenycuda_cli.emulator.opcodes.table import Modifiers

_SPACES = "global shared shared::cta"
_STRIDE = 2  # which operand it is
_TILE = 8
_WORD = 32
_HALF = 16
_BYTE = 8
_ROW = 16


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """What a lane accesses at once: `count` elements of memory, which are units `first`, `first` + 1 …"""

    outer: Any  # which row, or column, of memory, of each lane
    inner: Any  # the bytes from its start
    first: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How a fragment meets memory of a layout: registers are made of `parts` units of `dtype` each."""

    fragment: Fragment
    pieces: tuple[Piece, ...]
    dtype: Any
    parts: int
    turns: bool  # 8 × 8 tiles of 16 bits are turned over in registers
    by_rows: bool  # out of shared memory, rows of 16 bytes are read at once


@cache
def plan(shape: str, matrix: str, type_name: str, layout: str) -> Plan:
    """The accesses that the hardware makes: neighbours in memory at once where a register holds them."""
    found = fragment(shape, matrix, type_name)
    outer, inner = found.outer_inner(layout)
    bits = max(found.bits, _WORD) if type_name == "b1" else found.bits
    matches = found.along == layout
    dtype: Any = np.dtype(np.uint64 if bits > _WORD else np.uint32)
    units = count = 1
    if bits == _HALF and not matches:
        origin = outer[:, 0, 0], inner[:, 0, 0]
        lane = np.arange(WARP)
        outer = (origin[0][:, None] + lane // 4)[:, None]
        inner = (origin[1][:, None] + lane % 4 * 2)[:, None]
    if bits == _BYTE and not matches:
        units, dtype = outer.shape[1], np.dtype(np.uint8)
        outer, inner = (each.reshape(-1, 1, WARP) for each in (outer, inner))
    elif matches and matrix in ("c", "d") and bits >= _WORD:
        count = 2
    pieces = [
        Piece(outer[first, 0], inner[first, 0] * bits // 8, first, count)
        for first in range(0, len(outer), count)
    ]
    turns = bits == _HALF and not matches
    by_rows = matrix in ("a", "b") and found.bits <= _HALF and (matches or turns)
    return Plan(found, tuple(pieces), dtype, units, turns, by_rows)


class Matrix:
    """Where the lanes of a warp access a matrix: what wmma.load and wmma.store have in common."""

    def __init__(self, site: Site, accesses: Plan) -> None:
        """`site` is that of the address of the whole matrix."""
        self.plan = accesses
        self.site = site
        self.sites = {
            count: replace(site, offset=0, width=64, count=count)
            for count in {piece.count for piece in accesses.pieces}
        }

    def pieces(
        self, lanes: Lanes, address: Any, stride: Any, mask: Mask
    ) -> Iterator[tuple[Piece, Positions]]:
        """Each piece with the checked places of it; raises LaunchError where one must not be."""
        site = self.site
        base = self._uniform(lanes, lanes.integers(address, site.width), mask, "address")
        base = base.astype(np.int64) + site.offset
        steps = self._uniform(lanes, lanes.integers(stride, _WORD), mask, "stride")
        steps = self._bytes(steps.astype(np.int64) & 0xFFFFFFFF)
        if self.plan.by_rows and site.space == "shared":
            self._check_rows(lanes, base, steps, mask)
        for piece in self.plan.pieces:
            places = np.broadcast_to(base + piece.outer * steps + piece.inner, (warp_count(lanes), WARP))
            for found in positions(self.sites[piece.count], lanes, from_warps(lanes, places), mask):
                yield piece, found

    def _uniform(self, lanes: Lanes, values: Any, mask: Mask, what: str) -> Any:
        """Values by warp; all lanes of a warp must give the same."""
        if type(values) is not np.ndarray:
            return values
        rows = by_warp(lanes, values, 0)
        bad = from_warps(lanes, rows != rows[:, :1])
        if mask is not None:
            bad = bad & mask
        if bad.any():
            failing = np.flatnonzero(bad)
            told = f"ran wmma with lanes of a warp that give another {what} than the first"
            raise faults.fault(self.site.program, self.site.op, lanes, int(failing[0]), len(failing), told)
        return rows[:, :1]

    def _check_rows(self, lanes: Lanes, base: Any, steps: Any, mask: Mask) -> None:
        """Rows of shared memory that the hardware reads as ldmatrix does begin at multiples of 16 bytes."""
        shape = warp_count(lanes), WARP
        bad = from_warps(lanes, np.broadcast_to(((base | steps) & (_ROW - 1)) != 0, shape))
        if mask is not None:
            bad = bad & mask
        if not bad.any():
            return
        first = np.where(base & (_ROW - 1), base, base + steps)
        addresses = from_warps(lanes, np.broadcast_to(first, shape))
        numbers = lanes.numbers(mask)
        site = replace(self.site, offset=0, size=_ROW)
        active = slice(None) if mask is None else mask.reshape(-1)
        raise faults.refuse(
            site, lanes, numbers, addresses.reshape(-1)[active], bad.reshape(-1)[active], "shared"
        )

    def _bytes(self, stride: Any) -> Any:
        """A stride in bytes; of elements less than a word, as many as fill words."""
        bits = self.plan.fragment.bits
        if bits >= _BYTE and bits != _HALF:
            return stride * (bits // 8)
        return stride * bits // _WORD * 4


class LoadFragment:
    """`wmma.load`: lanes, address, stride and mask in; the registers out."""

    def __init__(self, matrix: Matrix, dtypes: tuple[Any, ...]) -> None:
        """`dtypes` are those of the destinations."""
        self.matrix = matrix
        self.dtypes = dtypes

    def __call__(self, lanes: Lanes, address: Any, stride: Any, mask: Mask) -> Any:
        """Raises LaunchError for an element that must not be read."""
        accesses = self.matrix.plan
        active_warps(self.matrix.site.program, self.matrix.site.op, lanes, mask)
        count = sum(piece.count for piece in accesses.pieces)
        units = np.zeros((count, *lanes.shape), accesses.dtype)
        for piece, found in self.matrix.pieces(lanes, address, stride, mask):
            for number in range(piece.count):
                data, index = found.elements(accesses.dtype, number)
                where = ... if found.mask is None else found.mask
                units[piece.first + number][where] = data.take(index, mode="clip")
        if accesses.parts > 1:
            apart = units.reshape(-1, accesses.parts, *lanes.shape)
            units = np.ascontiguousarray(np.moveaxis(apart, 1, -1)).view(np.uint32)[..., 0]
        if accesses.turns:
            units = _turned(lanes, units)
        copies = accesses.fragment.copies
        parts = [units[number % len(units)] for number in range(len(units) * copies)]
        results = [part.view(dtype) for part, dtype in zip(parts, self.dtypes, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)


def _turned(lanes: Lanes, units: Any) -> Any:
    """Registers of 8 × 8 tiles of 16 bits, with the tiles turned over."""
    rows = np.stack([by_warp(lanes, unit, 0) for unit in units])
    tiles = rows.view(np.complex128).reshape(-1, 8)
    turned = transposed(tiles).view(np.uint32).reshape(rows.shape)
    return np.stack([from_warps(lanes, row) for row in turned])


class StoreFragment:
    """`wmma.store`: lanes, address, stride, mask and registers in."""

    def __init__(self, matrix: Matrix, readers: tuple[Reader, ...]) -> None:
        """A reader a register gives its bits."""
        self.matrix = matrix
        self.readers = readers

    def __call__(self, lanes: Lanes, address: Any, stride: Any, mask: Mask, *values: Any) -> None:
        """Raises LaunchError for an element that must not be written."""
        accesses = self.matrix.plan
        active_warps(self.matrix.site.program, self.matrix.site.op, lanes, mask)
        bits = [read(lanes, value) for read, value in zip(self.readers, values, strict=True)]
        units: Any = np.empty((len(bits), *lanes.shape), accesses.dtype)
        for unit, value in zip(units, bits, strict=True):
            unit[...] = value
        if accesses.turns:
            units = _turned(lanes, units)
        for piece, found in self.matrix.pieces(lanes, address, stride, mask):
            for number in range(piece.count):
                data, index = found.elements(accesses.dtype, number)
                value = units[piece.first + number]
                data[index] = value if found.mask is None else value[found.mask]


_FACTORS = {
    "m16n16k16": "f16 bf16 s8 u8",
    "m8n32k16": "f16 bf16 s8 u8",
    "m32n8k16": "f16 bf16 s8 u8",
    "m16n16k8": "tf32",
    "m8n8k4": "f64",
    "m8n8k32": "s4 u4",
    "m8n8k128": "b1",
}
_SUMS = {
    "m16n16k16": "f16 f32 s32",
    "m8n32k16": "f16 f32 s32",
    "m32n8k16": "f16 f32 s32",
    "m16n16k8": "f32",
    "m8n8k4": "f64",
    "m8n8k32": "f32 s32",
    "m8n8k128": "f32 s32",
}
_FACTOR_TYPES = "f16 bf16 tf32 f64 s8 u8 s4 u4 b1"
_SUM_TYPES = "f16 f32 f64 s32"


def _is_factor(only: str) -> Callable[[Modifiers], bool]:
    """Whether modifiers are those of a factor; elements of less than a byte have the layout `only`."""

    def legal(m: Modifiers) -> bool:
        small = BITS[m["type"]] < _BYTE
        return m["type"] in _FACTORS[m["shape"]].split() and (not small or m["layout"] == only)

    return legal


def _is_sum(m: Modifiers) -> bool:
    return m["type"] in _SUMS[m["shape"]].split()


def _make(emit: Emitter, op: Op, matrix: str, place: Source, *, writes: bool) -> tuple[Matrix, str]:
    """The accesses of an instruction, and the expressions of its address and stride."""
    assert isinstance(place, Place)
    m = op.operation.modifiers
    accesses = plan(m["shape"], matrix, m["type"], m["layout"])
    held = accesses.fragment
    stride: Source = Constant(held.width if m["layout"] == "row" else held.height)
    if m["type"] == "b1":
        stride = Constant(held.width * held.height * _WORD // _TILE)
    if len(op.operands) > _STRIDE:
        stride = op.operands[_STRIDE]
    site, address = make_site(emit, op, place, 1, accesses.dtype, writes=writes)
    return Matrix(site, accesses), f"{address}, {emit.integer(stride, _WORD)}"


def _load(emit: Emitter, op: Op, matrix: str) -> None:
    accesses, where = _make(emit, op, matrix, op.operands[1], writes=False)
    destinations = elements(op.operands[0])
    unit = np.dtype(np.int64 if accesses.plan.dtype.itemsize > _WORD // 8 else np.int32)
    dtypes = [emit.kept(each).dtype if isinstance(each, Register) else unit for each in destinations]
    load = emit.bind(LoadFragment(accesses, tuple(dtypes)))
    mask = emit.mask(op)
    emit.store_results(op, destinations, f"{load}(S, {where}, {mask})", mask, dtypes)


@effect(
    "wmma.load.a.sync.aligned.layout.shape{.space}.type d, [a]{, stride}",
    layout="row col",
    shape=" ".join(_FACTORS),
    space=_SPACES,
    type=_FACTOR_TYPES,
    types="stride:u32",
    vectors={"d": registers("a", "type")},
    where=_is_factor("row"),
    isa="warp-level-matrix-instructions-wmma-load",
    whole_warps=True,
    keeps_memory=True,
)
def wmma_load_a(emit: Emitter, op: Op) -> None:
    """The left factor out of memory."""
    _load(emit, op, "a")


@effect(
    "wmma.load.b.sync.aligned.layout.shape{.space}.type d, [a]{, stride}",
    layout="row col",
    shape=" ".join(_FACTORS),
    space=_SPACES,
    type=_FACTOR_TYPES,
    types="stride:u32",
    vectors={"d": registers("b", "type")},
    where=_is_factor("col"),
    isa="warp-level-matrix-instructions-wmma-load",
    whole_warps=True,
    keeps_memory=True,
)
def wmma_load_b(emit: Emitter, op: Op) -> None:
    """The right factor out of memory."""
    _load(emit, op, "b")


@effect(
    "wmma.load.c.sync.aligned.layout.shape{.space}.type d, [a]{, stride}",
    layout="row col",
    shape=" ".join(_SUMS),
    space=_SPACES,
    type=_SUM_TYPES,
    types="stride:u32",
    vectors={"d": registers("c", "type")},
    where=_is_sum,
    isa="warp-level-matrix-instructions-wmma-load",
    whole_warps=True,
    keeps_memory=True,
)
def wmma_load_c(emit: Emitter, op: Op) -> None:
    """What is added to out of memory."""
    _load(emit, op, "c")


@effect(
    "wmma.store.d.sync.aligned.layout.shape{.space}.type [a], b{, stride}",
    layout="row col",
    shape=" ".join(_SUMS),
    space=_SPACES,
    type=_SUM_TYPES,
    types="stride:u32",
    vectors={"b": registers("d", "type")},
    where=_is_sum,
    isa="warp-level-matrix-instructions-wmma-store",
    whole_warps=True,
)
def wmma_store_d(emit: Emitter, op: Op) -> None:
    """The result into memory."""
    accesses, where = _make(emit, op, "d", op.operands[0], writes=True)
    bits = "b64" if accesses.plan.dtype.itemsize > _WORD // 8 else "b32"
    arguments = [emit.argument(source, bits) for source in elements(op.operands[1])]
    store = emit.bind(StoreFragment(accesses, tuple([emit.reader(item, bits) for item in arguments])))
    mask = emit.mask(op)
    values = ", ".join([argument.text for argument in arguments])
    emit.line_for(mask, f"{store}(S, {where}, {mask}, {values})")
