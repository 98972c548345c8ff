"""Where lanes part and meet again: if, loop, brx.idx, jumps without structure, calls."""

from __future__ import annotations

from collections.abc import Callable

from tests.kernels.differential.calls import call
from tests.kernels.differential.judge import Node, Steps, Thread, Wait, run
from tests.kernels.differential.maker import Maker, Region
from tests.kernels.differential.memory import private
from tests.kernels.differential.warp import ballot, partners, predicated, warp

MOST_TIMES = 48


def statements(m: Maker, region: Region, count: int | None = None) -> list[Node]:
    """Some statements one after the other; none behind one that all lanes leave by."""
    nodes: list[Node] = []
    for _ in range(count or m.rng.randint(2, 5)):
        m.budget -= 1
        nodes += statement(m, region)
    return nodes


def statement(m: Maker, region: Region) -> list[Node]:
    """A statement of any kind that may stand there."""
    makers: list[tuple[float, Callable[[Maker, Region], list[Node]]]] = [
        (4, lambda m, region: [m.value()]),
        (1.5, guarded),
        (2.5, lambda m, region: private(m)),
    ]
    if region.mask:
        makers.append((2.5, lambda m, region: warp(m, region.mask or "")))
    if region.depth and m.budget > 0:
        makers += [(2, branch), (0.7, switch)]
        if region.times <= MOST_TIMES:
            makers += [(1.2, loop), (0.7, soup)]
        if region.times <= MOST_TIMES and m.functions:
            makers.append((1, call))
    if region.leave:
        makers.append((0.8, leave))
    if region.exits:
        makers.append((0.3, leave_kernel))
    weights = [weight for weight, _ in makers]
    return m.rng.choices(makers, weights)[0][1](m, region)


def guarded(m: Maker, region: Region) -> list[Node]:
    """An instruction under a predicate, one of the warp too."""
    q, nodes = m.compare()
    if region.mask and m.chance(0.3):
        return [*nodes, *predicated(m, q, region.mask)]
    return [*nodes, *(m.value(q) for _ in range(m.rng.randint(1, 2)))]


def without(m: Maker, mask: str, other: str) -> tuple[str, list[Node]]:
    """The lanes of a mask that are not in another."""
    x = m.fresh("r")
    m.emit(f"not.b32 {x}, {other}; and.b32 {x}, {x}, {mask};")
    return x, [m.set(x, lambda t: t.registers[mask] & ~t.registers[other])]


def known(m: Maker, region: Region) -> str | None:
    """The lanes that come, where those that part are told apart: else they meet nobody until they join."""
    return region.mask if m.chance(0.5) else None


def branch(m: Maker, region: Region) -> list[Node]:
    """If, often with else."""
    q, nodes = m.compare()
    taken = other = None
    if mask := known(m, region):
        taken, more = ballot(m, q, mask)
        other, rest = without(m, mask, taken)
        nodes += [*more, *rest]
    alone = m.chance(0.3)
    skip, end = m.label("ELSE"), m.label("END")
    m.emit(f"@!{q} bra {end if alone else skip};")
    first, second = region.inner(taken), region.inner(other)
    then = statements(m, first)
    otherwise: list[Node] = []
    if not alone:
        m.emit(f"bra {end};", f"{skip}:")
        otherwise = statements(m, second)
    m.emit(f"{end}:")
    _joined(region, first, second)

    def steps(t: Thread) -> Steps:
        return (yield from run(then if t.registers[q] else otherwise, t))

    return [*nodes, Wait(steps)]


def _joined(region: Region, *inner: Region) -> None:
    """Behind branches that lanes may have left by, it is not known who comes."""
    if any(each.escaped for each in inner):
        region.escaped = True
        region.mask = None


def switch(m: Maker, region: Region) -> list[Node]:
    """A table of branches."""
    name, x, table, end = m.pick("r"), m.fresh("r"), m.label("TABLE"), m.label("END")
    count = m.rng.randint(2, 4)
    m.emit(f"rem.u32 {x}, {name}, {count};")
    nodes: list[Node] = [m.set(x, lambda t: t.registers[name] % count)]
    mask = known(m, region)
    if mask:
        mask, more = partners(m, x, mask)
        nodes += more
    cases = [m.label("CASE") for _ in range(count)]
    targets = [*cases]
    if m.chance(0.3):
        targets[m.rng.randrange(count)] = end
    m.emit(f"{table}: .branchtargets {', '.join(targets)};", f"brx.idx {x}, {table};")
    bodies: list[list[Node]] = []
    inner: list[Region] = []
    for label, target in zip(cases, targets, strict=True):
        if target == end:
            bodies.append([])
            continue
        m.emit(f"{label}:")
        inner.append(region.inner(mask))
        bodies.append(statements(m, inner[-1], m.rng.randint(1, 3)))
        m.emit(f"bra {end};")
    m.emit(f"{end}:")
    _joined(region, *inner)

    def steps(t: Thread) -> Steps:
        return (yield from run(bodies[t.registers[x]], t))

    return [*nodes, Wait(steps)]


