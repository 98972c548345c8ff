"""vprintf and __assertfail: text that a kernel makes, by C's rules."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

from teenycuda_cli.emulator import faults
from teenycuda_cli.emulator.access import window
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.memory import Arena, read_text
from teenycuda_cli.emulator.program import Program

_FORMAT = re.compile(rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%])")


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
        owner = self.lane // self.lanes.batch.threads if space.kind == "block" else self.lane
        start = owner * space.stride + at
        return bytes(space.data.data[start : start + size])

    def text(self, address: int) -> bytes:
        """A C string."""
        name, _ = window(address)
        if name == "global":
            return read_text(self.lanes.batch.launch.arena, address)
        found = b""
        while not found.endswith(b"\0"):
            found += self.data(address + len(found), 1)
        return found[:-1]


class Arguments:
    """The buffer that a compiler packs the arguments of printf into: each at its natural alignment."""

    def __init__(self, reader: Reader, address: int) -> None:
        """Nothing is read until it is asked for."""
        self.reader = reader
        self.address = address
        self.offset = 0
        self.count = 0

    def take(self, code: str) -> Any:
        """The next argument, by `struct` code."""
        size = struct.calcsize(code)
        self.offset = (self.offset + size - 1) // size * size
        data = self.reader.data(self.address + self.offset, size)
        self.offset += size
        self.count += 1
        return struct.unpack("<" + code, data)[0]


def formatted(pattern: bytes, arguments: Arguments) -> bytes:
    """What C's printf would print."""

    def convert(match: re.Match[bytes]) -> bytes:
        flags, width, precision, length, kind = match.groups()
        if kind == b"%":
            return b"%"
        dotted = b"." in match.group(0)
        spec = b"%" + flags
        if width == b"*":
            given = arguments.take("i")
            spec += (b"-" if given < 0 and b"-" not in flags else b"") + str(abs(given)).encode()
        elif width:
            spec += width
        if dotted:
            places = arguments.take("i") if precision == b"*" else int(precision or b"0")
            if places >= 0:
                spec += b"." + str(places).encode()
        return _one(spec, (length or b"").decode(), kind.decode(), arguments)

    return _FORMAT.sub(convert, pattern)


def _one(  # noqa: PLR0911  (a case each)
    spec: bytes, length: str, kind: str, arguments: Arguments
) -> bytes:
    wide = length in {"l", "ll", "j", "z", "t"}
    if kind in "di":
        value = arguments.take("q" if wide else "i")
        value = {"hh": struct.unpack("b", struct.pack("B", value & 0xFF))[0]}.get(length, value)
        value = struct.unpack("h", struct.pack("H", value & 0xFFFF))[0] if length == "h" else value
        return _integer(spec, "d", value)
    if kind in "ouxX":
        value = arguments.take("Q" if wide else "I")
        value &= {"hh": 0xFF, "h": 0xFFFF}.get(length, (1 << 64) - 1)
        return _integer(spec, "d" if kind == "u" else kind, value)
    if kind == "c":
        return (spec.split(b".")[0] + b"c") % bytes([arguments.take("i") & 0xFF])
    if kind == "s":
        return (spec + b"s") % arguments.reader.text(arguments.take("Q"))
    if kind == "p":
        return (spec.replace(b"#", b"") + b"s") % hex(arguments.take("Q")).encode()
    value = arguments.take("d")
    if kind in "aA":
        text = _hexadecimal(value)
        return (spec.split(b".")[0] + b"s") % (text.upper() if kind == "A" else text).encode()
    return bytes((spec + kind.encode()) % value)


def _integer(spec: bytes, kind: str, value: int) -> bytes:
    if kind == "o" and b"#" in spec:
        return (spec.replace(b"#", b"") + b"s") % (f"0{value:o}".encode() if value else b"0")
    if kind in "xX" and not value:
        spec = spec.replace(b"#", b"")
    if b"." in spec:
        spec = spec.replace(b"0", b"", 1) if spec[1:2] == b"0" else spec
    return bytes((spec + kind.encode()) % value)


