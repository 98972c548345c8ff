"""Boxes of shared memory that are stored into tensors, or combined with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.copies import Array, Place, bits, stored, swizzled


def combined(tensor: Array, place: Place, given: Array, combine: Any) -> Array:
    """The same by a formula."""
    expected = tensor.copy()
    for index in np.ndindex(*given.shape):
        at = tuple(a + b for a, b in zip(place, index, strict=True))
        if all(0 <= a < n for a, n in zip(at, tensor.shape, strict=True)):
            expected[at] = combine(expected[at], given[index])
    return expected


@pytest.mark.parametrize("place", [(0, 0), (13, 32), (-3, -4)])
def test_boxes_go_back(place: Place) -> None:
    """What of a box is inside the tensor is stored; the rest is left out."""
    tensor, given = bits((20, 36), np.uint32, 8), bits((8, 16), np.uint32, 9)
    found = stored(tensor, 2, place, swizzled(given, 64).view(np.uint32).reshape(8, 16), swizzle_mode=2)
    np.testing.assert_array_equal(found, combined(tensor, place, given, lambda old, new: new))


def test_boxes_of_three_axes_go_back() -> None:
    """A box of a batch, across the sides of its tensor."""
    tensor, given = bits((3, 7, 24), np.uint16, 10), bits((2, 4, 16), np.uint16, 11)
    found = stored(tensor, 1, (2, -1, 16), given)
    np.testing.assert_array_equal(found, combined(tensor, (2, -1, 16), given, lambda old, new: new))


OPERATIONS: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "inc": lambda old, new: 0 if old >= new else old + 1,
    "dec": lambda old, new: new if old == 0 or old > new else old - 1,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
WHOLE = {2: np.uint32, 3: np.int32, 4: np.uint64, 5: np.int64}
REDUCED = [("add", 2), ("add", 3), ("add", 4), ("inc", 2), ("dec", 2)]
REDUCED += [(op, kind) for op in ("min", "max", "and", "or", "xor") for kind in WHOLE]


@pytest.mark.parametrize(("op", "kind"), REDUCED)
def test_boxes_of_integers_are_combined(op: str, kind: int) -> None:
    """Each operation with the integers that it takes, across a corner of the tensor."""
    tensor, given = bits((9, 16), WHOLE[kind], 12), bits((4, 8), WHOLE[kind], 13)
    if op in ("inc", "dec"):
        tensor, given = tensor % 5, given % 5
    with np.errstate(over="ignore"):
        expected = combined(tensor, (7, -4), given, OPERATIONS[op])
    np.testing.assert_array_equal(stored(tensor, kind, (7, -4), given, op), expected)


@pytest.mark.parametrize(
    ("op", "kind", "dtype"),
    [
        ("add", 6, np.float16),
        ("add", 7, np.float32),
        ("add", 9, np.float64),
        ("min", 6, np.float16),
        ("max", 6, np.float16),
    ],
)
def test_boxes_of_floats_are_combined(op: str, kind: int, dtype: Any) -> None:
    """Sums are rounded once; subnormal halves stay."""
    rng = np.random.default_rng(14)
    tensor, given = rng.standard_normal((9, 16)).astype(dtype), rng.standard_normal((4, 8)).astype(dtype)
    if dtype is np.float16:
        tensor[:2], given[:2] = tensor[:2] * np.float16(2**-14), given[:2] * np.float16(2**-14)
    expected = combined(tensor, (-1, 8), given, OPERATIONS[op])
    np.testing.assert_array_equal(stored(tensor, kind, (-1, 8), given, op), expected)


@pytest.mark.parametrize(("kind", "kept"), [(7, 1), (8, 0)])
def test_sums_of_subnormals(kind: int, kept: int) -> None:
    """They stay what they are, or are zero where the map's elements are f32 that is flushed."""
    tensor, given = (
        (bits(shape, np.uint32, seed) & 0x007FFFFF).view(np.float32)
        for shape, seed in (((9, 16), 16), ((4, 8), 17))
    )
    expected = combined(tensor, (2, 8), given, lambda old, new: (old + new) * np.float32(kept))
    np.testing.assert_array_equal(stored(tensor, kind, (2, 8), given, "add"), expected)


@pytest.mark.parametrize("op", ["add", "min", "max"])
def test_boxes_of_bf16_are_combined(op: str) -> None:
    """The upper halves of f32, sums rounded to nearest, ties to even."""
    rng = np.random.default_rng(15)
    tensor, given = (
        (rng.standard_normal(shape, np.float32).view(np.uint32) >> 16).astype(np.uint16)
        for shape in ((9, 16), (4, 8))
    )

    def combine(old: Any, new: Any) -> Any:
        wide = [np.uint32(int(half) << 16).view(np.float32) for half in (old, new)]
        number = int(np.float32(OPERATIONS[op](*wide)).view(np.uint32))
        return np.uint16((number + 0x7FFF + (number >> 16 & 1)) >> 16)

    expected = combined(tensor, (2, 8), given, combine)
    np.testing.assert_array_equal(stored(tensor, 10, (2, 8), given, op), expected)


@pytest.mark.parametrize(
    ("op", "kind", "message"),
    [
        ("add", 5, "reduces a tensor of s64 by .add, which takes bf16, f16, f32, f64, s32, u32, u64"),
        ("min", 7, "reduces a tensor of f32 by .min"),
        ("inc", 4, "reduces a tensor of u64 by .inc, which takes u32"),
        ("xor", 6, "reduces a tensor of f16 by .xor"),
        ("max", 1, "reduces a tensor of u16 by .max, which takes bf16, f16, s32, s64, u32, u64"),
    ],
)
def test_reductions_of_other_types_are_refused(op: str, kind: int, message: str) -> None:
    """The map's elements must be of a type that the operation takes."""
    size = {1: 2, 4: 8, 5: 8, 6: 2, 7: 4}[kind]
    with pytest.raises(LaunchError) as caught:
        stored(bits((9, 16), f"u{size}", 1), kind, (0, 0), bits((4, 8), f"u{size}", 2), op)
    assert message in str(caught.value)
