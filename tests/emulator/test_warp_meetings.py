"""Lanes of a warp that come to different instructions of one kind: they do it together."""

from __future__ import annotations

import re

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import INDEX, entry, run, store
from tests.emulator.meetings import (
    CASES,
    CUTS,
    FULL,
    LANE,
    NEXT,
    SIDES,
    VALUE,
    WAYS,
    bits,
    branches,
    by_warp,
    value,
)


@pytest.mark.parametrize("mask", [f"{FULL:#x}", "%r1"])
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", CASES)
def test_lanes_at_two_instructions_do_one(name: str, cut: dict[str, int], mask: str) -> None:
    """Each brings what its own instruction reads, and gets what its own would have from all."""
    body = f"{INDEX} mov.u32 %r1, -1; and.b32 %r7, %r76, 31; mov.u32 %r9, 0; {WAYS} {VALUE}"
    text = entry(body + branches(CASES[name], mask) + store("%r5"))
    expected = by_warp(CASES[name], 3, 64, LANE < 32)
    np.testing.assert_array_equal(run(text, 192, grid=(3,), block=(64,), **cut), expected)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", [name for name in CASES if "shfl" not in name])
def test_those_that_have_ended_take_no_part(name: str, cut: dict[str, int]) -> None:
    """Lanes that have exited, and those that a block's last warp lacks, are not waited for."""
    body = f"""{INDEX} and.b32 %r7, %r76, 31; mov.u32 %r9, 0; {WAYS} {VALUE}
    shr.u32 %r3, 0x12345678, %r7; and.b32 %r3, %r3, 1; setp.ne.u32 %p9, %r3, 0; @%p9 exit;
    """
    text = entry(body + branches(CASES[name], f"{FULL:#x}") + store("%r5"))
    expected = by_warp(CASES[name], 2, 72, 0x12345678 >> LANE & 1 == 0)
    np.testing.assert_array_equal(run(text, 144, grid=(2,), block=(72,), **cut), expected)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", CASES)
def test_again_and_again(name: str, cut: dict[str, int]) -> None:
    """In a loop lanes change sides from round to round; each round is a meeting of its own."""
    body = f"""{INDEX} and.b32 %r7, %r76, 31; mov.u32 %r9, 0; mov.u32 %r10, 0; {WAYS}
    AGAIN: {VALUE} {branches(CASES[name], f"{FULL:#x}")}
    add.u32 %r10, %r10, %r5; not.pred %p0, %p0;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p9, %r9, 6; @%p9 bra AGAIN;
    """
    expected = by_warp(CASES[name], 2, 64, LANE < 32, tuple(range(6)))
    text = entry(body + store("%r10"))
    np.testing.assert_array_equal(run(text, 128, grid=(2,), block=(64,), **cut), expected)


def nested(number: int, text: str) -> str:
    """An instruction twice, for odd lanes and for even ones."""
    return f"@%p8 bra ODD{number}; {text} bra EVEN{number}; ODD{number}: {text} EVEN{number}:"


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("seed", range(8))
def test_one_meeting_after_the_other(seed: int, cut: dict[str, int]) -> None:
    """Some come to many instructions in a row, others to each by a jump, again others part once more."""
    names = np.random.default_rng(seed).choice(sorted(CASES), 9)
    cases = [CASES[name] for name in names]
    straight = "".join(case.second + NEXT for case in cases)
    parted = "".join(
        (nested(number, case.first) if number % 3 else f"{case.first} bra GO{number}; GO{number}:") + NEXT
        for number, case in enumerate(cases)
    )
    body = f"""{INDEX} and.b32 %r7, %r76, 31; mov.u32 %r9, 0; {WAYS} {VALUE}
    and.b32 %r3, %r7, 1; setp.eq.u32 %p8, %r3, 1;
    @%p0 bra FIRST; {straight} bra BEHIND; FIRST: {parted} BEHIND:
    """
    expected = []
    for start in range(0, 128, 32):
        values = value(start + LANE)
        for case in cases:
            way = SIDES >> LANE & 1 == 1
            values = (values + case.expected(way, LANE < 32, values).astype(np.uint32)) % 2**32 % 13
        expected += values.tolist()
    text = entry(body.replace("MASK", "-1") + store("%r2"))
    np.testing.assert_array_equal(run(text, 128, grid=(2,), block=(64,), **cut), expected)


