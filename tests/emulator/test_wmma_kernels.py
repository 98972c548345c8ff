"""Kernels of nvcuda::wmma, as nvcc compiles them, against numpy on numbers that are exact in every type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.emulator.harness import Session

PTX = (Path(__file__).parent / "ptx" / "wmma.ptx").read_text()
DTYPES: dict[str, Any] = {
    "half": "f2",
    "float": "f4",
    "double": "f8",
    "int": "i4",
    "uchar": "u1",
    "schar": "i1",
}


def memory(values: NDArray[Any], kind: str, layout: str) -> NDArray[Any]:
    """A matrix as it lies in memory."""
    values = np.ascontiguousarray(values if layout == "row" else values.T)
    if kind == "bfloat":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(DTYPES[kind])


def launched(name: str, a: Any, b: Any, c: Any, dtype: Any, size: int) -> NDArray[Any]:
    """What a kernel of one warp leaves in d."""
    session = Session(PTX)
    buffers = [session.buffer(letter, each) for letter, each in (("a", a), ("b", b), ("c", c))]
    session.launch(*buffers, session.buffer("d", np.zeros(size, dtype)), name=name)
    return session.values("d", dtype)


@pytest.mark.parametrize(
    ("name", "size", "kind", "sum_kind", "layouts"),
    [
        ("half_to_half", (16, 16, 16), "half", "half", ("row", "col")),
        ("half_to_float", (16, 16, 16), "half", "float", ("col", "row")),
        ("half_broad", (8, 32, 16), "half", "float", ("row", "row")),
        ("half_tall", (32, 8, 16), "half", "half", ("col", "col")),
        ("bfloat", (16, 16, 16), "bfloat", "float", ("row", "row")),
        ("bfloat_tall", (32, 8, 16), "bfloat", "float", ("row", "col")),
        ("doubles", (8, 8, 4), "double", "double", ("row", "col")),
        ("bytes", (16, 16, 16), "uchar", "int", ("row", "col")),
        ("signed_bytes", (32, 8, 16), "schar", "int", ("col", "row")),
        ("tf32", (16, 16, 8), "float", "float", ("row", "col")),
    ],
)
def test_a_tile_of_two_steps_is_the_product(
    name: str, size: tuple[int, int, int], kind: str, sum_kind: str, layouts: tuple[str, str]
) -> None:
    """d = a b + c, with a loop over k, for each type and shape."""
    m, n, k = size
    random = np.random.default_rng(5)
    low, high = {"uchar": (0, 256), "schar": (-128, 128)}.get(kind, (-5, 6))
    a, b = random.integers(low, high, (m, 2 * k)), random.integers(low, high, (2 * k, n))
    c = random.integers(-20, 20, (m, n))
    dtype = np.dtype(DTYPES[sum_kind])
    factors = memory(a, kind, layouts[0]), memory(b, kind, layouts[1])
    found = launched(name, factors[0], factors[1], c.astype(dtype), dtype, m * n)
    np.testing.assert_array_equal(found.reshape(m, n), (a @ b + c).astype(dtype))


def test_tf32_is_rounded_before() -> None:
    """`__float_to_tf32` leaves ten bits of the fraction, ties away from zero."""
    a = np.eye(16, dtype=np.float32)
    b = np.arange(256, dtype=np.float32).reshape(16, 16) / 3 + 1 + 2.0**-11
    found = launched("tf32", a, np.ascontiguousarray(b.T), np.zeros(256, np.float32), np.float32, 256)
    bits = (b.view(np.uint32) + 0x1000) & 0xFFFFE000
    np.testing.assert_array_equal(found.reshape(16, 16), bits.view(np.float32))


def test_four_bits() -> None:
    """Two s4 to a byte, the low one first; the first step saturates."""
    random = np.random.default_rng(6)
    a, b = random.integers(-8, 8, (8, 64)), random.integers(-8, 8, (64, 8))
    c = np.where(random.integers(0, 2, (8, 8)), (1 << 31) - 1, random.integers(-100, 100, (8, 8)))
    packed = [(each[:, ::2] & 15 | (each[:, 1::2] & 15) << 4).astype(np.uint8) for each in (a, b.T)]
    found = launched("nibbles", packed[0], packed[1], c.astype(np.int32), np.int32, 64)
    first = np.minimum(a[:, :32] @ b[:32] + c, (1 << 31) - 1)
    wanted = (first + a[:, 32:] @ b[32:]).astype(np.int32)
    np.testing.assert_array_equal(found.reshape(8, 8), wanted)


def test_single_bits() -> None:
    """Bits that differ, and bits that both are set, are counted."""
    random = np.random.default_rng(7)
    a, b = random.integers(0, 2, (8, 128)), random.integers(0, 2, (128, 8))
    c = random.integers(-100, 100, (8, 8))
    packed = [np.packbits(each.astype(np.uint8), axis=1, bitorder="little") for each in (a, b.T)]
    found = launched("single_bits", packed[0], packed[1], c.astype(np.int32), np.int32, 128).reshape(2, 8, 8)
    np.testing.assert_array_equal(found[0], (a[:, :, None] ^ b[None]).sum(axis=1) + c)
    np.testing.assert_array_equal(found[1], a @ b)


def test_tiles_through_shared_memory_and_work_on_fragments() -> None:
    """max(2 a b + c, 0) of 64 × 64, by four blocks of four warps: elements of fragments belong together."""
    random = np.random.default_rng(8)
    a, b = random.integers(-4, 5, (64, 64)), random.integers(-4, 5, (64, 64))
    c = random.integers(-99, 99, (64, 64))
    session = Session(PTX)
    given = [("a", a.astype("f2")), ("b", b.astype("f2")), ("c", c.astype("f4")), ("d", np.zeros(4096, "f4"))]
    session.launch(*[session.buffer(*pair) for pair in given], grid=(2, 2), block=(128,), name="shared_tiles")
    np.testing.assert_array_equal(session.values("d", "f4").reshape(64, 64), np.maximum(2 * (a @ b) + c, 0))
