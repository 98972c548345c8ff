"""mma: products of the matrices that the lanes of a warp hold."""

from __future__ import annotations

from typing import Any

from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.numerics.matrix import Spec, multiply_add, small_multiply_add
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.fragments import mma_fragment
from teenycuda_cli.emulator.opcodes.matrix_product import MatrixProduct, emit_product
from teenycuda_cli.emulator.opcodes.quads import QuadFragment, quad_fragment
from teenycuda_cli.emulator.opcodes.table import Modifiers

_ISA = "warp-level-matrix-instructions-mma"


def _types(matrix: str, slot: str) -> Any:
    """The types of an operand's registers, for one choice of modifiers; `slot` is a modifier or a type."""

    def types(m: Modifiers) -> tuple[str, ...]:
        held = mma_fragment(m["shape"], matrix, m.get(slot, slot))
        return (held.register_type,) * held.registers

    return types


def vectors(a: str = "atype", b: str = "btype", c: str = "ctype", d: str = "dtype") -> dict[str, Any]:
    """The operands' registers."""
    return {"d": _types("d", d), "a": _types("a", a), "b": _types("b", b), "c": _types("c", c)}


def _same_sum(m: Modifiers) -> bool:
    return m["ctype"] == m["dtype"]


@effect(
    "mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c",
    shape="m16n8k8 m16n8k16",
    dtype="f16 f32",
    atype="f16",
    btype="f16",
    ctype="f16 f32",
    where=_same_sum,
    vectors=vectors(),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
@effect(
    "mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c",
    shape="m16n8k8 m16n8k16",
    dtype="f32",
    atype="bf16",
    btype="bf16",
    ctype="f32",
    vectors=vectors(),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
@effect(
    "mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c",
    shape="m16n8k4 m16n8k8",
    dtype="f32",
    atype="tf32",
    btype="tf32",
    ctype="f32",
    vectors=vectors(),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
@effect(
    "mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c",
    shape="m16n8k16 m16n8k32",
    dtype="f16 f32",
    atype="e4m3 e5m2",
    btype="e4m3 e5m2",
    ctype="f16 f32",
    where=_same_sum,
    vectors=vectors(),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
@effect(
    "mma.sync.aligned.shape.row.col{.rnd}.dtype.atype.btype.ctype d, a, b, c",
    shape="m8n8k4 m16n8k4 m16n8k8 m16n8k16",
    rnd="rn rz rm rp",
    dtype="f64",
    atype="f64",
    btype="f64",
    ctype="f64",
    vectors=vectors(),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
@effect(
    "mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c",
    shape="m8n8k16 m16n8k16 m16n8k32",
    dtype="s32",
    atype="s8 u8",
    btype="s8 u8",
    ctype="s32",
    vectors=vectors(),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
@effect(
    "mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c",
    shape="m8n8k32 m16n8k32 m16n8k64",
    dtype="s32",
    atype="s4 u4",
    btype="s4 u4",
    ctype="s32",
    vectors=vectors(),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
@effect(
    "mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype.bitop.popc d, a, b, c",
    shape="m8n8k128 m16n8k128 m16n8k256",
    bitop="xor and",
    dtype="s32",
    atype="b1",
    btype="b1",
    ctype="s32",
    vectors=vectors(),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
def mma(emit: Emitter, op: Op) -> None:
    """d = a × b + c."""
    m = op.operation.modifiers
    names = (("a", m["atype"]), ("b", m["btype"]), ("c", m["ctype"]), ("d", m["dtype"]))
    held = tuple([mma_fragment(m["shape"], matrix, type_name) for matrix, type_name in names])
    emit_product(emit, op, MatrixProduct(emit.program, op, spec_of(m), held, multiply_add))


def spec_of(m: Modifiers) -> Spec:
    """What the modifiers say."""
    return Spec(
        m["atype"],
        m["btype"],
        m["ctype"],
        m["dtype"],
        saturate=bool(m.get("satfinite")),
        bitwise=m.get("bitop", ""),
        rounding=m.get("rnd") or "rn",
    )


def _quad_types(matrix: str) -> Any:
    def types(m: Modifiers) -> tuple[str, ...]:
        held = _quad(m, matrix)
        return (held.register_type,) * held.registers

    return types


def _quad(m: Modifiers, matrix: str) -> QuadFragment:
    layout = {"a": m["alayout"], "b": m["blayout"]}.get(matrix, "")
    return quad_fragment(matrix, m[f"{matrix}type"], layout)


@effect(
    "mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c",
    shape="m8n8k4",
    alayout="row col",
    blayout="row col",
    dtype="f16 f32",
    atype="f16",
    btype="f16",
    ctype="f16 f32",
    where=lambda m: m["dtype"] == "f32" or m["ctype"] == "f16",
    vectors={matrix: _quad_types(matrix) for matrix in "dabc"},
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
def mma_of_quads(emit: Emitter, op: Op) -> None:
    """Four products at once, of eight lanes each."""
    m = op.operation.modifiers
    held = tuple([_quad(m, matrix) for matrix in "abcd"])
    emit_product(emit, op, MatrixProduct(emit.program, op, spec_of(m), held, small_multiply_add))
