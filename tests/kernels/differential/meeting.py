"""What the threads of a block or a cluster do together: barriers, shared memory between them, atomics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.kernels.differential.control import statements
from tests.kernels.differential.judge import Do, Meeting, Node, Steps, Thread, Wait, run
from tests.kernels.differential.maker import INPUTS, Maker, Region
from tests.kernels.differential.memory import OPERATIONS

ROUNDED = 32


def _counted(m: Maker) -> int:
    """The threads of a block as barriers count them: by whole warps."""
    return -(-m.threads // ROUNDED) * ROUNDED


def _all_meet(m: Maker, act: Callable[[Thread, list[Any]], None] | None = None, brought: Any = None) -> Node:
    site = m.label("site")

    def steps(t: Thread) -> Steps:
        what = brought(t) if brought else None
        all_brought = yield Meeting(("block", t.block, site), len(m.living), what)
        if act:
            act(t, all_brought)
        return ""

    return Wait(steps)


def barrier(m: Maker) -> list[Node]:
    """All threads of the block wait for each other."""
    count = _counted(m)
    number = m.rng.randrange(16)
    m.emit(
        m.rng.choice(
            [
                "bar.sync 0;",
                f"bar.sync {number};",
                f"bar.sync {number}, {count};",
                "barrier.sync 0;",
                f"barrier.sync {number}, {count};",
                f"barrier.cta.sync.aligned {number};",
            ]
        )
    )
    return [_all_meet(m)]


def _store(m: Maker, name: str) -> Node:
    m.emit(f"st.shared.u32 [%box], {name};")

    def act(t: Thread) -> None:
        t.shared[t.number * 4] = t.registers[name]

    return Do(act)


def exchange(m: Maker, region: Region, wait: Callable[[Maker], list[Node]] = barrier) -> list[Node]:
    """Each thread reads what another wrote."""
    d, i, x = m.pick("r"), m.pick("r"), m.fresh("r")
    nodes = [_store(m, m.pick("r")), *wait(m)]
    m.emit(f"rem.u32 {x}, {i}, {m.threads}; shl.b32 {x}, {x}, 4; add.u32 {x}, {x}, %boxes;")
    m.emit(f"ld.shared.u32 {d}, [{x}];")
    nodes.append(m.set(d, lambda t: t.shared[t.registers[i] % m.threads * 4]))
    return nodes + wait(m)


def reduce(m: Maker, region: Region) -> list[Node]:
    """`bar.red`."""
    name, p = m.rng.choice(["popc", "and", "or"]), m.pick("p")
    d = m.pick("r") if name == "popc" else m.pick("p")
    sign = m.rng.choice(["", "!"])
    where = m.rng.choice(["0", str(m.rng.randrange(16)), f"{m.rng.randrange(16)}, {_counted(m)}"])
    start = m.rng.choice(["bar", "barrier", "barrier.cta"])
    m.emit(f"{start}.red.{name}.{'u32' if name == 'popc' else 'pred'} {d}, {where}, {sign}{p};")

    def act(t: Thread, values: list[Any]) -> None:
        t.registers[d] = {"popc": sum(values), "and": all(values), "or": any(values)}[name]

    return [_all_meet(m, act, lambda t: t.registers[p] != bool(sign))]


def _some_meet(m: Maker, number: int, count: int, waits: bool = True) -> Node:
    """At a barrier by number, `count` threads that are there."""

    def steps(t: Thread) -> Steps:
        yield Meeting(("barrier", t.block, number), count, None, waits)
        return ""

    return Wait(steps)


def halves(m: Maker, region: Region) -> list[Node]:
    """Even and odd warps, each with a barrier of their own."""
    warps = _counted(m) // ROUNDED
    if warps < 2 or not region.mask:
        return exchange(m, region)
    q, x, other, end = m.fresh("p"), m.fresh("r"), m.label("ELSE"), m.label("END")
    m.emit(f"and.b32 {x}, %warp, 1; setp.ne.u32 {q}, {x}, 0; @{q} bra {other};")
    nodes = [m.set(q, lambda t: bool(t.number // 32 & 1))]
    parts: list[list[Node]] = []
    for half in (0, 1):
        threads = sum(number // 32 % 2 == half for number in m.living)
        count = len({number // 32 for number in range(m.threads) if number // 32 % 2 == half}) * ROUNDED
        start = m.rng.choice(["bar.sync", "barrier.sync", "barrier.cta.sync.aligned"])
        part = statements(m, region.inner(region.mask, depth=0), 2)
        part.append(_store(m, m.pick("r")))
        m.emit(f"{start} {half + 1}, {count};")
        part.append(_some_meet(m, half + 1, threads))
        d, y, p = m.pick("r"), m.fresh("r"), m.fresh("p")
        m.emit(f"add.u32 {y}, %number, 64; setp.lt.u32 {p}, {y}, {m.threads};")
        m.emit(f"selp.b32 {y}, {y}, %number, {p}; shl.b32 {y}, {y}, 4; add.u32 {y}, {y}, %boxes;")
        m.emit(f"ld.shared.u32 {d}, [{y}]; {start} {half + 1}, {count};")

        def read(t: Thread, d: str = d) -> None:
            place = t.number + 64 if t.number + 64 < m.threads else t.number
            t.registers[d] = t.shared[place * 4]

        part += [Do(read), _some_meet(m, half + 1, threads)]
        parts.append(part)
        m.emit(f"bra {end};" if half == 0 else f"{end}:")
        if half == 0:
            m.emit(f"{other}:")

    def steps(t: Thread) -> Steps:
        return (yield from run(parts[t.registers[q]], t))

    m.emit("bar.sync 0;")  # of another number: one half is here before the other is done
    return [*nodes, Wait(steps), _all_meet(m)]


def pipeline(m: Maker, region: Region) -> list[Node]:
    """Warps that produce, round after round, and warps that consume: each arrives where the other waits."""
    warps = _counted(m) // ROUNDED
    if warps < 2 or not region.mask:
        return reduce(m, region)
    first, rounds = m.rng.randrange(1, warps), m.rng.randint(1, 4)
    producers = first * 32
    c, q, x, y = m.fresh("r"), m.fresh("p"), m.fresh("r"), m.fresh("r")
    produce, consume, again, end = (m.label(name) for name in ("PRODUCE", "CONSUME", "AGAIN", "END"))
    full, empty = m.rng.sample(range(1, 16), 2)
    start = m.rng.choice(["bar", "barrier", "barrier.cta"])
    count = _counted(m)
    m.emit(f"mov.u32 {c}, {rounds}; setp.ge.u32 {q}, %number, {producers}; @{q} bra {consume};")
    m.emit(f"{produce}:")
    made = [m.value(), m.value(), _store(m, m.pick("r"))]
    m.emit(f"{start}.arrive {full}, {count}; {start}.sync {empty}, {count};")
    made += [_some_meet(m, full, len(m.living), waits=False), _some_meet(m, empty, len(m.living))]
    m.emit(f"sub.u32 {c}, {c}, 1; setp.ne.u32 {q}, {c}, 0; @{q} bra {produce}; bra {end};")
    d, i = m.pick("r"), m.pick("r")
    m.emit(f"{consume}:", f"{again}:", f"{start}.sync {full}, {count};")
    m.emit(f"rem.u32 {x}, {i}, {producers}; shl.b32 {x}, {x}, 4; add.u32 {y}, {x}, %boxes;")
    m.emit(f"ld.shared.u32 {d}, [{y}]; {start}.arrive {empty}, {count};")
    used = [
        _some_meet(m, full, len(m.living)),
        m.set(d, lambda t: t.shared[t.registers[i] % producers * 4]),
        _some_meet(m, empty, len(m.living), waits=False),
    ]
    m.emit(f"sub.u32 {c}, {c}, 1; setp.ne.u32 {q}, {c}, 0; @{q} bra {again};", f"{end}:")

    def steps(t: Thread) -> Steps:
        for _ in range(rounds):
            yield from run(made if t.number < producers else used, t)
        return ""

    m.emit("bar.sync 0;")  # of another number: those that only arrive are here before the others are done
    return [Wait(steps), _all_meet(m)]


def accumulate(m: Maker, region: Region) -> list[Node]:
    """Atomics on shared memory, with and without their result, or in a loop of `cas`."""
    x, y, z, q, p = m.fresh("r"), m.fresh("r"), m.fresh("r"), m.fresh("p"), m.fresh("p")
    start = m.rng.getrandbits(31)
    m.emit(f"setp.eq.u32 {q}, %number, 0; mov.u32 {x}, {start};")
    m.emit(*(f"@{q} st.shared.u32 [sums+{4 * n}], {x};" for n in range(4)))

    def fill(t: Thread) -> None:
        if not t.number:
            t.shared.update({("sums", n): start for n in range(4)})  # type: ignore[misc]

    nodes: list[Node] = [Do(fill), *barrier(m)]
    operation = m.rng.choice([*OPERATIONS, "cas", "lock"])
    a, i, d = m.pick("r"), m.pick("r"), m.pick("r")
    test, more = m.compare()
    nodes += more
    head, skip = m.label("HEAD"), m.label("SKIP")
    m.emit(f"and.b32 {x}, {i}, 3; shl.b32 {x}, {x}, 2; mov.u32 {y}, sums; add.u32 {x}, {x}, {y};")
    if operation == "cas":
        m.emit(f"@!{test} bra {skip}; ld.volatile.shared.u32 {y}, [{x}];", f"{head}:")
        m.emit(f"add.u32 {z}, {y}, {a}; atom.shared.cas.b32 {z}, [{x}], {y}, {z};")
        m.emit(f"setp.ne.u32 {p}, {z}, {y}; mov.u32 {y}, {z}; @{p} bra {head};", f"{skip}:")
    elif operation == "lock":
        m.emit(f"mov.pred {p}, {test};", f"{head}:", f"@!{p} bra {skip};")
        m.emit(f"atom.acquire.cta.shared.exch.b32 {z}, [lock], 1; setp.ne.u32 {p}, {z}, 0;")
        m.emit(f"@{p} bra {head}; ld.volatile.shared.u32 {y}, [{x}]; add.u32 {y}, {y}, {a};")
        m.emit(f"st.volatile.shared.u32 [{x}], {y}; fence.acq_rel.cta;")
        m.emit(f"atom.release.cta.shared.exch.b32 {z}, [lock], 0;", f"{skip}:")
    else:
        what = (
            f"red.shared.{operation} [{x}], {a};"
            if m.chance(0.5)
            else f"atom.shared.{operation} {z}, [{x}], {a};"
        )
        m.emit(f"@{test} {what}")
    combine = OPERATIONS.get(operation, OPERATIONS["add.u32"])

    def act(t: Thread) -> None:
        if t.registers[test]:
            place: Any = ("sums", t.registers[i] & 3)
            t.shared[place] = combine(t.shared[place], t.registers[a]) & 0xFFFFFFFF

    nodes += [Do(act), *barrier(m)]
    m.emit(f"ld.shared.u32 {d}, [{x}];")
    nodes.append(m.set(d, lambda t: t.shared[("sums", t.registers[i] & 3)]))  # type: ignore[index]
    return nodes + barrier(m)


def phases(m: Maker, region: Region) -> list[Node]:
    """An exchange between the phases of an mbarrier."""

    def wait(m: Maker) -> list[Node]:
        y, q, again = m.fresh("d"), m.fresh("p"), m.label("AGAIN")
        kind = m.rng.choice(["test_wait", "try_wait"]) if m.sm >= 90 else "test_wait"
        m.emit(f"mbarrier.arrive.shared.b64 {y}, [phase];", f"{again}:")
        m.emit(f"mbarrier.{kind}.shared.b64 {q}, [phase], {y}; @!{q} bra {again};")
        return [_all_meet(m)]

    return exchange(m, region, wait)


def copy(m: Maker, region: Region) -> list[Node]:
    """`cp.async` in groups, read by the thread itself or by others."""
    groups = m.rng.randint(1, 2)
    size = m.rng.choice([4, 8, 16])
    nodes: list[Node] = []
    d, i, x, y, z = m.pick("r"), m.pick("r"), m.fresh("r"), m.fresh("d"), m.fresh("r")
    m.emit(f"and.b32 {x}, {i}, {INPUTS - 4}; mad.wide.u32 {y}, {x}, 4, %in;")
    cache = "cg" if size == 16 and m.chance(0.5) else "ca"
    given = m.rng.choice(["", "", f", {size // 2}", ", 0"])
    kept = size if not given else int(given[2:])
    m.emit(f"cp.async.{cache}.shared.global [%box], [{y}], {size}{given};")
    m.emit(*["cp.async.commit_group;"] * groups)
    m.emit(
        m.rng.choice([f"cp.async.wait_group {groups - 1};", "cp.async.wait_all;", "cp.async.wait_group 0;"])
    )
    word = m.rng.randrange(size // 4)

    def read(t: Thread) -> None:
        place = t.registers[i] & (INPUTS - 4)
        for n in range(size // 4):
            t.shared[t.number * 4 + n] = m.inputs[place + n] if 4 * n < kept else 0
        if kept == 2:
            t.shared[t.number * 4] &= 0xFFFF

    nodes.append(Do(read))
    nodes += barrier(m)
    m.emit(f"sub.u32 {z}, {m.threads - 1}, %number; shl.b32 {z}, {z}, 4; add.u32 {z}, {z}, %boxes;")
    m.emit(f"ld.shared.u32 {d}, [{z}+{4 * word}];")
    nodes.append(m.set(d, lambda t: t.shared[(m.threads - 1 - t.number) * 4 + word]))
    return nodes + barrier(m)


def apart(m: Maker, region: Region) -> list[Node]:
    """Warps come to one barrier by instructions of their own."""
    if not region.mask:
        return exchange(m, region)
    parity = m.rng.choice([1, 2])
    q, x, other, end = m.fresh("p"), m.fresh("r"), m.label("ELSE"), m.label("END")
    m.emit(f"and.b32 {x}, %warp, {parity}; setp.ne.u32 {q}, {x}, 0; @{q} bra {other};")
    nodes = [m.set(q, lambda t: bool(t.number // 32 & parity))]
    number, site = m.rng.randrange(16), m.label("site")
    form = m.rng.choice(
        ["bar.sync {}", "barrier.sync {}", "bar.sync {}, {}", "bar.red.popc.u32 {2}, {0}, %p0"]
    )
    d = m.pick("r")
    parts: list[list[Node]] = []
    for last in (False, True):
        part = statements(m, region.inner(region.mask, depth=1), 2)
        m.emit(form.format(number, _counted(m), d) + ";")
        parts.append(part)
        m.emit(*([f"{end}:"] if last else [f"bra {end};", f"{other}:"]))

    def steps(t: Thread) -> Steps:
        yield from run(parts[t.registers[q]], t)
        meeting = Meeting(("block", t.block, site), len(m.living), t.registers["%p0"])
        all_brought = yield meeting
        if "popc" in form:
            t.registers[d] = sum(all_brought)
        return ""

    return [*nodes, Wait(steps)]


def ticket(m: Maker, region: Region) -> list[Node]:
    """One thread's atomic operations give what was there before; all read it then."""
    thread = m.rng.choice(m.living)
    d, a, e, q, x = m.pick("r"), m.pick("r"), m.pick("r"), m.fresh("p"), m.fresh("r")
    before = m.rng.getrandbits(4)
    name = m.rng.choice(["inc.u32", "dec.u32", "exch.b32", "add.u32", "cas.b32"])
    m.emit(f"setp.eq.u32 {q}, %number, {thread}; mov.u32 {x}, {before};")
    m.emit(f"@{q} st.shared.u32 [sums], {x};")
    compared = f"{before}, " if name == "cas.b32" else ""
    m.emit(f"@{q} atom.shared.{name} {d}, [sums], {compared}{a};")
    nodes = [m.set(q, lambda t: t.number == thread)]

    def act(t: Thread) -> None:
        if t.number != thread:
            return
        given = t.registers[a]
        t.registers[d] = before
        t.shared[("sums", 0)] = {  # type: ignore[index]
            "inc": 0 if before >= given else before + 1,
            "dec": given if before == 0 or before > given else before - 1,
            "exc": given,
            "add": (before + given) & 0xFFFFFFFF,
            "cas": given,
        }[name[:3]]

    nodes += [Do(act), *barrier(m)]
    m.emit(f"ld.shared.u32 {e}, [sums];")
    nodes.append(m.set(e, lambda t: t.shared[("sums", 0)]))  # type: ignore[index]
    return nodes + barrier(m)


