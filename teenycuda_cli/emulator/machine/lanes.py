"""The lanes that generated code runs on: all of a batch as a box, or a compacted few of them.

A batch is a box of blocks times a box of threads. Its lanes are numbered in
the order of the axes: blocks by linear id, then threads by linear id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from teenycuda_cli.emulator.machine.launch import Split
from teenycuda_cli.emulator.machine.values import SIGNED, Affine, Extents, wrap

if TYPE_CHECKING:
    from teenycuda_cli.emulator.machine.launch import Batch

Mask = Any
"""None for all lanes, or a bool array of the lanes' shape."""


class Lanes:
    """Registers, buffers and coordinates of a set of lanes; the `S` of generated code."""

    def __init__(self, batch: Batch, shape: Extents, dtypes: Sequence[Any], registers: int) -> None:
        """`dtypes` are those of the pool of temporaries, `registers` counts those that live across blocks."""
        self.batch = batch
        self.shape = shape
        self.count = int(np.prod(shape))
        self.dtypes = dtypes
        self.R: list[Any] = [None] * registers
        self.A = batch.arguments
        self.P: list[Any] = [np.empty(shape, dtype) for dtype in dtypes]
        self._spare: dict[tuple[int, Any], list[Any]] = {}
        self.compact = False
        self._tile_buffers: dict[tuple[Any, Any], Any] = {}
        self.token = object()  # of these very lanes: who made an affine form's array
        self.owners: dict[str, Any] = {}  # space → where each lane's part begins

    def grow(self, undefined: Sequence[tuple[int, Any]]) -> None:
        """Room for the registers of code that has been written since, which hold poison."""
        self.R += [value for home, value in undefined if home >= len(self.R)]
        self.P += [np.empty(self.shape, dtype) for dtype in self.dtypes[len(self.P) :]]

    # ------------------------------------------------------------ registers

    def fresh(self, register: int, dtype: Any) -> Any:
        """A buffer for the next value of a live-across register; never the one that holds its value."""
        pair = self._spare.get((register, dtype))
        if pair is None:
            pair = self._spare[register, dtype] = [np.empty(self.shape, dtype), np.empty(self.shape, dtype)]
        return pair[1] if pair[0] is self.R[register] else pair[0]

    def keep(self, register: int, value: Any) -> Any:
        """A value that the register may own: a copy where it is an array."""
        if type(value) is not np.ndarray:
            return value
        if value.shape != self.shape:
            return value.copy()
        buffer = self.fresh(register, value.dtype)
        np.copyto(buffer, value)
        return buffer

    def dense(self, value: Any, dtype: Any) -> Any:
        """The value as a writable array of all lanes, a new one."""
        if type(value) is Affine:
            value = self.array(value, 8 * dtype.itemsize)
        if value is None:
            value = POISON[dtype]
        result = np.empty(self.shape, dtype)
        result[...] = value
        return result

    def put(self, homes: Sequence[tuple[int, Any]], values: Sequence[Any], mask: Mask) -> None:
        """Give live-across registers (with dtypes) values, for the lanes of a mask; None: no other lives."""
        if mask is None:
            registers = self.R
            for (register, _), value in zip(homes, values, strict=True):
                registers[register] = value
        else:
            for (register, dtype), value in zip(homes, values, strict=True):
                self.merge(register, value, mask, dtype)

    def merge(self, register: int, value: Any, mask: Mask, dtype: Any) -> None:
        """Give the lanes of `mask` a new value of a live-across register; the others keep theirs."""
        old = self.R[register]
        if old is value or (type(value) is not np.ndarray and type(old) is type(value) and same(old, value)):
            return
        if old is None:
            self.R[register] = value
            return
        if type(value) is Affine:
            value = self.array(value, 8 * dtype.itemsize)
        pair = self._spare.get((register, dtype))
        if pair is None or (old is not pair[0] and old is not pair[1]):
            buffer = self.fresh(register, dtype)
            if buffer is value:
                buffer = np.empty(self.shape, dtype)
            buffer[...] = self.array(old, 8 * dtype.itemsize) if type(old) is Affine else old
            self.R[register] = old = buffer
        np.copyto(old, value, where=True if mask is None else mask)

    def assign(self, register: int, value: Any, mask: Mask, writes: Mask, dtype: Any) -> None:
        """Write a live-across register for the lanes of `mask`; with no other lane alive, for all."""
        if (writes is None and mask is None) or (writes is None and self.R[register] is None):
            self.R[register] = value
        else:
            self.merge(register, value, mask, dtype)

    def split(self) -> None:
        """Give the batch up, to be run in two parts, if that is still possible; raises `Split`."""
        if self.batch.splits:
            raise Split

    # --------------------------------------------------------------- values

    def array(self, value: Affine, width: int) -> Any:
        """The affine form as a signed array of that width, kept for the next time."""
        made = value.made
        if made is not None and value.maker is self.token and 8 * made.dtype.itemsize == width:
            return made
        dtype = SIGNED[width]
        result: Any = dtype(wrap(value.base, width))
        for axis, step in enumerate(value.steps):
            if step:
                result = result + self.coordinate(axis).astype(dtype) * dtype(wrap(step, width))
        value.made, value.maker = result, self.token
        return result

    def coordinate(self, axis: int) -> Any:
        """The coordinate along an axis, broadcastable to the shape."""
        raise NotImplementedError

    def integers(self, value: Any, width: int) -> Any:
        """A register's integers as a signed numpy scalar or array."""
        if type(value) is np.ndarray:
            return value
        if type(value) is int:
            return SIGNED[width](value)
        if type(value) is Affine:
            return self.array(value, width)
        return SIGNED[width](wrap(0xCDCDCDCDCDCDCDCD, width)) if value is None else value

    # ---------------------------------------------------------------- lanes

    def numbers(self, mask: Mask) -> Any:
        """The numbers in the batch of the lanes of a mask, in order."""
        raise NotImplementedError

    def blocks(self) -> Any:
        """Each lane's block, counted in the batch; broadcastable, int64."""
        raise NotImplementedError

    def ordinals(self) -> Any:
        """Each lane's number in the batch; broadcastable, int64."""
        raise NotImplementedError