def test_halves_whose_loops_run_unequal_numbers_of_times() -> None:
    """Five rounds of one loop are met by two of another and three of a third."""

    def loop(name: str, rounds: int) -> str:
        return f"""
        {name}: redux.sync.add.u32 %r5, %r2, -1; add.u32 %r6, %r6, %r5; add.u32 %r2, %r2, %r7;
        add.u32 %r9, %r9, 1; setp.lt.u32 %p9, %r9, {rounds}; @%p9 bra {name};
        """

    body = f"""{INDEX} and.b32 %r7, %r76, 31; mov.u32 %r2, %r7; mov.u32 %r6, 0; mov.u32 %r9, 0;
    setp.gt.u32 %p0, %r7, 11; @%p0 bra LATER;
    {loop("A", 5)} bra BEHIND;
    LATER: {loop("B", 2)} add.u32 %r6, %r6, 1000; {loop("C", 5)}
    BEHIND:
    """
    expected = sum(range(1, 6)) * 496 + np.where(LANE > 11, 1000, 0)
    np.testing.assert_array_equal(run(entry(body + store("%r6")), 64, block=(64,)), np.tile(expected, 2))


def test_those_that_leave_a_loop_for_good_are_not_waited_for() -> None:
    """Lanes go on with those that are left when the others have exited after fewer rounds."""
    body = f"""{INDEX} and.b32 %r7, %r76, 31; mov.u32 %r6, 0; mov.u32 %r9, 0;
    setp.gt.u32 %p0, %r7, 11; @%p0 bra LATER;
    A: vote.sync.ballot.b32 %r5, 1, -1; add.u32 %r6, %r6, %r5;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p9, %r9, 5; @%p9 bra A;
    bra BEHIND;
    LATER: vote.sync.ballot.b32 %r5, 1, -1; add.u32 %r6, %r6, %r5;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p9, %r9, 2; @%p9 bra LATER;
    BEHIND:
    """
    expected = np.where(LANE > 11, 2 * FULL, 2 * FULL + 3 * 0xFFF).astype(np.uint32)
    np.testing.assert_array_equal(run(entry(body + store("%r6")), 32), expected)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("register", [False, True])
def test_masks_keep_groups_apart(register: bool, cut: dict[str, int]) -> None:
    """Halves of a warp by their own masks meet nobody of the other, though each parts in two."""
    masks = ("%r1", "%r1") if register else ("0xffff", "0xffff0000")
    low, high = (f"vote.sync.ballot.b32 %r5, %p1, {mask};" for mask in masks)
    body = f"""{INDEX} and.b32 %r7, %r76, 31; setp.gt.u32 %p0, %r7, 15; selp.u32 %r1, 0xffff0000, 0xffff, %p0;
    rem.u32 %r3, %r7, 3; setp.eq.u32 %p1, %r3, 0; and.b32 %r3, %r7, 1; setp.eq.u32 %p8, %r3, 1;
    @%p0 bra HIGH; {nested(1, low)} bra BEHIND;
    HIGH: {nested(2, high)}
    BEHIND:
    """
    expected = np.where(LANE < 16, bits((LANE % 3 == 0) & (LANE < 16)), bits((LANE % 3 == 0) & (LANE > 15)))
    text = entry(body + store("%r5"))
    np.testing.assert_array_equal(run(text, 64, block=(64,), **cut), np.tile(expected, 2))


def test_one_instruction_each_for_two_groups() -> None:
    """Two halves that never part go each by its own instruction, without waiting for the other."""
    body = f"""{INDEX} setp.gt.u32 %p0, %r76, 15; @%p0 bra HIGH;
    vote.sync.ballot.b32 %r5, 1, 0xffff; bra BEHIND;
    HIGH: vote.sync.ballot.b32 %r5, 1, 0xffff0000;
    BEHIND:
    """
    expected = np.where(LANE < 16, 0xFFFF, 0xFFFF0000)
    np.testing.assert_array_equal(run(entry(body + store("%r5")), 32), expected)


