"""A random kernel from a seed: its text, its launch, and what the judge says that it leaves."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.hardware.counter import Counter
from tests.kernels.differential.calls import (
    LANE,
    define,
    fill_local,
    first_values,
    local_array,
    put_first_values,
    registers,
)
from tests.kernels.differential.control import statements
from tests.kernels.differential.judge import Do, Node, Thread, run_all
from tests.kernels.differential.maker import ACCUMULATORS, INPUTS, POOLS, TABLE, WORDS, Maker, Region
from tests.kernels.differential.meeting import cluster, mail, together

Dim3 = tuple[int, int, int]
BLOCKS: tuple[Dim3, ...] = (
    (32, 1, 1), (64, 1, 1), (33, 1, 1), (7, 5, 1), (5, 3, 3), (31, 1, 1), (96, 1, 1), (50, 2, 1), (1, 1, 1),
    (3, 4, 2), (128, 1, 1), (2, 2, 17), (65, 1, 1), (16, 2, 2),
)  # fmt: skip
GRIDS: tuple[Dim3, ...] = ((1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 1, 2))
FACTOR = 1000003
MAILS = 3


@dataclass(frozen=True)
class Kernel:
    """A kernel named `k` of two parameters, addresses of the output and the input."""

    seed: int
    text: str
    sm: int
    grid: Dim3
    block: Dim3
    cluster: Dim3 | None
    inputs: np.ndarray[Any, Any]
    words: int
    """Of its output, zero at first."""
    dynamic: int
    """Bytes of dynamic shared memory."""
    maker: Maker
    nodes: Sequence[Node] | None
    """What each thread does, where the judge can tell."""


def made(seed: int) -> Kernel:
    """The kernel of a seed: of three one has floats, which devices alone judge; of four one is for sm_90.

    Of five one ends some lanes of each warp before anything else.
    """
    rng = random.Random(seed)
    sm = 90 if seed % 4 == 0 else 80
    size = rng.choice([2, 4]) if seed % 8 == 0 else 1
    block = rng.choice(BLOCKS)
    grid = rng.choice(GRIDS) if size == 1 else (size * rng.randint(1, 2), 1, 1)
    lanes = rng.randint(1, 31) if seed % 5 == 0 else 32
    m = Maker(seed, seed % 3 != 0, sm, grid, block, size, lanes, rng)
    m.table = [rng.getrandbits(32) for _ in range(TABLE)]
    inputs = (Counter(f"differential {seed}").bits(INPUTS) >> np.uint64(32)).astype(np.uint32)
    m.inputs = [int(value) for value in inputs]
    dynamic = 16 * m.threads if m.chance(0.5) else 0
    table = ", ".join(map(str, m.table))
    m.declarations += [
        f".const .align 16 .b32 constants[{TABLE}] = {{{table}}};",
        f".global .align 16 .b32 numbers[{TABLE}] = {{{table}}};",
    ]
    m.declarations.append(f".global .align 8 .b32 mail[{2 * MAILS * m.blocks}];")
    nodes = _body(m, dynamic)
    head = f".version 8.3\n.target sm_{sm}\n.address_size 64\n"
    text = head + "\n".join(m.declarations) + "\n" + "\n".join(m.function.lines) + "\n"
    return Kernel(
        seed,
        text,
        sm,
        grid,
        block,
        (size, 1, 1) if size > 1 else None,
        inputs,
        m.threads * m.blocks * WORDS + ACCUMULATORS,
        dynamic,
        m,
        nodes if m.judged else None,
    )


def _body(m: Maker, dynamic: int) -> list[Node]:
    if m.chance(0.6):
        define(m)
    constants, values = first_values(m)
    m.budget = m.rng.choice([30, 60, 60, 120])
    full = _mask(m)
    region = Region(m.rng.choice([2, 3, 3, 4]), "%full", uniform=True)
    nodes: list[Node] = []
    mails = 0
    for _ in range(m.rng.randint(1, MAILS)):
        nodes += together(m, region, 1)
        if m.cluster > 1:
            nodes += cluster(m)
        if m.blocks > 1 and m.chance(0.2):
            nodes += mail(m, mails)
            mails += 1
    last = region.inner("%full", depth=2)
    nodes += statements(m, last)
    if m.chance(0.3):
        nodes += statements(m, region.inner(None, depth=2, exits=True))
    nodes.append(_finish(m))
    text = [*_start(m, dynamic), *full, *constants, *local_array(), *m.function.lines, "}"]
    own = registers(m.function)
    place = text.index("{") + 1
    m.function.lines = [*text[:place], *own, *text[place:]]

    def start(t: Thread) -> None:
        r = t.registers
        in_grid = m.grid_thread(t)
        r |= {"%r0": t.number, "%r1": t.block, "%r2": in_grid, "%r3": m.inputs[in_grid % INPUTS]}
        r |= {"%d0": m.inputs[t.number % INPUTS] * r["%r3"], "%d1": t.number * 4}
        first = t.number // 32 * 32
        r["%full"] = (1 << min(32, m.threads - first, m.lanes)) - 1
        put_first_values(t, values)
        fill_local(t)

    return [Do(start), *nodes]


def _start(m: Maker, dynamic: int) -> list[str]:
    """The entry's head, and the registers that hold something in all kernels."""
    box = (
        ".extern .shared .align 16 .b32 box[];"
        if dynamic
        else f".shared .align 16 .b32 box[{4 * m.threads}];"
    )
    x, y, z = m.block
    ends = "" if m.lanes == 32 else f"setp.ge.u32 %first, %lane, {m.lanes}; @%first exit;"
    shared = [
        ".shared .align 8 .b64 phase;",
        ".shared .align 4 .b32 lock;",
        ".shared .align 16 .b32 sums[4];",
    ]
    entry = [".visible .entry k(.param .u64 out, .param .u64 in)"]
    text = f"""
    .reg .b32 %lane, %warp, %number, %blocknumber, %box, %boxes, %full, %i<8>;
    .reg .b64 %mine, %in, %sums, %wide; .reg .pred %first;
    mov.u32 %i0, %tid.x; mov.u32 %i1, %tid.y; mov.u32 %i2, %tid.z;
    mad.lo.u32 %i2, %i2, {y}, %i1; mad.lo.u32 %number, %i2, {x}, %i0;
    mov.u32 %i0, %ctaid.x; mov.u32 %i1, %ctaid.y; mov.u32 %i2, %ctaid.z;
    mad.lo.u32 %i2, %i2, {m.grid[1]}, %i1; mad.lo.u32 %blocknumber, %i2, {m.grid[0]}, %i0;
    mov.u32 %r0, %number; mov.u32 %r1, %blocknumber; mad.lo.u32 %r2, %r1, {x * y * z}, %r0;
    ld.param.u64 %mine, [out]; ld.param.u64 %in, [in];
    cvta.to.global.u64 %mine, %mine; cvta.to.global.u64 %in, %in;
    add.u64 %sums, %mine, {m.threads * m.blocks * WORDS * 4}; mad.wide.u32 %mine, %r2, {WORDS * 4}, %mine;
    and.b32 %i0, %r2, {INPUTS - 1}; mad.wide.u32 %wide, %i0, 4, %in; ld.global.u32 %r3, [%wide];
    and.b32 %i0, %r0, {INPUTS - 1}; mad.wide.u32 %wide, %i0, 4, %in; ld.global.u32 %i0, [%wide];
    mul.wide.u32 %d0, %i0, %r3; mul.wide.u32 %d1, %r0, 4;
    mov.u32 %boxes, box; shl.b32 %box, %number, 4; add.u32 %box, %box, %boxes;
    {" ".join(LANE)} shr.u32 %warp, %number, 5;
    setp.eq.u32 %first, %number, 0; mov.u32 %i0, 0;
    @%first st.shared.u32 [lock], %i0; @%first mbarrier.init.shared.b64 [phase], {len(m.living)};
    st.shared.v4.u32 [%box], {{%i0, %i0, %i0, %i0}};
    bar.sync 0; {ends}
    """
    outside = [box] if dynamic else []
    inside = shared if dynamic else [box, *shared]
    return [*outside, *entry, "{", *inside, *(line.strip() for line in text.splitlines() if line.strip())]