class FullLanes(Lanes):
    """All lanes of a batch, in the shape of its box."""

    def __init__(self, batch: Batch, dtypes: Sequence[Any], registers: int) -> None:
        """The box is the batch's."""
        super().__init__(batch, batch.extents, dtypes, registers)
        self._coordinates: list[Any] = [None] * len(self.shape)

    def start(self, batch: Batch, undefined: Sequence[tuple[int, Any]]) -> None:
        """Begin a batch of the same box: registers are empty, or hold poison where they may be read."""
        self.batch = batch
        self.grow(undefined)
        self.R = [None] * len(self.R)
        self.A = batch.arguments
        self.owners.clear()  # a launch may have shared memory of another size
        for home, value in undefined:
            self.R[home] = value

    def coordinate(self, axis: int) -> Any:
        """0, 1, 2 … along the axis."""
        made = self._coordinates[axis]
        if made is None:
            shape = [1] * len(self.shape)
            shape[axis] = self.shape[axis]
            made = self._coordinates[axis] = np.arange(self.shape[axis]).reshape(shape)
        return made

    def numbers(self, mask: Mask) -> Any:
        """Positions of the mask."""
        return np.arange(self.count) if mask is None else np.flatnonzero(mask)

    def _weighted(self, weights: tuple[int, ...]) -> Any:
        total: Any = np.zeros((1,) * len(self.shape), np.int64)
        for axis, weight in enumerate(weights):
            if weight:
                total = total + self.coordinate(axis) * weight
        return total

    def blocks(self) -> Any:
        """Along the axes of blocks."""
        return self._weighted(self.batch.block_weights)

    def ordinals(self) -> Any:
        """Of the full shape."""
        return np.arange(self.count).reshape(self.shape)

    def scratch(self, count: int, dtype: Any, tiles: Any) -> Any:
        """A stack of `count` buffers of the shape of one of the tiles."""
        shape = (count, *tiles.shape[1:])
        buffer = self._tile_buffers.get((shape, dtype))
        if buffer is None:
            buffer = self._tile_buffers[shape, dtype] = np.zeros(shape, dtype)
        return buffer


class FewLanes(Lanes):
    """Some lanes of a batch, side by side: where most of the batch has nothing to do."""

    def __init__(self, batch: Batch, index: Any, dtypes: Sequence[Any], registers: int) -> None:
        """`index` holds the lanes' numbers in the batch, ascending."""
        super().__init__(batch, (len(index),), dtypes, registers)
        self.index = index
        self.compact = True
        self._axes: Any = None

    def coordinate(self, axis: int) -> Any:
        """Looked up by the lane's number."""
        if self._axes is None:
            self._axes = np.unravel_index(self.index, self.batch.extents)
        return self._axes[axis]

    def shrink(self, keep: Any) -> None:
        """Go on with the lanes at the positions `keep` alone; their registers move together."""
        count = len(keep)
        self.index = self.index[keep]
        self.shape = (count,)
        self.count = count
        self._axes = None
        self.owners.clear()
        self.token = object()
        self.P = [buffer[:count] for buffer in self.P]
        for number, value in enumerate(self.R):
            if type(value) is np.ndarray:
                self.R[number] = value[keep]
        self._spare.clear()

    def numbers(self, mask: Mask) -> Any:
        """The index, or part of it."""
        return self.index if mask is None else self.index[np.flatnonzero(mask)]

    def blocks(self) -> Any:
        """Lanes of a block lie together in a batch."""
        return self.index // self.batch.threads

    def ordinals(self) -> Any:
        """The index itself."""
        return self.index


def same(a: Any, b: Any) -> bool:
    """Whether two values that are no arrays are the same, bit for bit."""
    if type(a) is Affine:
        return bool(a.base == b.base and a.steps == b.steps)
    if isinstance(a, np.floating):
        return bool(a.tobytes() == b.tobytes())
    return bool(a == b)


POISON: dict[Any, Any] = {
    np.dtype(np.bool_): np.False_,
    np.dtype(np.float32): np.frombuffer(b"\xcd" * 4, np.float32)[0],
    np.dtype(np.float64): np.frombuffer(b"\xcd" * 8, np.float64)[0],
    **{
        np.dtype(kind): np.frombuffer(b"\xcd" * 8, kind)[0]
        for kind in (np.int8, np.int16, np.int32, np.int64)
    },
}
"""What a register holds before anything was written to it."""
