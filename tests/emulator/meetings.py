"""Pairs of instructions at which lanes of a warp meet, and what each lane gets, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FULL = 0xFFFFFFFF
SIDES = 0x00FF0F0F
"""The lanes of a warp that go one way; the others go the other."""
LANE = np.arange(32)

Lanes = NDArray[Any]
Result = Callable[[Lanes, Lanes, Lanes], Lanes]
"""(which lanes go the first way, which take part, values), 32 of each → what each lane gets."""


@dataclass(frozen=True)
class Case:
    """Two instructions that meet, by what they read (%r2, a value; %p1, whether it is odd), into %r5."""

    first: str
    second: str
    expected: Result


def bits(rows: Lanes) -> Lanes:
    """Rows of 32 bools as numbers of 32 bits."""
    return (rows.astype(np.uint64) << LANE.astype(np.uint64)).sum(axis=-1).astype(np.uint32)


def ballot(way: Lanes, here: Lanes, values: Lanes) -> Lanes:
    """Those that go the first way vote with their predicate, the others with its opposite."""
    return np.full(32, bits(((values % 2 == 1) == way) & here))


def voted(combine: Callable[[Lanes], Any]) -> Result:
    """The same, all told one thing about it."""

    def result(way: Lanes, here: Lanes, values: Lanes) -> Lanes:
        return np.full(32, int(combine(((values % 2 == 1) == way)[here])))

    return result


def brought(way: Lanes, values: Lanes) -> Lanes:
    """What lanes bring: those of the second way add 1000."""
    return values + np.where(way, 0, 1000)


def moved(source: Callable[[Lanes], Lanes]) -> Result:
    """Each reads a lane by its own way."""

    def result(way: Lanes, here: Lanes, values: Lanes) -> Lanes:
        return brought(way, values)[source(way)]

    return result


def equal(way: Lanes, here: Lanes, values: Lanes) -> Lanes:
    """The lanes with the same value."""
    own = values % 3
    return bits((own[:, None] == own[None, :]) & here)


def reduced(ufunc: np.ufunc) -> Result:
    """What all bring, combined."""

    def result(way: Lanes, here: Lanes, values: Lanes) -> Lanes:
        return np.full(32, ufunc.reduce(brought(way, values)[here].astype(np.uint32)))

    return result


def first_one(way: Lanes, here: Lanes, values: Lanes) -> Lanes:
    """The first lane that takes part, with 100 for that lane."""
    return here.argmax() + 100 * (here.argmax() == LANE)


def in_range(source: Lanes, inside: Lanes) -> Lanes:
    """The lane that a shuffle reads: its own where that is out of range."""
    return np.where(inside, source, LANE)


def downwards(way: Lanes, here: Lanes, values: Lanes) -> Lanes:
    """From 9 lanes on, and 5000 where there are none; the others from the next of their 16."""
    inside = np.where(way, LANE < 23, LANE % 16 < 15)
    source = in_range(LANE + np.where(way, 9, 1), inside)
    return brought(way, values)[source] + 5000 * (way & ~inside)


_THIRD = "rem.u32 %r3, %r2, 3;"
_FURTHER = "add.u32 %r3, %r2, 1000;"
_ONE = "selp.u32 %r5, 1, 0, %p2;"

CASES = {
    "vote.ballot": Case(
        "vote.sync.ballot.b32 %r5, %p1, MASK;", "vote.sync.ballot.b32 %r5, !%p1, MASK;", ballot
    ),
    "vote.any": Case(
        f"vote.sync.any.pred %p2, %p1, MASK; {_ONE}",
        f"vote.sync.any.pred %p2, !%p1, MASK; {_ONE}",
        voted(np.any),
    ),
    "vote.all": Case(
        f"vote.sync.all.pred %p2, %p1, MASK; {_ONE}",
        f"vote.sync.all.pred %p2, !%p1, MASK; {_ONE}",
        voted(np.all),
    ),
    "vote.uni": Case(
        f"vote.sync.uni.pred %p2, %p1, MASK; {_ONE}",
        f"vote.sync.uni.pred %p2, !%p1, MASK; {_ONE}",
        voted(lambda given: given.all() or not given.any()),
    ),
    "vote of constants": Case(
        "vote.sync.ballot.b32 %r5, 1, MASK;",
        "vote.sync.ballot.b32 %r5, 0, MASK;",
        lambda way, here, values: np.full(32, bits(way & here)),
    ),
    "shfl.bfly": Case(
        "shfl.sync.bfly.b32 %r5, %r2, 17, 31, MASK;",
        f"{_FURTHER} shfl.sync.bfly.b32 %r5, %r3, 5, 31, MASK;",
        moved(lambda way: LANE ^ np.where(way, 17, 5)),
    ),
    "shfl.idx": Case(
        "shfl.sync.idx.b32 %r5, %r2, %r4, 31, MASK;",
        f"{_FURTHER} not.b32 %r8, %r4; shfl.sync.idx.b32 %r5|%p2, %r3, %r8, 0x1f, MASK;",
        moved(lambda way: np.where(way, LANE * 7, ~(LANE * 7)) & 31),
    ),
    "shfl.up": Case(
        "shfl.sync.up.b32 %r5, %r2, 3, 0, MASK;",
        f"{_FURTHER} shfl.sync.up.b32 %r5, %r3, 2, 0x1800, MASK;",
        moved(lambda way: in_range(LANE - np.where(way, 3, 2), np.where(way, 3, LANE // 8 * 8 + 2) <= LANE)),
    ),
    "shfl.down, told whether in range": Case(
        "shfl.sync.down.b32 %r5|%p2, %r2, 9, 31, MASK; @!%p2 add.u32 %r5, %r5, 5000;",
        f"{_FURTHER} shfl.sync.down.b32 %r5, %r3, 1, 0x101f, MASK;",
        downwards,
    ),
    "shfl of floats": Case(
        "mov.b32 %f1, %r2; shfl.sync.bfly.b32 %f2, %f1, 16, 31, MASK; mov.b32 %r5, %f2;",
        "cvt.rn.f32.u32 %f3, %r2; add.f32 %f3, %f3, 0f3F800000; shfl.sync.bfly.b32 %r5, %f3, 16, 31, MASK;",
        lambda way, here, values: np.where(way, values, (values + 1).astype(np.float32).view(np.uint32))[
            LANE ^ 16
        ],
    ),
    "match.any.b32": Case(
        f"{_THIRD} match.any.sync.b32 %r5, %r3, MASK;",
        "div.u32 %r6, %r2, 3; mad.lo.u32 %r6, %r6, -3, %r2; match.any.sync.b32 %r5, %r6, MASK;",
        equal,
    ),
    "match.any.b64": Case(
        f"{_THIRD} mul.wide.u32 %d1, %r3, -5; match.any.sync.b64 %r5, %d1, MASK;",
        f"{_THIRD} mul.wide.u32 %d2, %r3, -5; match.any.sync.b64 %r5, %d2, MASK;",
        equal,
    ),
    "match.all of different values": Case(
        "match.all.sync.b32 %r5|%p2, %r2, MASK; @%p2 mov.u32 %r5, 7;",
        "match.all.sync.b32 %r5, %r2, MASK;",
        lambda way, here, values: np.zeros(32),
    ),
    "match.all of one value": Case(
        "match.all.sync.b32 %r5|%p2, 9, MASK; @%p2 add.u32 %r5, %r5, 7;",
        "mov.u32 %r3, 9; match.all.sync.b32 %r5, %r3, MASK;",
        lambda way, here, values: (bits(here) + 7 * way).astype(np.uint32),
    ),
    **{
        f"redux.{name}": Case(
            f"redux.sync.{name} %r5, %r2, MASK;",
            f"{_FURTHER} redux.sync.{name} %r5, %r3, MASK;",
            reduced(ufunc),
        )
        for name, ufunc in {
            "add.u32": np.add,
            "min.u32": np.minimum,
            "max.s32": np.maximum,
            "and.b32": np.bitwise_and,
            "or.b32": np.bitwise_or,
            "xor.b32": np.bitwise_xor,
        }.items()
    },
    "elect": Case(
        "elect.sync %r5|%p2, MASK; @%p2 add.u32 %r5, %r5, 100;",
        "elect.sync %r6|%p3, MASK; selp.u32 %r5, 100, 0, %p3; add.u32 %r5, %r5, %r6;",
        first_one,
    ),
}

WAYS = f"""
shr.u32 %r3, {SIDES:#x}, %r7; and.b32 %r3, %r3, 1; setp.ne.u32 %p0, %r3, 0; mul.lo.u32 %r4, %r7, 7;
"""
"""%p0: whether a lane goes the first way; %r4: seven times its lane, %r7."""
VALUE = "mad.lo.u32 %r2, %r79, %r79, %r9; rem.u32 %r2, %r2, 13; and.b32 %r3, %r2, 1; setp.ne.u32 %p1, %r3, 0;"
"""%r2: a value by the thread's number and %r9."""
NEXT = "add.u32 %r2, %r2, %r5; rem.u32 %r2, %r2, 13; and.b32 %r3, %r2, 1; setp.ne.u32 %p1, %r3, 0;"
"""The next value of a row of meetings: with what the last one gave."""
CUTS: list[dict[str, int]] = [{}, {"lanes": 96, "few_lanes": 0}, {"lanes": 1 << 12, "few_lanes": 1 << 12}]


def value(threads: Lanes, number: int = 0) -> Lanes:
    """The same in numpy."""
    return (threads * threads + number) % 13


def by_warp(case: Case, blocks: int, threads: int, living: Lanes, numbers: tuple[int, ...] = (0,)) -> Lanes:
    """What each thread gets, by warp; the sum over some numbers."""
    found = np.zeros((blocks, threads), np.uint32)
    for block in range(blocks):
        for start in range(0, threads, 32):
            at = block * threads + start + LANE
            here = living & (start + LANE < threads)
            for number in numbers:
                way = (SIDES >> LANE & 1 == 1) ^ bool(number & 1)
                results = case.expected(way, here, value(at, number)).astype(np.uint32)
                found[block, start : start + 32] += np.where(here, results, 0)[: threads - start].astype(
                    np.uint32
                )
    return found.reshape(-1)


def branches(case: Case, mask: str) -> str:
    """`if (…) first; else second;`."""
    text = f"@%p0 bra FIRST; {case.second} bra BEHIND; FIRST: {case.first} BEHIND:"
    return text.replace("MASK", mask)