def mail(m: Maker, number: int) -> list[Node]:
    """Each block waits until another has written a word and says so; once a kernel for each number."""
    d, a, x, y, q, again = (
        m.pick("r"),
        m.pick("r"),
        m.fresh("r"),
        m.fresh("d"),
        m.fresh("p"),
        m.label("AGAIN"),
    )
    place = number * m.blocks
    other = m.rng.randrange(1, m.blocks)
    m.emit(f"setp.eq.u32 {q}, %number, 0; add.u32 {x}, %blocknumber, {place}; mov.u64 {y}, mail;")
    m.emit(f"mad.wide.u32 {y}, {x}, 8, {y}; @{q} st.global.u32 [{y}], {a}; mov.u32 {x}, 1;")
    m.emit(f"@{q} st.release.gpu.global.u32 [{y}+4], {x};")
    m.emit(f"add.u32 {x}, %blocknumber, {other}; rem.u32 {x}, {x}, {m.blocks}; add.u32 {x}, {x}, {place};")
    m.emit(f"mov.u64 {y}, mail; mad.wide.u32 {y}, {x}, 8, {y};", f"{again}:")
    m.emit(f"ld.acquire.gpu.global.u32 {x}, [{y}+4]; setp.eq.u32 {q}, {x}, 0; @{q} bra {again};")
    m.emit(f"ld.global.u32 {d}, [{y}];")

    def steps(t: Thread) -> Steps:
        all_brought = yield Meeting(
            ("mail", number), len(m.living) * m.blocks, (t.block, t.number, t.registers[a])
        )
        sent = {block: value for block, thread, value in all_brought if not thread}
        t.registers[d] = sent[(t.block + other) % m.blocks]
        return ""

    return [Wait(steps)]


