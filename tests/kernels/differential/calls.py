"""Calls: direct, by address, recursive; several results, an array as a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tests.kernels.differential.judge import Node, Steps, Thread, Wait, run
from tests.kernels.differential.maker import POOLS, TYPES, Function, Maker, Region
from tests.kernels.differential.warp import partners

PARAMETERS = "(.param .b32 a, .param .align 8 .b8 b[16], .param .b64 c, .param .b32 mask, .param .b32 depth)"
RESULTS = "(.param .align 8 .b8 z[16])"
FRAMES = 4
"""Of functions at a time: a thread's stack is 1 KiB on a GPU unless it is asked for more."""


@dataclass
class Callee:
    """A function of a kernel; `nodes` is what its body does."""

    name: str
    together: bool
    """Whether lanes of the warp must come together, by a mask that they are given."""
    nodes: list[Node] = field(default_factory=list)


def registers(function: Function) -> list[str]:
    """Declarations of what a function uses."""
    pools = [f".reg .{TYPES[kind]} {', '.join(names)};" for kind, names in POOLS.items()]
    names = {"r": "%x", "d": "%y", "p": "%q"}
    return pools + [
        f".reg .{TYPES[kind]} {names[kind]}<{count + 1}>;" for kind, count in function.registers.items()
    ]


def local_array() -> list[str]:
    """Its declaration, addresses, and first values."""
    return [
        ".local .align 16 .b8 array[64]; .reg .b64 %local, %generic;",
        "mov.u64 %local, array; cvta.local.u64 %generic, %local;",
        *(f"st.local.v4.u32 [%local+{16 * n}], {{%r{n}, %r3, %r4, %r5}};" for n in range(4)),
    ]


def fill_local(t: Thread) -> None:
    """The same for the judge."""
    r = t.registers
    t.local[:] = b"".join(
        r[name].to_bytes(4, "little") for n in range(4) for name in (f"%r{n}", "%r3", "%r4", "%r5")
    )


def first_values(m: Maker) -> tuple[list[str], list[tuple[str, int | float]]]:
    """Constants for the registers of a function that hold nothing yet."""
    lines, values = [], []
    for name in POOLS["r"][4:] + POOLS["d"][2:]:
        value = m.rng.choice([m.rng.getrandbits(32), m.rng.getrandbits(6)])
        values.append((name, value))
        lines.append(f"mov.b{32 if name[1] == 'r' else 64} {name}, {value};")
    for name in POOLS["h"]:
        value = m.rng.getrandbits(16)
        values.append((name, value))
        lines.append(f"mov.b16 {name}, {value};")
    for n, name in enumerate(POOLS["p"]):
        lines.append(f"setp.gt.u32 {name}, %r{n}, {1 << n};")
    for name in POOLS["f"]:
        lines.append(f"cvt.rn.f32.s32 {name}, %r{m.rng.randrange(8)};")
    for name in POOLS["g"]:
        lines.append(f"cvt.rn.f64.s64 {name}, %d{m.rng.randrange(4)};")
    return lines, values


def put_first_values(t: Thread, values: Sequence[tuple[str, int | float]]) -> None:
    """The same for the judge."""
    t.registers.update(values)
    for n, name in enumerate(POOLS["p"]):
        t.registers[name] = t.registers[f"%r{n}"] > 1 << n


def define(m: Maker) -> None:
    """Add functions, the last first: each may call those that are there, and itself."""
    from tests.kernels.differential.control import statements

    for number in range(m.rng.randint(1, 3)):
        callee = Callee(f"f{number}", together=m.chance(0.4))
        with m.new_function() as function:
            constants, values = first_values(m)
            m.emit("ld.param.b32 %r0, [a]; ld.param.v2.b32 {%r1, %r2}, [b]; ld.param.b32 %r3, [depth];")
            m.emit("ld.param.b64 %d0, [c]; ld.param.b64 %d1, [b+8]; ld.param.b32 %mask, [mask];")
            m.emit("ld.param.b32 %depth, [depth];", *constants, *local_array())
            region = Region(1, "%mask" if callee.together else None, times=8)
            budget, m.budget = m.budget, 6
            body = statements(m, region, 3)
            if m.chance(0.6):
                body += _recursion(m, region, callee)
            body += statements(m, region, 2)
            m.budget = budget
            m.emit("st.param.v2.b32 [z], {%r0, %r5}; st.param.b64 [z+8], %d0;", "ret;")
            text = [f".func {RESULTS} {callee.name} {PARAMETERS}", "{", *registers(function)]
            m.declarations += [
                "\n".join([*text, ".reg .b32 %mask, %depth, %lane;", *LANE, *function.lines, "}"])
            ]
        callee.nodes = [_enter(values), *body]
        m.functions.append(callee)
        names = [each.name for each in m.functions]
        m.declarations.append(
            f".global .align 8 .u64 functions{len(names)}[{len(names)}] = {{{', '.join(names)}}};"
        )


LANE = ["mov.u32 %lane, %laneid;"]


