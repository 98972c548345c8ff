"""Instructions of a warp among the lanes that are known to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.kernels.differential.judge import Meeting, Node, Steps, Thread, Wait, run
from tests.kernels.differential.maker import Get, Maker

Combine = Callable[[Thread, dict[int, Any]], None]


def together(m: Maker, mask: str, brought: Get, act: Combine) -> Node:
    """For the judge: the lanes of a mask meet, each gets what all brought, by lane."""
    site = m.label("site")

    def steps(t: Thread) -> Steps:
        members = t.registers[mask]
        key = ("warp", t.block, t.number // 32, site, members)
        all_brought = yield Meeting(key, members.bit_count(), (t.number % 32, brought(t)))
        act(t, dict(all_brought))
        return ""

    return Wait(steps)


def ballot(m: Maker, q: str, mask: str) -> tuple[str, list[Node]]:
    """The lanes of a mask for which a predicate holds."""
    x = m.fresh("r")
    m.emit(f"vote.sync.ballot.b32 {x}, {q}, {mask};")
    return x, [_voted(m, x, q, mask)]


def _voted(m: Maker, x: str, q: str, mask: str) -> Node:
    def act(t: Thread, all_brought: dict[int, Any]) -> None:
        t.registers[x] = sum(1 << lane for lane, holds in all_brought.items() if holds)

    return together(m, mask, lambda t: t.registers[q], act)


def partners(m: Maker, name: str, mask: str) -> tuple[str, list[Node]]:
    """The lanes of a mask whose register holds the same."""
    x = m.fresh("r")
    m.emit(f"match.any.sync.b32 {x}, {name}, {mask};")
    return x, [_matched(m, x, name, mask)]


def _matched(m: Maker, x: str, name: str, mask: str) -> Node:
    def act(t: Thread, all_brought: dict[int, Any]) -> None:
        own = t.registers[name]
        t.registers[x] = sum(1 << lane for lane, value in all_brought.items() if value == own)

    return together(m, mask, lambda t: t.registers[name], act)


def vote(m: Maker, mask: str) -> list[Node]:
    """all, any, uni or ballot."""
    mode, p = m.rng.choice(["all", "any", "uni", "ballot"]), m.pick("p")
    sign = m.rng.choice(["", "!"])
    if mode == "ballot":
        d = m.pick("r")
        m.emit(f"vote.sync.ballot.b32 {d}, {sign}{p}, {mask};")
    else:
        d = m.pick("p")
        m.emit(f"vote.sync.{mode}.pred {d}, {sign}{p}, {mask};")

    def act(t: Thread, all_brought: dict[int, Any]) -> None:
        values = list(all_brought.values())
        t.registers[d] = {
            "all": all(values),
            "any": any(values),
            "uni": all(values) or not any(values),
            "ballot": sum(1 << lane for lane, holds in all_brought.items() if holds),
        }[mode]

    return [together(m, mask, lambda t: t.registers[p] != bool(sign), act)]


def match(m: Maker, mask: str) -> list[Node]:
    """any or all, of few values."""
    d, p, x, name = m.pick("r"), m.pick("p"), m.fresh("r"), m.pick("r")
    bits = m.rng.choice([0, 1, 1, 3, 31])
    every = m.chance(0.4)
    what = f"match.all.sync.b32 {d}|{p}" if every else f"match.any.sync.b32 {d}"
    m.emit(f"and.b32 {x}, {name}, {bits}; {what}, {x}, {mask};")

    def act(t: Thread, all_brought: dict[int, Any]) -> None:
        own = t.registers[name] & bits
        same = sum(1 << lane for lane, value in all_brought.items() if value == own)
        if every:
            t.registers[p] = same.bit_count() == len(all_brought)
            same = same if t.registers[p] else 0
        t.registers[d] = same

    return [together(m, mask, lambda t: t.registers[name] & bits, act)]


def redux(m: Maker, mask: str) -> list[Node]:
    """An integer over the lanes."""
    name = m.rng.choice(["add.u32", "add.s32", "min.u32", "max.s32", "and.b32", "or.b32", "xor.b32"])
    d, a = m.pick("r"), m.pick("r")
    m.emit(f"redux.sync.{name} {d}, {a}, {mask};")

    def act(t: Thread, all_brought: dict[int, Any]) -> None:
        t.registers[d] = _combined(name, list(all_brought.values()))

    return [together(m, mask, lambda t: t.registers[a], act)]


def _combined(name: str, values: Sequence[int]) -> int:
    result = values[0]
    for value in values[1:]:
        result = {
            "add": (result + value) & 0xFFFFFFFF,
            "min": min(result, value),
            "max": max(result, value, key=lambda v: v ^ 0x80000000),
            "and": result & value,
            "or": result | value,
            "xor": result ^ value,
        }[name[:-4]]
    return result


def shuffle(m: Maker, mask: str) -> list[Node]:
    """A register of another lane, or the lane's own where that one does not come."""
    mode = m.rng.choice(["up", "down", "bfly", "idx"])
    d, a, p = m.pick("r"), m.pick("r"), m.pick("p")
    segment = m.rng.choice([0, 16, 24, 28, 30, 31, 0])
    clamp = 0 if mode == "up" else m.rng.choice([31, 31, 31, 19, 7])
    c = segment << 8 | clamp
    delta: tuple[str, Get] = m.operand("r" if m.chance(0.3) else "#")
    b, s, j, moved, here = delta[0], *(m.fresh("r") for _ in range(4))
    q = m.fresh("p")
    m.emit(f"and.b32 {s}, {b}, 31;")
    source = {
        "up": f"sub.u32 {j}, %lane, {s};",
        "down": f"add.u32 {j}, %lane, {s};",
        "bfly": f"xor.b32 {j}, %lane, {s};",
        "idx": f"and.b32 {here}, %lane, {segment};"
        f" and.b32 {j}, {s}, {~segment & 31}; or.b32 {j}, {j}, {here};",
    }[mode]
    m.emit(f"{source} shfl.sync.{mode}.b32 {moved}|{q}, {a}, {s}, {c}, {mask};")
    m.emit(f"selp.b32 {j}, {j}, %lane, {q}; shr.u32 {here}, {mask}, {j}; and.b32 {here}, {here}, 1;")
    kept = m.fresh("p")
    m.emit(f"mov.pred {p}, {q}; setp.ne.u32 {kept}, {here}, 0; @{kept} mov.b32 {d}, {moved};")

    def act(t: Thread, all_brought: dict[int, Any]) -> None:
        lane, by = t.number % 32, delta[1](t) & 31
        low, high = lane & segment, lane & segment | clamp & ~segment & 31
        place = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": low | by & ~segment & 31}[mode]
        inside = place >= high if mode == "up" else place <= high
        place = place if inside else lane
        t.registers[p] = inside
        if place in all_brought:
            t.registers[d] = all_brought[place]

    return [together(m, mask, lambda t: t.registers[a], act)]


