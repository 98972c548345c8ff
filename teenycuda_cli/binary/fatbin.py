"""Reading a fatbin: which images it holds, for which architectures."""

from __future__ import annotations

import struct
from typing import NamedTuple

from teenycuda_cli.binary import lz4, zstd
from teenycuda_cli.binary.cubin import read_cubin
from teenycuda_cli.binary.entropy import ZstdError
from teenycuda_cli.binary.model import Cubin, Fatbin, FatbinEntry
from teenycuda_cli.binary.reader import Reader
from teenycuda_cli.wording import counted

MAGIC = b"\x50\xed\x55\xba"
MAX_UNPACKED = 1 << 30

_HEADER = struct.Struct("<4sHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_KIND_PTX = 1
_KINDS = {_KIND_PTX: "ptx", 2: "cubin"}
_FLAG_LZ4 = 0x2000
_FLAG_ZSTD = 0x8000
_FLAG_ARCH_SPECIFIC = 0x100000  # sm_90a
_FLAG_FAMILY_SPECIFIC = 0x200000  # sm_100f


class _Entry(NamedTuple):
    """The fields of an entry's header, in their order."""

    kind: int
    version: int
    header_size: int
    size: int  # with padding
    packed_size: int
    options_offset: int
    minor: int
    major: int
    sm: int
    name_offset: int
    name_size: int
    flags: int
    reserved: int
    unpacked_size: int


def read_fatbin(data: bytes, name: str) -> Fatbin:
    """The images of a fatbin, or of several in a row; FileError, with the offset, where it is damaged."""
    reader = Reader(data, name, "fatbin")
    entries: list[FatbinEntry] = []
    offset = 0
    while offset < len(data) and (offset == 0 or data[offset : offset + 4] == MAGIC):
        magic, _version, header_size, size = reader.numbers(_HEADER, offset, "the fatbin header")
        if magic != MAGIC:
            reader.fail(offset, "not a fatbin's magic number, 0xBA55ED50")
        if header_size < _HEADER.size:
            reader.fail(offset + 6, f"the header has {counted(header_size, 'byte')}; expected {_HEADER.size}")
        start = offset + header_size
        reader.check(start, size, "the fatbin's contents")
        entries += _entries(reader, start, start + size)
        offset = start + size
        offset += -offset % 8
    return Fatbin(name, tuple(entries))


def _entries(reader: Reader, offset: int, end: int) -> list[FatbinEntry]:
    entries = []
    while offset + _ENTRY.size <= end:
        header = _Entry(*reader.numbers(_ENTRY, offset, "an entry's header"))
        if header.header_size < _ENTRY.size:
            reader.fail(
                offset + 4,
                f"an entry's header has {counted(header.header_size, 'byte')};"
                f" expected {_ENTRY.size} or more",
            )
        start = offset + header.header_size
        if start + header.size > end:
            reader.fail(
                offset,
                f"an image of {counted(header.size, 'byte')} goes past the container's end at 0x{end:x}",
            )
        entries.append(_entry(reader, header, start))
        offset = start + header.size
    return entries


def _entry(reader: Reader, header: _Entry, start: int) -> FatbinEntry:
    compression = "zstd" if header.flags & _FLAG_ZSTD else "lz4" if header.flags & _FLAG_LZ4 else None
    size = min(header.packed_size, header.size) if compression and header.packed_size else header.size
    stored = reader.slice(start, size, "an image")
    unpacked = header.unpacked_size if compression else size
    payload = _unpack(reader, stored, compression, unpacked, start)
    suffix = (
        "a" if header.flags & _FLAG_ARCH_SPECIFIC else "f" if header.flags & _FLAG_FAMILY_SPECIFIC else ""
    )
    arch = f"sm_{header.sm}{suffix}"
    kind = _KINDS.get(header.kind, f"kind 0x{header.kind:x}")
    if kind == "ptx":
        payload = payload.rstrip(b"\0")
    cubin: Cubin | None = None
    if kind == "cubin":
        cubin = read_cubin(payload, f"{reader.name}({arch})")
    return FatbinEntry(kind, arch, compression, start, size, unpacked, payload, cubin)


def _unpack(reader: Reader, stored: bytes, compression: str | None, size: int, start: int) -> bytes:
    if compression is None:
        return stored
    if size > MAX_UNPACKED:
        reader.fail(start, f"an image of {size} unpacked bytes; at most {MAX_UNPACKED} are taken")
    try:
        return lz4.unpack(stored, size) if compression == "lz4" else zstd.unpack(stored, size)
    except (lz4.Lz4Error, ZstdError) as error:
        reader.fail(start, f"{compression} data: {error}")
