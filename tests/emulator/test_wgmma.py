"""wgmma in all types, layouts and swizzles, against products in numpy that are exact, and what it refuses."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from teenycuda_cli.driver.assembly.assembler import assemble
from teenycuda_cli.errors import LaunchError, UnsupportedError
from tests.emulator.harness import Session

Array = NDArray[Any]
GROUP = 128
SIZE = 24 << 10
B_START = 8 << 10
BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1, "b1": 0, "f32": 4, "s32": 4}
RANGES = {"s8": (-128, 128), "u8": (0, 256), "b1": (0, 2), "s32": (-(1 << 30), 1 << 30)}
WIDTH = {0: 16, 1: 128, 2: 64, 3: 32}
"""Bytes of a swizzle by its number in a descriptor."""


def encoded(values: Array, kind: str) -> Array:
    """Whole numbers as elements of a type, by their bits."""
    if kind == "b1":
        return np.packbits(values.astype(np.uint8), axis=-1, bitorder="little")
    if kind in ("bf16", "e5m2"):  # the upper half of a larger float
        larger, half = (np.float32, np.uint16) if kind == "bf16" else (np.float16, np.uint8)
        return values.astype(larger).view(half).reshape(*values.shape, 2)[..., 1]
    if kind == "e4m3":
        halves = values.astype(np.float16).view(np.uint16).astype(np.int64)
        code = ((halves & 0x7FFF) >> 7) - (8 << 3)
        return np.where(values == 0, 0, code | (halves >> 8 & 0x80)).astype(np.uint8)
    names = {"f16": "f2", "tf32": "f4", "f32": "f4", "s32": "i4", "s8": "i1", "u8": "u1"}
    return values.astype(names[kind])


def numbers(rng: np.random.Generator, kind: str, *shape: int) -> Array:
    """Whole numbers that every sum of products of which is exact in all types."""
    low, high = RANGES.get(kind, (-2, 3))
    return rng.integers(low, high, shape)


def place(
    image: Array, start: int, rows: Array, swizzle: int, leading: int, stride: int, base: int = 0
) -> None:
    """Put lines of bytes, (lines, bytes), where a descriptor of that start and these offsets has them."""
    width = WIDTH[swizzle]
    for line, values in enumerate(rows):
        for chunk, part in enumerate(values.reshape(-1, 16)):
            at = start + line // 8 * stride + line % 8 * width
            at += chunk * 16 // width * leading + chunk * 16 % width
            at ^= ((at >> 7) - base) % (width // 16) << 4
            image[at : at + 16] = part


def descriptor(leading: int, stride: int, swizzle: int, base: int = 0) -> int:
    """All but the start address."""
    return leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62


@dataclass
class Factor:
    """A factor in shared memory: how it lies there."""

    swizzle: int = 0
    transposed: bool = False
    shift: int = 0

    def fill(self, image: Array, start: int, elements: Array) -> int:
        """Put a matrix, (side, depth), into memory; the descriptor but for the memory's own address."""
        width = WIDTH[self.swizzle]
        lines = np.ascontiguousarray(elements.T if self.transposed else elements)
        rows = lines.view(np.uint8).reshape(len(lines), -1)
        leading, stride = 128, 272
        if self.swizzle:
            leading, stride = len(lines) * width, 8 * width
        first, second = (stride, leading) if self.transposed and not self.swizzle else (leading, stride)
        base = self.shift // 128 % 8
        place(image, start + self.shift, rows, self.swizzle, first, second, base)
        return descriptor(leading, stride, self.swizzle, base) | (start + self.shift) >> 4


