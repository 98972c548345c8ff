"""Tensor maps: 128 bytes that tell how a tensor lies in global memory, and which box of it is copied.

The layout is that of sm_90: on that target, ptxas makes plain loads and stores of
`tensormap.replace`, which show where each field lies. Axes are counted from the innermost.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.wording import counted

SIZE = 128
AXES = 5
CHUNK = 16
_MAPS_KEPT = 256


class Part(NamedTuple):
    """Bits of a word of 32 that hold bits of a field's value, less `less`, from bit `low` on."""

    word: int  # its offset in bytes
    shift: int
    bits: int
    low: int = 0
    less: int = 0

    @property
    def mask(self) -> int:
        """The bits in the word."""
        return ((1 << self.bits) - 1) << self.shift


TF32 = Part(8, 16, 1)
"""Whether f32 is rounded to tf32 when it is loaded."""
FIELDS: dict[str, tuple[tuple[Part, ...], ...]] = {
    "global_address": ((Part(0, 0, 32), Part(4, 0, 32, 32)),),
    "rank": ((Part(8, 4, 3),),),  # as its value is: one less than there are axes
    "elemtype": ((Part(8, 7, 4),),),
    "interleave_layout": ((Part(8, 11, 2),),),
    "swizzle_mode": ((Part(8, 13, 2), Part(8, 22, 1, 2)),),
    "fill_mode": ((Part(8, 15, 1),),),
    "global_stride": tuple(
        [(Part(12 + 4 * axis, 0, 32, 4), Part(28, 4 * axis, 4, 36)) for axis in range(AXES - 1)]
    ),
    "global_dim": tuple([(Part(32 + 4 * axis, 0, 32, less=1),) for axis in range(AXES)]),
    "element_stride": tuple([(Part(52, 3 * axis, 3, less=1),) for axis in range(AXES)]),
    "box_dim": (
        (Part(52, 24, 8, less=1),),
        *[(Part(56, 8 * axis, 8, less=1),) for axis in range(AXES - 1)],
    ),
}
"""By field and axis, where its value lies; those without axes have one."""

KINDS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32", "f64", "bf16")
"""The element types by number, of which 8 is f32 whose sums flush subnormals."""
_FLUSHED = 8
TF32_KINDS = {11: 7, 12: 8}
"""Numbers of element types that are another one, and tf32."""
_NAN = 0x7FF7
"""What 16 bits of an element outside are filled with, as floats of any size (an H200's)."""
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
    flushes: bool  # sums take subnormals for zero
    rounds: bool  # f32 becomes tf32

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


def value_of(data: bytes, field: str, axis: int = 0) -> int:
    """A field's value, as `tensormap.replace` takes it; of a stride, but for its last four bits."""
    found = 0
    for part in FIELDS[field][axis]:
        word = int.from_bytes(data[part.word : part.word + 4], "little")
        found |= ((word & part.mask) >> part.shift) << part.low
    return found + FIELDS[field][axis][0].less


@lru_cache(_MAPS_KEPT)
def decoded(data: bytes) -> TensorMap | str:
    """The map in 128 bytes, or what is wrong with it."""
    rank, number = value_of(data, "rank") + 1, value_of(data, "elemtype")
    unknown = [
        (rank > AXES, f"{rank} axes"),
        (number >= len(KINDS), f"elements of type {number}"),
        (value_of(data, "interleave_layout") > 0, "an interleaved layout"),
        (value_of(data, "swizzle_mode") >= len(SWIZZLES), "a swizzle of 96 bytes"),
    ]
    for is_so, what in unknown:
        if is_so:
            return f"{what}, which the emulator does not know"
    kind, swizzle = KINDS[number], SWIZZLES[value_of(data, "swizzle_mode")]
    sizes = [value_of(data, "box_dim", axis) for axis in range(rank)]
    # Without an interleaved layout, the innermost axis has no stride.
    steps = (1, *[value_of(data, "element_stride", axis) for axis in range(1, rank)])
    box = tuple([-(-size // step) for size, step in zip(sizes, steps, strict=True)])
    element = dtype(kind).itemsize
    row = box[0] * element
    if row % CHUNK:
        return f"rows of {counted(row, 'byte')} in a box; they must be a multiple of {CHUNK}"
    if swizzle and row > swizzle:
        return f"rows of {counted(row, 'byte')} in a box, more than the {swizzle} that are swizzled"
    is_tf32 = bool(int.from_bytes(data[TF32.word : TF32.word + 4], "little") & TF32.mask)
    return TensorMap(
        value_of(data, "global_address"),
        kind,
        tuple([value_of(data, "global_dim", axis) for axis in range(rank)]),
        (element, *[value_of(data, "global_stride", axis) for axis in range(rank - 1)]),
        box,
        steps,
        swizzle,
        _fill(data, kind),
        number == _FLUSHED,
        is_tf32 and kind == "f32",
    )


def _fill(data: bytes, kind: str) -> int:
    """What stands for an element outside: zero, or a NaN that is no integer's."""
    if kind[0] in "us" or not value_of(data, "fill_mode"):
        return 0
    return int.from_bytes(_NAN.to_bytes(2, "little") * (dtype(kind).itemsize // 2), "little")


def swizzled(start: int, size: int, swizzle: int) -> Any:
    """Where the chunks of 16 bytes of a box lie, counted from the address at which it begins."""
    chunk = start // CHUNK + np.arange(size // CHUNK)
    if swizzle:
        chunk ^= (chunk >> 3) & (swizzle // CHUNK - 1)
    return chunk - start // CHUNK
