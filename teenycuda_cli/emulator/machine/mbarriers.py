"""mbarrier objects: 64-bit words in shared memory, laid out as an sm_90's instructions show.

Counts are kept as 2^20 minus the count: bits 1 to 20 hold what the next phase
expects, 43 to 62 what is still pending, and bit 63 the parity of the phase. So
`mbarrier.pending_count` and the parity agree with the hardware's. Bits 21 to 41
hold the transactions that are complete less those expected, signed. The rest is
the emulator's own: bit 42 is set where no arrival is expected any more, and bit
0 never, which tells memory that was never initialised. An H200 shows no more
than the high half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.wording import counted

MOST = (1 << 20) - 1
"""Of every count."""
_FIELD = 1 << 20
_PENDING = 43
_TX, _TX_BITS = 21, 21
_NONE = 42  # expected
_VALID = np.uint64((MOST << 1) | (1 << _NONE))
WORD = np.dtype(np.uint64)
INVALID = np.uint64(0xCDCDCDCDCDCDCDCD)


@dataclass(slots=True)
class States:
    """The contents of several objects, as arrays of int64."""

    phase: Any
    pending: Any
    expected: Any
    transactions: Any

    @classmethod
    def of(cls, words: Any) -> States:
        """Taken out of their words."""
        signed = words.view(np.int64)
        transactions = -((signed << (64 - _TX - _TX_BITS)) >> (64 - _TX_BITS))
        return cls(
            (signed >> 63) & 1,
            -(signed >> _PENDING) & MOST,
            -(signed >> 1) & MOST,
            transactions,
        )

    def words(self) -> Any:
        """Put together again."""
        low = ((-self.expected & MOST) << 1) | ((self.expected == 0).astype(np.int64) << _NONE)
        middle = (-self.transactions & ((1 << _TX_BITS) - 1)) << _TX
        high = ((-self.pending & MOST) << _PENDING) | (self.phase << 63)
        return (low | middle | high).view(np.uint64)

    def turn(self) -> Any:
        """Begin the next phase where nothing is pending; where that was."""
        done = (self.pending == 0) & (self.transactions == 0)
        self.phase = np.where(done, self.phase ^ 1, self.phase)
        self.pending = np.where(done, self.expected, self.pending)
        return done


def are_valid(words: Any) -> Any:
    """Whether words hold what `mbarrier.init` put there."""
    return ((words & np.uint64(1)) == 0) & ((words & _VALID) != 0)


def initial(counts: Any) -> Any:
    """The words of new objects."""
    counts = np.asarray(counts, np.int64)
    zero = np.zeros_like(counts)
    return States(zero, counts, counts, zero).words()


def phases(words: Any) -> Any:
    """The parity of the current phase of each word."""
    return (words >> np.uint64(63)).astype(np.int64)


def pending_counts(words: Any) -> Any:
    """The pending count in each word, as the hardware works it out."""
    return _FIELD - ((words >> np.uint64(_PENDING)) & np.uint64(MOST)).astype(np.int64)


class Misuse(Exception):
    """What was wrong, and at which of the accesses first."""

    def __init__(self, what: str, at: int) -> None:
        """`what` continues "the kernel k …"."""
        super().__init__(what)
        self.what = what
        self.at = at


@dataclass(frozen=True, slots=True)
class Arrival:
    """What an instruction does to an object: how it counts, and whether it may end the phase."""

    arrives: bool = True
    drops: bool = False
    may_complete: bool = True


def arrive(data: Any, index: Any, counts: Any, transactions: Any, how: Arrival) -> tuple[Any, bool]:
    """Accesses take their turns in order; the words that each found, and whether a phase ended.

    `transactions` are those expected, negative where they are complete.
    """
    places, group = np.unique(index, return_inverse=True)
    group = group.reshape(-1)
    before = data[places]
    wrong = ~are_valid(before)
    if wrong.any():
        raise Misuse("uses an mbarrier that is not initialised", int(np.flatnonzero(wrong[group])[0]))
    counts = np.broadcast_to(np.asarray(counts, np.int64), index.shape)
    transactions = np.broadcast_to(np.asarray(transactions, np.int64), index.shape)
    states = States.of(before)
    total = np.bincount(group, counts, len(places)).astype(np.int64)
    if (total > states.pending).any() or transactions.any():
        return _in_turns(data, index, counts, transactions, how)
    order = np.argsort(group, kind="stable")
    running = np.cumsum(counts[order]) - counts[order]
    firsts = np.searchsorted(group[order], np.arange(len(places)))
    earlier = np.empty(len(index), np.int64)
    earlier[order] = running - running[firsts][group[order]]
    found = before[group] + (earlier << _PENDING).view(np.uint64)
    states.pending = states.pending - total
    if how.drops:
        states.expected = states.expected - total
    done = states.turn()
    if done.any() and not how.may_complete:
        raise Misuse("ends the phase of an mbarrier by .noComplete", int(np.flatnonzero(done[group])[0]))
    data[places] = states.words()
    return found, bool(done.any())


def found_by_warps(found: Any, index: Any, warps: Any) -> Any:
    """What lanes found, given together to those of a warp, object and phase: what their first one found."""
    groups = np.stack([warps, index, phases(found)])
    _, first, group = np.unique(groups, axis=1, return_index=True, return_inverse=True)
    return found[first[group.reshape(-1)]]


def _in_turns(data: Any, index: Any, counts: Any, transactions: Any, how: Arrival) -> tuple[Any, bool]:
    """One access after the other: some end a phase, others begin the next."""
    found = np.empty(len(index), np.uint64)
    ended = False
    known: dict[int, list[int]] = {}
    for at, (place, count, change) in enumerate(
        zip(index.tolist(), counts.tolist(), transactions.tolist(), strict=True)
    ):
        state = known.get(place)
        if state is None:
            one = States.of(data[place : place + 1])
            state = known[place] = [
                int(v[0]) for v in (one.phase, one.pending, one.expected, one.transactions)
            ]
        found[at] = _word(state)
        state[3] += change
        if abs(state[3]) > MOST:
            raise Misuse(f"takes the transactions of an mbarrier to {state[3]}, beyond 2^20 - 1", at)
        if count > state[1]:
            raise Misuse(
                f"arrives {counted(count, 'time')} at an mbarrier that waits for {state[1]} more", at
            )
        state[1] -= count
        state[2] -= count if how.drops else 0
        if state[1] == 0 and state[3] == 0:
            if not how.may_complete:
                raise Misuse("ends the phase of an mbarrier by .noComplete", at)
            state[0] ^= 1
            state[1] = state[2]
            ended = True
    for place, state in known.items():
        data[place] = _word(state)
    return found, ended


def _word(state: list[int]) -> Any:
    return States(*[np.array([value], np.int64) for value in state]).words()[0]


@dataclass(slots=True, eq=False)
class Parked:
    """Lanes that wait for phases to end: where their objects lie, and which parity is to be over."""

    op: Any
    home: int  # the register of the result; -1: nobody wants it
    following: int
    mask: Any
    data: Any
    index: Any  # of the lanes of the mask, in order
    parity: Any

    def done(self) -> Any:
        """For which of the lanes the phase is over."""
        return phases(self.data[self.index]) != self.parity

    def part(self, chosen: Any) -> Parked:
        """The chosen ones of the lanes."""
        mask = np.zeros(self.mask.shape, bool)
        mask[self.mask] = chosen
        return Parked(
            self.op, self.home, self.following, mask, self.data, self.index[chosen], self.parity[chosen]
        )


class Parking:
    """The lanes of a batch that wait at `mbarrier.test_wait` and `try_wait` until nothing else can run.

    What they are told is settled when a phase ends: they may be woken after
    the next one has ended too.
    """

    def __init__(self) -> None:
        """Nobody waits."""
        self.waiting: list[Parked] = []
        self.ready: list[Parked] = []

    def __bool__(self) -> bool:
        """Whether anybody waits."""
        return bool(self.waiting or self.ready)

    def masks(self) -> list[Any]:
        """Who waits."""
        return [parked.mask for parked in (*self.waiting, *self.ready)]

    def add(self, parked: Parked) -> None:
        """These wait now, unless the phase is over."""
        self.waiting.append(parked)
        self.settle()

    def settle(self) -> None:
        """A phase has ended: who waited for it?"""
        left = []
        for parked in self.waiting:
            done = parked.done()
            if not done.any():
                left.append(parked)
            elif done.all():
                self.ready.append(parked)
            else:
                self.ready.append(parked.part(done))
                left.append(parked.part(~done))
        self.waiting = left

    def wake(self, resume: Callable[[Parked, bool], None], *, everybody: bool) -> None:
        """Let those go on whose phase is over, and everybody else, told that it is not, if asked."""
        for parked in self.ready:
            resume(parked, True)
        self.ready = []
        if everybody:
            for parked in self.waiting:
                resume(parked, False)
            self.waiting = []
