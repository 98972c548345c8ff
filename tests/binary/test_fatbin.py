"""Reading fatbins: which images they hold, compressed or not; and damaged files."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teenycuda_cli.binary import Fatbin, read
from teenycuda_cli.errors import FileError

HERE = Path(__file__).parent
FATBINS = sorted(HERE.glob("*.fatbin"))


def _read(name: str) -> Fatbin:
    content = read((HERE / name).read_bytes(), name)
    assert isinstance(content, Fatbin)
    return content


@pytest.mark.parametrize("path", FATBINS, ids=lambda path: path.name)
def test_what_a_fatbin_holds(path: Path) -> None:
    """Each image is told by kind and architecture, and unpacked, however it is compressed."""
    entries = _read(path.name).entries
    assert [(each.kind, each.arch) for each in entries] == [
        ("cubin", "sm_80"),
        ("ptx", "sm_90"),
        ("cubin", "sm_90a"),
    ]
    plain = _read("add.plain.fatbin").entries
    assert [each.payload.rstrip() for each in entries] == [each.payload.rstrip() for each in plain]


def test_compressions_are_named() -> None:
    """A compressed image says with what."""
    assert {each.compression for each in _read("add.plain.fatbin").entries} == {None}
    assert [each.compression for each in _read("add.lz4.fatbin").entries] == [None, "lz4", None]
    assert {each.compression for each in _read("add.zstd.fatbin").entries} == {"zstd"}


@pytest.mark.parametrize("name", ["add.plain.fatbin", "add.lz4.fatbin", "add.zstd.fatbin"])
def test_images_are_unpacked(name: str) -> None:
    """The cubins inside are read, and the PTX is there as text."""
    sm80, ptx, sm90a = _read(name).entries
    assert sm80.cubin is not None
    assert sm90a.cubin is not None
    assert [kernel.name for kernel in sm80.cubin.kernels + sm90a.cubin.kernels] == ["add", "add"]
    assert sm90a.cubin.arch == "sm_90a"
    assert b".visible .entry add(" in ptx.payload
    assert ptx.payload.rstrip().endswith(b"}")


def test_several_fatbins_in_a_row() -> None:
    """Fatbins one behind the other, as linkers leave them, are read as one."""
    one = (HERE / "add.plain.fatbin").read_bytes()
    content = read(one + one, "two")
    assert isinstance(content, Fatbin)
    assert len(content.entries) == 6


@pytest.mark.parametrize("path", FATBINS, ids=lambda path: path.name)
def test_cut_short_anywhere(path: Path) -> None:
    """A truncated fatbin is refused with an offset."""
    data = path.read_bytes()
    for end in range(4, len(data) - 1, max(len(data) // 97, 1)):
        with pytest.raises(FileError, match="offset 0x"):
            read(data[:end], path.name)


@given(st.data())
def test_damage_gives_an_error_or_a_fatbin(data: st.DataObject) -> None:
    """Bytes changed anywhere behind the magic number give FileError or a fatbin, nothing else."""
    path = data.draw(st.sampled_from(FATBINS))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.one_of(st.integers(4, 140), st.integers(4, len(content) - 1)))
        content[at] = data.draw(st.integers(0, 255))
    with suppress(FileError):
        assert isinstance(read(bytes(content), path.name), Fatbin)
