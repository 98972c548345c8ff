"""wgmma: products of matrices that the lanes of a warpgroup hold, or shared memory.

They are made at once, which is an order that the ISA allows: nobody may touch
registers or memory of a product that is not waited for. So fences and groups do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from teenycuda_cli.emulator.codegen.arguments import MASK
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Op, Register
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.warps import active_warps
from teenycuda_cli.emulator.numerics.matrix import Spec
from teenycuda_cli.emulator.opcodes.constants import constant
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.fragments import BITS, Fragment, mma_fragment, sizes
from teenycuda_cli.emulator.opcodes.memory import elements
from teenycuda_cli.emulator.opcodes.mma_sparse import Metadata, metadata
from teenycuda_cli.emulator.opcodes.patterns import compile_form
from teenycuda_cli.emulator.opcodes.table import Modifiers
from teenycuda_cli.emulator.opcodes.wgmma_product import ROWS, WORD, HeldMatrix, Product, SharedFactor
from teenycuda_cli.emulator.program import Program


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
        told = metadata(f"m16n8k{k}", m["atype"], constant(emit, op, named["selector"], selectors))
        arguments.append(emit.argument(named["meta"], "b32"))
    signs = [constant(emit, op, named.get(name, Constant(1)), (1, -1)) for name in ("scalea", "scaleb")]
    turns = [constant(emit, op, named.get(name, Constant(0)), (0, 1)) for name in ("transa", "transb")]
    if named["scaled"] != Constant(0):
        arguments += [emit.argument(each, "b32") for each in destinations]
    factors = [_tile(m, matrix, m[f"{matrix}type"]) for matrix in "ab"]
    shared = [
        SharedFactor(side, depth, fragment.element, bool(turned))
        for side, depth, fragment, turned in zip(
            (ROWS, n), (factors[0].width, factors[1].height), factors, turns, strict=True
        )
    ]
    dtypes = [emit.kept(each).dtype if isinstance(each, Register) else WORD for each in destinations]
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