def text_of(
    name: str, operands: str, registers: int, more: str = "", before: str = "", threads: int = GROUP
) -> str:
    """A kernel `k(image, given, out)`: shared memory filled, registers of each lane read, all of d written."""
    names = [f"%w{number}" for number in range(registers)]
    loads = "\n".join(f"ld.global.b32 {each}, [%g+{number * 512}];" for number, each in enumerate(names))
    stores = "\n".join(f"st.global.b32 [%o+{number * 512}], {each};" for number, each in enumerate(names))
    return f"""
.version 8.7
.target sm_90a
.address_size 64
.shared .align 1024 .b8 s[{SIZE}];
.visible .entry k(.param .u64 image, .param .u64 given, .param .u64 out)
{{
.reg .pred %p<9>; .reg .b32 %w<200>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .b64 %i, %g, %o, %s;
ld.param.u64 %i, [image]; ld.param.u64 %g, [given]; ld.param.u64 %o, [out];
mov.u32 %r1, %tid.x; mov.u32 %r9, s; shr.u32 %r9, %r9, 4; cvt.u64.u32 %s, %r9;
mov.u32 %r2, %r1;
FILL: mul.wide.u32 %d1, %r2, 16; add.u64 %d2, %i, %d1; mov.u64 %d3, s; add.u64 %d3, %d3, %d1;
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d2]; st.shared.v4.b32 [%d3], {{%r4, %r5, %r6, %r7}};
add.u32 %r2, %r2, {threads}; setp.lt.u32 %p1, %r2, {SIZE // 16}; @%p1 bra FILL;
fence.proxy.async.shared::cta; bar.sync 0;
shr.u32 %r3, %r1, 7; and.b32 %r2, %r1, 127;
mul.wide.u32 %d1, %r3, {512 * registers}; add.u64 %g, %g, %d1; add.u64 %o, %o, %d1;
mul.wide.u32 %d1, %r2, 4; add.u64 %g, %g, %d1; add.u64 %o, %o, %d1;
{loads}
setp.lt.u32 %p1, %r1, 4096; setp.gt.u32 %p2, %r1, 4096;
{before}
wgmma.fence.sync.aligned;
{name} {operands};
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
{stores}
{more}
ret;
}}
"""


def launched(text: str, image: Array, given: Array, groups: int = 1, threads: int = 0) -> Array:
    """What the kernel leaves of its registers, (warpgroups, registers, 128), by their bits."""
    assert assemble(text.encode(), arch="sm_90a").ok
    session = Session(text)
    out = session.buffer("out", np.zeros(given.shape, np.uint32))
    session.launch(
        session.buffer("image", image),
        session.buffer("given", given),
        out,
        block=(threads or GROUP * groups,),
    )
    return session.values("out", np.uint32).reshape(given.shape)


LANE = np.arange(GROUP)


def sum_places(register: int, part: int, parts: int) -> tuple[Array, Array]:
    """Row and column of d that a part of a register of each lane of a warpgroup is."""
    pair, low = divmod(register * parts + part, 2)
    tile, upper = divmod(pair, 2)
    return LANE // 32 * 16 + upper * 8 + LANE % 32 // 4, tile * 8 + LANE % 4 * 2 + low


def factor_places(register: int, part: int, parts: int) -> tuple[Array, Array]:
    """The same of a in registers."""
    column, upper = divmod(register, 2)
    return LANE // 32 * 16 + upper * 8 + LANE % 32 // 4, column * 4 * parts + LANE % 4 * parts + part


def registers_of(elements: Array, parts: int, places: Any) -> Array:
    """A matrix of elements as registers, (registers, 128)."""
    count = elements.size // GROUP // parts
    found = np.empty((count, GROUP, parts), elements.dtype)
    for register in range(count):
        for part in range(parts):
            found[register, :, part] = elements[places(register, part, parts)]
    return found.view(np.uint32).reshape(count, GROUP)


def matrix_of(registers: Array, n: int, dtype: Any) -> Array:
    """Registers of d as a matrix."""
    parts = 4 // np.dtype(dtype).itemsize
    values = np.ascontiguousarray(registers).view(dtype).reshape(len(registers), GROUP, parts)
    found = np.empty((64, n), dtype)
    for register in range(len(registers)):
        for part in range(parts):
            found[sum_places(register, part, parts)] = values[register, :, part]
    return found


