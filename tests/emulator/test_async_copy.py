"""cp.async: what is copied, when it is seen, and what is zeroed."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError, UnsupportedError
from tests.emulator.harness import INDEX, Session, entry, store

SHARED = ".shared .align 16 .b8 sm[4096];\n"
PARAMS = ".param .u64 out, .param .u64 from, .param .u64 amounts"
ADDRESSES = """
ld.param.u64 %d1, [from]; mul.wide.u32 %d2, %r79, {size}; add.u64 %d1, %d1, %d2;
ld.param.u64 %d5, [amounts]; mul.wide.u32 %d6, %r79, 4; add.u64 %d5, %d5, %d6; ld.global.u32 %r7, [%d5];
mov.u32 %r1, sm; mad.lo.u32 %r1, %r76, {size}, %r1;
"""
RESULT = """
mul.wide.u32 %d3, %r79, 16; add.u64 %d3, %out, %d3; mov.u32 %r2, sm;
shl.b32 %r3, %r76, 4; add.u32 %r2, %r2, %r3;
ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2]; st.global.v4.u32 [%d3], {%r10, %r11, %r12, %r13};
"""
THREADS, BLOCKS = 64, 3


def launch(body: str, source: np.ndarray, amounts: np.ndarray, *, size: int = 16) -> np.ndarray:
    """What the blocks leave of `sm` (16 bytes a thread) in `out`."""
    text = entry(INDEX + ADDRESSES.format(size=size) + body + RESULT, params=PARAMS, before=SHARED)
    session = Session(text)
    out = session.buffer("out", np.zeros(THREADS * BLOCKS * 16, np.uint8))
    session.launch(
        out,
        session.buffer("from", source),
        session.buffer("amounts", amounts.astype(np.uint32)),
        grid=(BLOCKS,),
        block=(THREADS,),
    )
    return session.values("out", np.uint8).reshape(BLOCKS, -1)


@pytest.fixture
def source() -> np.ndarray:
    """Bytes to copy, 16 a thread."""
    return np.random.default_rng(1).integers(0, 200, THREADS * BLOCKS * 16, dtype=np.uint8)


NOTHING = np.zeros(THREADS * BLOCKS)
WAIT = "cp.async.wait_all; bar.sync 0;"


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("space", ["shared", "shared::cta"])
@pytest.mark.parametrize("more", ["", ".L2::64B", ".L2::128B", ".L2::256B"])
def test_copies_of_each_size_arrive(source: np.ndarray, size: int, space: str, more: str) -> None:
    """Each lane's 4, 8 or 16 bytes are in shared memory after the wait."""
    got = launch(f"cp.async.ca.{space}.global{more} [%r1], [%d1], {size};" + WAIT, source, NOTHING, size=size)
    each = THREADS * size
    for block in range(BLOCKS):
        np.testing.assert_array_equal(got[block, :each], source[block * each : (block + 1) * each])


@pytest.mark.parametrize(
    "copy",
    [
        "cp.async.cg.shared.global [%r1], [%d1], 16;",
        "cp.async.cg.shared.global.L2::cache_hint [%r1], [%d1], 16, %d9;",
        "cp.async.cg.shared.global.L2::cache_hint.L2::256B [%r1], [%d1], 16, 16, %d9;",
        "setp.eq.u32 %p1, %r7, 1; cp.async.ca.shared.global [%r1], [%d1], 16, %p1;",
        "setp.ne.u32 %p1, %r7, 1; cp.async.ca.shared.global [%r1], [%d1], 16, !%p1;",
        "setp.eq.u32 %p1, %r7, 1; cp.async.ca.shared.global.L2::cache_hint [%r1], [%d1], 16, %p1, %d9;",
    ],
)
def test_hints_change_nothing(source: np.ndarray, copy: str) -> None:
    """A cache operator, a policy, and a predicate that is false leave the copy as it is."""
    got = launch("mov.b64 %d9, 0;" + copy + WAIT, source, NOTHING)
    np.testing.assert_array_equal(got.reshape(-1), source)


