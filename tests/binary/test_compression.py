"""Unpacking LZ4 blocks and Zstandard frames."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teenycuda_cli.binary import lz4, zstd
from teenycuda_cli.binary.entropy import ZstdError
from tests.binary.zstd_inputs import FRAMES, INPUTS

NAMES = sorted(path.name for path in FRAMES.glob("*.zst"))


@pytest.mark.parametrize("name", NAMES)
def test_zstandard_frames_of_every_kind(name: str) -> None:
    """Raw, repeated and compressed blocks, every kind of table: the text comes back as it was."""
    text = INPUTS[name.split(".", maxsplit=1)[0]]
    assert zstd.unpack((FRAMES / name).read_bytes(), len(text)) == text


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_size_is_told(name: str) -> None:
    """A frame that unpacks to another size than the container says is damaged."""
    text = INPUTS[name.split(".", maxsplit=1)[0]]
    for size in {len(text) + 1, max(len(text) - 1, 0)} - {len(text)}:
        with pytest.raises(ZstdError):
            zstd.unpack((FRAMES / name).read_bytes(), size)


@given(st.data())
def test_damaged_frames(data: st.DataObject) -> None:
    """Bytes changed anywhere give ZstdError or some text of the right size."""
    name = data.draw(st.sampled_from(NAMES))
    frame = bytearray((FRAMES / name).read_bytes())
    size = len(INPUTS[name.split(".", maxsplit=1)[0]])
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ZstdError):
        assert len(zstd.unpack(bytes(frame[: data.draw(st.integers(0, len(frame)))]), size)) == size


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (b"\x00", b""),
        (b"\x50hello", b"hello"),
        (b"\x11a\x01\x00\x10b", b"aaaaaab"),
        (b"\x32abc\x03\x00\x20xy", b"abcabcabcxy"),
        (b"\xf0\x01" + b"q" * 16, b"q" * 16),
        (b"\x1fz\x01\x00\xff\x05\x10.", b"z" * (1 + 15 + 4 + 255 + 5) + b"."),
    ],
)
def test_lz4_blocks(block: bytes, text: bytes) -> None:
    """Literals, matches that overlap themselves, and long lengths."""
    assert lz4.unpack(block, len(text)) == text


@given(st.binary(max_size=60), st.integers(0, 100))
def test_any_lz4_block(block: bytes, size: int) -> None:
    """Arbitrary bytes give Lz4Error or text of the right size."""
    with suppress(lz4.Lz4Error):
        assert len(lz4.unpack(block, size)) == size
