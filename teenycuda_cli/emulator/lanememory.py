"""Memory as one lane in plain Python sees it: memoryviews behind the same checks."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from teenycuda_cli.emulator.access import Site, positions, window
from teenycuda_cli.emulator.ir import Frame, Op, Place
from teenycuda_cli.emulator.lanes import FewLanes
from teenycuda_cli.emulator.machine import Batch, Space
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
_NAN = {"f32": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF}


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

    __slots__ = ("_code", "_kind", "_site", "_size")

    def __init__(self, program: Program, op: Op, offset: int, kind: str, *, writes: bool) -> None:
        """`kind` is the PTX type in which memory is read or written."""
        dtype = dtype_of(kind)
        place = op.operands[0] if writes else op.operands[1]
        modifier = op.operation.modifiers.get("space", "")
        space = {"shared::cta": "shared", "shared::cluster": "shared", "": "generic"}.get(modifier, modifier)
        if isinstance(place, Place) and isinstance(place.base, Frame):
            space = "local"
        self._site = Site(program, op, space, offset, dtype.itemsize, 1, dtype, 64, writes)
        self._kind = kind
        self._code = _CODES[kind]
        self._size = dtype.itemsize

    def _place(self, lane: Lane, address: int) -> tuple[Any, int]:
        site = self._site
        at = address + site.offset
        space = site.space
        if space == "generic":
            space, base = window(at)
            at -= base
        view, memory, start = lane.view(space, self._code)
        size = self._size
        if memory.kind == "all":
            region = lane.batch.launch.arena.region(at)
            fine = region is not None and at + size <= region.end and (region.writable or not site.writes)
        else:
            fine = at >= 0 and at + size <= memory.size
        if not fine or at % size:
            self._refuse(lane, address)
        return view, memory.place(at, start) // size

    def _refuse(self, lane: Lane, address: int) -> None:
        """Raise as many lanes would."""
        few = FewLanes(lane.batch, np.array([lane.number]), (), 0)
        for _ in positions(self._site, few, np.array([address], np.int64), None):
            pass

    def load(self, lane: Lane, address: int) -> Any:
        """The element at an address, as a Python number."""
        view, index = self._place(lane, address)
        return view[index]

    def store(self, lane: Lane, address: int, value: Any, raw_nan: bool) -> None:
        """Write the element at an address; NaN that arithmetic made becomes PTX's own."""
        view, index = self._place(lane, address)
        if raw_nan and value != value:  # noqa: PLR0124  (NaN)
            value = float_of_bits(_NAN[self._kind], 8 * self._size)
        view[index] = value