@pytest.mark.parametrize("size", [4, 8, 16])
def test_bytes_beyond_the_source_size_are_zero(source: np.ndarray, size: int) -> None:
    """Of each copy the first `src-size` bytes are read, a size each lane; the rest becomes zero."""
    amounts = np.random.default_rng(2).integers(0, size + 1, THREADS * BLOCKS)
    got = launch(f"cp.async.ca.shared.global [%r1], [%d1], {size}, %r7;" + WAIT, source, amounts, size=size)
    each = THREADS * size
    wanted = source[: BLOCKS * each].reshape(-1, size) * (np.arange(size) < amounts[:, None])
    np.testing.assert_array_equal(got[:, :each], wanted.reshape(BLOCKS, each))


@pytest.mark.parametrize(("amount", "kept"), [("0", 0), ("3", 3), ("16", 16)])
def test_a_constant_source_size(source: np.ndarray, amount: str, kept: int) -> None:
    """The size may be the same for all lanes."""
    got = launch(f"cp.async.ca.shared.global [%r1], [%d1], 16, {amount};" + WAIT, source, NOTHING)
    wanted = source.reshape(-1, 16) * (np.arange(16) < kept)
    np.testing.assert_array_equal(got.reshape(-1, 16), wanted)


def test_a_source_that_is_ignored_may_be_anywhere(source: np.ndarray) -> None:
    """Lanes that ignore their source, or read 0 bytes of it, write zeros and touch no source."""
    amounts = np.arange(THREADS * BLOCKS) % 3
    body = """
    setp.eq.u32 %p1, %r7, 1; setp.eq.u32 %p2, %r7, 2; mov.b64 %d9, 8;
    @%p1 mov.b64 %d1, 0; @%p2 mov.b64 %d1, 16; selp.b32 %r8, 0, 16, %p2;
    @!%p2 cp.async.ca.shared.global [%r1], [%d1], 16, %p1;
    @%p2 cp.async.ca.shared.global [%r1], [%d1], 16, %r8;
    """
    got = launch(body + WAIT, source, amounts)
    wanted = source.reshape(-1, 16) * (amounts == 0)[:, None]
    np.testing.assert_array_equal(got.reshape(-1, 16), wanted)


def test_a_forgotten_wait_shows_what_was_there_before(source: np.ndarray) -> None:
    """Without a wait nothing has been copied yet: a barrier is none."""
    body = """
    mov.b32 %r4, 0; st.shared.v4.u32 [%r1], {%r4, %r4, %r4, %r4}; bar.sync 0;
    cp.async.ca.shared.global [%r1], [%d1], 16; cp.async.commit_group; bar.sync 0;
    """
    assert not launch(body, source, NOTHING).any()


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_wait_group_leaves_the_last_groups(source: np.ndarray, left: int) -> None:
    """Of three groups of 4 bytes, and 4 bytes in none, all but the last `left` groups are there."""
    copies = "".join(
        f"cp.async.ca.shared.global [%r1+{4 * k}], [%d1+{4 * k}], 4;" + ("cp.async.commit_group;" * (k < 3))
        for k in range(4)
    )
    body = "mov.b32 %r4, 0; st.shared.v4.u32 [%r1], {%r4, %r4, %r4, %r4};" + copies
    got = launch(body + f"cp.async.wait_group {left}; bar.sync 0;", source, NOTHING)
    wanted = source.reshape(-1, 16) * (np.arange(16) < 4 * (3 - left))
    np.testing.assert_array_equal(got.reshape(-1, 16), wanted)


def test_each_lane_counts_its_own_groups(source: np.ndarray) -> None:
    """Lanes that committed one group more than others wait for that one too, or not."""
    amounts = np.arange(THREADS * BLOCKS) % 2
    body = """
    mov.b32 %r4, 0; st.shared.v4.u32 [%r1], {%r4, %r4, %r4, %r4}; setp.eq.u32 %p1, %r7, 1;
    cp.async.ca.shared.global [%r1], [%d1], 4; cp.async.commit_group;
    @!%p1 bra ON;
    cp.async.ca.shared.global [%r1+4], [%d1+4], 4; cp.async.commit_group;
    ON: cp.async.wait_group 1; bar.sync 0;
    """
    got = launch(body, source, amounts)
    wanted = source.reshape(-1, 16) * (np.arange(16) < 4 * amounts[:, None])
    np.testing.assert_array_equal(got.reshape(-1, 16), wanted)


