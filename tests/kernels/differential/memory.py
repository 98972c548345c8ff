"""Statements that touch memory which no other thread writes: local, constant, input, its own words."""

from __future__ import annotations

from collections.abc import Callable

from tests.kernels.differential.judge import Do, Node, Thread
from tests.kernels.differential.maker import INPUTS, TABLE, TRACES, WORDS, Maker
from tests.kernels.differential.values import signed

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda a, b: a + b,
    "min.u32": min,
    "max.s32": lambda a, b: max(signed(a, 32), signed(b, 32)),
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
}
"""Atomic operations that may come in any order."""


def atomic(m: Maker) -> list[Node]:
    """On global memory that nobody reads, whose words have an operation each."""
    if not m.in_kernel:
        return [m.value()]
    operation = m.rng.choice(list(OPERATIONS))
    slot, name, x = list(OPERATIONS).index(operation) * 2, m.pick("r"), m.fresh("r")
    place = slot + m.rng.randrange(2)
    line = f"red.global.{operation} [%sums+{4 * place}], {name};"
    if m.chance(0.3):
        line = f"atom.global.{operation} {x}, [%sums+{4 * place}], {name};"
    m.emit(line)

    def act(t: Thread) -> None:
        where = m.threads * m.blocks * WORDS + place
        t.outer[where] = OPERATIONS[operation](t.outer.get(where, 0), t.registers[name]) & 0xFFFFFFFF

    return [Do(act)]


def trace(m: Maker) -> list[Node]:
    """A register goes to a word of the thread's own."""
    if m.traces == TRACES or not m.in_kernel:
        return [m.value()]
    place, name = m.traces, m.pick("r")
    m.traces += 1
    m.emit(f"st.global.u32 [%mine+{4 * place}], {name};")

    def act(t: Thread) -> None:
        t.outer[m.grid_thread(t) * WORDS + place] = t.registers[name]

    return [Do(act)]


def lookup(m: Maker) -> list[Node]:
    """A word of a constant array, of a global one, or of the input, by a dynamic index."""
    d, i, x, y = m.pick("r"), m.pick("r"), m.fresh("r"), m.fresh("d")
    where = m.rng.choice(["ld.const.u32", "ld.global.u32", "ld.u32", "ld.global.nc.u32", "input v2"])
    if not m.in_kernel and where[-2:] == "v2":
        where = "ld.const.u32"
    if where == "input v2":
        e = m.rng.choice([name for name in ("%r1", "%r2", "%r3") if name != d])
        m.emit(f"and.b32 {x}, {i}, {INPUTS - 2}; mad.wide.u32 {y}, {x}, 4, %in;")
        m.emit(f"ld.global.v2.u32 {{{d}, {e}}}, [{y}];")

        def pair(t: Thread) -> None:
            place = t.registers[i] & (INPUTS - 2)
            t.registers[d], t.registers[e] = m.inputs[place : place + 2]

        return [Do(pair)]
    name = "constants" if "const" in where else "numbers"
    z = m.fresh("d")
    start = f"cvta.global.u64 {z}, {z};" if where == "ld.u32" else ""
    m.emit(f"and.b32 {x}, {i}, {TABLE - 1}; mov.u64 {z}, {name}; {start} mad.wide.u32 {y}, {x}, 4, {z};")
    m.emit(f"{where.replace('.nc', '') if name == 'constants' else where} {d}, [{y}];")

    def act(t: Thread) -> None:
        t.registers[d] = m.table[t.registers[i] & (TABLE - 1)]

    return [Do(act)]


def local(m: Maker) -> list[Node]:
    """A store to the thread's local array or a load of it, by a dynamic index."""
    d, i, x, y = m.pick("r"), m.pick("r"), m.fresh("r"), m.fresh("d")
    size = m.rng.choice([1, 2, 4, 4, 8, 16])
    load, generic = m.chance(0.5), m.chance(0.3)
    space, base = ("", "%generic") if generic else (".local", "%local")
    m.emit(f"and.b32 {x}, {i}, {64 - size}; cvt.u64.u32 {y}, {x}; add.u64 {y}, {y}, {base};")
    if size >= 8:
        count = size // 4
        first = m.rng.randrange(8 - count)
        names = [f"%r{first + n}" for n in range(count)]
        texts = f"[{y}]", f"{{{', '.join(names)}}}"
        m.emit(
            f"ld{space}.v{count}.u32 {texts[1]}, {texts[0]};"
            if load
            else f"st{space}.v{count}.u32 {texts[0]}, {texts[1]};"
        )
    else:
        names = [d]
        sign = m.rng.choice("us")
        kind = f"{sign}{8 * size}"
        m.emit(f"ld{space}.{kind} {d}, [{y}];" if load else f"st{space}.u{8 * size} [{y}], {d};")

    def act(t: Thread) -> None:
        place = t.registers[i] & (64 - size)
        each = min(size, 4)
        for n, name in enumerate(names):
            part = slice(place + each * n, place + each * (n + 1))
            if load:
                value = int.from_bytes(t.local[part], "little")
                value = signed(value, 8 * each) if size < 4 and sign == "s" else value
                t.registers[name] = value & 0xFFFFFFFF
            else:
                t.local[part] = (t.registers[name] & ((1 << 8 * each) - 1)).to_bytes(each, "little")

    return [Do(act)]


def stack(m: Maker) -> list[Node]:
    """Memory of the stack: written, read by a dynamic index, given back."""
    d, a, b, i = m.pick("r"), m.pick("r"), m.pick("r"), m.pick("r")
    saved, y, z, x = m.fresh("d"), m.fresh("d"), m.fresh("d"), m.fresh("r")
    m.emit(
        f"stacksave.u64 {saved}; alloca.u64 {y}, 16, 16;",
        f"st.local.v2.u32 [{y}], {{{a}, {b}}}; st.local.u64 [{y}+8], %d0;",
        f"and.b32 {x}, {i}, 12; cvt.u64.u32 {z}, {x}; add.u64 {z}, {z}, {y};",
        f"ld.local.u32 {d}, [{z}]; stackrestore.u64 {saved};",
    )

    def act(t: Thread) -> None:
        r = t.registers
        r[d] = (r[a], r[b], r["%d0"] & 0xFFFFFFFF, r["%d0"] >> 32)[r[i] >> 2 & 3]

    return [Do(act)]


def private(m: Maker) -> list[Node]:
    """One of them."""
    return m.rng.choices([trace, lookup, local, stack, atomic], [3, 3, 4, 1, 1])[0](m)