def braced(first: int, count: int) -> str:
    return "{" + ", ".join(f"%w{first + number}" for number in range(count)) + "}"


def address(desc: int, register: str) -> str:
    """A descriptor with the address of shared memory added."""
    return f"add.u64 {register}, %s, {desc:#x};"


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


OWN_A = """
mul.wide.u32 %d1, %r3, 128; add.u64 %d4, %s, %d1; add.u64 %d4, %d4, {a:#x};
add.u64 %d5, %s, {b:#x};
"""
ONE = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
OPERANDS = f"{braced(0, 4)}, %d4, %d5, 1, 1, 1, 0, 0"


def two_factors(groups: int) -> tuple[Array, str, Array]:
    """Shared memory with an a, 2048 bytes each, for every warpgroup and one b; its descriptors; the products."""
    rng = np.random.default_rng(groups)
    image = np.zeros(SIZE, np.uint8)
    left, right = numbers(rng, "f16", groups, 64, 16), numbers(rng, "f16", 8, 16)
    lay = [Factor(3).fill(image, 2048 * group, encoded(left[group], "f16")) for group in range(groups)]
    b = Factor(3).fill(image, B_START, encoded(right, "f16"))
    return image, OWN_A.format(a=lay[0], b=b), left @ right.T


def test_two_warpgroups() -> None:
    """Each warpgroup has descriptors of its own."""
    image, before, expected = two_factors(2)
    text = text_of(ONE, OPERANDS, 4, before=before, threads=2 * GROUP)
    found = launched(text, image, np.zeros((2, 4, GROUP), np.uint32), groups=2)
    for group in range(2):
        assert np.array_equal(matrix_of(found[group], 8, np.float32), expected[group])


@pytest.mark.parametrize("threads", [160, 144, 384])
def test_other_warps_need_not_come(threads: int) -> None:
    """Warps beside the warpgroup do other things, or there is but a part of one."""
    image, before, expected = two_factors(1)
    leave = "setp.ge.u32 %p3, %r1, 128; @%p3 bra LAST;"
    text = text_of(ONE, OPERANDS, 4, before=leave + before, more="LAST:", threads=threads)
    found = launched(text, image, np.zeros((3, 4, GROUP), np.uint32), threads=threads)
    assert np.array_equal(matrix_of(found[0], 8, np.float32), expected[0])


def test_warps_come_one_after_the_other() -> None:
    """A product waits for the four warps of its group, which take different ways there."""
    image, before, expected = two_factors(2)
    ways = """
    shr.u32 %r10, %r1, 5; setp.eq.u32 %p4, %r10, 1; @%p4 bra FIRST; setp.eq.u32 %p4, %r10, 6; @%p4 bra SECOND; bra MEET;
    FIRST: mov.u32 %r11, 0; TURN: add.u32 %r11, %r11, 1; setp.lt.u32 %p4, %r11, 50; @%p4 bra TURN; bra MEET;
    SECOND: add.u32 %r11, %r10, 1; bra MEET;
    MEET:
    """
    text = text_of(ONE, OPERANDS, 4, before=before + ways, threads=2 * GROUP)
    found = launched(text, image, np.zeros((2, 4, GROUP), np.uint32), groups=2)
    for group in range(2):
        assert np.array_equal(matrix_of(found[group], 8, np.float32), expected[group])


def refused(before: str, operands: str = OPERANDS, threads: int = GROUP) -> str:
    """What a launch says that must fail."""
    text = text_of(ONE, operands, 4, before=before, more="LAST:", threads=threads)
    with pytest.raises(LaunchError) as error:
        launched(text, np.zeros(SIZE, np.uint8), np.zeros((2, 4, GROUP), np.uint32), threads=threads)
    return "\n".join([str(error.value), *error.value.context])


START = "mov.u64 %d4, %s; mov.u64 %d5, %s;"


