"""Lanes of one warp that do the same instruction with different member masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