def test_an_instruction_under_a_predicate() -> None:
    """Lanes that pass over one meet at the next, those that come by another way too."""
    body = f"""{INDEX} and.b32 %r7, %r76, 31; mov.u32 %r5, 5; mov.u32 %r6, 6;
    setp.lt.u32 %p0, %r7, 8; setp.lt.u32 %p1, %r7, 20; @%p0 bra FIRST;
    @%p1 vote.sync.ballot.b32 %r5, 1, 0xfffff;
    @!%p1 vote.sync.ballot.b32 %r6, 1, 0xfff00000; bra BEHIND;
    FIRST: vote.sync.ballot.b32 %r5, 1, 0xfffff;
    BEHIND: mad.lo.u32 %r5, %r6, 3, %r5;
    """
    fives, sixes = np.where(LANE < 20, 0xFFFFF, 5), np.where(LANE < 20, 6, 0xFFF00000)
    expected = (3 * sixes + fives).astype(np.uint32)
    np.testing.assert_array_equal(run(entry(body + store("%r5")), 64, block=(64,)), np.tile(expected, 2))


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", CASES)
def test_either_of_two_by_a_predicate(name: str, cut: dict[str, int]) -> None:
    """`@p` one and `@!p` the other are as two ways."""
    case = CASES[name]
    given = {}
    for way, text in (("@%p0", case.first), ("@!%p0", case.second)):
        *before, meeting, after = re.split(r"(?<=;) ?(?=\S*sync)|(?<=MASK;)", text)
        given[way] = "".join(before), f"{way} {meeting}", after
    join = f"@%p0 bra BRINGS; {given['@!%p0'][0]} bra MEETS; BRINGS: {given['@%p0'][0]} MEETS:"
    leave = f"@%p0 bra TAKES; {given['@!%p0'][2]} bra BEHIND; TAKES: {given['@%p0'][2]} BEHIND:"
    meetings = given["@%p0"][1] + given["@!%p0"][1]
    body = f"{INDEX} and.b32 %r7, %r76, 31; mov.u32 %r9, 0; {WAYS} {VALUE} {join} {meetings} {leave}"
    expected = by_warp(case, 2, 64, LANE < 32)
    text = entry(body.replace("MASK", "-1") + store("%r5"))
    np.testing.assert_array_equal(run(text, 128, grid=(2,), block=(64,), **cut), expected)


@pytest.mark.parametrize("ends", ["exit;", "bar.sync 1, 32;"])
def test_lanes_for_which_a_predicate_does_not_hold_are_waited_for(ends: str) -> None:
    """Until they have ended: they do not take part where they pass by."""
    body = f"""{INDEX} mov.u32 %r5, 0; setp.lt.u32 %p0, %r76, 9;
    @%p0 vote.sync.ballot.b32 %r5, 1, -1; @!%p0 {ends}
    """
    if "bar" in ends:
        with pytest.raises(LaunchError, match="do not come to this instruction"):
            run(entry(body + store("%r5")), 32)
    else:
        np.testing.assert_array_equal(run(entry(body + store("%r5")), 32), np.where(LANE < 9, 0x1FF, 0))


_FUNCTION = """
.func (.reg .b32 %result) total(.reg .b32 %given, .reg .b32 %depth) {
.reg .pred %p<2>; .reg .b32 %r<4>;
setp.eq.u32 %p0, %depth, 0; @%p0 bra BASE;
sub.u32 %r1, %depth, 1;
call (%r0), total, (%given, %r1);
redux.sync.add.u32 %r2, %r0, -1; rem.u32 %result, %r2, 1000; ret;
BASE: mov.u32 %result, %given; ret;
}
"""


def test_in_a_function_that_calls_itself() -> None:
    """Some lanes meet in a function, each call of it behind the other, those that do not call it."""
    body = f"""{INDEX} and.b32 %r7, %r76, 31; setp.lt.u32 %p0, %r7, 9; @%p0 bra CALLS;
    mov.u32 %r5, %r7;
    redux.sync.add.u32 %r5, %r5, -1; rem.u32 %r5, %r5, 1000;
    redux.sync.add.u32 %r5, %r5, -1; rem.u32 %r5, %r5, 1000;
    redux.sync.add.u32 %r5, %r5, -1; rem.u32 %r5, %r5, 1000; bra BEHIND;
    CALLS: mov.u32 %r6, 3; call (%r5), total, (%r7, %r6);
    BEHIND:
    """
    total = 496 * 32 % 1000 * 32 % 1000
    text = entry(body + store("%r5"), before=_FUNCTION)
    np.testing.assert_array_equal(run(text, 64, block=(64,)), np.full(64, total))


