"""Unpacking a Zstandard frame (RFC 8878), the compression of fatbins made by CUDA 12.8 and later."""

from __future__ import annotations

from dataclasses import dataclass, field

from teenycuda_cli.binary.entropy import (
    BackwardBits,
    FseTable,
    HuffmanTable,
    ZstdError,
    fse_table,
    read_fse_table,
    read_huffman_table,
)
from teenycuda_cli.wording import counted

MAGIC = b"\x28\xb5\x2f\xfd"

_LITERAL_LENGTHS = [4, 3, *[2] * 11, 1, 1, 1, *[2] * 9, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1]
_MATCH_LENGTHS = [1, 4, 3, 2, 2, 2, 2, 2, 2, *[1] * 37, *[-1] * 7]
_OFFSETS = [1, 1, 1, 1, 1, 1, 2, 2, 2, *[1] * 15, *[-1] * 5]

_LITERAL_LENGTH_BITS = [*[0] * 16, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, *range(7, 17)]
_MATCH_LENGTH_BITS = [*[0] * 32, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, *range(7, 17)]


def _bases(first: int, bits: list[int]) -> list[int]:
    """The first length of each code: each code's lengths begin where those of the one before end."""
    bases = []
    for count in bits:
        bases.append(first)
        first += 1 << count
    return bases


_LITERAL_LENGTH_BASES = _bases(0, _LITERAL_LENGTH_BITS)
_MATCH_LENGTH_BASES = _bases(3, _MATCH_LENGTH_BITS)
_DEFAULTS = (fse_table(_LITERAL_LENGTHS, 6), fse_table(_OFFSETS, 5), fse_table(_MATCH_LENGTHS, 6))
_MAX_ACCURACY = (9, 8, 9)
_MAX_CODE = (35, 31, 52)


@dataclass(slots=True)
class _Frame:
    """What the blocks of a frame hand on: the output, tables to be used again, the last offsets."""

    limit: int
    out: bytearray = field(default_factory=bytearray)
    huffman: HuffmanTable | None = None
    tables: list[FseTable | None] = field(default_factory=lambda: [None, None, None])
    offsets: list[int] = field(default_factory=lambda: [1, 4, 8])


def unpack(data: bytes, size: int) -> bytes:
    """The bytes that a frame of `size` unpacked bytes stands for; ZstdError where it is damaged."""
    try:
        frame = _unpack(data, size)
    except IndexError:
        raise ZstdError("ends in the middle") from None
    if len(frame.out) != size:
        raise ZstdError(f"unpacks to {counted(len(frame.out), 'byte')}; expected {size}")
    return bytes(frame.out)


def _unpack(data: bytes, size: int) -> _Frame:
    if data[:4] != MAGIC:
        raise ZstdError("no Zstandard frame")
    descriptor = data[4]
    single = descriptor >> 5 & 1
    if descriptor & 3:
        raise ZstdError("needs a dictionary")
    at = 5 + (1 - single) + (single, 2, 4, 8)[descriptor >> 6]
    frame = _Frame(size)
    last = False
    while not last:
        header = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        at += 3
        last, kind, length = bool(header & 1), header >> 1 & 3, header >> 3
        stored = 1 if kind == 1 else length
        if at + stored > len(data):
            raise ZstdError("ends in the middle")
        if kind == 3 or (kind < 2 and len(frame.out) + length > size):
            raise ZstdError("a block that cannot be")
        if kind == 2:
            _compressed_block(frame, data[at : at + length])
        else:
            frame.out += data[at : at + 1] * length if kind == 1 else data[at : at + length]
        at += stored
    return frame


def _compressed_block(frame: _Frame, block: bytes) -> None:
    literals, at = _literals(frame, block)
    count, at = _sequence_count(block, at)
    if not count:
        frame.out += literals
        return
    modes = block[at]
    at += 1
    tables = []
    for index in range(3):
        mode = modes >> 6 - 2 * index & 3
        table, at = _table(frame, block, at, index, mode)
        frame.tables[index] = table
        tables.append(table)
    _sequences(frame, literals, count, BackwardBits(block[at:]), tables)


