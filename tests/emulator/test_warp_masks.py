"""Lanes of one warp that do the same instruction with different member masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import INDEX, entry, run, store

PARTS = (0x00FF0F0F, 0xFF00F0F0)
LANES = np.arange(32)
MEMBER = np.where((PARTS[0] >> LANES) & 1, PARTS[0], PARTS[1]).astype(np.uint64)
VALUES = LANES * LANES % 13 + 1


def groups() -> Any:
    """Which lanes each lane is together with."""
    return ((MEMBER[:, None] >> LANES.astype(np.uint64)) & np.uint64(1)).astype(bool)


def masks(rows: Any) -> Any:
    """Rows of 32 bools as numbers."""
    return (rows.astype(np.uint64) << LANES.astype(np.uint64)).sum(axis=1).astype(np.uint32)


EQUAL = VALUES[:, None] == VALUES[None, :]
ODD = VALUES % 2 == 1
EXPECTED = {
    "vote.sync.ballot.b32 %r5, %p1, %r1;": masks(groups() & ODD),
    "match.any.sync.b32 %r5, %r2, %r1;": masks(groups() & EQUAL),
    "redux.sync.add.u32 %r5, %r2, %r1;": (groups() * VALUES).sum(axis=1).astype(np.uint32),
    "redux.sync.max.s32 %r5, %r2, %r1;": (groups() * VALUES).max(axis=1).astype(np.uint32),
    "elect.sync %r5|%p2, %r1;": groups().argmax(axis=1).astype(np.uint32),
    "vote.sync.any.pred %p2, %p1, %r1; selp.u32 %r5, 1, 0, %p2;": (groups() & ODD)
    .any(axis=1)
    .astype(np.uint32),
    "vote.sync.all.pred %p2, %p1, %r1; selp.u32 %r5, 1, 0, %p2;": (~groups() | ODD)
    .all(axis=1)
    .astype(np.uint32),
}


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("instruction", EXPECTED)
def test_masks(instruction: str, apart: bool) -> None:
    """Each lane counts the lanes that its own mask names, whether or not the others are there at once."""
    late = "setp.eq.u32 %p5, %r1, 0xff00f0f0; @!%p5 bra GO; mov.u32 %r9, 7; GO: " if apart else ""
    body = f"""
    {INDEX}
    shr.u32 %r3, 0x00ff0f0f, %r79; and.b32 %r3, %r3, 1; setp.ne.u32 %p3, %r3, 0;
    selp.b32 %r1, 0x00ff0f0f, 0xff00f0f0, %p3;
    mul.lo.u32 %r2, %r79, %r79; rem.u32 %r2, %r2, 13; add.u32 %r2, %r2, 1;
    and.b32 %r4, %r2, 1; setp.ne.u32 %p1, %r4, 0;
    {late} {instruction}
    {store("%r5")} ret;
    """
    assert np.array_equal(run(entry(body), 32), EXPECTED[instruction])


@pytest.mark.parametrize("member", ["-1", "0xffffffff"])
def test_a_mask_in_a_register_names_a_warp(member: str) -> None:
    """A warp whose mask has all bits waits for no other warp, however the register came by them."""
    body = f"""
    {INDEX}
    mov.u32 %r5, 0; mov.u32 %r3, {member}; mov.u32 %r4, 1;
    setp.gt.u32 %p1, %r79, 31; @%p1 bra DONE;
    shfl.sync.up.b32 %r5, %r79, %r4, 0, %r3;
    DONE: bar.sync 0;
    {store("%r5")} ret;
    """
    assert np.array_equal(run(entry(body), 64), np.concatenate([np.maximum(LANES - 1, 0), np.zeros(32)]))


MEETING = """
setp.lt.u32 %p0, %r76, {split}; and.b32 %r1, %r76, 31;
mov.u32 %r2, s; mad.lo.u32 %r2, %r76, 4, %r2; @%p0 bra A;
{first} ld.shared.u32 %r3, [%r2+-{back}]; bra B;
A: add.u32 %r4, %r76, 100; st.shared.u32 [%r2], %r4; {second} mov.u32 %r3, %r4;
B:
"""


@pytest.mark.parametrize("rounds", [1, 3])
def test_lanes_meet_at_different_barriers_of_their_warp(rounds: int) -> None:
    """`if (…) __syncwarp(); else __syncwarp();` is one meeting, each time that it comes."""
    sync = "bar.warp.sync 0xffffffff;"
    body = MEETING.format(split=16, first=sync * rounds, second=sync * rounds, back=64)
    text = entry(INDEX + body + store("%r3"), before=".shared .align 4 .b8 s[128];")
    expected = [100 + t % 16 for t in range(32)]
    np.testing.assert_array_equal(run(text, 32, block=(32,)), np.array(expected, np.uint32))


def test_lanes_meet_those_that_their_mask_names() -> None:
    """Halves of a warp that wait for themselves alone meet nobody else."""
    low, high = "bar.warp.sync 0xffff;", "bar.warp.sync 0xffff0000;"
    body = MEETING.format(split=16, first=high, second=low, back=0)
    text = entry(
        INDEX + body.replace("ld.shared.u32 %r3, [%r2+-0];", "mov.u32 %r3, 7;") + store("%r3"),
        before=".shared .align 4 .b8 s[128];",
    )
    expected = [100 + t if t < 16 else 7 for t in range(32)]
    np.testing.assert_array_equal(run(text, 32, block=(32,)), np.array(expected, np.uint32))


def test_a_lane_that_does_not_come_is_still_missed() -> None:
    """One meeting too few on one side: the warp is stuck where its other lanes would have been met again."""
    sync = "bar.warp.sync 0xffffffff;"
    body = MEETING.format(split=16, first=sync, second=sync + "bra AGAIN; AGAIN: " + sync, back=64)
    text = entry(INDEX + body + "bar.sync 1, 32;", before=".shared .align 4 .b8 s[128];")
    with pytest.raises(LaunchError, match="lanes that the member mask names do not come"):
        run(text, 32, block=(32,))


def test_those_that_have_met_wait_again_at_the_next_barrier() -> None:
    """The second meeting of a loop is not the first: lanes that come by two ways take turns by rounds."""
    body = """
    mov.u32 %r2, s; mad.lo.u32 %r2, %r76, 4, %r2; mov.u32 %r5, 0; mov.u32 %r6, 0;
    xor.b32 %r7, %r76, 16; mov.u32 %r8, s; mad.lo.u32 %r8, %r7, 4, %r8;
    L: add.u32 %r4, %r76, %r5; and.b32 %r4, %r4, 16; setp.eq.u32 %p0, %r4, 0;
    st.volatile.shared.u32 [%r2], %r5; @%p0 bra A;
    bar.warp.sync 0xffffffff; bra B;
    A: bar.warp.sync 0xffffffff;
    B: ld.volatile.shared.u32 %r3, [%r8]; add.u32 %r6, %r6, %r3; @%p0 bra C;
    bar.warp.sync 0xffffffff; bra D;
    C: bar.warp.sync 0xffffffff;
    D: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 20; @%p1 bra L;
    """
    text = entry(INDEX + body + store("%r6"), before=".shared .align 4 .b8 s[256];")
    np.testing.assert_array_equal(run(text, 64, block=(64,)), np.full(64, 190, np.uint32))


def test_groups_that_meet_apart_leave_other_meetings_alone() -> None:
    """Three parts of a warp, each at a barrier of its own, go on though none has lanes at the others'."""
    parts = [f"P{n}: bar.warp.sync {0xFF << 8 * n:#x}; st.shared.u32 [%r2], %r76; bra E;" for n in range(4)]
    body = f"""
    xor.b32 %r4, %r76, 5; mov.u32 %r2, s; mad.lo.u32 %r2, %r4, 4, %r2; shr.u32 %r3, %r76, 3;
    T: .branchtargets P0, P1, P2, P3;
    brx.idx %r3, T;
    {" ".join(parts)}
    E: ld.shared.u32 %r4, [%r2];
    """
    text = entry(INDEX + body + store("%r4"), before=".shared .align 4 .b8 s[128];")
    np.testing.assert_array_equal(run(text, 32, block=(32,)), np.arange(32, dtype=np.uint32))


