"""wgmma in all types, layouts and swizzles, against products in numpy that are exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tests.emulator.warpgroups import (
    B_START,
    BYTES,
    GROUP,
    RANGES,
    SIZE,
    Array,
    Factor,
    address,
    braced,
    encoded,
    factor_places,
    launched,
    matrix_of,
    numbers,
    registers_of,
    sum_places,
    text_of,
)


@dataclass
class Case:
    """A use of wgmma with a product that is known."""

    n: int
    a: str
    b: str
    d: str
    left: Factor | None = None  # None: in registers
    right: Factor | None = None
    signs: tuple[int, int] = (1, 1)
    scaled: str = "1"
    seed: int = 0

    @property
    def depth(self) -> int:
        return 256 if self.a == "b1" else 32 // BYTES[self.a]

    def run(self) -> tuple[Array, Array]:
        """What d is, and what it must be."""
        rng = np.random.default_rng(self.seed)
        left, right = numbers(rng, self.a, 64, self.depth), numbers(rng, self.b, self.n, self.depth)
        before = numbers(rng, self.d, 64, self.n)
        image = rng.integers(0, 256, SIZE, dtype=np.uint8)
        lines = []
        if self.left is not None:
            lines.append(address(self.left.fill(image, 0, encoded(left, self.a)), "%d4"))
        right_factor = self.right or Factor()
        lines.append(address(right_factor.fill(image, B_START, encoded(right, self.b)), "%d5"))
        dtype = {"f16": np.float16, "f32": np.float32, "s32": np.int32}[self.d]
        given = registers_of(before.astype(dtype), 4 // np.dtype(dtype).itemsize, sum_places)
        count = len(given)
        a = "%d4"
        if self.left is None:
            elements = encoded(left, self.a)
            if self.a == "b1":
                elements = elements.view(np.uint32)
            held = registers_of(elements, 4 // elements.itemsize, factor_places)
            given = np.concatenate([given, held])
            a = braced(count, 4)
        operands = [braced(0, count), a, "%d5", self.scaled]
        if self.a not in RANGES:
            operands += [str(sign) for sign in self.signs]
        if self.a in ("f16", "bf16"):
            operands += [str(int(each.transposed)) for each in (self.left, right_factor) if each]
        types = f"{self.d}.{self.a}.{self.b}" + (".and.popc" if self.a == "b1" else "")
        name = f"wgmma.mma_async.sync.aligned.m64n{self.n}k{self.depth}.{types}"
        text = text_of(name, ", ".join(operands), len(given), before="\n".join(lines))
        found = launched(text, image, given[None])[0, :count]
        expected = left @ right.T * self.signs[0] * self.signs[1]
        if self.scaled in ("1", "%p1", "!%p2"):
            expected = expected + before
        return matrix_of(found, self.n, dtype), expected


TYPES = [
    ("f16", "f16", "f32"),
    ("f16", "f16", "f16"),
    ("bf16", "bf16", "f32"),
    ("tf32", "tf32", "f32"),
    *((a, b, d) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for d in ("f16", "f32")),
    *((a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")),
    ("b1", "b1", "s32"),
]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("a", "b", "d"), TYPES)
def test_types(a: str, b: str, d: str, held: bool) -> None:
    """Every type out of shared memory and registers gives the product in numpy."""
    for n in (8, 24, 256):
        found, expected = Case(n, a, b, d, None if held else Factor(), Factor(), seed=n).run()
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_widths(n: int) -> None:
    """n is any multiple of 8."""
    found, expected = Case(n, "f16", "f16", "f32", Factor(), Factor(), seed=n).run()
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("swizzle", range(4))
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_layouts(swizzle: int, turned: tuple[bool, bool]) -> None:
    """Every swizzle, with both factors along k or along their own side."""
    left, right = Factor(swizzle, turned[0]), Factor(swizzle, turned[1])
    for n in (64, 128, 24):
        found, expected = Case(n, "bf16", "bf16", "f32", left, right, seed=n).run()
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("kind", ["tf32", "e4m3", "s8", "b1"])
@pytest.mark.parametrize("swizzle", [1, 2, 3])
def test_swizzles(kind: str, swizzle: int) -> None:
    """Swizzles exchange chunks of bytes, whatever the elements are."""
    d = "s32" if kind in RANGES else "f32"
    found, expected = Case(32, kind, kind, d, Factor(swizzle), Factor(swizzle), seed=swizzle).run()
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("shift", [128, 384, 640])
def test_base_offset(shift: int) -> None:
    """Where the swizzle's pattern does not begin at its own alignment, the descriptor tells where."""
    found, expected = Case(32, "f16", "f16", "f32", Factor(1, shift=shift), Factor(1, shift=shift)).run()
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("scaled", ["0", "1", "%p1", "%p2", "!%p1", "!%p2"])
def test_scale_d(scaled: str) -> None:
    """scale-d tells whether d is added to, as a constant or a predicate."""
    found, expected = Case(16, "f16", "f16", "f32", Factor(), Factor(), scaled=scaled).run()
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("signs", [(-1, 1), (1, -1), (-1, -1)])
@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32", "e4m3", "e5m2"])
def test_signs(kind: str, signs: tuple[int, int]) -> None:
    """Either factor may be negated."""
    for left in (None, Factor()):
        found, expected = Case(16, kind, kind, "f32", left, Factor(), signs=signs).run()
        assert np.array_equal(found, expected)


