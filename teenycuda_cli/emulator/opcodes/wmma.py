"""wmma.mma: products of the matrices that fragments hold."""

from __future__ import annotations

from typing import Any

from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.numerics.half import from_f16, to_f16
from teenycuda_cli.emulator.numerics.matrix import Spec, multiply_add
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.fragments import fragment, registers
from teenycuda_cli.emulator.opcodes.matrix_product import MatrixProduct, emit_product
from teenycuda_cli.emulator.opcodes.table import Modifiers

_STEP = {"tf32": 4}
"""How deep the products are that the hardware adds up at once, where that is less than k."""


def _product(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    """As the hardware does it: what mixes f16 and f32 is a sum in f32."""
    wanted = spec.d
    mixed = spec.c != wanted
    if mixed and spec.c == "f16":
        c = from_f16(c)
    if mixed:
        spec = Spec(spec.a, spec.b, "f32", "f32")
    step = _STEP.get(spec.a, a.shape[1])
    for start in range(0, a.shape[1], step):
        part = slice(start, start + step)
        c = multiply_add(spec, a[:, part], b[part], c)
    return to_f16(c) if mixed and wanted == "f16" else c


def _same(m: Modifiers) -> bool:
    return m["atype"] == m["btype"]


def _vectors(factor: str, c: str, d: str) -> dict[str, Any]:
    """The operands' lengths; each name is a slot or a type."""
    return {
        "d": registers("d", d),
        "a": registers("a", factor),
        "b": registers("b", factor),
        "c": registers("c", c),
    }


_ISA = "warp-level-matrix-instructions-wmma-mma"
_LAYOUTS = "row col"


@effect(
    "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype d, a, b, c",
    shape="m16n16k16 m8n32k16 m32n8k16",
    dtype="f16 f32",
    ctype="f16 f32",
    vectors=_vectors("f16", "ctype", "dtype"),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
    alayout=_LAYOUTS,
    blayout=_LAYOUTS,
)
@effect(
    "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype d, a, b, c",
    shape="m16n16k16 m8n32k16 m32n8k16",
    dtype="f32",
    atype="bf16",
    btype="bf16",
    ctype="f32",
    vectors=_vectors("atype", "ctype", "dtype"),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
    alayout=_LAYOUTS,
    blayout=_LAYOUTS,
)
@effect(
    "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype d, a, b, c",
    shape="m16n16k8",
    dtype="f32",
    atype="tf32",
    btype="tf32",
    ctype="f32",
    vectors=_vectors("atype", "ctype", "dtype"),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
    alayout=_LAYOUTS,
    blayout=_LAYOUTS,
)
@effect(
    "wmma.mma.sync.aligned.alayout.blayout.shape{.rnd}.dtype.atype.btype.ctype d, a, b, c",
    shape="m8n8k4",
    rnd="rn rz rm rp",
    dtype="f64",
    atype="f64",
    btype="f64",
    ctype="f64",
    vectors=_vectors("atype", "ctype", "dtype"),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
    alayout=_LAYOUTS,
    blayout=_LAYOUTS,
)
@effect(
    "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{.satfinite} d, a, b, c",
    shape="m16n16k16 m8n32k16 m32n8k16",
    dtype="s32",
    atype="s8 u8",
    btype="s8 u8",
    ctype="s32",
    where=_same,
    vectors=_vectors("atype", "ctype", "dtype"),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
    alayout=_LAYOUTS,
    blayout=_LAYOUTS,
)
@effect(
    "wmma.mma.sync.aligned.row.col.shape.dtype.atype.btype.ctype{.satfinite} d, a, b, c",
    shape="m8n8k32",
    dtype="s32",
    atype="s4 u4",
    btype="s4 u4",
    ctype="s32",
    where=_same,
    vectors=_vectors("atype", "ctype", "dtype"),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
@effect(
    "wmma.mma.bitop.popc.sync.aligned.row.col.shape.dtype.atype.btype.ctype d, a, b, c",
    shape="m8n8k128",
    bitop="xor and",
    dtype="s32",
    atype="b1",
    btype="b1",
    ctype="s32",
    vectors=_vectors("atype", "ctype", "dtype"),
    isa=_ISA,
    whole_warps=True,
    keeps_memory=True,
)
def wmma_mma(emit: Emitter, op: Op) -> None:
    """d = a × b + c."""
    m = op.operation.modifiers
    factor = m.get("atype", "f16")
    names = (("a", factor), ("b", factor), ("c", m["ctype"]), ("d", m["dtype"]))
    fragments = tuple([fragment(m["shape"], matrix, type_name) for matrix, type_name in names])
    spec = Spec(
        factor,
        factor,
        m["ctype"],
        m["dtype"],
        saturate=bool(m.get("satfinite")),
        bitwise=m.get("bitop", ""),
        rounding=m.get("rnd") or "rn",
    )
    emit_product(emit, op, MatrixProduct(emit.program, op, spec, fragments, _product))