@pytest.mark.parametrize("first", ["@%p0 bra A;", "@!%p0 bra A;"])
def test_barriers_one_behind_the_other_are_as_many_meetings(first: str) -> None:
    """What lies between two meetings on one side is seen behind the second on the other."""
    sync = "bar.warp.sync 0xffffffff;"
    writes = f"{sync} add.u32 %r4, %r76, 100; st.shared.u32 [%r2], %r4; {sync}"
    reads = f"{sync} {sync} ld.shared.u32 %r3, [%r2+-64];"
    above, below = (reads, writes) if first.startswith("@%") else (writes, reads)
    body = f"""
    setp.lt.u32 %p0, %r76, 16; mov.u32 %r2, s; mad.lo.u32 %r2, %r76, 4, %r2; mov.u32 %r3, 7;
    st.shared.u32 [%r2], 5; {first}
    {above} bra B;
    A: {below}
    B:
    """
    text = entry(INDEX + body + store("%r3"), before=".shared .align 4 .b8 s[128];")
    expected = [7 if t < 16 else 100 + t - 16 for t in range(32)]
    np.testing.assert_array_equal(run(text, 32, block=(32,)), np.array(expected, np.uint32))


@pytest.mark.parametrize("few", [5, 27])
def test_a_meeting_is_of_those_that_name_the_same_lanes(few: int) -> None:
    """Lanes that wait for the whole warp do not meet others that wait for themselves alone."""
    low = (1 << few) - 1
    body = f"""
    setp.lt.u32 %p0, %r76, {few}; mov.u32 %r2, s; mad.lo.u32 %r2, %r76, 4, %r2; mov.u32 %r5, 0;
    @!%p0 bra ALL;
    LOW: st.shared.u32 [%r2], %r76; bar.warp.sync {low:#x}; ld.shared.u32 %r3, [%r2];
    add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 4000; @%p1 bra LOW;
    ALL: bar.warp.sync 0xffffffff; vote.sync.ballot.b32 %r4, %p0, 0xffffffff;
    """
    text = entry(INDEX + body + store("%r4"), before=".shared .align 4 .b8 s[128];")
    np.testing.assert_array_equal(run(text, 32, block=(32,)), np.full(32, low, np.uint32))