def uniform(m: Maker, region: Region) -> list[Node]:
    """A branch or a loop that the whole block takes, with barriers inside."""
    u, q = m.fresh("r"), m.fresh("p")
    if m.chance(0.5):
        added = m.rng.randrange(4)
        m.emit(f"add.u32 {u}, %blocknumber, {added};")
        nodes: list[Node] = [m.set(u, lambda t: t.block + added)]
    else:
        name, thread = m.pick("r"), m.rng.randrange(m.threads)
        nodes = [_store(m, name), *barrier(m)]
        m.emit(f"ld.shared.u32 {u}, [%boxes+{16 * thread}];")
        nodes += [m.set(u, lambda t: t.shared[thread * 4]), *barrier(m)]
    inner = region.inner(region.mask, uniform=True, times=region.times * 2)
    if m.chance(0.5):
        c, head, out = m.fresh("r"), m.label("HEAD"), m.label("OUT")
        m.emit(f"and.b32 {c}, {u}, 3;", f"{head}:", f"setp.eq.u32 {q}, {c}, 0; @{q} bra {out};")
        body = together(m, inner, 2)
        m.emit(f"sub.u32 {c}, {c}, 1; bra {head};", f"{out}:")

        def loops(t: Thread) -> Steps:
            for _ in range(t.registers[u] & 3):
                yield from run(body, t)
            return ""

        return [*nodes, Wait(loops)]
    other, end, x = m.label("ELSE"), m.label("END"), m.fresh("r")
    m.emit(f"and.b32 {x}, {u}, 1; setp.eq.u32 {q}, {x}, 0; @{q} bra{m.rng.choice(['', '.uni'])} {other};")
    first = together(m, inner, 2)
    m.emit(f"bra {end};", f"{other}:")
    second = together(m, region.inner(region.mask, uniform=True), 2)
    m.emit(f"{end}:")

    def steps(t: Thread) -> Steps:
        return (yield from run(first if t.registers[u] & 1 else second, t))

    return [*nodes, Wait(steps)]


