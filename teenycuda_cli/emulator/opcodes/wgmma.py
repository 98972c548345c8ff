"""wgmma: products of matrices that the lanes of a warpgroup hold, or shared memory.

They are made at once, which is an order that the ISA allows: nobody may touch
registers or memory of a product that is not waited for. So fences and groups do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator import faults
from teenycuda_cli.emulator.access import Site
from teenycuda_cli.emulator.arguments import MASK
from teenycuda_cli.emulator.compute import Reader
from teenycuda_cli.emulator.effects import effect
from teenycuda_cli.emulator.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Op, Register, Source
from teenycuda_cli.emulator.lanes import Lanes, Mask
from teenycuda_cli.emulator.numerics.matrix import (
    Spec,
    sparse_warpgroup_multiply_add,
    warpgroup_multiply_add,
)
from teenycuda_cli.emulator.opcodes.fragments import BITS, Fragment, mma_fragment, sizes
from teenycuda_cli.emulator.opcodes.memory import elements
from teenycuda_cli.emulator.opcodes.mma_sparse import Metadata, metadata
from teenycuda_cli.emulator.opcodes.patterns import compile_form
from teenycuda_cli.emulator.opcodes.table import Modifiers
from teenycuda_cli.emulator.opcodes.wgmma_descriptors import CHUNK, chunks
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.emulator.warps import (
    WARP,
    WARPGROUP,
    active_warps,
    by_warp,
    gather_registers,
    scatter_registers,
    warps_a_block,
)
from teenycuda_cli.errors import UnsupportedError

_WARPS = WARPGROUP // WARP
_ROWS = 64
_CHUNK = np.dtype(np.complex128)  # what numpy moves 16 bytes at a time
_WORD = np.dtype(np.uint32)


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
        words = gather_registers(here.lanes, bits, _WORD, here.warps)
        parts = np.ascontiguousarray(words.swapaxes(0, 1)).view(self.fragment.element)
        rows = parts.reshape(len(parts), -1).take(self.fragment.sources, axis=1)
        return rows.reshape(-1, _ROWS, self.fragment.width)

    def registers(self, here: Here, matrix: Any) -> list[Any]:
        """The opposite."""
        rows = matrix.reshape(-1, self.fragment.height * self.fragment.width)
        parts = rows.take(self.fragment.places, axis=1).view(_WORD)
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
            words = gather_registers(lanes, rest[:1], _WORD, here.warps)
            chosen = np.moveaxis(self.metadata.matrix(words), 2, 0).reshape(len(left), _ROWS, -1)
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
        return np.zeros((count, _ROWS, self.sum.fragment.width), self.sum.fragment.element)


def _signed(type_name: str, bits: Any, negated: bool) -> Any:
    """Floats by their bits, with the sign turned or not."""
    return bits ^ bits.dtype.type(1 << (BITS[type_name] - 1)) if negated else bits


def _shapes(k: int, step: int) -> str:
    """Those of floats have any multiple of 8 as n; others have 8 and 24, and multiples of 16."""
    widths = range(8, 257, 8)
    return " ".join([f"m64n{n}k{k}" for n in widths if step == 8 or n in (8, 24) or n % step == 0])


def _tile(m: Modifiers, matrix: str, type_name: str) -> Fragment:
    """What a warp holds of a matrix."""
    _, n, k = sizes(m["shape"])
    if matrix == "a" and "sp" in m:
        k //= 2
    return mma_fragment(f"m16n{n}k{k}", matrix, type_name)


def _registers(matrix: str, slot: str) -> Callable[[Modifiers], tuple[str, ...]]:
    def types(m: Modifiers) -> tuple[str, ...]:
        held = _tile(m, matrix, m.get(slot, slot))
        return (held.register_type,) * held.registers

    return types


def _same(m: Modifiers) -> bool:
    return m["atype"] == m["btype"]


_ISA = "asynchronous-multiply-and-accumulate-instruction-wgmma-mma-async"
_HELD = {"d": _registers("d", "dtype"), "a": _registers("a", "atype")}
_TYPES = (
    "adesc:b64 bdesc:b64 scaled:pred scalea:s32= scaleb:s32= transa:s32= transb:s32= meta:b32 selector:u32="
)
_ROW: dict[str, Any] = {
    "types": _TYPES,
    "vectors": _HELD,
    "whole_warpgroups": True,
    "accumulates": True,
    "keeps_memory": True,
}
_HALVES: dict[str, Any] = {"atype": "f16 bf16", "btype": "f16 bf16"}
_FP8: dict[str, Any] = {"atype": "e4m3 e5m2", "btype": "e4m3 e5m2"}
_BYTES: dict[str, Any] = {"atype": "s8 u8", "btype": "s8 u8", "dtype": "s32"}
_TF32: dict[str, Any] = {"atype": "tf32", "btype": "tf32", "dtype": "f32"}
_BITS: dict[str, Any] = {"atype": "b1", "btype": "b1", "dtype": "s32"}
_DENSE = "wgmma.mma_async.sync.aligned.shape.dtype.atype.btype"
_SPARSE = "wgmma.mma_async.sp.sync.aligned.shape.dtype.atype.btype"


def _is_of_halves(m: Modifiers) -> bool:
    return _same(m) and (m["atype"] == "f16" or m["dtype"] == "f32")


@effect(
    f"{_DENSE} d, adesc, bdesc, {{!}}scaled, scalea, scaleb, transa, transb",
    f"{_DENSE} d, a, bdesc, {{!}}scaled, scalea, scaleb, transb",
    shape=_shapes(16, 8),
    dtype="f16 f32",
    where=_is_of_halves,
    isa=_ISA,
    **_HALVES,
    **_ROW,
)
@effect(
    f"{_DENSE} d, adesc, bdesc, {{!}}scaled, scalea, scaleb",
    f"{_DENSE} d, a, bdesc, {{!}}scaled, scalea, scaleb",
    shape=_shapes(8, 8),
    isa=_ISA,
    **_TF32,
    **_ROW,
)
@effect(
    f"{_DENSE} d, adesc, bdesc, {{!}}scaled, scalea, scaleb",
    f"{_DENSE} d, a, bdesc, {{!}}scaled, scalea, scaleb",
    shape=_shapes(32, 8),
    dtype="f16 f32",
    isa=_ISA,
    **_FP8,
    **_ROW,
)
@effect(
    "wgmma.mma_async.sync.aligned.shape{.satfinite}.dtype.atype.btype d, adesc, bdesc, {!}scaled",
    "wgmma.mma_async.sync.aligned.shape{.satfinite}.dtype.atype.btype d, a, bdesc, {!}scaled",
    shape=_shapes(32, 16),
    isa=_ISA,
    **_BYTES,
    **_ROW,
)
@effect(
    f"{_DENSE}.and.popc d, adesc, bdesc, {{!}}scaled",
    f"{_DENSE}.and.popc d, a, bdesc, {{!}}scaled",
    shape=_shapes(256, 16),
    isa=_ISA,
    **_BITS,
    **_ROW,
)
@effect(
    f"{_SPARSE} d, adesc, bdesc, meta, selector, {{!}}scaled, scalea, scaleb, transa, transb",
    f"{_SPARSE} d, a, bdesc, meta, selector, {{!}}scaled, scalea, scaleb, transb",
    shape=_shapes(32, 8),
    dtype="f16 f32",
    where=_is_of_halves,
    isa=f"{_ISA}-sp",
    **_HALVES,
    **_ROW,
)
@effect(
    f"{_SPARSE} d, adesc, bdesc, meta, selector, {{!}}scaled, scalea, scaleb",
    f"{_SPARSE} d, a, bdesc, meta, selector, {{!}}scaled, scalea, scaleb",
    shape=_shapes(16, 8),
    isa=f"{_ISA}-sp",
    **_TF32,
    **_ROW,
)
@effect(
    f"{_SPARSE} d, adesc, bdesc, meta, selector, {{!}}scaled, scalea, scaleb",
    f"{_SPARSE} d, a, bdesc, meta, selector, {{!}}scaled, scalea, scaleb",
    shape=_shapes(64, 8),
    dtype="f16 f32",
    isa=f"{_ISA}-sp",
    **_FP8,
    **_ROW,
)
@effect(
    "wgmma.mma_async.sp.sync.aligned.shape{.satfinite}.dtype.atype.btype"
    " d, adesc, bdesc, meta, selector, {!}scaled",
    "wgmma.mma_async.sp.sync.aligned.shape{.satfinite}.dtype.atype.btype"
    " d, a, bdesc, meta, selector, {!}scaled",
    shape=_shapes(64, 16),
    isa=f"{_ISA}-sp",
    **_BYTES,
    **_ROW,
)
def mma_async(emit: Emitter, op: Op) -> None:
    """d = a × b + d, or a × b where scale-d is false."""
    m = op.operation.modifiers
    _, n, k = sizes(m["shape"])
    places = compile_form(op.operation.form).places
    named = {place.names[0]: source for place, source in zip(places, op.operands, strict=True)}
    held_a = elements(named["a"]) if "a" in named else []
    destinations = elements(named["d"])
    arguments = [emit.argument(source, "b32") for source in held_a]
    told: Metadata | None = None
    if "sp" in m:
        selectors = (0, 1) if BITS[m["atype"]] > 8 else (0,)
        told = metadata(f"m16n8k{k}", m["atype"], _constant(emit, op, named["selector"], selectors))
        arguments.append(emit.argument(named["meta"], "b32"))
    signs = [_constant(emit, op, named.get(name, Constant(1)), (1, -1)) for name in ("scalea", "scaleb")]
    turns = [_constant(emit, op, named.get(name, Constant(0)), (0, 1)) for name in ("transa", "transb")]
    if named["scaled"] != Constant(0):
        arguments += [emit.argument(each, "b32") for each in destinations]
    factors = [_tile(m, matrix, m[f"{matrix}type"]) for matrix in "ab"]
    shared = [
        SharedFactor(side, depth, fragment.element, bool(turned))
        for side, depth, fragment, turned in zip(
            (_ROWS, n), (factors[0].width, factors[1].height), factors, turns, strict=True
        )
    ]
    dtypes = [emit.kept(each).dtype if isinstance(each, Register) else _WORD for each in destinations]
    bitwise = "and" if m["atype"] == "b1" else ""
    product = Product(
        emit.program,
        op,
        Spec(m["atype"], m["btype"], m["dtype"], m["dtype"], bool(m.get("satfinite")), bitwise),
        HeldMatrix(factors[0]) if held_a else shared[0],
        shared[1],
        HeldMatrix(_tile(m, "d", m["dtype"])),
        (signs[0] < 0, signs[1] < 0),
        told,
        tuple([emit.reader(argument, "b32") for argument in arguments]),
        tuple(dtypes),
    )
    values = (
        emit.argument(named["scaled"], "pred"),
        emit.argument(named.get("adesc", Constant(0)), "b64"),
        emit.argument(named["bdesc"], "b64"),
    )
    emit.call(op, destinations, emit.bind(product), (MASK, *values, *arguments), dtypes)


def _constant(emit: Emitter, op: Op, source: Source, allowed: tuple[int, ...]) -> int:
    """A constant operand; UnsupportedError where it is none of those that are allowed."""
    assert isinstance(source, Constant)
    if source.value in allowed:
        return source.value
    wanted = " or ".join(map(str, allowed))
    raise UnsupportedError(
        f"an operand of {op.instruction.name} is {source.value}, not {wanted}",
        file=emit.program.text.name,
        line=emit.program.text.position(op.instruction.offset)[0],
    )


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Nothing, of whole warps."""

    program: Program
    op: Op

    def __call__(self, lanes: Lanes, mask: Mask) -> None:
        """Raises LaunchError where lanes of a warp are missing."""
        active_warps(self.program, self.op, lanes, mask)


_GROUPS = "asynchronous-multiply-and-accumulate-instruction-wgmma"


@effect("wgmma.fence.sync.aligned ", isa=f"{_GROUPS}-fence", whole_warps=True, keeps_memory=True)
@effect(
    "wgmma.commit_group.sync.aligned ", isa=f"{_GROUPS}-commit-group", whole_warps=True, keeps_memory=True
)
@effect(
    "wgmma.wait_group.sync.aligned n",
    types="n:u32=",
    isa=f"{_GROUPS}-wait-group",
    whole_warps=True,
    keeps_memory=True,
)
def group(emit: Emitter, op: Op) -> None:
    """Products are made at once, so that there is nothing to wait for."""
    emit.call(op, [], emit.bind(Together(emit.program, op)), (MASK,))