def test_a_wait_covers_the_waiting_lanes_alone(source: np.ndarray) -> None:
    """What other lanes copied stays under way."""
    amounts = np.arange(THREADS * BLOCKS) % 5 == 0
    body = """
    mov.b32 %r4, 0; st.shared.v4.u32 [%r1], {%r4, %r4, %r4, %r4}; setp.eq.u32 %p1, %r7, 1;
    cp.async.cg.shared.global [%r1], [%d1], 16; cp.async.commit_group;
    @%p1 cp.async.wait_group 0;
    bar.sync 0;
    """
    got = launch(body, source, amounts)
    np.testing.assert_array_equal(got.reshape(-1, 16), source.reshape(-1, 16) * amounts[:, None])


def test_copies_in_a_loop_with_scattered_addresses(source: np.ndarray) -> None:
    """A lane may copy from anywhere to anywhere in its block, again and again."""
    order = np.random.default_rng(3).permutation(THREADS * BLOCKS)
    body = """
    mov.u32 %r20, 0; ld.param.u64 %d1, [from]; mul.wide.u32 %d2, %r7, 16; add.u64 %d1, %d1, %d2;
    LOOP: cp.async.cg.shared.global [%r1], [%d1], 16; cp.async.commit_group; cp.async.wait_group 1;
    add.u32 %r20, %r20, 1; setp.lt.u32 %p1, %r20, %r76; @%p1 bra LOOP;
    """
    got = launch(body + WAIT, source, order)
    np.testing.assert_array_equal(got.reshape(-1, 16), source.reshape(-1, 16)[order])


@pytest.mark.parametrize(
    ("copy", "said"),
    [
        ("add.u64 %d1, %d1, 4; cp.async.cg.shared.global [%r1], [%d1], 16;", "misaligned"),
        ("add.u32 %r1, %r1, 8; cp.async.cg.shared.global [%r1], [%d1], 16;", "misaligned"),
        ("add.u64 %d1, %d1, 64; cp.async.cg.shared.global [%r1], [%d1], 16;", "out of bounds"),
        ("add.u32 %r1, %r1, 4080; cp.async.cg.shared.global [%r1], [%d1], 16;", "out of bounds"),
    ],
)
def test_addresses_are_checked_where_the_copy_begins(source: np.ndarray, copy: str, said: str) -> None:
    """A misaligned or foreign address is a fault of the copy, waited for or not."""
    with pytest.raises(LaunchError, match=said):
        launch(copy, source, NOTHING)


@pytest.mark.parametrize(
    "copy", ["cp.async.cg.shared.global [%r1], [%d1], 8", "cp.async.ca.shared.global [%r1], [%d1], 3"]
)
def test_sizes_that_there_are_not(copy: str) -> None:
    """Copies are of 4, 8 or 16 bytes, `.cg` of 16."""
    with pytest.raises(UnsupportedError, match=r"not (16|4 or 8 or 16)$"):
        Session(entry(copy + ";")).launch(0)


@pytest.mark.parametrize("place", ["%r2", "box+16"])
@pytest.mark.parametrize("size", [4, 16])
def test_lanes_that_copy_to_one_place(place: str, size: int) -> None:
    """The place is the same for all lanes; so are the bytes, which come from many places."""
    kind = "cg" if size == 16 else "ca"
    body = f"""mov.u32 %r2, box; add.u32 %r2, %r2, 16; mul.wide.u32 %d1, %r76, 16; add.u64 %d1, %d1, %out;
    cp.async.{kind}.shared.global [{place}], [%d1], {size}; cp.async.wait_all; bar.sync 0;
    ld.shared.u32 %r1, [box+16]; add.u32 %r1, %r1, %r76; bar.sync 0; """
    session = Session(entry(INDEX + body + store("%r1"), before=".shared .align 16 .b8 box[64];"))
    out = session.buffer("out", np.full(128, 7, np.uint32))
    session.launch(out, block=(32,))
    np.testing.assert_array_equal(session.values("out", np.uint32)[:32], 7 + np.arange(32))
