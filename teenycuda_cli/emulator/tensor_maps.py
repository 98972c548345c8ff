"""Tensor maps: 128 bytes that tell how a tensor lies in global memory, and which box of it is copied.

What is in them is the hardware's secret, and the emulator's own here: kernels
make them with `tensormap.replace` and nobody else reads them. Words of 32
bits, all 0 at first; axes are counted from the innermost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype

SIZE = 128
AXES = 5
_MAPS_KEPT = 256

# Field: its offset in bytes, and the bytes of a value. Those with axes have a value for each.
FIELDS = {
    "global_address": (0, 8),
    "rank": (8, 4),  # less 1
    "elemtype": (12, 4),
    "interleave_layout": (16, 4),
    "swizzle_mode": (20, 4),
    "fill_mode": (24, 4),
    "swizzle_atomicity": (28, 4),
    "global_dim": (32, 4),
    "box_dim": (52, 4),
    "element_stride": (72, 4),
    "global_stride": (96, 8),  # of the axes but the innermost, in bytes
}
BY_AXIS = frozenset(("global_dim", "box_dim", "element_stride", "global_stride"))
KINDS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16", "f32", "f32")
"""The element types by number; f32 and tf32 each without and with subnormals flushed."""
_FLOATS = {6: 0x7FFF, 7: 0x7FFFFFFF, 8: 0x7FFFFFFF, 9: 0x7FFFFFFFFFFFFFFF, 10: 0x7FFF}
_FLOATS |= {11: 0x7FFFFFFF, 12: 0x7FFFFFFF}
SWIZZLES = (0, 32, 64, 128)
"""Bytes within which each mode exchanges chunks of 16."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """What a map tells: sizes in elements, strides in bytes."""

    address: int
    kind: str  # of an element
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]  # elements that are copied along each axis
    steps: tuple[int, ...]  # every how many-th element
    swizzle: int  # bytes; 0: none
    fill: int  # what stands for an element outside

    @property
    def element(self) -> int:
        """Bytes of an element."""
        return int(dtype(self.kind).itemsize)

    @property
    def rank(self) -> int:
        """How many axes."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """Bytes of a box."""
        return int(np.prod(self.box)) * self.element


@lru_cache(_MAPS_KEPT)
def decoded(data: bytes) -> TensorMap | str:
    """The map in 128 bytes, or what is wrong with it."""

    def value(name: str, axis: int = 0) -> int:
        offset, size = FIELDS[name]
        return int.from_bytes(data[offset + axis * size : offset + (axis + 1) * size], "little")

    rank, kind = value("rank") + 1, value("elemtype")
    unknown = [
        (rank <= AXES, f"{rank} axes"),
        (kind < len(KINDS), f"the element type {kind}"),
        (value("interleave_layout") == 0, "an interleaved layout"),
        (value("swizzle_mode") < len(SWIZZLES), f"the swizzle mode {value('swizzle_mode')}"),
    ]
    for known, what in unknown:
        if not known:
            return f"{what}, which the emulator does not know"
    element = dtype(KINDS[kind]).itemsize
    steps = tuple(max(value("element_stride", axis), 1) for axis in range(rank))
    boxes = [value("box_dim", axis) for axis in range(rank)]
    dims = tuple(value("global_dim", axis) for axis in range(rank))
    if not all(boxes) or not all(dims):
        return f"a box of {boxes} in a tensor of {list(dims)}; every axis needs at least one element"
    strides = (element, *(value("global_stride", axis) for axis in range(rank - 1)))
    fill = _FLOATS.get(kind, 0) if value("fill_mode") else 0
    box = tuple(-(-size // step) for size, step in zip(boxes, steps, strict=True))
    swizzle = SWIZZLES[value("swizzle_mode")]
    if swizzle and box[0] * element > swizzle:
        return f"rows of {box[0] * element} bytes in a box, more than the {swizzle} that are swizzled"
    return TensorMap(value("global_address"), KINDS[kind], dims, strides, box, steps, swizzle, fill)


def swizzled(start: int, size: int, swizzle: int) -> Any:
    """Where the chunks of 16 bytes of a box lie in it, that begins at an address; None: in order."""
    if not swizzle:
        return None
    chunk = start // 16 + np.arange(size // 16)
    return (chunk ^ ((chunk >> 3) & (swizzle // 16 - 1))) - start // 16
