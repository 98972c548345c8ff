"""Random kernels whose lanes do the same instructions of a warp by different ways, against numpy."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import count

import numpy as np
import pytest

from tests.emulator.harness import INDEX, entry, run, store
from tests.emulator.meetings import CASES, CUTS, LANE, NEXT, VALUE, Lanes, value

KERNELS = 12
"""A seed of pytest's."""


@dataclass(frozen=True)
class Part:
    """PTX that does some cases in a row, and which lanes do the first of each pair: (lanes, cases)."""

    text: str
    ways: Lanes


class Maker:
    """Makes one kernel's parts."""

    def __init__(self, rng: random.Random) -> None:
        """Labels and counters of loops are numbered."""
        self.rng = rng
        self.numbers = count(10)

    def part(self, names: list[str], depth: int) -> Part:
        """The cases as they stand, or split in what comes by different ways."""
        chosen = self.rng.random()
        rounds = next((n for n in (4, 3, 2) if names[: len(names) // n] * n == names), 1)
        if not depth or chosen < 0.2:
            return self.straight(names)
        if chosen < 0.4 and len(names) > 1:
            return self.one_after_the_other(names, depth - 1)
        if chosen < 0.7 and rounds > 1:
            return self.loop(names, rounds, depth - 1)
        return self.branch(names, depth - 1)

    def straight(self, names: list[str]) -> Part:
        """In a row, with jumps in between."""
        text, ways = "", np.zeros((32, len(names)), bool)
        for at, name in enumerate(names):
            ways[:, at] = self.rng.random() < 0.5
            text += (CASES[name].first if ways[0, at] else CASES[name].second) + NEXT
            if self.rng.random() < 0.3:
                label = f"GO{next(self.numbers)}"
                text += f"bra {label}; {label}: "
        return Part(text, ways)

    def one_after_the_other(self, names: list[str], depth: int) -> Part:
        """Some cases, then the rest."""
        at = self.rng.randrange(1, len(names))
        first, second = self.part(names[:at], depth), self.part(names[at:], depth)
        return Part(first.text + second.text, np.concatenate((first.ways, second.ways), axis=1))

    def loop(self, names: list[str], rounds: int, depth: int) -> Part:
        """Cases that come again, as a loop."""
        inner, number = self.part(names[: len(names) // rounds], depth), next(self.numbers)
        text = f"""mov.u32 %round{number}, 0; AGAIN{number}: {inner.text}
        add.u32 %round{number}, %round{number}, 1; setp.lt.u32 %p9, %round{number}, {rounds};
        @%p9 bra AGAIN{number};
        """
        return Part(text, np.tile(inner.ways, rounds))

    def branch(self, names: list[str], depth: int) -> Part:
        """All of them by two ways."""
        taken, number = self.rng.getrandbits(32), next(self.numbers)
        other, some = self.part(names, depth), self.part(names, depth)
        text = f"""shr.u32 %r9, {taken:#x}, %r7; and.b32 %r9, %r9, 1; setp.ne.u32 %p9, %r9, 0;
        @%p9 bra SOME{number}; {other.text} bra ON{number}; SOME{number}: {some.text} ON{number}:
        """
        return Part(text, np.where((taken >> LANE & 1 == 1)[:, None], some.ways, other.ways))


def expected(names: list[str], ways: Lanes, living: Lanes, threads: int) -> Lanes:
    """What each thread ends with; 0 where it has exited before."""
    found = []
    for start in range(0, threads, 32):
        values = value(start + LANE)
        for at, name in enumerate(names):
            got = CASES[name].expected(ways[:, at], living, values).astype(np.uint32)
            values = (values + got) % 2**32 % 13
        found.append(np.where(living, values, 0))
    return np.concatenate(found)


@pytest.mark.parametrize("seed", range(8))
def test_meetings_of_any_shape(seed: int) -> None:
    """Branches in loops in branches: whoever comes by whatever way, each case is done by all at once."""
    for kernel in range(KERNELS):
        rng = random.Random(seed * KERNELS + kernel)
        ended = rng.getrandbits(32) & rng.getrandbits(32) if rng.random() < 0.5 else 0
        known = sorted(name for name in CASES if not ended or "shfl" not in name)
        names = []
        for _ in range(rng.randrange(1, 4)):
            names += [rng.choice(known) for _ in range(rng.randrange(1, 4))] * rng.randrange(1, 5)
        part = Maker(rng).part(names, rng.randrange(1, 6))
        body = f"""{INDEX} .reg .b32 %round<1000>; and.b32 %r7, %r76, 31; mul.lo.u32 %r4, %r7, 7;
        mov.u32 %r9, 0; {VALUE} shr.u32 %r9, {ended:#x}, %r7; and.b32 %r9, %r9, 1;
        setp.ne.u32 %p9, %r9, 0; @%p9 exit;
        mov.u32 %r1, -1; {part.text.replace("MASK", rng.choice(["%r1", "0xffffffff"]))}
        """
        wanted = expected(names, part.ways, ended >> LANE & 1 == 0, 128)
        for cut in CUTS:
            got = run(entry(body + store("%r2")), 128, grid=(2,), block=(64,), **cut)
            np.testing.assert_array_equal(got, wanted, f"{seed}, {kernel}, {cut}")
