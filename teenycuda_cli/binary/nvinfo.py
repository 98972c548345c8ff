"""The attributes (EIATTR) in a cubin's `.nv.info` sections.

A record is a format byte, an attribute byte, and a value: a byte or a half
word in place (formats 2 and 3), or a size and that many bytes (format 4).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from teenycuda_cli.binary.elf import Section
from teenycuda_cli.binary.reader import Reader
from teenycuda_cli.wording import counted

MAX_THREADS = 0x05
REQNTID = 0x10
FRAME_SIZE = 0x11
MIN_STACK_SIZE = 0x12
KPARAM_INFO = 0x17
REGCOUNT = 0x2F
CTA_PER_CLUSTER = 0x3D
KPARAM_INFO_V2 = 0x45
NUM_BARRIERS = 0x4C

SECTION_TYPE = 0x70000000

COMPAT_ACCELERATOR_TARGET = 0x09  # in `.nv.compat`: 1 for the code of an `a` target

_FORMAT_NONE = 1
_FORMAT_BYTE = 2
_FORMAT_HALF = 3
_FORMAT_SIZED = 4
_RECORD = struct.Struct("<BBH")


@dataclass(frozen=True, slots=True)
class Attribute:
    """One record: its number, the value of a byte or half word, or the payload, and its place in the file."""

    number: int
    value: int
    payload: bytes
    offset: int


def attributes(reader: Reader, section: Section) -> Iterator[Attribute]:
    """The records of a `.nv.info` section, in order."""
    offset, end = section.offset, section.offset + section.size
    while offset + _RECORD.size <= end:
        form, number, value = reader.numbers(_RECORD, offset, "an attribute")
        payload = b""
        size = _RECORD.size
        if form == _FORMAT_SIZED:
            if offset + size + value > end:
                reader.fail(
                    offset,
                    f"attribute 0x{number:02x} takes {counted(value, 'byte')},"
                    f" more than {section.name} has left",
                )
            payload = reader.slice(offset + size, value, f"attribute 0x{number:02x}")
            size += value + -value % 4
        elif form not in {_FORMAT_NONE, _FORMAT_BYTE, _FORMAT_HALF}:
            reader.fail(offset, f"attribute format {form} in {section.name}; expected 1 to 4")
        yield Attribute(number, value & 0xFF if form == _FORMAT_BYTE else value, payload, offset)
        offset += size


def words(reader: Reader, attribute: Attribute, count: int) -> tuple[int, ...]:
    """The payload's first 32-bit words; FileError where it has fewer."""
    if len(attribute.payload) < 4 * count:
        reader.fail(
            attribute.offset,
            f"attribute 0x{attribute.number:02x} has {counted(len(attribute.payload), 'byte')};"
            f" expected {4 * count}",
        )
    return struct.unpack_from(f"<{count}I", attribute.payload)
