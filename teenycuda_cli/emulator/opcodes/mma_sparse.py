"""mma.sp: a has but half of its columns, and metadata tells which.

Of every four columns of a two are there (of a tf32 matrix, of every two one; of
4 bits, of every four pairs of columns two pairs), and four bits of metadata
give their numbers. `.ordered_metadata` promises that they rise, which makes no
difference to what is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.numerics.matrix import sparse_multiply_add
from teenycuda_cli.emulator.opcodes.constants import constant
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.fragments import BITS, mma_fragment, sizes
from teenycuda_cli.emulator.opcodes.matrix_product import MatrixProduct, emit_product
from teenycuda_cli.emulator.opcodes.mma import spec_of
from teenycuda_cli.emulator.opcodes.table import Modifiers

_ISA = "warp-level-matrix-instructions-for-sparse-mma"
_WORD = np.dtype(np.uint32)
_ROWS = 16
_GROUPS_A_HALF = 4
"""How many groups of columns 16 bits of metadata tell of."""


@dataclass(frozen=True, slots=True, eq=False)
class Metadata:
    """The register of metadata, of which `selector` chooses the lanes that count: a `matrix_product.Held`.

    `lanes` and `shifts`, (16 rows, groups), tell where the four bits of a group are.
    """

    lanes: Any
    shifts: Any
    width: int  # columns that a group chooses among, in units of `unit`
    unit: int  # columns that are chosen together
    registers: int = 1
    copies: int = 1
    word: Any = _WORD

    def matrix(self, words: Any) -> Any:
        """The number of the column of b that each column of a meets: (16, k / 2, warps)."""
        nibbles = (words[0].T[self.lanes] >> self.shifts[:, :, None]) & np.uint32(15)
        start = np.arange(nibbles.shape[1])[:, None] * self.width
        if self.width == 2:  # 0100 is the first, 1110 the second
            return (start + (nibbles >> np.uint32(1) & np.uint32(1))).astype(np.intp)
        both = np.stack((start + (nibbles & np.uint32(3)), start + (nibbles >> np.uint32(2))), axis=2)
        columns = both[:, :, :, None] * self.unit + np.arange(self.unit)[:, None]
        return columns.reshape(_ROWS, -1, words.shape[1]).astype(np.intp)

    def words(self, matrix: Any) -> Any:
        """Metadata is never made."""
        raise NotImplementedError


def _groups(shape: str, type_name: str) -> tuple[int, int, int]:
    """Of a row of a: how many groups, what of a group is told apart, and how many elements that is."""
    _, _, k = sizes(shape)
    unit = 2 if BITS[type_name] == 4 else 1
    width = 2 if type_name == "tf32" else 4
    return k // (width * unit), width, unit


def selectors(shape: str, type_name: str) -> int:
    """How many choices of the lanes of four that tell the metadata there are."""
    return 4 * _GROUPS_A_HALF // _groups(shape, type_name)[0]


def metadata(shape: str, type_name: str, selector: int) -> Metadata:
    """Where the metadata of a shape lies."""
    groups, width, unit = _groups(shape, type_name)
    row, group = np.meshgrid(np.arange(_ROWS), np.arange(groups), indexing="ij")
    upper = row // 8
    if BITS[type_name] >= 16:  # a lane tells of two rows, eight apart, in a half each
        member = group // _GROUPS_A_HALF
        shift = group % _GROUPS_A_HALF * 4 + upper * 16
    else:
        member = group // (2 * _GROUPS_A_HALF) * 2 + upper
        shift = group % (2 * _GROUPS_A_HALF) * 4
    first = selector * (groups // _GROUPS_A_HALF)
    return Metadata(row % 8 * 4 + first + member, shift.astype(np.uint32), width, unit)


def _half(shape: str) -> str:
    m, n, k = sizes(shape)
    return f"m{m}n{n}k{k // 2}"


def _types(matrix: str) -> Any:
    def types(m: Modifiers) -> tuple[str, ...]:
        shape = _half(m["shape"]) if matrix == "a" else m["shape"]
        held = mma_fragment(shape, matrix, m[f"{matrix}type"])
        return (held.register_type,) * held.registers

    return types


_ROW: dict[str, Any] = {
    "way": "sp sp::ordered_metadata",
    "vectors": {matrix: _types(matrix) for matrix in "dabc"},
    "types": "e:b32 f:u32=",
    "isa": _ISA,
    "whole_warps": True,
    "keeps_memory": True,
}
_LINE = "mma.way.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b, c, e, f"
_FLOAT_LINE = "mma.way.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c, e, f"


@effect(
    _FLOAT_LINE,
    shape="m16n8k16 m16n8k32",
    dtype="f16 f32",
    atype="f16",
    btype="f16",
    ctype="f16 f32",
    where=lambda m: m["ctype"] == m["dtype"],
    **_ROW,
)
@effect(_FLOAT_LINE, shape="m16n8k16 m16n8k32", dtype="f32", atype="bf16", btype="bf16", ctype="f32", **_ROW)
@effect(_FLOAT_LINE, shape="m16n8k8 m16n8k16", dtype="f32", atype="tf32", btype="tf32", ctype="f32", **_ROW)
@effect(_FLOAT_LINE, shape="m16n8k64", dtype="f32", atype="e4m3 e5m2", btype="e4m3 e5m2", ctype="f32", **_ROW)
@effect(_LINE, shape="m16n8k32 m16n8k64", dtype="s32", atype="s8 u8", btype="s8 u8", ctype="s32", **_ROW)
@effect(_LINE, shape="m16n8k64 m16n8k128", dtype="s32", atype="s4 u4", btype="s4 u4", ctype="s32", **_ROW)
def mma_sp(emit: Emitter, op: Op) -> None:
    """d = a × b + c, with the columns of a that the metadata names; `f` selects the lanes that tell it."""
    m = op.operation.modifiers
    shape = m["shape"]
    selector = constant(emit, op, op.operands[5], range(selectors(shape, m["atype"])))
    held = (
        mma_fragment(_half(shape), "a", m["atype"]),
        mma_fragment(shape, "b", m["btype"]),
        mma_fragment(shape, "c", m["ctype"]),
        mma_fragment(shape, "d", m["dtype"]),
        metadata(shape, m["atype"], selector),
    )
    emit_product(emit, op, MatrixProduct(emit.program, op, spec_of(m), held, sparse_multiply_add))
