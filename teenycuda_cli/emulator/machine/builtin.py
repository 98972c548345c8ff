"""Functions that the driver brings: how they get at their arguments, and `__assertfail`."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.machine import faults, frames
from teenycuda_cli.emulator.machine.access import window
from teenycuda_cli.emulator.machine.launch import INTERLEAVED
from teenycuda_cli.emulator.machine.memory import Arena, read_text
from teenycuda_cli.emulator.program import BUILT_IN, Program


class Reader:
    """Reads bytes at generic addresses for one lane; what cannot be read raises ValueError."""

    def __init__(self, lanes: Any, lane: int) -> None:
        """`lane` counts in the batch."""
        self.lanes = lanes
        self.lane = lane

    def data(self, address: int, size: int) -> bytes:
        """`size` bytes at an address."""
        name, base = window(address)
        space = self.lanes.batch.spaces[name]
        if space.kind == "all":
            arena: Arena = space.data
            region = arena.region(address)
            if region is None or address + size > region.end:
                raise ValueError
            return bytes(arena.bytes_at(address, size))
        at = address - base
        if at < 0 or at + size > space.size:
            raise ValueError
        if space.kind == "block":
            start = self.lane // self.lanes.batch.threads * space.stride + at
            return bytes(space.data.data[start : start + size])
        found = b""
        while size:
            part = min(size, INTERLEAVED - at % INTERLEAVED)
            start = space.place(at, self.lane * space.stride)
            found += bytes(space.data.data[start : start + part])
            at, size = at + part, size - part
        return found

    def text(self, address: int) -> bytes:
        """A C string."""
        name, _ = window(address)
        if name == "global":
            return read_text(self.lanes.batch.launch.arena, address)
        found = b""
        while not found.endswith(b"\0"):
            found += self.data(address + len(found), 1)
        return found[:-1]


class BuiltIn:
    """A function that the driver brings: arguments lie in the caller's frame."""

    def __init__(self, program: Program, op: Op) -> None:
        """Keep what messages need."""
        self.program = program
        self.op = op

    def __call__(self, lanes: Any, mask: Any, result: Any, arguments: tuple[Any, ...]) -> None:
        """Do it for the lanes of a mask: frame addresses of the result (None: not wanted) and arguments."""
        raise NotImplementedError

    def argument(self, lanes: Any, mask: Any, frame: Any, size: int = 8) -> Any:
        """The bytes at a frame address, as unsigned integers: one for each lane of a mask."""
        dtype = np.dtype(f"u{size}")
        return np.broadcast_to(frames.read(lanes, mask, frame, dtype), len(lanes.numbers(mask)))

    def answer(self, lanes: Any, mask: Any, frame: Any, values: Any, dtype: Any) -> None:
        """Put the result into the caller's frame."""
        if frame is not None:
            frames.write(lanes, mask, frame, np.asarray(values, dtype), np.dtype(dtype))

    def fault(self, lanes: Any, lane: int, count: int, what: str, extra: tuple[str, ...] = ()) -> Exception:
        """The error of the call."""
        return faults.fault(self.program, self.op, lanes, lane, count, what, extra)


class AssertFail(BuiltIn):
    """`__assertfail(message, file, line, function, char size)`: an assertion that did not hold."""

    def __call__(self, lanes: Any, mask: Any, result: Any, arguments: tuple[Any, ...]) -> None:
        """Raise for the first lane."""
        numbers = lanes.numbers(mask)
        sizes = BUILT_IN["__assertfail"].arguments
        found = [int(self.argument(lanes, mask, *each)[0]) for each in zip(arguments, sizes, strict=True)]
        reader = Reader(lanes, int(numbers[0]))
        try:
            message, file, function = [reader.text(found[k]).decode(errors="replace") for k in (0, 1, 3)]
        except ValueError:
            message, file, function = "?", "?", "?"
        extra = (f"{file}:{found[2]}: {function}",)
        raise self.fault(lanes, int(numbers[0]), len(numbers), f"failed an assertion: {message}", extra)