def test_nan_is_not_added_to() -> None:
    """Where a predicate says that d is not added to, its NaNs do not matter."""
    image = np.zeros(SIZE, np.uint8)
    given = np.full((1, 4, GROUP), 0x7FC00000, np.uint32)
    text = text_of(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", f"{braced(0, 4)}, %s, %s, %p2, 1, 1, 0, 0", 4
    )
    assert not launched(text, image, given).any()


def test_satfinite() -> None:
    """.satfinite stops at the ends of s32, without it sums wrap."""
    image = np.full(SIZE, 127, np.uint8)
    given = np.full((1, 4, GROUP), 0x7FFFFFF0, np.uint32)
    for modifier, expected in ((".satfinite", 0x7FFFFFFF), ("", (0x7FFFFFF0 + 32 * 127 * 127) & 0xFFFFFFFF)):
        name = f"wgmma.mma_async.sync.aligned.m64n8k32{modifier}.s32.s8.s8"
        text = text_of(name, f"{braced(0, 4)}, %s, %s, 1", 4)
        assert (launched(text, image, given) == expected).all()


SPARSE = [("f16", "f16", "f32", 0), ("f16", "f16", "f16", 1), ("bf16", "bf16", "f32", 1)]
SPARSE += [("tf32", "tf32", "f32", 0), ("tf32", "tf32", "f32", 1)]
SPARSE += [("e4m3", "e5m2", "f32", 0), ("e5m2", "e5m2", "f16", 0), ("s8", "u8", "s32", 0)]


def nibbles_of(columns: Array, kind: str) -> Array:
    """Four bits for each group of columns of which some are there."""
    if kind == "tf32":
        return np.where(columns % 2 == 0, 0x4, 0xE)
    pairs = columns.reshape(64, -1, 2) % 4
    return pairs[:, :, 0] | pairs[:, :, 1] << 2


def metadata_of(nibbles: Array, kind: str, selector: int) -> Array:
    """The register of metadata of each lane: where the ISA's figures have the four bits of a group."""
    found = np.zeros(GROUP, np.uint32)
    for row in range(64):
        lane = row // 16 * 32 + row % 8 * 4
        for group, bits in enumerate(nibbles[row].tolist()):
            if BYTES[kind] > 1:
                at, shift = selector * 2 + group // 4, group % 4 * 4 + row % 16 // 8 * 16
            else:
                at, shift = group // 8 * 2 + row % 16 // 8, group % 8 * 4
            found[lane + at] |= np.uint32(bits << shift)
    return found


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("a", "b", "d", "selector"), SPARSE)
def test_sparse(a: str, b: str, d: str, selector: int, held: bool) -> None:
    """A sparse factor meets the rows of b that the metadata names."""
    rng = np.random.default_rng(selector)
    n, depth = 16, 64 // BYTES[a]
    left, right = numbers(rng, a, 64, depth // 2), numbers(rng, b, n, depth)
    if a == "tf32":
        columns = np.arange(0, depth, 2) + rng.integers(0, 2, (64, depth // 2))
    else:
        choices = np.array([(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)])
        pairs = choices[rng.integers(0, 6, (64, depth // 4))] + np.arange(0, depth, 4)[:, None]
        columns = pairs.reshape(64, -1)
    dense = np.zeros((64, depth), np.int64)
    np.put_along_axis(dense, columns, left, axis=1)
    image = np.zeros(SIZE, np.uint8)
    dtype = {"f16": np.float16, "f32": np.float32, "s32": np.int32}[d]
    count = n * np.dtype(dtype).itemsize // 8
    lines = [address(Factor(1).fill(image, B_START, encoded(right, b)), "%d5")]
    given = [np.zeros((count, GROUP), np.uint32), metadata_of(nibbles_of(columns, a), a, selector)[None]]
    operand = "%d4"
    if held:
        elements = encoded(left, a)
        given.append(registers_of(elements, 4 // elements.itemsize, factor_places))
        operand = braced(count + 1, 4)
    else:
        lines.append(address(Factor(2).fill(image, 0, encoded(left, a)), "%d4"))
    operands = [braced(0, count), operand, "%d5", f"%w{count}", str(selector), "1"]
    operands += ["1", "1"] if a not in RANGES else []
    operands += ["0"] * (1 if held else 2) if a in ("f16", "bf16") else []
    name = f"wgmma.mma_async.sp.sync.aligned.m64n{n}k{depth}.{d}.{a}.{b}"
    registers = np.concatenate(given)
    text = text_of(name, ", ".join(operands), len(registers), before="\n".join(lines))
    found = launched(text, image, registers[None])[0, :count]
    assert np.array_equal(matrix_of(found, n, dtype), dense @ right.T)
