"""Buffers on a device: guard zones, and nothing left allocated whatever happens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from teenycuda_cli.driver.arguments.array_files import load_array, npy_bytes, parse_npy
from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES
from teenycuda_cli.driver.arguments.language import parse_arguments
from teenycuda_cli.driver.buffers import check_guards, make_buffers, on_device, read_back
from teenycuda_cli.driver.scratch import scratch
from teenycuda_cli.emulator.device import EmulatedDevice
from teenycuda_cli.errors import FileError, TeenycudaError, UsageError


def test_contents_arrive_and_come_back() -> None:
    """What is written to the device is read back, and the guard zones are whole."""
    (buffer,) = make_buffers(parse_arguments(["x=ptr:3x5xf32=arange"]), 0)
    with EmulatedDevice() as device, on_device(device, buffer, 256) as place:
        assert place.address % 256 == 0
        assert np.array_equal(read_back(device, buffer, place), np.arange(15, dtype=np.float32).reshape(3, 5))
        assert check_guards(device, buffer, place) is None


@pytest.mark.parametrize("guard", [1, 16, 256, 1000])
@pytest.mark.parametrize("side", ["front", "behind"])
def test_a_changed_guard_byte_is_found(guard: int, side: str) -> None:
    """The byte nearest to the buffer is told, with its distance and value."""
    (buffer,) = make_buffers(parse_arguments(["x=ptr:10xu8=zeros"]), 0)
    with EmulatedDevice() as device, on_device(device, buffer, guard) as place:
        offset = -1 if side == "front" else 10 + guard - 1
        device.write(place.address + offset, b"\x42")
        found = check_guards(device, buffer, place)
        assert found is not None
        assert (found.name, found.offset, found.value, found.count) == ("x", offset, 0x42, 1)


def test_memory_is_given_back_when_a_launch_fails() -> None:
    """Buffers and scratch are freed on the way out of an error."""
    (buffer,) = make_buffers(parse_arguments(["x=ptr:10xu8=zeros"]), 0)
    with EmulatedDevice() as device:
        with (
            pytest.raises(FileError),
            on_device(device, buffer, 256),
            scratch(device, 1 << 20, 4096, "global"),
        ):
            raise FileError("on purpose")
        assert not device.arena.allocations


@pytest.mark.parametrize("alignment", [1, 128, 256, 1024, 65536])
def test_scratch_is_zeroed_and_aligned(alignment: int) -> None:
    """Scratch lies at its alignment and holds zeros, also in memory used before."""
    with EmulatedDevice() as device:
        used = device.allocate(100_000, "used")
        device.fill(used.address, 0xFF, used.size)
        device.free(used)
        with scratch(device, 100_000, alignment, "global") as address:
            assert address % alignment == 0
            assert bytes(device.read(address, 100_000)) == bytes(100_000)
        with scratch(device, 0, alignment, "global") as address:
            assert address == 0


@pytest.mark.parametrize(
    ("kind", "array"),
    [
        ("f32", np.arange(6, dtype=np.float32).reshape(2, 3)),
        ("f64", np.arange(6, dtype=">f8").reshape(2, 3)),
        ("i16", np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3))),
        ("bool", np.array([True, False])),
        ("c64", np.array([1 + 2j], np.complex64)),
        ("f16", np.array(1.5, np.float16)),
    ],
)
def test_npy_files_give_type_and_shape(tmp_path: Path, kind: str, array: np.ndarray) -> None:  # type: ignore[type-arg]
    """An .npy file tells its type and shape, whatever its byte order and layout."""
    np.save(tmp_path / "x.npy", array)
    element, stored = load_array(str(tmp_path / "x.npy"), None, None)
    assert element.name == kind
    assert np.array_equal(stored.ravel(), array.ravel().astype(stored.dtype))
    assert stored.flags.c_contiguous


def test_types_that_numpy_lacks_come_as_values_or_bits(tmp_path: Path) -> None:
    """bf16 is taken from float32 values, rounded, or from uint16 bits."""
    path = str(tmp_path / "x.npy")
    np.save(path, np.array([1.0, 1.004], np.float32))
    assert load_array(path, ELEMENT_TYPES["bf16"], (2,))[1].tolist() == [0x3F80, 0x3F81]
    np.save(path, np.array([0x3F80, 0x7FC0], np.uint16))
    assert load_array(path, ELEMENT_TYPES["bf16"], (2,))[1].tolist() == [0x3F80, 0x7FC0]


@pytest.mark.parametrize(
    ("kind", "shape", "says"),
    [("f64", (6,), "an array of float32, where f64 needs float64"), ("f32", (5,), "the array is 6, not 5")],
)
def test_npy_files_are_held_to_what_is_given(
    tmp_path: Path, kind: str, shape: tuple[int, ...], says: str
) -> None:
    """A type or shape that is not the file's is refused."""
    path = str(tmp_path / "x.npy")
    np.save(path, np.zeros(6, np.float32))
    with pytest.raises(UsageError, match=says):
        load_array(path, ELEMENT_TYPES[kind], shape)