def _enter(values: list[tuple[str, int | float]]) -> Node:
    def steps(t: Thread) -> Steps:
        put_first_values(t, values)
        fill_local(t)
        return ""
        yield

    return Wait(steps)


def _recursion(m: Maker, region: Region, callee: Callee) -> list[Node]:
    """The function calls itself, for those lanes whose depth is not used up."""
    q, end = m.fresh("p"), m.label("END")
    mask = region.mask if callee.together else None
    nodes: list[Node] = []
    if callee.together and not mask:
        return nodes
    m.emit(f"setp.ne.u32 {q}, %depth, 0;")
    nodes.append(m.set(q, lambda t: t.registers["%depth"] != 0))
    if mask:  # all lanes of the mask have the same depth
        m.emit(f"@!{q} bra {end};")
    else:
        other, more = m.compare()
        m.emit(f"and.pred {q}, {q}, {other}; @!{q} bra {end};")
        nodes += [*more, m.set(q, lambda t: t.registers[q] and t.registers[other])]
    x = m.fresh("r")
    m.emit(f"sub.u32 {x}, %depth, 1;")
    inner = [m.set(x, lambda t: t.registers["%depth"] - 1), *_call(m, [callee], None, mask, x)]
    m.emit(f"{end}:")

    def steps(t: Thread) -> Steps:
        if t.registers[q]:
            yield from run(inner, t)
        return ""

    return [*nodes, Wait(steps)]


def call(m: Maker, region: Region) -> list[Node]:
    """A function by name, or one by a number that differs from lane to lane."""
    depth = m.fresh("r")
    most = m.rng.randint(0, FRAMES - len(m.functions)) if m.in_kernel and region.times < 16 else 0
    m.emit(f"mov.b32 {depth}, {most};")
    nodes = [m.set(depth, lambda t: most)]
    if m.chance(0.6):
        callee = m.rng.choice(m.functions)
        if callee.together and not region.mask:
            return [*nodes, m.value()]
        return nodes + _call(m, [callee], None, region.mask, depth)
    name, x = m.pick("r"), m.fresh("r")
    count = len(m.functions)
    m.emit(f"rem.u32 {x}, {name}, {count};")
    nodes.append(m.set(x, lambda t: t.registers[name] % count))
    mask = None
    if any(callee.together for callee in m.functions):
        if not region.mask:
            return [*nodes, m.value()]
        mask, more = partners(m, x, region.mask)
        nodes += more
    return nodes + _call(m, m.functions, x, mask, depth)


def _call(m: Maker, callees: Sequence[Callee], index: str | None, mask: str | None, depth: str) -> list[Node]:
    sources = [m.pick("r") for _ in range(3)]
    wide = [m.pick("d") for _ in range(2)]
    d, e, g = *m.rng.sample(POOLS["r"], 2), m.pick("d")
    m.emit("{ .param .b32 A; .param .align 8 .b8 B[16]; .param .b64 C; .param .b32 M; .param .b32 N;")
    m.emit(f".param .align 8 .b8 Z[16]; st.param.b32 [A], {sources[0]}; st.param.b64 [B+8], {wide[0]};")
    m.emit(f"st.param.v2.b32 [B], {{{sources[1]}, {sources[2]}}}; st.param.b64 [C], {wide[1]};")
    m.emit(f"st.param.b32 [M], {mask or '0'}; st.param.b32 [N], {depth};")
    if index is None:
        target = callees[0].name
        m.emit(f"call (Z), {target}, (A, B, C, M, N);")
    else:
        y, p = m.fresh("d"), m.label("PROTOTYPE")
        m.emit(
            f"mov.u64 {y}, functions{len(callees)}; mad.wide.u32 {y}, {index}, 8, {y};",
            f"ld.global.u64 {y}, [{y}];",
        )
        m.emit(f"{p}: .callprototype {RESULTS.replace(' z', ' _')} _ {PROTOTYPE};")
        m.emit(f"call (Z), {y}, (A, B, C, M, N), {p};")
    m.emit(f"ld.param.v2.b32 {{{d}, {e}}}, [Z]; ld.param.b64 {g}, [Z+8]; }}")

    def steps(t: Thread) -> Steps:
        r = t.registers
        callee = callees[0 if index is None else r[index]]
        frame = {"%r0": r[sources[0]], "%r1": r[sources[1]], "%r2": r[sources[2]], "%r3": r[depth]}
        frame |= {"%d0": r[wide[1]], "%d1": r[wide[0]], "%mask": r[mask] if mask else 0}
        frame |= {"%depth": r[depth]}
        inner = replace(t, registers=frame, local=bytearray(64))
        yield from run(callee.nodes, inner)
        r[d], r[e], r[g] = (inner.registers[name] for name in ("%r0", "%r5", "%d0"))
        return ""

    return [Wait(steps)]


PROTOTYPE = "(.param .b32 _, .param .align 8 .b8 _[16], .param .b64 _, .param .b32 _, .param .b32 _)"
