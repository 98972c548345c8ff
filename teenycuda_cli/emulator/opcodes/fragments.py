"""How the lanes of a warp hold the matrices of mma and wmma.

The ISA tells it of mma. Of wmma it leaves it open; here it is as the hardware has
it since sm_80, where wmma.mma is one or two mma on the same registers: a
16 × 16 matrix is two tiles of 8 columns, one of 32 rows two of 16, and with 32
columns it is the transposed product. Neither does it depend on whether memory is
row- or column-major. Fragments of f16 factors have eight registers, which repeat
where the matrix has fewer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from teenycuda_cli.emulator.opcodes.table import Modifiers

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64}
BITS |= {"e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
_ELEMENTS: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "s32": np.int32,
    "s8": np.int8,
    "s4": np.int8,
    "u4": np.uint8,
}
"""What elements are handed on as; raw bits where nothing else is said."""
_BITS_TYPES: dict[int, Any] = {1: np.uint32, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_HALF_REGISTERS = 8
_TILE = 8
_WIDE = 16

_LANE = np.arange(32)
_GROUP, _MEMBER = _LANE // 4, _LANE % 4


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """Where the elements of a matrix lie: `rows` and `columns` are (registers, parts, 32 lanes).

    Part 0 of a register is in its lowest bits. `places` gives for each
    element of the registers, in the order register, lane, part, its number
    in the matrix row by row; `sources` is the opposite.
    """

    height: int
    width: int
    type: str
    rows: Any
    columns: Any
    places: Any
    sources: Any
    copies: int  # how often the registers are repeated
    along: str  # row or col: the layout of memory in which neighbours in a register are neighbours

    @property
    def bits(self) -> int:
        """Of an element."""
        return BITS[self.type]

    @property
    def registers(self) -> int:
        """Without their copies."""
        return len(self.rows)

    @property
    def register_type(self) -> str:
        """The type that a register must fit."""
        if self.type in ("f32", "f64", "s32"):
            return self.type
        return "b32" if self.bits < 8 else "u32"

    @property
    def word(self) -> Any:
        """A register's bits."""
        return np.dtype(np.uint64 if self.bits > 32 else np.uint32)

    @property
    def element(self) -> Any:
        """The dtype of an element by itself; 4 bits come as a byte, 1 bit as a word of 32."""
        return np.dtype(_ELEMENTS.get(self.type, _BITS_TYPES[self.bits if self.bits != 4 else 8]))

    def matrix(self, words: Any) -> Any:
        """Registers, (registers, warps, 32), as matrices: (rows, columns, warps)."""
        by_lane = np.ascontiguousarray(words.swapaxes(1, 2))
        if self.bits == 4:
            parts = _nibbles(by_lane, signed=self.type == "s4")
        else:
            parts = by_lane.view(self.element).reshape(*by_lane.shape, -1)
        order = np.moveaxis(parts, 3, 2).reshape(-1, by_lane.shape[2])
        return order.take(self.sources, axis=0).reshape(self.height, self.width, -1)

    def words(self, matrix: Any) -> Any:
        """The opposite, for elements of two bytes and more."""
        order = matrix.reshape(self.height * self.width, -1).take(self.places, axis=0)
        if order.itemsize == self.word.itemsize:
            return np.ascontiguousarray(order.view(self.word).reshape(self.registers, 32, -1).swapaxes(1, 2))
        parts = order.reshape(self.registers, 32, -1, order.shape[1])
        return np.ascontiguousarray(parts.transpose(0, 3, 1, 2)).view(self.word)[..., 0]

    def outer_inner(self, layout: str) -> tuple[Any, Any]:
        """The numbers of an element's vector in memory, and of the element in it."""
        return (self.rows, self.columns) if layout == "row" else (self.columns, self.rows)


