"""wgmma and who carries it out: warpgroups that meet, and what it refuses."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.driver.assembly.assembler import assemble
from teenycuda_cli.errors import LaunchError, UnsupportedError
from tests.emulator.harness import Session
from tests.emulator.warpgroups import (
    B_START,
    GROUP,
    SIZE,
    Array,
    Factor,
    braced,
    encoded,
    launched,
    matrix_of,
    numbers,
    text_of,
)

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


def test_a_warp_that_waits_elsewhere() -> None:
    """A warpgroup of which a warp waits for the others at a barrier is stuck, and told of as such."""
    ways = "setp.ge.u32 %p3, %r1, 96; @%p3 bra WAIT; bra MEET; WAIT: bar.sync 1, 64; MEET:"
    found = refused(ways + START)
    assert "is stuck: other lanes of the warpgroup do not come to this instruction" in found


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
