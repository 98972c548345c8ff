"""vprintf: text that a kernel prints, by C's rules."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.builtin import BuiltIn, Reader
from teenycuda_cli.emulator.machine.launch import now
from teenycuda_cli.emulator.machine.printed import MOST_BYTES

_LONGEST = (1 << 31) - 1
"""A width or precision is an int of C."""
_NULL = b"(null)"
"""A string at address 0, as CUDA prints it."""
_FORMAT = re.compile(rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%])")


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
    """What C's printf would print; OverflowError for a width or precision that is no int of C's.

    Text that is too long to be kept ends where that is known.
    """
    length_so_far = 0

    def convert(match: re.Match[bytes]) -> bytes:
        nonlocal length_so_far
        text = one(match)
        length_so_far += len(text)
        return text if length_so_far <= MOST_BYTES else b""

    def one(match: re.Match[bytes]) -> bytes:
        flags, width, precision, length, kind = match.groups()
        if kind == b"%":
            return b"%"
        dotted = b"." in match.group(0)
        spec = b"%" + flags
        if width == b"*":
            given = arguments.take("i")
            spec += (b"-" if given < 0 and b"-" not in flags else b"") + _fitting(abs(given))
        elif width:
            spec += _fitting(int(width))
        if dotted:
            places = arguments.take("i") if precision == b"*" else int(precision or b"0")
            if places >= 0:
                spec += b"." + _fitting(places)
        return _one(spec, (length or b"").decode(), kind.decode(), arguments)

    return _FORMAT.sub(convert, pattern)


def _fitting(number: int) -> bytes:
    if number > _LONGEST:
        raise OverflowError
    return str(min(number, MOST_BYTES)).encode()


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
        address = arguments.take("Q")
        return (spec + b"s") % (arguments.reader.text(address) if address else _NULL)
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


class Print(BuiltIn):
    """`vprintf(format, arguments)`."""

    def __call__(self, lanes: Any, mask: Any, result: Any, arguments: tuple[Any, ...]) -> None:
        """Collect what each lane prints, with its block and its thread."""
        numbers = lanes.numbers(mask).tolist()
        patterns, buffers = [self.argument(lanes, mask, frame).tolist() for frame in arguments]
        launch = lanes.batch.launch
        counts = []
        for lane, pattern, buffer in zip(numbers, patterns, buffers, strict=True):
            if launch.deadline is not None and now() > launch.deadline:
                raise faults.timeout(self.program, self.op, launch.timeout)
            reader = Reader(lanes, lane)
            packed = Arguments(reader, buffer)
            try:
                text = formatted(reader.text(pattern), packed)
            except ValueError:
                raise self.fault(lanes, lane, 1, "printed from memory that it cannot read") from None
            except OverflowError:
                what = f"printed with a width or precision above {_LONGEST}"
                raise self.fault(lanes, lane, 1, what) from None
            counts.append(packed.count)
            block, thread = divmod(lane, lanes.batch.threads)
            launch.printed.add(lanes.batch.block_number(block), thread, text)
        self.answer(lanes, mask, result, counts, np.int32)
