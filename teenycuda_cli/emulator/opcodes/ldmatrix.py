"""Matrices of 8 × 8 elements of 16 bits between shared memory and a warp: ldmatrix, stmatrix, movmatrix.

A row is 16 bytes, at the address of one lane: rows 0–7 of the first matrix
at those of lanes 0–7, of the second at those of 8–15, and so on. Lane t holds
of each matrix the elements 2 × (t mod 4) and the next of row t / 4: a gather of
whole rows brings the registers of a warp in their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK
from teenycuda_cli.emulator.codegen.compute import Reader
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op, Place
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.access import Positions, Site, positions
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.warps import (
    WARP,
    active_warps,
    from_warps,
    gather_registers,
    scatter_registers,
    warp_count,
)
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.memory import elements, make_site
from teenycuda_cli.emulator.opcodes.table import Modifiers
from teenycuda_cli.emulator.program import Program

_ROW = np.dtype(np.complex128)  # what numpy moves 16 bytes at a time
_INT = np.dtype(np.int32)
_TURNED = np.arange(64).reshape(8, 8).T.reshape(-1)


def _registers(m: Modifiers) -> tuple[str, ...]:
    return ("b32",) * int(m["num"][1:])


def transposed(rows: Any) -> Any:
    """Matrices of 8 rows of 16 bytes, along the last axis, turned over."""
    halves = np.ascontiguousarray(rows).view(np.uint16).reshape(-1, 64)
    return halves.take(_TURNED, axis=1).view(rows.dtype).reshape(rows.shape)


def _rows(site: Site, lanes: Lanes, address: Any, mask: Mask, count: int) -> tuple[Any, Any, Any]:
    """Shared memory as rows, the row numbers (matrix, warp, 8) of `count` matrices, and the warps."""
    warps = active_warps(site.program, site.op, lanes, mask)
    wanted: Mask = None
    if warps is not None or count * 8 < WARP:  # the other lanes' addresses do not matter
        rows = np.zeros((warp_count(lanes), WARP), bool)
        rows[slice(None) if warps is None else warps, : count * 8] = True
        wanted = from_warps(lanes, rows)
    for found in positions(site, lanes, address, wanted):
        if found.space.name != "shared":
            raise _not_shared(site, lanes, found, wanted)
    data, index = found.elements(_ROW)
    if wanted is None:
        index = np.broadcast_to(index, lanes.shape)
    numbers = index.reshape(-1, count, 8).swapaxes(0, 1)
    return data, numbers, warps


def _not_shared(site: Site, lanes: Lanes, found: Positions, wanted: Mask) -> Exception:
    numbers = lanes.numbers(wanted if found.mask is None else found.mask)
    what = f"used {site.op.instruction.opcode} with an address in {found.space.name} memory, not shared"
    return faults.fault(site.program, site.op, lanes, int(numbers[0]), len(numbers), what)


class LoadMatrix:
    """`ldmatrix`: lanes, address and mask in; a register, or a tuple of them, out."""

    def __init__(self, site: Site, count: int, transposes: bool) -> None:
        """`count` matrices, each turned over or not."""
        self.site = site
        self.count = count
        self.transposes = transposes

    def __call__(self, lanes: Lanes, address: Any, mask: Mask) -> Any:
        """Raises LaunchError for a row that must not be read."""
        data, numbers, warps = _rows(self.site, lanes, address, mask, self.count)
        rows = data.take(numbers, mode="clip")
        if self.transposes:
            rows = transposed(rows)
        found = scatter_registers(lanes, rows.view(_INT), warps)
        return found[0] if self.count == 1 else tuple(found)


@effect(
    "ldmatrix.sync.aligned.shape.num{.trans}{.space}.type d, [a]",
    shape="m8n8",
    num="x1 x2 x4",
    space="shared shared::cta",
    type="b16",
    vectors={"d": _registers},
    isa="warp-level-matrix-instructions-ldmatrix",
    whole_warps=True,
    keeps_memory=True,
)
def ldmatrix(emit: Emitter, op: Op) -> None:
    """Matrices out of shared memory."""
    place = op.operands[1]
    assert isinstance(place, Place)
    modifiers = op.operation.modifiers
    destinations = elements(op.operands[0])
    site, _ = make_site(emit, op, place, 1, _ROW, writes=False)
    load = emit.bind(LoadMatrix(site, len(destinations), bool(modifiers["trans"])))
    arguments = (emit.argument(place.base), MASK)
    emit.call(op, destinations, load, arguments, [_INT] * len(destinations))


class StoreMatrix:
    """`stmatrix`: lanes, address, mask and registers in."""

    def __init__(self, site: Site, readers: tuple[Reader, ...], transposes: bool) -> None:
        """A reader a matrix gives a register's bits."""
        self.site = site
        self.readers = readers
        self.transposes = transposes

    def __call__(self, lanes: Lanes, address: Any, mask: Mask, *values: Any) -> None:
        """Where rows lie over one another, the last one's bytes stay."""
        data, numbers, warps = _rows(self.site, lanes, address, mask, len(values))
        bits = [read(lanes, value) for read, value in zip(self.readers, values, strict=True)]
        rows = gather_registers(lanes, bits, np.uint32, warps).view(_ROW)
        data[numbers] = transposed(rows) if self.transposes else rows


@effect(
    "stmatrix.sync.aligned.shape.num{.trans}{.space}.type [a], b",
    shape="m8n8",
    num="x1 x2 x4",
    space="shared shared::cta",
    type="b16",
    vectors={"b": _registers},
    isa="warp-level-matrix-instructions-stmatrix",
    whole_warps=True,
)
def stmatrix(emit: Emitter, op: Op) -> None:
    """Matrices into shared memory."""
    place = op.operands[0]
    assert isinstance(place, Place)
    arguments = [emit.argument(source, "b32") for source in elements(op.operands[1])]
    site, _ = make_site(emit, op, place, 1, _ROW, writes=True)
    readers = tuple([emit.reader(argument, "b32") for argument in arguments])
    store = emit.bind(StoreMatrix(site, readers, bool(op.operation.modifiers["trans"])))
    emit.call(op, [], store, (emit.argument(place.base), MASK, *arguments))


class MoveMatrix:
    """`movmatrix`: a matrix that the lanes of a warp hold, turned over."""

    def __init__(self, program: Program, op: Op, read: Reader) -> None:
        """`read` gives the register's bits."""
        self.program = program
        self.op = op
        self.read = read

    def __call__(self, lanes: Lanes, value: Any, mask: Mask) -> Any:
        """The register of the matrix turned over."""
        warps = active_warps(self.program, self.op, lanes, mask)
        rows = gather_registers(lanes, [self.read(lanes, value)], np.uint32, warps).view(_ROW)
        return scatter_registers(lanes, transposed(rows).view(_INT), warps)[0]


@effect(
    "movmatrix.sync.aligned.shape.trans.type d, a",
    shape="m8n8",
    type="b16",
    types="d:b32? a:b32",
    isa="warp-level-matrix-instructions-movmatrix",
    whole_warps=True,
    keeps_memory=True,
)
def movmatrix(emit: Emitter, op: Op) -> None:
    """A matrix turned over among the lanes of a warp."""
    argument = emit.argument(op.operands[1], "b32")
    move = emit.bind(MoveMatrix(emit.program, op, emit.reader(argument, "b32")))
    mask = emit.mask(op)
    emit.store_results(op, [op.operands[0]], f"{move}(S, {argument.text}, {mask})", mask, [_INT])
