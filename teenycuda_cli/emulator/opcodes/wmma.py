"""wmma.mma: products of the matrices that fragments hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator.compute import Reader
from teenycuda_cli.emulator.effects import effect
from teenycuda_cli.emulator.emitter import Emitter
from teenycuda_cli.emulator.ir import Op, Register
from teenycuda_cli.emulator.lanes import Lanes, Mask
from teenycuda_cli.emulator.numerics.half import from_f16, to_f16
from teenycuda_cli.emulator.numerics.matrix import Spec, multiply_add
from teenycuda_cli.emulator.opcodes.memory import elements
from teenycuda_cli.emulator.opcodes.table import Modifiers
from teenycuda_cli.emulator.opcodes.wmma_fragments import Fragment, fragment, registers
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.emulator.warps import WARP, active_warps, gather_registers, scatter_registers

_STEP = {"tf32": 4}
"""How deep the products are that the hardware adds up at once, where that is less than k."""

_ELEMENT: dict[str, Any] = {
    "f16": np.uint16,
    "bf16": np.uint16,
    "tf32": np.uint32,
    "f32": np.float32,
    "f64": np.float64,
    "s32": np.int32,
    "s8": np.int8,
    "u8": np.uint8,
    "b1": np.uint32,
}
"""What `multiply_add` takes; those that are missing share bytes."""


def _unpacked(words: Any, type_name: str) -> Any:
    """Words as elements along the last axis."""
    known = _ELEMENT.get(type_name)
    if known is not None:
        return words.view(known)
    signed = type_name == "s4"
    octets = np.ascontiguousarray(words).view(np.int8 if signed else np.uint8)
    both = np.stack(((octets << 4) >> 4 if signed else octets & 15, octets >> 4), axis=-1)
    return both.reshape(*words.shape[:-1], -1)


def matrices(held: Fragment, words: Any) -> Any:
    """Registers, (registers, warps, 32), as matrices: (warps, rows, columns)."""
    distinct = np.ascontiguousarray(words.swapaxes(0, 1))
    found = _unpacked(distinct, held.type).reshape(len(distinct), -1).take(held.sources, axis=1)
    return found.reshape(-1, held.height, held.width)


def words(held: Fragment, found: Any) -> Any:
    """The opposite, for elements of two bytes and more."""
    rows = found.reshape(len(found), -1).take(held.places, axis=1)
    return rows.view(held.word).reshape(len(found), -1, WARP).swapaxes(0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Multiply:
    """`wmma.mma`: lanes, mask and the registers of a, b and c in; those of d out."""

    program: Program
    op: Op
    spec: Spec
    fragments: tuple[Fragment, Fragment, Fragment, Fragment]  # a, b, c, d
    readers: tuple[Reader, ...]
    dtypes: tuple[Any, ...]  # of the destinations

    def __call__(self, lanes: Lanes, mask: Mask, *values: Any) -> Any:
        """Raises LaunchError where lanes of a warp are missing."""
        warps = active_warps(self.program, self.op, lanes, mask)
        bits = [read(lanes, value) for read, value in zip(self.readers, values, strict=True)]
        a, b, c = (self._taken(lanes, bits, number, warps) for number in range(3))
        found = words(self.fragments[3], self._product(a, b, c))
        results = scatter_registers(lanes, found, warps)
        return tuple([part.view(dtype) for part, dtype in zip(results, self.dtypes, strict=True)])

    def _taken(self, lanes: Lanes, bits: list[Any], number: int, warps: Any) -> Any:
        first = sum(held.registers * held.copies for held in self.fragments[:number])
        held = self.fragments[number]
        chosen = bits[first : first + held.registers]
        return matrices(held, gather_registers(lanes, chosen, held.word, warps))

    def _product(self, a: Any, b: Any, c: Any) -> Any:
        """As the hardware does it: what mixes f16 and f32 is a sum in f32."""
        spec = self.spec
        mixed = spec.c != spec.d
        if mixed and spec.c == "f16":
            c = from_f16(c)
        if mixed:
            spec = Spec(spec.a, spec.b, "f32", "f32")
        step = _STEP.get(spec.a, a.shape[2])
        for start in range(0, a.shape[2], step):
            c = multiply_add(spec, a[:, :, start : start + step], b[:, start : start + step], c)
        return to_f16(c) if mixed and self.spec.d == "f16" else c


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
    bits = "b64" if factor == "f64" else "b32"
    arguments = [emit.argument(source, bits) for operand in op.operands[1:] for source in elements(operand)]
    destinations = elements(op.operands[0])
    unit = np.dtype(np.int64 if factor == "f64" else np.int32)
    dtypes = [emit.kept(each).dtype if isinstance(each, Register) else unit for each in destinations]
    spec = Spec(
        factor,
        factor,
        m["ctype"],
        m["dtype"],
        saturate=bool(m.get("satfinite")),
        bitwise=m.get("bitop", ""),
        rounding=m.get("rnd") or "rn",
    )
    readers = tuple([emit.reader(argument, bits) for argument in arguments])
    run = emit.bind(Multiply(emit.program, op, spec, fragments, readers, tuple(dtypes)))  # type: ignore[arg-type]
    mask = emit.mask(op)
    values = ", ".join([argument.text for argument in arguments])
    emit.store_results(op, destinations, f"{run}(S, {mask}, {values})", mask, dtypes)
