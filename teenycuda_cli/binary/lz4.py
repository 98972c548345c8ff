"""Unpacking an LZ4 block, the compression of fatbins made by CUDA 11 and 12."""

from __future__ import annotations

from teenycuda_cli.wording import counted


class Lz4Error(ValueError):
    """A block that is not well-formed, or does not have the size it should."""


def unpack(block: bytes, size: int) -> bytes:
    """The bytes that an LZ4 block of `size` unpacked bytes stands for; Lz4Error where it is damaged."""
    out = bytearray()
    at = 0
    try:
        while at < len(block):
            token = block[at]
            literals, at = _length(block, at + 1, token >> 4)
            if at + literals > len(block):
                raise Lz4Error(f"literals past the end, at {at}")
            out += block[at : at + literals]
            at += literals
            if at >= len(block):
                break
            distance = block[at] | block[at + 1] << 8
            matched, at = _length(block, at + 2, token & 15)
            _copy(out, distance, matched + 4, size)
    except IndexError:
        raise Lz4Error(f"ends in the middle, at {at}") from None
    if len(out) != size:
        raise Lz4Error(f"unpacks to {counted(len(out), 'byte')}; expected {size}")
    return bytes(out)


def _length(block: bytes, at: int, length: int) -> tuple[int, int]:
    """A length of which 15 in the token means that more bytes follow; and where they end."""
    if length == 15:
        while True:
            more = block[at]
            at += 1
            length += more
            if more != 255:
                break
    return length, at


def _copy(out: bytearray, distance: int, length: int, size: int) -> None:
    if not 0 < distance <= len(out):
        raise Lz4Error(f"refers {counted(distance, 'byte')} back, with {len(out)} written")
    if len(out) + length > size:
        raise Lz4Error(f"unpacks to more than {counted(size, 'byte')}")
    start = len(out) - distance
    if distance >= length:
        out += out[start : start + length]
    else:
        pattern = bytes(out[start:])
        out += (pattern * (length // distance + 1))[:length]