def _nibbles(words: Any, *, signed: bool) -> Any:
    """Words of 32 bits as eight numbers of 4 each, along a new last axis."""
    octets = words.view(np.int8 if signed else np.uint8).reshape(*words.shape, 4)
    low = (octets << 4) >> 4 if signed else octets & 15
    return np.stack((low, octets >> 4), axis=-1).reshape(*words.shape, 8)


def _factor(size: int, depth: int, parts: int, *, wide: bool) -> tuple[Any, Any]:
    """Numbers along the factor's own side and along k; tiles of 16 where `wide`, else of 8."""
    halves = np.arange(2 if wide else 1) * _TILE
    steps = np.arange(depth // (4 * parts)) * 4 * parts
    tiles = np.arange(0, size, _WIDE if wide else _TILE)
    own = tiles[:, None, None, None, None] + halves[:, None, None] + _GROUP
    along = steps[:, None, None, None] + np.arange(parts)[:, None] + _MEMBER * parts
    own, along = np.broadcast_arrays(own, along)
    return own.reshape(-1, parts, 32), along.reshape(-1, parts, 32)


def _sum(height: int, width: int, parts: int) -> tuple[Any, Any]:
    """Rows and columns of an accumulator in tiles of at most 16 × 8."""
    halves = np.arange(0, min(height, _WIDE), _TILE)
    tall = np.arange(0, height, _WIDE)
    broad = np.arange(0, width, _TILE)
    rows = tall[:, None, None, None, None] + halves[:, None, None] + _GROUP
    columns = broad[:, None, None, None] + np.arange(2)[:, None] + _MEMBER * 2
    rows, columns = np.broadcast_arrays(rows, columns)
    return rows.reshape(-1, parts, 32), columns.reshape(-1, parts, 32)


def _placed(
    size: tuple[int, int], type_name: str, rows: Any, columns: Any, copies: int, along: str
) -> Fragment:
    height, width = size
    places = (rows * width + columns).swapaxes(1, 2).reshape(-1)
    return Fragment(height, width, type_name, rows, columns, places, np.argsort(places), copies, along)


def sizes(shape: str) -> tuple[int, int, int]:
    """`m16n8k4` as numbers."""
    m, _, rest = shape[1:].partition("n")
    n, _, k = rest.partition("k")
    return int(m), int(n), int(k)


@cache
def fragment(shape: str, matrix: str, type_name: str) -> Fragment:
    """The fragment of a matrix (a, b, c or d) of a shape; bits are counted in words of 32 along k."""
    m, n, k = sizes(shape)
    bits = BITS[type_name]
    if type_name == "b1":
        k //= 32
    parts = 1 if type_name == "b1" else max(1, 32 // bits)
    turned = (m, n) == (_TILE, 2 * _WIDE)
    if matrix == "a":
        rows, columns = _factor(m, k, parts, wide=m >= _WIDE)
        copies = _HALF_REGISTERS // len(rows) if type_name == "f16" else 1
        return _placed((m, k), type_name, rows, columns, copies, "row")
    if matrix == "b":
        columns, rows = _factor(n, k, parts, wide=turned)
        copies = _HALF_REGISTERS // len(rows) if type_name == "f16" else 1
        return _placed((k, n), type_name, rows, columns, copies, "col")
    if turned:
        columns, rows = _sum(n, m, parts)
        return _placed((m, n), type_name, rows, columns, 1, "col")
    rows, columns = _sum(m, n, parts)
    return _placed((m, n), type_name, rows, columns, 1, "row")


@cache
def mma_fragment(shape: str, matrix: str, type_name: str) -> Fragment:
    """The same for mma, whose registers do not repeat."""
    return replace(fragment(shape, matrix, type_name), copies=1)


def registers(matrix: str, type_slot: str) -> Any:
    """The types of a fragment's registers, for one choice of modifiers; see `Form.vectors`."""

    def types(m: Modifiers) -> tuple[str, ...]:
        found = fragment(m["shape"], matrix, m.get(type_slot, type_slot))
        return (found.register_type,) * (found.registers * found.copies)

    return types