def loop(m: Maker, region: Region) -> list[Node]:
    """As often as a register says, which breaks make fewer; tested at the top or at the bottom."""
    name, c, q = m.pick("r"), m.fresh("r"), m.fresh("p")
    most = m.rng.choice([1, 3, 3, 7, *([31] if region.times == 1 else [])])
    bottom = m.chance(0.4)
    low = 1 if bottom else 0
    m.emit(f"and.b32 {c}, {name}, {most}; add.u32 {c}, {c}, {low};")
    nodes: list[Node] = [m.set(c, lambda t: (t.registers[name] & most) + low)]
    head, latch, out = m.label("HEAD"), m.label("LATCH"), m.label("OUT")
    outer = known(m, region)
    members = m.fresh("r") if outer else None
    if members and outer:
        m.emit(f"mov.b32 {members}, {outer};")
        nodes.append(m.set(members, lambda t: t.registers[outer]))
    again: list[Node] = []

    def test(reverse: bool) -> None:
        """Whether this lane goes on; the rest of the warp goes on without it."""
        again.append(m.set(q, lambda t: t.registers[c] != 0))
        m.emit(f"setp.ne.u32 {q}, {c}, 0;")
        if members:
            going, more = ballot(m, q, members)
            m.emit(f"mov.b32 {members}, {going};")
            again.extend([*more, m.set(members, lambda t: t.registers[going])])
        m.emit(f"@{q} bra {head};" if reverse else f"@!{q} bra {out};")

    m.emit(f"{head}:")
    if not bottom:
        test(False)
    m.emit(f"sub.u32 {c}, {c}, 1;")
    inner = region.inner(members, times=region.times * (most + 1) // 2 + 1)
    back = latch if bottom else head
    inner.leave = (f"bra {back};", f"bra {out};" if members is None else f"mov.b32 {c}, 0; bra {back};")
    body = statements(m, inner)
    if bottom:
        m.emit(f"{latch}:")
        test(True)
    else:
        m.emit(f"bra {head};")
    m.emit(f"{out}:")
    if region.exits and inner.escaped:
        region.mask = None

    def steps(t: Thread) -> Steps:
        first = bottom
        while True:
            if not first:
                yield from run(again, t)
                if not t.registers[q]:
                    return ""
            first = False
            t.registers[c] -= 1
            went = yield from run(body, t)
            if went == "exit":
                return went
            if went == "break":
                if members is None:
                    return ""
                t.registers[c] = 0

    return [*nodes, Wait(steps)]


def leave(m: Maker, region: Region) -> list[Node]:
    """Some lanes go on with the loop's next turn, or leave it."""
    q, nodes = m.compare()
    assert region.leave is not None
    breaks = m.chance(0.5)
    text = region.leave[1] if breaks else region.leave[0]
    if region.mask:
        gone, more = ballot(m, q, region.mask)
        region.mask, rest = without(m, region.mask, gone)
        nodes += [*more, *rest]
    region.escaped = True
    m.emit(m.guard(q, text))
    return [*nodes, _went(q, "break" if breaks else "continue")]


def leave_kernel(m: Maker, region: Region) -> list[Node]:
    """Some lanes end."""
    q, nodes = m.compare()
    region.escaped = True
    m.emit(f"@{q} {m.rng.choice(['exit', 'ret'])};")
    return [*nodes, _went(q, "exit")]


def _went(q: str, where: str) -> Node:
    def steps(t: Thread) -> Steps:
        return where if t.registers[q] else ""
        yield  # it is a coroutine like the others

    return Wait(steps)


def soup(m: Maker, region: Region) -> list[Node]:
    """Blocks that jump to any of each other until their fuel is used up: most of it is irreducible."""
    name, fuel, done = m.pick("r"), m.fresh("r"), m.fresh("p")
    count = m.rng.randint(2, 5)
    labels, end = [m.label("SOUP") for _ in range(count)], m.label("END")
    most = m.rng.choice([3, 7])
    m.emit(f"and.b32 {fuel}, {name}, {most}; add.u32 {fuel}, {fuel}, 1;")
    nodes: list[Node] = [m.set(fuel, lambda t: (t.registers[name] & most) + 1)]
    inner = region.inner(None, leave=None, depth=0, times=region.times * 4)
    jumps: list[tuple[list[Node], Callable[[Thread], int]]] = [_jump(m, labels)]
    for label in labels:
        m.emit(f"{label}:")
        body = statements(m, inner, m.rng.randint(1, 2))
        m.emit(f"sub.u32 {fuel}, {fuel}, 1; setp.eq.u32 {done}, {fuel}, 0; @{done} bra {end};")
        tested, where = _jump(m, labels)
        jumps.append(([*body, *tested], where))
    m.emit(f"{end}:")
    _joined(region, inner)

    def steps(t: Thread) -> Steps:
        tested, where = jumps[0]
        yield from run(tested, t)
        place = where(t)
        while True:
            body, where = jumps[place + 1]
            went = yield from run(body, t)
            if went:
                return went
            t.registers[fuel] -= 1
            if not t.registers[fuel]:
                return ""
            place = where(t)

    return [*nodes, Wait(steps)]


def _jump(m: Maker, labels: list[str]) -> tuple[list[Node], Callable[[Thread], int]]:
    """A jump to one of two labels, or by a table to one of all."""
    if m.chance(0.25):
        x, name, table = m.fresh("r"), m.pick("r"), m.label("TABLE")
        targets = [m.rng.randrange(len(labels)) for _ in range(4)]
        m.emit(f"shr.u32 {x}, {name}, 1; and.b32 {x}, {x}, 3;")
        m.emit(f"{table}: .branchtargets {', '.join(labels[n] for n in targets)};", f"brx.idx {x}, {table};")
        return [], lambda t: targets[t.registers[name] >> 1 & 3]
    a, b = m.rng.randrange(len(labels)), m.rng.randrange(len(labels))
    q, tested = m.compare()
    m.emit(f"@{q} bra {labels[a]};", f"bra {labels[b]};")
    return tested, lambda t: a if t.registers[q] else b