@pytest.mark.parametrize(("threads", "told"), [(96, "96 lanes"), (160, "32 lanes")])
def test_part_of_a_warpgroup(threads: int, told: str) -> None:
    """A warpgroup that is not whole is told of."""
    found = refused(START, threads=threads)
    assert f"ran wgmma with {told} of a warpgroup, not all 128" in found
    assert f"by thread ({threads // 128 * 128}, 0, 0) of block (0, 0, 0)" in found
    assert f"at {ONE}" in found


def test_a_warp_that_has_left() -> None:
    """A warpgroup of which a warp has ended is not whole."""
    leave = "setp.ge.u32 %p3, %r1, 96; @%p3 bra LAST;"
    assert "ran wgmma with 96 lanes of a warpgroup, not all 128" in refused(leave + START)


def test_fence_needs_whole_warps() -> None:
    """Fences and groups are for whole warps."""
    leave = "setp.ge.u32 %p3, %r1, 100; @%p3 bra LAST;"
    assert "ran wgmma with 4 lanes of a warp, not all 32" in refused(leave + START)


def test_outside_of_shared_memory() -> None:
    """A descriptor of memory that the block does not have is refused, with the address."""
    found = refused(START + f"add.u64 %d5, %d5, {(SIZE - 16) >> 4};")
    assert f"went out of bounds: a load of 16 bytes in shared memory at offset {SIZE}" in found
    assert "by thread (0, 0, 0) of block (0, 0, 0)" in found
    assert f"a block has {SIZE} bytes of shared memory" in found


def test_different_descriptors() -> None:
    """All lanes of a warpgroup give the same descriptor."""
    found = refused(START + "cvt.u64.u32 %d6, %r1; shr.u64 %d6, %d6, 6; add.u64 %d5, %d5, %d6;")
    assert "lanes of a warpgroup that give another descriptor of b than the first" in found
    assert "by thread (64, 0, 0)" in found


def test_different_scales() -> None:
    """All lanes of a warpgroup say the same of d."""
    operands = OPERANDS.replace("%d5, 1", "%d5, %p5")
    assert "another scale-d than the first" in refused(START + "setp.lt.u32 %p5, %r1, 127;", operands)


@pytest.mark.parametrize(
    ("name", "operands", "told"),
    [
        (ONE, f"{braced(0, 4)}, %d4, %d5, 1, 0, 1, 0, 0", "is 0, not 1 or -1"),
        (ONE, f"{braced(0, 4)}, %d4, %d5, 1, 1, 1, 0, 2", "is 2, not 0 or 1"),
        (ONE, f"{braced(0, 3)}, %d4, %d5, 1, 1, 1, 0, 0", "4 elements"),
        (ONE.replace("f32", "f16"), f"{braced(0, 4)}, %d4, %d5, 1, 1, 1, 0, 0", "2 elements"),
        (ONE.replace("f32.f16.f16", "f16.bf16.bf16"), f"{braced(0, 2)}, %d4, %d5, 1, 1, 1, 0, 0", "not in the form"),
        (ONE.replace("n8k16.f32.f16.f16", "n40k32.s32.s8.s8"), f"{braced(0, 20)}, %d4, %d5, 1", "not in the form"),
        (ONE.replace("n8k16.f32.f16.f16", "n8k32.f32.e4m3.e4m3"), f"{braced(0, 4)}, %d4, %d5, 1, 1, 1, 0, 0", "does not take these operands"),
    ],
)  # fmt: skip
def test_what_it_is_not(name: str, operands: str, told: str) -> None:
    """What the assembler does not take, the emulator names before anything runs."""
    text = text_of(name, operands, 4)
    assert not assemble(text.encode(), arch="sm_90a").ok
    with pytest.raises(UnsupportedError) as error:
        launched_without_assembler(text)
    assert told in "\n".join([str(error.value), *error.value.context])


def launched_without_assembler(text: str) -> None:
    session = Session(text)
    buffers = [session.buffer(name, np.zeros(SIZE, np.uint8)) for name in ("image", "given", "out")]
    session.launch(*buffers, block=(GROUP,))