def elect(m: Maker, mask: str) -> list[Node]:
    """One lane; which one is the hardware's affair, so all that counts is that it is one of them."""
    d, x, q = m.pick("r"), m.fresh("r"), m.fresh("p")
    m.emit(f"elect.sync {x}|{q}, {mask}; vote.sync.ballot.b32 {x}, {q}, {mask}; popc.b32 {d}, {x};")

    def act(t: Thread, all_brought: dict[int, Any]) -> None:
        t.registers[d] = 1

    return [together(m, mask, lambda t: 0, act)]


def meet(m: Maker, mask: str) -> list[Node]:
    """`bar.warp.sync`."""
    m.emit(f"bar.warp.sync {mask};")
    return [together(m, mask, lambda t: 0, _nothing)]


def neighbour(m: Maker, mask: str) -> list[Node]:
    """What another lane wrote to shared memory: the next of the mask's lanes, or the first."""
    if not m.in_kernel:
        return meet(m, mask)
    d, a, above, first, lane = m.pick("r"), m.pick("r"), m.fresh("r"), m.fresh("r"), m.fresh("r")
    q = m.fresh("p")
    m.emit(f"st.shared.u32 [%box+4], {a}; bar.warp.sync {mask};")
    m.emit(f"shr.u32 {above}, {mask}, %lane; shr.u32 {above}, {above}, 1; brev.b32 {lane}, {above};")
    m.emit(f"clz.b32 {lane}, {lane}; add.u32 {lane}, {lane}, 1; brev.b32 {first}, {mask};")
    m.emit(f"clz.b32 {first}, {first}; sub.s32 {first}, {first}, %lane; setp.eq.u32 {q}, {above}, 0;")
    m.emit(f"selp.b32 {lane}, {first}, {lane}, {q}; shl.b32 {lane}, {lane}, 4;")
    m.emit(f"add.u32 {lane}, {lane}, %box; ld.shared.u32 {d}, [{lane}+4]; bar.warp.sync {mask};")

    def act(t: Thread, all_brought: dict[int, Any]) -> None:
        later = [lane for lane in all_brought if lane > t.number % 32]
        t.registers[d] = all_brought[min(later or all_brought)]

    return [together(m, mask, lambda t: t.registers[a], act), together(m, mask, lambda t: 0, _nothing)]


def _nothing(t: Thread, all_brought: dict[int, Any]) -> None:
    pass


def predicated(m: Maker, q: str, mask: str) -> list[Node]:
    """An instruction of the warp under a predicate, with the lanes for which it holds."""
    some, nodes = ballot(m, q, mask)
    start = len(m.function.lines)
    inner = m.rng.choice([vote, redux, match, meet])(m, some)
    m.function.lines[start:] = [m.guard(q, line) for line in m.function.lines[start:]]

    def steps(t: Thread) -> Steps:
        if t.registers[q]:
            yield from run(inner, t)
        return ""

    return [*nodes, Wait(steps)]


def warp(m: Maker, mask: str) -> list[Node]:
    """One of them."""
    some = [vote, match, redux, shuffle, shuffle, meet, neighbour, *([elect] if m.sm >= 90 else [])]
    return m.rng.choice(some)(m, mask)