def _mask(m: Maker) -> list[str]:
    """The lanes of this warp that there are."""
    return [
        f"shl.b32 %i0, %warp, 5; sub.u32 %i0, {m.threads}, %i0; min.u32 %i0, %i0, {m.lanes};",
        "sub.u32 %i0, 32, %i0; mov.u32 %full, 0xFFFFFFFF; shr.u32 %full, %full, %i0;",
    ]


def _finish(m: Maker) -> Node:
    """All registers become one number."""
    m.emit(".reg .b64 %hash, %next; mov.u64 %hash, 0;")
    kinds = "rdhp" if m.judged else "rdhpfg"
    for kind in kinds:
        for name in POOLS[kind]:
            to_wide = {
                "r": f"cvt.u64.u32 %next, {name};",
                "d": f"mov.b64 %next, {name};",
                "h": f"cvt.u64.u16 %next, {name};",
                "p": f"selp.u64 %next, 1, 0, {name};",
                "f": f"mov.b32 %i0, {name}; cvt.u64.u32 %next, %i0;",
                "g": f"mov.b64 %next, {name};",
            }[kind]
            m.emit(f"{to_wide} mad.lo.u64 %hash, %hash, {FACTOR}, %next;")
    m.emit(f"st.global.u64 [%mine+{4 * (WORDS - 2)}], %hash;", "ret;")

    def act(t: Thread) -> None:
        total = 0
        for kind in kinds:
            for name in POOLS[kind]:
                total = (total * FACTOR + int(t.registers[name])) & ((1 << 64) - 1)
        place = m.grid_thread(t) * WORDS + WORDS - 2
        t.outer[place], t.outer[place + 1] = total & 0xFFFFFFFF, total >> 32

    return Do(act)


def judged(kernel: Kernel) -> np.ndarray[Any, Any]:
    """What the kernel leaves, by the judge."""
    assert kernel.nodes is not None
    m, outer = kernel.maker, {}
    shared: list[dict[int, int]] = [dict.fromkeys(range(4 * m.threads), 0) for _ in range(m.blocks)]
    threads = []
    for block in range(m.blocks):
        start = block // m.cluster * m.cluster
        group = shared[start : start + m.cluster]
        for number in m.living:
            threads.append((Thread(number, block, shared[block], outer, group), kernel.nodes))
    run_all(threads)
    result = np.zeros(kernel.words, np.uint32)
    for place, value in outer.items():
        result[place] = value
    return result