def _hexadecimal(value: float) -> str:
    text = float.hex(value)
    mantissa, _, exponent = text.partition("p")
    if not exponent:
        return text
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{exponent}"


class BuiltIn:
    """A function that the driver brings: arguments lie in the caller's frame."""

    def __init__(self, program: Program, op: Op) -> None:
        """Keep what messages need."""
        self.program = program
        self.op = op

    def arguments(self, lanes: Any, numbers: Any, mask: Any, frames: tuple[Any, ...]) -> Any:
        """For each frame address, the 8 bytes there of each lane."""
        space = lanes.batch.spaces["local"]
        data = space.data.view(np.dtype(np.uint64))
        found = []
        for frame in frames:
            at = lanes.integers(frame, 64)
            if type(at) is np.ndarray:
                at = np.broadcast_to(at, lanes.shape)
                at = at.reshape(-1) if mask is None else at[mask]
            found.append(data[(numbers * space.stride + at) >> 3].tolist())
        return found

    def answer(self, lanes: Any, numbers: Any, mask: Any, frame: Any, values: list[int]) -> None:
        """Put the result into the caller's frame."""
        if frame is None:
            return
        space = lanes.batch.spaces["local"]
        at = lanes.integers(frame, 64)
        if type(at) is np.ndarray:
            at = np.broadcast_to(at, lanes.shape)
            at = at.reshape(-1) if mask is None else at[mask]
        data = space.data.view(np.dtype(np.int32))
        data[(numbers * space.stride + at) >> 2] = np.array(values, np.int32)

    def fault(self, lanes: Any, lane: int, count: int, what: str, extra: tuple[str, ...] = ()) -> Exception:
        """The error of the call."""
        return faults.fault(self.program, self.op, lanes, lane, count, what, extra)


class Print(BuiltIn):
    """`vprintf(format, arguments)`."""

    def __call__(self, lanes: Any, mask: Any, result: Any, frames: tuple[Any, ...]) -> None:
        """Collect what each lane prints, with its block, its count and its thread."""
        numbers = lanes.numbers(mask)
        patterns, buffers = self.arguments(lanes, numbers, mask, frames)
        launch = lanes.batch.launch
        counts = []
        for lane, pattern, buffer in zip(numbers.tolist(), patterns, buffers, strict=True):
            reader = Reader(lanes, lane)
            arguments = Arguments(reader, buffer)
            try:
                text = formatted(reader.text(pattern), arguments)
            except (ValueError, TypeError, OverflowError):
                raise self.fault(lanes, lane, 1, "printed from memory that it cannot read") from None
            counts.append(arguments.count)
            block, thread = divmod(lane, lanes.batch.threads)
            owner = (lanes.batch.block_number(block), thread)
            turn = launch.printed_by.get(owner, 0)
            launch.printed_by[owner] = turn + 1
            launch.printed.append((owner[0], turn, thread, text))
        self.answer(lanes, numbers, mask, result, counts)


class AssertFail(BuiltIn):
    """`__assertfail(message, file, line, function, char size)`: an assertion that did not hold."""

    def __call__(self, lanes: Any, mask: Any, _: Any, frames: tuple[Any, ...]) -> None:
        """Raise for the first lane."""
        numbers = lanes.numbers(mask)
        found = self.arguments(lanes, numbers, mask, frames)
        reader = Reader(lanes, int(numbers[0]))
        try:
            message, file, function = [reader.text(found[k][0]).decode("latin-1") for k in (0, 1, 3)]
        except (ValueError, IndexError):
            message, file, function = "?", "?", "?"
        line = found[2][0] & 0xFFFFFFFF if len(found) > 2 else 0
        extra = (f"{file}:{line}: {function}",)
        raise self.fault(lanes, int(numbers[0]), len(numbers), f"failed an assertion: {message}", extra)