def test_warps_that_meet_while_others_wait_for_them() -> None:
    """A warp spins until another has met twice, also where both are of one block that runs at once."""
    body = f"""{INDEX} mov.u32 %r5, 0; mov.u32 %r2, s; setp.eq.u32 %p9, %r76, 0; @%p9 st.shared.u32 [%r2], 0;
    bar.sync 0; setp.gt.u32 %p1, %r76, 31; @%p1 bra SPIN;
    setp.lt.u32 %p0, %r76, 9; @%p0 bra FIRST;
    vote.sync.ballot.b32 %r5, %p0, -1; bra SECOND;
    FIRST: vote.sync.ballot.b32 %r5, %p0, -1;
    SECOND: @%p9 st.release.cta.shared.u32 [%r2], %r5; bra BEHIND;
    SPIN: ld.acquire.cta.shared.u32 %r5, [%r2]; setp.eq.u32 %p2, %r5, 0; @%p2 bra SPIN;
    BEHIND:
    """
    text = entry(body + store("%r5"), before=".shared .align 4 .b8 s[4];")
    np.testing.assert_array_equal(run(text, 256, grid=(4,), block=(64,)), np.full(256, 0x1FF))


# ------------------------------------------------------------------ no meeting


def stuck(first: str, second: str) -> LaunchError:
    """The error of a warp whose halves come to two instructions, with another line between them."""
    body = (
        f"{INDEX} setp.gt.u32 %p0, %r76, 15;\n@%p0 bra HIGH;\n{first}\nbra BEHIND;\nHIGH: {second}\nBEHIND:"
    )
    with pytest.raises(LaunchError) as caught:
        run(entry(body + store("%r5")), 32)
    return caught.value


BALLOT = "vote.sync.ballot.b32 %r5, %p0, -1;"


@pytest.mark.parametrize(
    "other",
    [
        "shfl.sync.idx.b32 %r5, %r76, 0, 31, -1;",
        "vote.sync.any.pred %p1, %p0, -1;",
        "bar.warp.sync -1;",
        "elect.sync %r5|%p1, -1;",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r76;",
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_instructions_of_two_kinds_do_not_meet(other: str, turned: bool) -> None:
    """It is a fault, told with both lines."""
    error = stuck(*((other, BALLOT) if turned else (BALLOT, other)))
    kind = (
        "do not come to this" if turned and "aligned" in other else "wait at an instruction of another kind"
    )
    assert kind in str(error)
    told, line = "\n".join(error.context), error.line
    assert line is not None
    assert f"at {other if turned else BALLOT}\n" in told
    assert f"others wait in line {line + 2}, at {BALLOT if turned else other}" in told


def test_instructions_with_two_masks_do_not_meet() -> None:
    """Where some name all lanes and others leave some out, it is a fault, told with both masks."""
    error = stuck(BALLOT, "vote.sync.ballot.b32 %r5, %p0, 0xffff1111;")
    assert "wait with another mask (0xffff1111, here 0xffffffff)" in str(error)
    assert any("0xffff1111" in line for line in error.context)


@pytest.mark.parametrize(
    "instruction",
    [
        "movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r76;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [s];",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r5, %r6}, {%r1}, {%r2}, {%r3, %r4};",
    ],
)
def test_what_is_aligned_needs_one_instruction(instruction: str) -> None:
    """Halves of a warp at two of the same kind are stuck."""
    body = f"""{INDEX} setp.gt.u32 %p0, %r76, 15; @%p0 bra HIGH; {instruction} bra BEHIND;
    HIGH: {instruction} BEHIND:
    """
    with pytest.raises(LaunchError, match="other lanes of the warp do not come to this instruction"):
        run(entry(body + store("%r5"), before=".shared .align 16 .b8 s[128];"), 32)


def test_behind_a_meeting_what_is_aligned_still_waits_for_all() -> None:
    """Halves that have met apart come together again before an instruction that needs the whole warp."""
    body = f"""{INDEX} setp.gt.u32 %p0, %r76, 15; @%p0 bra HIGH;
    {BALLOT} movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r76; bra BEHIND;
    HIGH: {BALLOT}
    BEHIND: bar.sync 0;
    """
    with pytest.raises(LaunchError, match=r"movmatrix|other lanes of the warp do not come"):
        run(entry(body + store("%r5")), 32)