GOOD = npy_bytes(np.zeros(8, np.float32))
BROKEN = [
    GOOD[:5],
    GOOD[:20],
    GOOD[:-1],
    GOOD + b"x",
    GOOD.replace(b"(8,)", b"(9,)"),
    GOOD.replace(b"(8,)", b"(-8,)"[:4]),
    GOOD.replace(b"'<f4'", b"'|O4'"),
    GOOD.replace(b"(8,), }          ", b"(999999999999,), }"),
    GOOD[:6] + b"\x09\x00" + GOOD[8:],
    GOOD[:10] + b"__import__('os')" + GOOD[26:],
    npy_bytes(np.zeros(0, np.float32)),
    npy_bytes(np.zeros(2, [("a", "f4"), ("b", "f4")])),
]


@pytest.mark.parametrize("data", BROKEN, ids=range(len(BROKEN)))
def test_broken_npy_files(data: bytes) -> None:
    """A header that does not fit its data is refused before anything is allocated."""
    with pytest.raises(TeenycudaError):
        parse_npy(data, "x.npy")


def test_pickles_are_never_read(tmp_path: Path) -> None:
    """An .npy of objects, which would run code, is refused."""
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FileError):
        load_array(str(tmp_path / "x.npy"), None, None)


@pytest.mark.parametrize(
    "extents", ["999999999999999999", "4294967296x4294967296", "x".join(["999999999999999999"] * 32)]
)
def test_more_than_the_memory_is_refused_at_once(extents: str) -> None:
    """No product of extents wraps, and nothing is allocated first."""
    with pytest.raises(UsageError, match="do not fit this machine's memory"):
        make_buffers(parse_arguments([f"x=ptr:{extents}xu8"]), 0)


def test_files_that_are_no_array_are_not_taken_for_bytes(tmp_path: Path) -> None:
    """A `.npy` without the magic and an archive are refused; an archive's bytes can still be asked for."""
    (tmp_path / "x.npy").write_bytes(bytes(16))
    with pytest.raises(FileError, match=r"is called \.npy, and is none"):
        load_array(str(tmp_path / "x.npy"), None, None)
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    path = str(tmp_path / "x.npz")
    with pytest.raises(FileError, match="archive"):
        load_array(path, None, None)
    size = (tmp_path / "x.npz").stat().st_size
    assert load_array(path, ELEMENT_TYPES["u8"], (size,))[1].size == size


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("__import__('os').getcwd()", r"malformed node or string[^<]*\Z"),
        ("{'descr': '<i4', 'fortran_order': False, 'shape': (-4,)}", r"no array has the shape \(-4,\)"),
    ],
)
def test_npy_headers_that_make_no_sense(header: str, says: str) -> None:
    """A hostile header is refused by its fault, in words that are the same each time."""
    text = header.ljust(117).encode() + b"\n"
    with pytest.raises(FileError, match=says):
        parse_npy(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text, "x.npy")
