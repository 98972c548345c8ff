"""How lanes hold the four 8 × 8 × 4 products of `mma.m8n8k4` of f16.

Product q is of the lanes 4q to 4q + 3 and the 4 that are 16 above them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

_QUADS = 4
_WORD = np.dtype(np.uint32)

_LANE = np.arange(32)
_UPPER = (_LANE >= 16).astype(int) * 4
_QUAD = _LANE % 16 // 4
_MEMBER = _LANE % 4


@dataclass(frozen=True, slots=True, eq=False)
class QuadFragment:
    """`sources` are the numbers of the elements of registers, in the order register, lane, part, that the
    four matrices consist of, row by row; `places` is the opposite."""

    height: int
    width: int
    type: str  # f16 or f32
    places: Any
    sources: Any
    copies: int = 1

    @property
    def registers(self) -> int:
        """Of a lane."""
        return self.height * self.width * _QUADS * (1 if self.type == "f16" else 2) // 64

    @property
    def register_type(self) -> str:
        """The type that a register must fit."""
        return "f32" if self.type == "f32" else "u32"

    @property
    def word(self) -> Any:
        """A register's bits."""
        return _WORD

    def matrix(self, words: Any) -> Any:
        """Registers, (registers, warps, 32), as matrices: (rows, columns, 4 × warps)."""
        element = np.dtype(np.uint16 if self.type == "f16" else np.float32)
        by_lane = np.ascontiguousarray(words.swapaxes(1, 2)).view(element)
        parts = by_lane.reshape(*words.shape[:1], 32, words.shape[1], -1)
        order = np.moveaxis(parts, 3, 2).reshape(-1, words.shape[1])
        return order.take(self.sources, axis=0).reshape(self.height, self.width, -1)

    def words(self, matrix: Any) -> Any:
        """The opposite."""
        warps = matrix.shape[2] // _QUADS
        order = matrix.reshape(-1, warps).take(self.places, axis=0)
        parts = order.reshape(self.registers, 32, -1, warps)
        return np.ascontiguousarray(parts.transpose(0, 3, 1, 2)).view(_WORD)[..., 0]


@cache
def quad_fragment(matrix: str, type_name: str, layout: str) -> QuadFragment:
    """The fragment of a, b, c or d; a and b are row or col."""
    height, width = (8, 4) if matrix == "a" else (4, 8) if matrix == "b" else (8, 8)
    index = np.arange(width if matrix in "cd" else 4)[:, None]
    if matrix == "a":
        rows, columns = (_MEMBER + _UPPER, index) if layout == "row" else (index + _UPPER, _MEMBER)
    elif matrix == "b":
        rows, columns = (_MEMBER, index + _UPPER) if layout == "row" else (index, _MEMBER + _UPPER)
    elif type_name == "f16":
        rows, columns = _MEMBER + _UPPER, index
    else:
        rows = (_LANE & 1) + (index & 2) + _UPPER
        columns = (index & 4) + (_LANE & 2) + (index & 1)
    rows, columns, quads = np.broadcast_arrays(rows, columns, _QUAD)
    places = (rows * width + columns) * _QUADS + quads  # by element of a lane, and lane
    parts = 2 if type_name == "f16" else 1
    by_register = places.reshape(-1, parts, 32).swapaxes(1, 2).reshape(-1)
    return QuadFragment(height, width, type_name, by_register, np.argsort(by_register))
