"""Memory as one lane in plain Python sees it: memoryviews behind the same checks."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from teenycuda_cli.emulator.ir import Frame, Op, Place
from teenycuda_cli.emulator.machine import clusters
from teenycuda_cli.emulator.machine.access import Site, positions, window
from teenycuda_cli.emulator.machine.lanes import FewLanes
from teenycuda_cli.emulator.machine.launch import INTERLEAVED, Batch, Space
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.program import Program

_CODES = {
    "u8": "B",
    "s8": "b",
    "b8": "B",
    "u16": "H",
    "s16": "h",
    "b16": "H",
    "u32": "I",
    "s32": "i",
    "b32": "I",
    "u64": "Q",
    "s64": "q",
    "b64": "Q",
    "f32": "f",
    "f64": "d",
}
_FORMS = {32: ("<f", "<I"), 64: ("<d", "<Q")}
_NAN = {32: 0x7FFFFFFF, 64: 0x7FFFFFFFFFFFFFFF}


def float_of_bits(bits: int, width: int) -> float:
    """The f32 or f64 of these bits."""
    number, whole = _FORMS[width]
    return float(struct.unpack(number, struct.pack(whole, bits))[0])


def bits_of_float(value: float, width: int) -> int:
    """The bits of an f32 or f64."""
    number, whole = _FORMS[width]
    return int(struct.unpack(whole, struct.pack(number, value))[0])


class Lane:
    """One lane of a batch, with views of the memory that it sees."""

    def __init__(self, batch: Batch, number: int) -> None:
        """`number` counts in the batch."""
        self.batch = batch
        self.number = number
        self.turns = 0  # of the loop that it was in
        self._views: dict[tuple[str, str], tuple[Any, Space, int]] = {}

    def view(self, space: str, code: str) -> tuple[Any, Space, int]:
        """Elements of a space, the space, and the byte where the lane's part begins."""
        found = self._views.get((space, code))
        if found is None:
            memory = self.batch.spaces[space]
            data: Any = memoryview(memory.data.view(np.dtype(np.uint8)))
            view = data.cast(code)
            owner = self.number // self.batch.threads if memory.kind == "block" else self.number
            start = -memory.origin if memory.kind == "all" else owner * memory.stride
            found = self._views[space, code] = (view, memory, start)
        return found


class LaneAccess:
    """A load or store of one element for one lane."""

    __slots__ = ("_code", "_site", "_size")

    def __init__(self, program: Program, op: Op, offset: int, kind: str, *, writes: bool) -> None:
        """`kind` is the PTX type in which memory is read or written."""
        dtype = dtype_of(kind)
        place = op.operands[0] if writes else op.operands[1]
        modifier = op.operation.modifiers.get("space", "")
        space = {"shared::cta": "shared", "shared::cluster": "shared", "": "generic"}.get(modifier, modifier)
        if isinstance(place, Place) and isinstance(place.base, Frame):
            space = "local"
        self._site = Site(program, op, space, offset, dtype.itemsize, 1, dtype, 64, writes)
        self._code = _CODES[kind]
        self._size = dtype.itemsize

    def window(self, lane: Lane, address: int) -> tuple[Any, int, int, bool]:
        """Memory around the place of an access, its first and last address, and whether it may be written.

        `address` is that of the instruction's base register. Raises LaunchError
        where the place must not be accessed.
        """
        site = self._site
        at = address + site.offset
        space, generic = site.space, 0
        if space == "generic":
            space, generic = window(at)
            at -= generic
        view, memory, start = lane.view(space, self._code)
        size = self._size
        first, last, writable = 0, memory.size - size, True
        if memory.kind == "all":
            region = lane.batch.launch.arena.region(at)
            first, last, writable = 1, 0, False
            if region is not None:
                first, last, writable = region.start, region.end - size, region.writable
        elif memory.kind == "block" and at >= clusters.OWN:
            block, place = clusters.located(lane.batch, lane.number // lane.batch.threads, at)
            start, generic, at = int(block) * memory.stride, generic + at - int(place), int(place)
        elif memory.kind == "lane":
            first = at & -INTERLEAVED
            last = min(last, first + INTERLEAVED - size)
        first = -(-first // size) * size
        if not first <= at <= last or at % size or (site.writes and not writable):
            self._refuse(lane, address)
        begin = memory.place(first, start) // size
        return view[begin : begin + (last - first) // size + 1], first + generic, last + generic, writable

    def _refuse(self, lane: Lane, address: int) -> None:
        """Raise as many lanes would."""
        few = FewLanes(lane.batch, np.array([lane.number]), (), 0)
        for _ in positions(self._site, few, np.array([address], np.int64), None):
            pass


def settled(value: float, width: int) -> float:
    """A float with PTX's own NaN."""
    return value if value == value else float_of_bits(_NAN[width], width)  # noqa: PLR0124  (NaN)