def _literals(frame: _Frame, block: bytes) -> tuple[bytes, int]:
    """The literals of a block, and where they end in it."""
    kind, form = block[0] & 3, block[0] >> 2 & 3
    if kind < 2:
        width, shift = ((1, 3), (2, 4), (1, 3), (3, 4))[form]
        size, at = int.from_bytes(block[:width], "little") >> shift, width
        if size > frame.limit:
            raise ZstdError("more literals than there are bytes")
        if kind == 1:
            return block[at : at + 1] * size, at + 1
        return block[at : at + size], at + size
    width, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
    header = int.from_bytes(block[:width], "little") >> 4
    size, packed = header & (1 << bits) - 1, header >> bits & (1 << bits) - 1
    at, end = width, width + packed
    if end > len(block) or size > frame.limit:
        raise ZstdError("literals past the end of their block")
    if kind == 2:
        frame.huffman, at = read_huffman_table(block[:end], at)
    if frame.huffman is None:
        raise ZstdError("literals without a Huffman tree")
    return _huffman_streams(frame.huffman, block[at:end], size, 1 if form == 0 else 4), end


def _huffman_streams(table: HuffmanTable, data: bytes, size: int, streams: int) -> bytes:
    if streams == 1:
        return table.decode(data, size)
    lengths = [int.from_bytes(data[at : at + 2], "little") for at in (0, 2, 4)]
    each = (size + 3) // 4
    counts = [each, each, each, size - 3 * each]
    out, at = b"", 6
    for count, length in zip(counts, [*lengths, len(data) - 6 - sum(lengths)], strict=True):
        if length < 0 or count < 0:
            raise ZstdError("Huffman streams that do not add up")
        out += table.decode(data[at : at + length], count)
        at += length
    return out


def _sequence_count(block: bytes, at: int) -> tuple[int, int]:
    first = block[at]
    if first < 128:
        return first, at + 1
    if first < 255:
        return (first - 128 << 8) + block[at + 1], at + 2
    return block[at + 1] + (block[at + 2] << 8) + 0x7F00, at + 3


def _table(frame: _Frame, block: bytes, at: int, index: int, mode: int) -> tuple[FseTable, int]:
    """The table of literal lengths, offsets or match lengths, by its mode."""
    if mode == 0:
        return _DEFAULTS[index], at
    if mode == 1:
        return FseTable(0, ((block[at], 0, 0),)), at + 1
    if mode == 2:
        return read_fse_table(block, at, _MAX_ACCURACY[index])
    repeated = frame.tables[index]
    if repeated is None:
        raise ZstdError("a table that was never there, again")
    return repeated, at


def _sequences(
    frame: _Frame, literals: bytes, count: int, stream: BackwardBits, tables: list[FseTable]
) -> None:
    states = [stream.read(table.accuracy) for table in tables]
    taken = 0
    for number in range(count):
        (length_code, *length_next), (offset_code, *offset_next), (match_code, *match_next) = (
            table.states[state] for table, state in zip(tables, states, strict=True)
        )
        if offset_code > _MAX_CODE[1]:
            raise ZstdError(f"offset code {offset_code}")
        value = (1 << offset_code) + stream.read(offset_code)
        match = _MATCH_LENGTH_BASES[match_code] + stream.read(_MATCH_LENGTH_BITS[match_code])
        length = _LITERAL_LENGTH_BASES[length_code] + stream.read(_LITERAL_LENGTH_BITS[length_code])
        if number + 1 < count:
            states[0] = length_next[1] + stream.read(length_next[0])
            states[2] = match_next[1] + stream.read(match_next[0])
            states[1] = offset_next[1] + stream.read(offset_next[0])
        if stream.left < 0 or taken + length > len(literals):
            raise ZstdError("sequences past the end of their stream")
        frame.out += literals[taken : taken + length]
        taken += length
        _copy(frame, _offset(frame.offsets, value, length), match)
    if stream.left:
        raise ZstdError("a sequence stream that does not end where it should")
    frame.out += literals[taken:]


def _offset(recent: list[int], value: int, length: int) -> int:
    """The distance that an offset value means, with the three last ones kept up."""
    if value > 3:
        recent[:] = [value - 3, *recent[:2]]
        return value - 3
    index = value - 1 + (length == 0)
    offset = recent[0] - 1 if index == 3 else recent[index]
    if index:
        recent[:] = [offset, recent[0], recent[1] if index > 1 else recent[2]]
    return offset


def _copy(frame: _Frame, distance: int, length: int) -> None:
    out = frame.out
    if not 0 < distance <= len(out):
        raise ZstdError(f"refers {counted(distance, 'byte')} back, with {len(out)} written")
    if len(out) + length > frame.limit:
        raise ZstdError(f"unpacks to more than {counted(frame.limit, 'byte')}")
    start = len(out) - distance
    if distance >= length:
        out += out[start : start + length]
    else:
        out += (bytes(out[start:]) * (length // distance + 1))[:length]
