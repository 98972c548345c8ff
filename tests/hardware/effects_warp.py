"""Trials of what lanes of a warp do together: whole warps, parts of them, two parts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from teenycuda_cli.emulator.opcodes.patterns import compile_form
from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.inputs import Array
from tests.hardware.trials import Output, Settle, Trial, drawn

THREADS = 64
LANES = 32
ROUNDS = 48
MASKS: dict[str, tuple[int, ...]] = {
    "all lanes": (0xFFFFFFFF,),
    "some lanes": (0x5A3C0FF1,),
    "one lane": (0x00020000,),
    "two parts": (0x00FF0F0F, 0xFF00F0F0),
}
"""The parts of a warp that are there, each with its own member mask."""


def _members(parts: tuple[int, ...]) -> Array:
    """The member mask of each thread, 0 where it does not take part."""
    lane = np.arange(THREADS) % LANES
    found = np.zeros(THREADS, np.uint32)
    for part in parts:
        found[(part >> lane) & 1 == 1] = part
    return found


def _loop(parts: tuple[int, ...], setup: str, body: str) -> str:
    """The body ROUNDS times for the threads that take part.

    %r10 is the member mask (a constant `MEMBER` where there is one alone),
    %r11 the round, %r12 the number of this thread's result.
    """
    return f"""
    mad.wide.u32 %d1, %tx, 4, %b0; ld.global.u32 %r10, [%d1];
    setp.eq.u32 %p18, %r10, 0; @%p18 bra OUT;
    mov.u32 %r11, 0; {setup}
    AGAIN: mad.lo.u32 %r12, %r11, {THREADS}, %tx;
    {body}
    add.u32 %r11, %r11, 1; setp.lt.u32 %p19, %r11, {ROUNDS}; @%p19 bra AGAIN;
    OUT:
    """


def _result(number: int, register: str) -> str:
    return f"mad.wide.u32 %d2, %r12, 4, %b{number}; st.global.u32 [%d2], {register};"


def _predicate(number: int, register: str) -> str:
    return f"selp.u32 %r59, 1, 0, {register}; {_result(number, '%r59')}"


def _given(number: int, register: str, kind: str = "u32") -> str:
    size = int(kind[1:]) // 8
    return f"mad.wide.u32 %d2, %r12, {size}, %b{number}; ld.global.{kind} {register}, [%d2];"


_COUNT = ROUNDS * THREADS
_OTHER = "not.b32 %r1, %r1;"
_NOTED = "xor.b32 %r4, %r4, 64;"


@dataclass(frozen=True, slots=True)
class Round:
    """What lanes do in a round, with `BEFORE` and `AFTER` around the instruction.

    Lanes that come by a second way have another value to give (`before`), and
    note another result (`after`), so that no assembler makes one instruction
    of the two.
    """

    body: str
    before: str
    after: str

    def one_way(self) -> str:
        """All lanes come to the same instruction."""
        return self.body.replace("BEFORE", "").replace("AFTER", "")

    def two_ways(self) -> str:
        """Some lanes come to each of two, from round to round others."""
        second = self.body.replace("BEFORE", self.before).replace("AFTER", self.after)
        return f"""
        mad.lo.u32 %r58, %tx, 11, %r11; and.b32 %r58, %r58, 4; setp.eq.u32 %p17, %r58, 0; @%p17 bra SECOND;
        {self.one_way()} bra BOTH;
        SECOND: {second}
        BOTH:
        """


def _trials(
    form: Form,
    text: str,
    each: Round,
    inputs: tuple[Array, ...],
    results: int,
    settle: Callable[[Array], Settle] | None = None,
) -> Iterator[Trial]:
    bodies = {where: each.one_way() for where in MASKS}
    bodies |= {f"{where}; by two ways": each.two_ways() for where in MASKS if where != "one lane"}
    for where, body in bodies.items():
        parts = MASKS[where.partition(";")[0]]
        members = _members(parts)
        spelled = body if len(parts) > 1 else body.replace("%r10", f"{parts[0]:#x}")
        yield Trial(
            f"{text}; {where}",
            form,
            _loop(parts, "", spelled),
            (members, *inputs),
            (Output(4, _COUNT),) * results,
            block=(THREADS, 1, 1),
            settle=None if settle is None else settle(members),
        )


def _has_pair(form: Form) -> bool:
    return any(len(place.names) > 1 for place in compile_form(form).places)


# ---------------------------------------------------------------------- shfl


def _clamps() -> tuple[Array, Array]:
    """b and c of each round and thread: the same for a warp in the first half, each thread's own after it."""
    segments = np.array([0, 16, 24, 28, 30, 31, 5, 18])
    limits = np.array([31, 0, 31, 7, 15, 31, 0, 19])
    numbers = drawn("shfl", 2 * _COUNT).reshape(2, ROUNDS, THREADS)
    b = numbers[0] % 40
    c = (segments[numbers[1] % 8] << 8 | limits[numbers[1] // 8 % 8]).astype(np.uint32)
    half = ROUNDS // 2
    b[:half] = b[:half, :1]
    c[:half] = c[:half, :1]
    return b.astype(np.uint32), c


def _sources(mode: str, b: Array, c: Array) -> Array:
    """The lane that each lane reads from, by the ISA's pseudo-code."""
    lane = np.arange(THREADS) % LANES
    segment = c >> 8 & 31
    clamp = c & 31
    b = b & 31
    high = lane & segment | clamp & ~segment
    low = lane & segment
    source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": low | b & ~segment}[mode]
    inside = source >= high if mode == "up" else source <= high
    return np.where(inside, source, lane)


def shfl(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Every round with a b and c of its own; what is read from a lane that is not there does not count."""
    if "sync" not in name:
        return
    b, c = _clamps()
    pair = _has_pair(form)
    text = f"{name} {'d|p' if pair else 'd'}, a, b, c, membermask"
    body = f"""
    {_given(1, "%r1")} {_given(2, "%r2")} {_given(3, "%r3")}BEFORE
    {name} {"%r4|%p1" if pair else "%r4"}, %r1, %r2, %r3, %r10;AFTER
    {_result(4, "%r4")} {_predicate(5, "%p1") if pair else ""}
    """
    each = Round(body, _OTHER, _NOTED)
    sources = _sources(bound["mode"], b.astype(np.int64), c.astype(np.int64))

    def settle(members: Array) -> Settle:
        def run(results: Sequence[Array]) -> Sequence[Array]:
            there = (members[None, :] >> (sources & 31)) & 1 == 1
            moved = np.where(there.reshape(-1), results[0], 0).astype("<u4")
            return [moved, *results[1:]]

        return run

    values = drawn("shfl values", _COUNT)
    yield from _trials(form, text, each, (values, b.reshape(-1), c.reshape(-1)), 2 if pair else 1, settle)


# ------------------------------------------------------------ vote and match


def _dense() -> Array:
    """0 or 1 by round and thread: nobody, everybody, a few, most, half of them."""
    numbers = drawn("vote", _COUNT).reshape(ROUNDS, THREADS)
    limits = np.array([0, 256, 8, 248, 128, 1])[np.arange(ROUNDS) % 6]
    return (numbers % 256 < limits[:, None]).astype(np.uint32).reshape(-1)


def vote(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """With the predicate and with its opposite."""
    if "sync" not in name:
        return
    ballot = "ballot" in name
    for sign in ("", "!"):
        body = f"""
        {_given(1, "%r1")} setp.ne.u32 %p1, %r1, 0;BEFORE
        {name} {"%r4" if ballot else "%p2"}, {sign}%p1, %r10;AFTER
        {_result(2, "%r4") if ballot else _predicate(2, "%p2")}
        """
        each = Round(body, "not.pred %p1, %p1;", _NOTED if ballot else "not.pred %p2, %p2;")
        yield from _trials(form, f"{name} d, {sign}a, membermask", each, (_dense(),), 1)


def match(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Few different values, in some rounds one alone."""
    kind = bound["type"]
    size = int(kind[1:]) // 8
    numbers = (
        drawn("match", _COUNT).reshape(ROUNDS, THREADS) % np.array([1, 2, 3, 9])[np.arange(ROUNDS) % 4, None]
    )
    values = (numbers.astype(f"u{size}") * np.uint64(0x300000001 if size == 8 else 1)).astype(f"u{size}")
    pair = _has_pair(form)
    source = "%r1" if size == 4 else "%d3"
    body = f"""
    {_given(1, source, kind)}BEFORE {name} {"%r4|%p1" if pair else "%r4"}, {source}, %r10;AFTER
    {_result(2, "%r4")} {_predicate(3, "%p1") if pair else ""}
    """
    each = Round(body, f"max.u{8 * size} {source}, {source}, 1;", _NOTED)
    text = f"{name} {'d|p' if pair else 'd'}, a, membermask"
    yield from _trials(form, text, each, (values.reshape(-1),), 2 if pair else 1)


def redux(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Random numbers."""
    body = f"{_given(1, '%r1')}BEFORE {name} %r4, %r1, %r10;AFTER {_result(2, '%r4')}"
    each = Round(body, _OTHER, _NOTED)
    yield from _trials(form, f"{name} d, a, membermask", each, (drawn("redux", _COUNT),), 1)


def elect(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """The lane that is chosen."""
    body = f"{name} %r4|%p1, %r10;AFTER {_result(1, '%r4')} {_predicate(2, '%p1')}"
    yield from _trials(form, f"{name} d|p, membermask", Round(body, "", _NOTED), (), 2)


def activemask(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Whole and parted warps; of two parts only one is there."""
    for where, parts in MASKS.items():
        members = _members(parts[:1])
        body = _loop(parts[:1], "", f"{name} %r4; {_result(1, '%r4')}")
        yield Trial(f"{name} d; {where}", form, body, (members,), (Output(4, _COUNT),), block=(THREADS, 1, 1))


RECIPES = {
    "shfl": shfl,
    "vote": vote,
    "match": match,
    "redux": redux,
    "elect": elect,
    "activemask": activemask,
}