def cluster(m: Maker) -> list[Node]:
    """Each thread reads what one of another block of the cluster wrote."""
    d, i, x, y, z = m.pick("r"), m.pick("r"), m.fresh("r"), m.fresh("r"), m.fresh("r")
    nodes = [_store(m, m.pick("r")), *_cluster_barrier(m)]
    m.emit(f"rem.u32 {x}, {i}, {m.threads}; shl.b32 {x}, {x}, 4; add.u32 {x}, {x}, %boxes;")
    m.emit(f"shr.u32 {y}, {i}, 3; and.b32 {y}, {y}, {m.cluster - 1};")
    m.emit(f"mapa.shared::cluster.u32 {z}, {x}, {y}; ld.shared::cluster.u32 {d}, [{z}];")

    def act(t: Thread) -> None:
        value = t.registers[i]
        t.registers[d] = t.cluster[value >> 3 & (m.cluster - 1)][value % m.threads * 4]

    return [*nodes, Do(act), *_cluster_barrier(m)]


def _cluster_barrier(m: Maker) -> list[Node]:
    site = m.label("site")
    aligned = m.rng.choice(["", ".aligned"])
    if aligned:
        m.emit("bar.warp.sync %full;")
    m.emit(f"barrier.cluster.arrive.release{aligned};")
    between = [m.value()]
    m.emit(f"barrier.cluster.wait.acquire{aligned};")

    def steps(t: Thread) -> Steps:
        yield Meeting(("cluster", t.block // m.cluster, site), len(m.living) * m.cluster)
        return ""

    return [*between, Wait(steps)]


def together(m: Maker, region: Region, count: int) -> list[Node]:
    """Statements to which the whole block comes, with what threads do apart between them."""
    some: list[tuple[float, Callable[[Maker, Region], list[Node]]]] = [
        (3, exchange),
        (1.5, reduce),
        (1.5, halves),
        (1.5, pipeline),
        (2, accumulate),
        (1, phases),
        (1, copy),
        (1, ticket),
        (1.5, apart),
    ]
    if region.depth > 1 and region.times < 8:
        some.append((2, uniform))
    nodes: list[Node] = []
    for _ in range(count):
        between = region.inner(region.mask, depth=region.depth)
        nodes += statements(m, between, m.rng.randint(2, 4))
        nodes += m.rng.choices([make for _, make in some], [weight for weight, _ in some])[0](m, region)
    return nodes
