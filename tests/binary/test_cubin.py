"""Reading cubins: architecture, entries, parameters, resources; and damaged files."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teenycuda_cli.binary import Cubin, Kernel, read
from teenycuda_cli.errors import FileError

HERE = Path(__file__).parent
CUBINS = sorted(HERE.glob("*.cubin"))


def _read(name: str) -> Cubin:
    content = read((HERE / name).read_bytes(), name)
    assert isinstance(content, Cubin)
    return content


def _kernel(name: str) -> Kernel:
    return {kernel.name: kernel for kernel in _read("several.cubin").kernels}[name]


@pytest.mark.parametrize(
    ("name", "arch", "abi", "toolkit"),
    [
        ("add.sm80.cuda12.cubin", "sm_80", 7, None),
        ("add.sm90a.cuda12.cubin", "sm_90a", 7, None),
        ("add.sm90a.cubin", "sm_90a", 8, "13.0"),
        ("add.sm100f.cubin", "sm_100f", 8, "13.0"),
        ("several.cubin", "sm_90", 8, "13.0"),
    ],
)
def test_architecture_in_both_layouts(name: str, arch: str, abi: int, toolkit: str | None) -> None:
    """The architecture is told with its suffix, from the old ELF flags and from the new ones."""
    cubin = _read(name)
    assert (cubin.arch, cubin.abi_version, cubin.toolkit) == (arch, abi, toolkit)
    assert {kernel.arch for kernel in cubin.kernels} == {arch}


@pytest.mark.parametrize("name", ["add.sm80.cuda12.cubin", "add.sm90a.cuda12.cubin", "add.sm100f.cubin"])
def test_parameters_in_every_layout(name: str) -> None:
    """A kernel's parameters have index, offset and size, in order."""
    (kernel,) = _read(name).kernels
    assert kernel.name == "add"
    assert [(each.index, each.offset, each.size) for each in kernel.params] == [
        (0, 0, 8),
        (1, 8, 8),
        (2, 16, 4),
    ]
    assert kernel.registers == 10


def test_parameters_passed_by_value_keep_their_place() -> None:
    """A struct's size and alignment show, and so do parameters too large for the older record."""
    assert [(each.offset, each.size) for each in _kernel("required").params] == [(0, 8), (16, 48), (64, 1)]
    assert [(each.offset, each.size) for each in _kernel("large").params] == [(0, 5000), (5000, 4)]
    assert _kernel("clustered").params == ()


def test_launch_bounds() -> None:
    """reqntid, maxntid and the cluster are told apart, and max_threads is their product."""
    required, bounded, clustered, large = map(_kernel, ("required", "bounded", "clustered", "large"))
    assert (required.reqntid, required.maxntid, required.max_threads) == ((32, 4, 2), None, 256)
    assert (bounded.reqntid, bounded.maxntid, bounded.max_threads) == (None, (96, 1, 1), 96)
    assert (clustered.cluster, clustered.max_threads) == ((2, 1, 1), 64)
    assert (large.max_threads, large.cluster) == (None, None)


def test_resources_are_those_that_cuobjdump_tells() -> None:
    """Registers, stack and constants agree with cuobjdump; its shared bytes include sm_90's own kilobyte."""
    told = re.findall(
        r"Function (\w+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) .*?CONSTANT\[0\]:(\d+)",
        (HERE / "several.resources.txt").read_text(),
    )
    assert len(told) == 4
    for name, *numbers in told:
        registers, stack, shared, const = map(int, numbers)
        kernel = _kernel(name)
        assert (kernel.registers, kernel.local, kernel.const_bank0) == (registers, stack, const)
        assert kernel.const == 64
        assert kernel.static_shared == max(shared - 1024, 0)
    assert _kernel("required").static_shared == 100
    assert (_kernel("required").barriers, _kernel("large").barriers) == (1, 0)


def test_linkage_and_functions() -> None:
    """Weak entries are told from strong ones, and device functions from entries."""
    assert _kernel("bounded").linkage == "weak"
    assert _kernel("required").linkage == "visible"
    assert any("twice" in name for name in _read("several.cubin").functions)


def test_relocatable_code_is_told() -> None:
    """Code still to be linked says so; its shared memory has no reserved part yet, its stack is unknown."""
    relocatable = _read("relocatable.cubin")
    assert relocatable.relocatable
    assert not _read("several.cubin").relocatable
    assert {kernel.local for kernel in relocatable.kernels} == {None}


def test_debug_sections_are_listed() -> None:
    """Sections for debuggers are named; the frame table, which is always there, is none."""
    assert ".debug_line" in _read("debug.cubin").debug_sections
    assert _read("several.cubin").debug_sections == ()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x7fELF", "offset 0x0: the ELF header takes 64 bytes, and the file ends at 0x4"),
        (b"not an ELF file at all, but long enough to be one".ljust(80), "is no cubin"),
        (b"\x7fELF\x01\x01".ljust(64, b"\0"), "not a 64-bit little-endian ELF file"),
    ],
)
def test_what_is_no_cubin(data: bytes, words: str) -> None:
    """A file of another kind is refused by what is wrong with it."""
    with pytest.raises(FileError, match=re.escape(words)):
        read(data, "x.cubin")


def test_a_host_program_is_no_cubin() -> None:
    """An ELF file for another machine is named by its machine number, with what to do."""
    data = bytearray((HERE / "several.cubin").read_bytes())
    data[18:20] = (62).to_bytes(2, "little")
    with pytest.raises(FileError, match="machine 62") as caught:
        read(bytes(data), "a.out")
    assert "cuobjdump" in (caught.value.hint or "")


@pytest.mark.parametrize("path", CUBINS, ids=lambda path: path.name)
def test_cut_short_anywhere(path: Path) -> None:
    """A truncated cubin is refused with an offset, wherever the cut is."""
    data = path.read_bytes()
    read_to = len(data) - 400  # the program headers, at the end, say nothing that is read here
    for end in range(0, read_to, max(len(data) // 97, 1)):
        with pytest.raises(FileError, match=r"offset 0x|is no cubin"):
            read(data[:end], path.name)


@given(st.data())
def test_damage_gives_an_error_or_a_cubin(data: st.DataObject) -> None:
    """Bytes changed anywhere give FileError or a cubin, nothing else."""
    path = data.draw(st.sampled_from(CUBINS))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.one_of(st.integers(0, 63), st.integers(0, len(content) - 1)))
        content[at] = data.draw(st.integers(0, 255))
    with suppress(FileError):
        assert isinstance(read(bytes(content), path.name), Cubin)


@given(st.binary(max_size=200))
def test_any_bytes_behind_the_magic(tail: bytes) -> None:
    """Arbitrary bytes behind the ELF magic number give FileError."""
    with pytest.raises(FileError):
        read(b"\x7fELF\x02\x01" + tail, "x")
