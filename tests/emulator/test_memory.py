"""Loads, stores, atomics, shuffles and printing, through the device protocol."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

import struct
import subprocess
import sys

import numpy as np
import pytest

from teenycuda_cli.driver.device import LaunchConfig
from teenycuda_cli.emulator.machine.memory import SHARED_WINDOW
from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import INDEX, Session, entry, run, store

LANES = pytest.mark.parametrize("lanes", [1, 1 << 16])


@LANES
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("u8", "u1"),
        ("s8", "i1"),
        ("b8", "u1"),
        ("u16", "u2"),
        ("s16", "i2"),
        ("u32", "u4"),
        ("s32", "i4"),
        ("b32", "u4"),
    ],
)
@pytest.mark.parametrize("scattered", [False, True])
def test_narrow_loads_extend_and_narrow_stores_cut(
    kind: str, dtype: str, scattered: bool, lanes: int
) -> None:
    """A load of every width into a wider register, and the store of its low bits, in order and scattered."""
    size = np.dtype(dtype).itemsize
    index = "xor.b32 %r79, %r79, 5;" if scattered else ""
    text = entry(
        INDEX + index + f"mul.wide.u32 %d0, %r79, {size}; add.u64 %d1, %out, %d0;"
        f"ld.global.{kind} %r0, [%d1]; add.u32 %r1, %r0, 3; st.global.{kind} [%d1], %r1;"
        f"ld.param.u64 %d2, [wide]; mul.wide.u32 %d3, %r79, 4; add.u64 %d2, %d2, %d3; st.global.u32 [%d2], %r0;",
        ".param .u64 out, .param .u64 wide",
    )
    values = np.random.default_rng(1).integers(0, 256, 48 * size, np.uint8).view(dtype)
    session = Session(text, lanes=lanes)
    out, wide = session.buffer("out", values), session.buffer("wide", np.zeros(48, np.uint32))
    session.launch(out, wide, grid=(2,), block=(24,))
    np.testing.assert_array_equal(session.values("wide", np.int32), values.astype(np.uint32).view(np.int32))
    np.testing.assert_array_equal(session.values("out", dtype), values + np.array(3, dtype))


@LANES
@pytest.mark.parametrize("modifiers", ["", ".volatile", ".relaxed.gpu", ".acquire.sys"])
def test_vectors_and_orders(modifiers: str, lanes: int) -> None:
    """Vectors of two and four, with every kind of ordering."""
    back = modifiers.replace("acquire", "release")
    text = entry(
        INDEX + "mul.wide.u32 %d0, %r79, 16; add.u64 %d1, %out, %d0;"
        f"ld{modifiers}.global.v4.u32 {{%r0, %r1, _, %r3}}, [%d1]; ld{modifiers}.global.v2.u64 {{%d2, %d3}}, [%d1];"
        "cvt.u32.u64 %r2, %d3;"
        f"st{back}.global.v4.u32 [%d1], {{%r3, %r2, %r1, %r0}};"
    )
    session = Session(text, lanes=lanes)
    out = session.buffer("out", np.arange(40, dtype=np.uint32))
    session.launch(out, grid=(2,), block=(5,))
    np.testing.assert_array_equal(
        session.values("out", np.uint32).reshape(-1, 4), np.arange(40).reshape(-1, 4)[:, ::-1]
    )


@LANES
def test_generic_addresses_reach_all_spaces(lanes: int) -> None:
    """`cvta` and generic `ld`/`st` on shared, local, constant and global memory, also of mixed lanes."""
    text = entry(
        INDEX
        + """
        .local .align 4 .b8 l[16];
        mov.u64 %d0, s; cvta.shared.u64 %d0, %d0; mul.wide.u32 %d1, %r76, 4; add.u64 %d0, %d0, %d1;
        mov.u64 %d2, l; cvta.local.u64 %d2, %d2; mov.u64 %d3, c; cvta.const.u64 %d3, %d3;
        mov.u64 %d4, g; cvta.global.u64 %d4, %d4;
        add.u32 %r0, %r76, 100; st.u32 [%d0], %r0; add.u32 %r0, %r76, 200; st.u32 [%d2+8], %r0;
        bar.sync 0;
        and.b32 %r1, %r76, 3; setp.eq.u32 %p0, %r1, 1; setp.eq.u32 %p1, %r1, 2; setp.eq.u32 %p2, %r1, 3;
        mov.u64 %d5, %d0; add.u64 %d6, %d2, 8;
        @%p0 mov.u64 %d5, %d6; @%p1 mov.u64 %d5, %d3; @%p2 mov.u64 %d5, %d4;
        ld.u32 %r2, [%d5];
        isspacep.shared %p3, %d5; @%p3 add.u32 %r2, %r2, 1000; isspacep.local %p3, %d5; @%p3 add.u32 %r2, %r2, 2000;
        isspacep.global %p3, %d5; @%p3 add.u32 %r2, %r2, 3000; isspacep.const %p3, %d5; @%p3 add.u32 %r2, %r2, 4000;
        cvta.to.shared.u64 %d7, %d0; ld.shared.u32 %r3, [%d7]; sub.u32 %r3, %r3, %r76; sub.u32 %r2, %r2, %r3;
        """
        + store("%r2"),
        before=".shared .align 4 .b8 s[128]; .const .u32 c = 11; .global .u32 g = 22;",
    )
    wanted = [[t + 100 + 1000, t + 200 + 2000, 11 + 4000, 22 + 3000][t & 3] - 100 for t in range(24)]
    np.testing.assert_array_equal(run(text, 24, block=(24,), lanes=lanes), np.array(wanted).astype(np.uint32))


def test_variables_have_their_initialisers() -> None:
    """Numbers, floats, nested lists, addresses and parts of addresses."""
    text = entry(
        """
        ld.global.u64 %d0, [p]; ld.u32 %r0, [%d0]; ld.global.u8 %r1, [low]; cvt.u32.u64 %r2, %d0; sub.u32 %r2, %r2, 4;
        and.b32 %r2, %r2, 255; sub.u32 %r1, %r2, %r1; ld.global.f32 %f0, [f+4]; cvt.rzi.s32.f32 %r3, %f0;
        ld.const.u16 %r4, [m+10]; ld.global.f64 %g0, [h]; cvt.rzi.s32.f64 %r5, %g0; ld.global.u32 %r6, [m2+4];
        st.global.v4.u32 [%out], {%r0, %r1, %r3, %r4}; st.global.v2.u32 [%out+16], {%r5, %r6};
        """,
        before=".global .u32 a[4] = {5, 6, 7}; .global .u64 p = generic(a)+4; .global .u8 low = 0xff(a);"
        ".global .f32 f[2] = {0f3F800000, -2.5}; .const .align 2 .u16 m[2][3] = {{1, 2}, {3, 4, 5}};"
        ".global .f64 h = 0d4045000000000000; .global .u32 m2[2] = {1};",
    )
    np.testing.assert_array_equal(run(text, 6, np.int32, block=(1,)), [6, 0, -2, 5, 42, 0])


def test_variables_start_anew_with_each_load() -> None:
    """Module variables keep their values from launch to launch, and are fresh in another module."""
    text = entry(
        "atom.global.add.u32 %r0, [count], 1;\nst.global.u32 [%out], %r0;", before=".global .u32 count = 10;"
    )
    session = Session(text)
    out = session.buffer("out", np.zeros(1, np.uint32))
    seen = []
    for _ in range(3):
        session.launch(out, block=(1,))
        seen.append(int(session.values("out", np.uint32)[0]))
    assert seen == [10, 11, 12]
    assert run(text, 1, block=(1,))[0] == 10


def test_unwritten_memory_is_poison() -> None:
    """Shared and local memory hold 0xCD bytes before anything is written, whatever an earlier batch did."""
    text = entry(
        INDEX + ".local .align 4 .b8 l[4]; mov.u64 %d0, l; ld.local.u32 %r0, [%d0]; ld.shared.u32 %r1, [s];"
        "xor.b32 %r2, %r0, %r1; add.u32 %r2, %r2, %r1; st.shared.u32 [s], %r76; st.local.u32 [%d0], %r76;"
        + store("%r2"),
        before=".shared .u32 s;",
    )
    np.testing.assert_array_equal(run(text, 9, grid=(9,), block=(1,), lanes=3), [0xCDCDCDCD] * 9)


ATOMICS: list[tuple[str, str, type, object]] = [
    ("add", "u32", np.uint32, lambda o, x: o + x),
    ("add", "u64", np.uint64, lambda o, x: o + x),
    ("min", "s32", np.int32, min),
    ("max", "u32", np.uint32, max),
    ("and", "b32", np.uint32, lambda o, x: o & x),
    ("or", "b64", np.uint64, lambda o, x: o | x),
    ("xor", "b32", np.uint32, lambda o, x: o ^ x),
    ("exch", "b32", np.uint32, lambda o, x: x),
    ("inc", "u32", np.uint32, lambda o, x: 0 if o >= x else o + 1),
    ("dec", "u32", np.uint32, lambda o, x: x if o == 0 or o > x else o - 1),
    ("add", "f32", np.float32, lambda o, x: np.float32(o + x)),
    ("add", "f64", np.float64, lambda o, x: o + x),
]


@LANES
@pytest.mark.parametrize(
    ("name", "kind", "dtype", "function", "wanted"),
    # red has no exch
    [(*row, wanted) for row in ATOMICS for wanted in (True, False) if wanted or row[0] != "exch"],
)
@pytest.mark.parametrize("targets", [1, 3, 64])
def test_atomics_take_turns(
    name: str, kind: str, dtype: type, function: object, targets: int, wanted: bool, lanes: int
) -> None:
    """Each atomic, with and without its result, on one address, a few, and one for each lane."""
    size, bits = np.dtype(dtype).itemsize, kind[1:]
    prefix = {"f32": "%f", "f64": "%g"}.get(kind, "%r" if bits == "32" else "%d")
    a, b = f"{prefix}1", f"{prefix}2"
    load = f"mul.wide.u32 %d10, %r79, {size}; ld.param.u64 %d11, [x]; add.u64 %d12, %d11, %d10; ld.global.{kind} {a}, [%d12];"
    where = f"rem.u32 %r5, %r79, {targets}; mul.wide.u32 %d13, %r5, {size}; add.u64 %d13, %out, %d13;"
    if wanted:
        act = f"atom.global.{name}.{kind} {b}, [%d13], {a}; st.global.{kind} [%d12], {b};"
    else:
        act = f"red.global.{name}.{kind} [%d13], {a};"
    text = entry(INDEX + load + where + act, ".param .u64 out, .param .u64 x")
    rng = np.random.default_rng(5)
    x = (
        rng.integers(0, 50, 64).astype(dtype)
        if name in {"inc", "dec"}
        else (rng.random(64) * 1000).astype(dtype)
    )
    memory = rng.integers(0, 40, targets).astype(dtype)
    session = Session(text, lanes=lanes)
    out, given = session.buffer("out", memory), session.buffer("x", x)
    session.launch(out, given, grid=(2,), block=(32,))
    olds = []
    current = memory.copy()
    with np.errstate(all="ignore"):
        for lane in range(64):
            old = current[lane % targets]
            olds.append(old)
            current[lane % targets] = function(old, x[lane])  # type: ignore[operator]
    np.testing.assert_array_equal(session.values("out", dtype), current)
    if wanted:
        np.testing.assert_array_equal(session.values("x", dtype), np.array(olds, dtype))


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("block", [32, 64, 40])
def test_shuffles(mode: str, width: int, block: int) -> None:
    """Every mode of `shfl.sync`, with and without its predicate, for every distance and two widths."""
    clamp = ((32 - width) << 8) | (0 if mode == "up" else 31)
    steps = []
    for delta in (0, 1, 3, 8, 16, 31):
        steps.append(f"shfl.sync.{mode}.b32 %r0|%p0, %r76, {delta}, {clamp}, -1; selp.u32 %r1, 1000, 0, %p0;")
        steps.append(
            f"add.u32 %r2, %r0, %r1; shfl.sync.{mode}.b32 %r3, %r76, {delta}, {clamp}, -1; mad.lo.u32 %r2, %r3, 7, %r2;"
        )
        steps.append("mad.lo.u32 %r10, %r10, 31, %r2;")
    text = entry(INDEX + "mov.u32 %r10, 0;" + "\n".join(steps) + store("%r10"))
    wanted = []
    for lane in range(block):
        total = 0
        for delta in (0, 1, 3, 8, 16, 31):
            me = lane & 31
            segment = 32 - width
            high = (me & segment) | ((clamp & 31) & ~segment & 31)
            source, inside = {
                "up": (me - delta, me - delta >= high),
                "down": (me + delta, me + delta <= high),
                "bfly": (me ^ delta, (me ^ delta) <= high),
                "idx": ((me & segment) | (delta & ~segment & 31),) * 2,
            }[mode]
            inside = source <= high if mode == "idx" else inside
            got = (lane & ~31) + (source if inside else me)
            if got >= block:
                got = None
                break
            total = (total * 31 + got + 1000 * inside + 7 * got) & 0xFFFFFFFF
        wanted.append(total if got is not None else None)
    result = run(text, block, block=(block,))
    for lane, value in enumerate(wanted):
        if value is not None:
            assert result[lane] == value, lane


@pytest.mark.parametrize("lanes", [32, 1 << 16])
def test_warp_operations_wait_for_their_members(lanes: int) -> None:
    """A shuffle, a vote and a ballot meet again after divergence, and within a part of the warp."""
    text = entry(
        INDEX
        + """
        mov.u32 %r0, %r76; and.b32 %r1, %r76, 1; setp.eq.u32 %p0, %r1, 0;
        mov.u32 %r2, %r76;
        LOOP: setp.eq.u32 %p1, %r2, 0; @%p1 bra JOIN; sub.u32 %r2, %r2, 1; add.u32 %r0, %r0, 2; bra LOOP;
        JOIN: shfl.sync.bfly.b32 %r3, %r0, 1, 31, -1;
        @%p0 bra EVEN;
        vote.sync.ballot.b32 %r4, %p0, 0xaaaaaaaa; activemask.b32 %r5; bra OUT;
        EVEN: setp.lt.u32 %p2, %r76, 10; vote.sync.ballot.b32 %r4, %p2, 0x55555555; activemask.b32 %r5;
        OUT: bar.warp.sync -1; vote.sync.any.pred %p3, %p0, -1; vote.sync.all.pred %p4, %p0, -1;
        mad.lo.u32 %r3, %r3, 3, %r4; add.u32 %r3, %r3, %r5;
        selp.u32 %r6, 1, 0, %p3; selp.u32 %r7, 2, 0, %p4; add.u32 %r3, %r3, %r6; add.u32 %r3, %r3, %r7;
        """
        + store("%r3")
    )
    wanted = [
        (3 * 3 * (t ^ 1) + (0 if t & 1 else 0x155) + (0xAAAAAAAA if t & 1 else 0x55555555) + 1) & 0xFFFFFFFF
        for t in range(32)
    ]
    np.testing.assert_array_equal(run(text, 32, block=(32,), lanes=lanes), wanted)


def test_match_redux_and_elect() -> None:
    """The rest of the warp's operations."""
    text = entry(
        INDEX
        + """
        shr.u32 %r0, %r76, 3; match.any.sync.b32 %r1, %r0, -1; match.all.sync.b32 %r2|%p0, %r0, -1;
        redux.sync.add.s32 %r3, %r76, -1; redux.sync.max.u32 %r4, %r76, -1; elect.sync %r5|%p1, -1;
        selp.u32 %r6, 1, 0, %p0; selp.u32 %r7, 10, 0, %p1; add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, %r5;
        add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r6;
        """
        + store("%r1")
    )
    wanted = [(0xFF << (8 * (t >> 3))) + 496 + 31 + (10 if t == 0 else 0) for t in range(32)]
    np.testing.assert_array_equal(run(text, 32), np.array(wanted, np.uint64).astype(np.uint32))


def test_special_registers() -> None:
    """Lane, warp, masks and sizes."""
    names = [
        "laneid",
        "warpid",
        "nwarpid",
        "lanemask_eq",
        "lanemask_lt",
        "lanemask_ge",
        "dynamic_smem_size",
        "total_smem_size",
    ]
    body = INDEX + "mul.lo.u32 %r79, %r79, 8;"
    for name in names:
        body += f"mov.u32 %r0, %{name};" + store("%r0") + "add.u32 %r79, %r79, 1;"
    session = Session(
        entry(body, before=".shared .align 4 .b8 s[16]; .extern .shared .align 4 .b8 d[];").replace(
            "ld.param.u64 %out, [out];", "ld.param.u64 %out, [out]; mov.u32 %r1, s; mov.u32 %r1, d;"
        )
    )
    out = session.buffer("out", np.zeros(8 * 70, np.uint32))
    session.launch(out, block=(10, 7), shared=100)
    result = session.values("out", np.uint32).reshape(70, 8)
    lane = np.arange(70) % 32
    bit = np.uint64(1) << lane.astype(np.uint64)
    wanted = [lane, np.arange(70) // 32, 64, bit, bit - 1, (1 << 32) - bit, 100, 128]
    for column, values in enumerate(wanted):
        np.testing.assert_array_equal(result[:, column], values, err_msg=names[column])


def test_clocks_go_forward() -> None:
    """`%clock64` and `%globaltimer` never go back."""
    text = entry(
        "mov.u64 %d0, %clock64; mov.u64 %d1, %clock64; setp.gt.s64 %p0, %d1, %d0; selp.u32 %r0, 1, 0, %p0;"
        "mov.u64 %d2, %globaltimer; mov.u64 %d3, %globaltimer; setp.ge.u64 %p1, %d3, %d2; selp.u32 %r1, 1, 0, %p1;"
        "st.global.v2.u32 [%out], {%r0, %r1};"
    )
    np.testing.assert_array_equal(run(text, 2, block=(1,)), [1, 1])


PRINT = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);"


def printed(pattern: str, stores: str, block: int = 1, grid: int = 1, lanes: int = 1 << 16) -> str:
    """What one `printf` of a kernel prints, its arguments stored by `stores` into the buffer at %d1."""
    data = ", ".join(str(byte) for byte in pattern.encode() + b"\0")
    size = len(pattern.encode()) + 1
    text = entry(
        INDEX + f".local .align 8 .b8 a[64]; mov.u64 %d0, a; cvta.local.u64 %d1, %d0; {stores}"
        "mov.u64 %d2, f; cvta.global.u64 %d2, %d2;"
        "{ .param .b64 p; .param .b64 q; .param .b32 r; st.param.b64 [p], %d2; st.param.b64 [q], %d1;"
        "call (r), vprintf, (p, q); ld.param.b32 %r1, [r]; }",
        before=f"{PRINT} .global .align 1 .b8 f[{size}] = {{{data}}}; .global .align 1 .b8 s[4] = {{97, 98, 99, 0}};",
    )
    session = Session(text, lanes=lanes)
    out = session.buffer("out", np.zeros(1, np.uint32))
    return session.launch(out, block=(block,), grid=(grid,)).printf


@pytest.mark.parametrize(
    ("pattern", "stores", "text"),
    [
        ("plain %% text\n", "", "plain % text\n"),
        (
            "%d|%5d|%-5d|%05d|%+d",
            "".join(f"st.u32 [%d1+{4 * i}], -7;" for i in range(5)),
            "-7|   -7|-7   |-0007|-7",
        ),
        (
            "%u %x %X %#x %o",
            "".join(f"st.u32 [%d1+{4 * i}], 4294967290;" for i in range(5)),
            "4294967290 fffffffa FFFFFFFA 0xfffffffa 37777777772",
        ),
        (
            "%hhd %hd %lld",
            "st.u32 [%d1], 511; st.u32 [%d1+4], 65535; st.u64 [%d1+8], -9000000000;",
            "-1 -1 -9000000000",
        ),
        ("%c%c %5c|", "st.u32 [%d1], 104; st.u32 [%d1+4], 105; st.u32 [%d1+8], 33;", "hi     !|"),
        (
            "%f %.2f %e %g",
            "".join(f"st.u64 [%d1+{8 * i}], 0x4002000000000000;" for i in range(4)),
            "2.250000 2.25 2.250000e+00 2.25",
        ),
        (
            "%a|%10.3f|",
            "st.u64 [%d1], 0x4002000000000000; st.u64 [%d1+8], 0xc002000000000000;",
            "0x1.2p+1|    -2.250|",
        ),
        (
            "%s|%5s|%.2s",
            "mov.u64 %d5, s;" + "".join(f"st.u64 [%d1+{8 * i}], %d5;" for i in range(3)),
            "abc|  abc|ab",
        ),
        (
            "%*d|%.*f",
            "st.u32 [%d1], 6; st.u32 [%d1+4], 42; st.u32 [%d1+8], 1; st.u64 [%d1+16], 0x4002000000000000;",
            "    42|2.2",
        ),
        ("%s|%7s|%.2s", "".join(f"st.u64 [%d1+{8 * i}], 0;" for i in range(3)), "(null)| (null)|(n"),
        ("%p", "mov.u64 %d5, 0xabc; st.u64 [%d1], %d5;", "0xabc"),
        ("%d %f", "st.u32 [%d1], 1; st.u64 [%d1+8], 0x4002000000000000;", "1 2.250000"),
    ],
)
def test_printf_formats(pattern: str, stores: str, text: str) -> None:
    """`vprintf` prints as C does, its arguments at their natural alignment."""
    assert printed(pattern, stores) == text


@pytest.mark.parametrize("lanes", [1, 8, 1 << 16])
def test_printf_comes_in_the_order_of_blocks_and_threads(lanes: int) -> None:
    """What is printed stands in the same order for every size of batch."""
    text = printed("%d.%d ", "st.u32 [%d1], %r78; st.u32 [%d1+4], %r76;", block=3, grid=4, lanes=lanes)
    assert text == "".join(f"{b}.{t} " for b in range(4) for t in range(3))


def test_kernel_parameters_can_be_read_by_address() -> None:
    """A struct by value is read at a computed offset, and cannot be written."""
    text = entry(
        INDEX + "ld.param.u64 %d9, [out2]; mov.b64 %d0, p; mul.wide.u32 %d1, %r76, 2; add.u64 %d0, %d0, %d1;"
        "ld.param.u16 %r0, [%d0]; mul.wide.u32 %d1, %r76, 4; add.u64 %d9, %d9, %d1; st.global.u32 [%d9], %r0;",
        ".param .align 4 .b8 p[8], .param .u64 out2",
    )
    session = Session(text)
    out = session.buffer("out2", np.zeros(4, np.uint32))
    session.launch(np.array([1, 22, 333, 4444], np.uint16).tobytes(), out, block=(4,))
    np.testing.assert_array_equal(session.values("out2", np.uint32), [1, 22, 333, 4444])


@pytest.mark.parametrize("few", [0, 1 << 30])
@pytest.mark.parametrize("space", ["global", "shared", "local", "generic"])
def test_loops_over_memory_of_every_space(space: str, few: int) -> None:
    """Loops of a few lanes load and store narrow, wide and float elements as loops of many do."""
    base = {"global": "%out", "generic": "%out", "shared": "%d50", "local": "%d51"}[space]
    dot = "" if space == "generic" else f".{space}"
    text = entry(
        INDEX
        + f"""
        .local .align 8 .b8 l[64];
        mov.u64 %d50, s; mul.wide.u32 %d52, %r76, 64; add.u64 %d50, %d50, %d52; mov.u64 %d51, l;
        mul.wide.u32 %d52, %r79, 64; add.u64 %d53, %out, %d52;
        mov.u64 %d54, {base}; {"add.u64 %d54, %d54, %d52;" if base == "%out" else ""}
        and.b32 %r0, %r76, 7; mov.u32 %r1, 0; mov.f32 %f0, 0f3F800000; mov.f64 %g0, 0d3FF8000000000000;
        L: setp.gt.u32 %p0, %r1, %r0; @%p0 bra OUT;
        st{dot}.u8 [%d54], %r1; st{dot}.f32 [%d54+4], %f0; st{dot}.f64 [%d54+8], %g0; st{dot}.s16 [%d54+16], -3;
        ld{dot}.s16 %r2, [%d54+16]; ld{dot}.f32 %f1, [%d54+4]; ld{dot}.f64 %g1, [%d54+8]; ld{dot}.u8 %r3, [%d54];
        add.f32 %f0, %f1, %f0; mul.f64 %g0, %g1, %g0; add.u32 %r4, %r2, %r3; cvt.rn.f32.u32 %f2, %r3; fma.rn.f32 %f0, %f2, %f1, %f0;
        @%p0 add.u32 %r4, %r4, 1000; add.u32 %r1, %r1, 1; bra L;
        OUT: st.global.u32 [%d53+32], %r4; st.global.f32 [%d53+36], %f0; st.global.f64 [%d53+40], %g0;
        """,
        before=".shared .align 8 .b8 s[1024];",
    )
    result = run(text, 16 * 32, grid=(2,), block=(16,), few_lanes=few).reshape(32, 16)
    for thread in range(32):
        f, g = np.float32(1), 1.5
        for turn in range((thread & 7) + 1):
            old = f
            f = np.float32(old + old)
            g = g * g
            f = np.float32(np.float64(turn) * old + f)
        assert result[thread, 8:9].view(np.int32)[0] == (thread & 7) - 3
        assert result[thread, 9:10].view(np.float32)[0] == f
        assert result[thread, 10:12].view(np.float64)[0] == g


def test_a_second_launch_reads_its_own_parameters() -> None:
    """Through the parameters' address too, which another buffer took in between."""
    session = Session(
        entry("mov.u64 %d1, out; cvta.param.u64 %d1, %d1; ld.u64 %d2, [%d1]; st.global.u32 [%d2], 7;")
    )
    function = session.module.function("k")
    for name in ("out", "other"):
        buffer = session.buffer(name, np.zeros(4, np.uint32))
        session.device.annotate(list(session.buffers.values()))
        parameters = (struct.pack("<Q", buffer.address),)
        function.launch(LaunchConfig((1, 1, 1), (1, 1, 1), None, 0, parameters))
        assert session.values(name, np.uint32)[0] == 7


def test_an_f32_variable_with_a_value_beyond_f32_is_infinite() -> None:
    """As a conversion would have it."""
    text = entry(
        "ld.global.u32 %r1, [big]; st.global.u32 [%out], %r1;",
        before=".global .f32 big = 0d7FE0000000000000;",
    )
    assert run(text, 1)[0] == 0x7F800000


def test_many_registers_make_batches_smaller() -> None:
    """A thousand f64 that all live at once, in 128 Ki threads, take less than 300 MB."""
    count, threads = 1000, 1 << 17
    numbers = "".join(f"cvt.rn.f64.u32 %w{k}, %r5; add.u32 %r5, %r5, %r76;" for k in range(count))
    total = "".join(f"add.f64 %g1, %g1, %w{k};" for k in range(count))
    body = f"""{INDEX} .reg .f64 %w<{count}>; mul.lo.u32 %r5, %r79, %r79; mov.f64 %g1, 0d0000000000000000;
    {numbers} bar.sync 0; {total} cvt.rzi.u32.f64 %r9, %g1; {store("%r9")}"""
    program = f"""
import resource, sys
import numpy as np
from tests.emulator.harness import Session
session = Session({entry(body)!r})
out = session.buffer("out", np.zeros({threads}, np.uint32))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
session.launch(out, grid=({threads // 256},), block=(256,))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 300


def test_launches_with_shared_memory_of_different_sizes() -> None:
    """Each block reads its own part, wherever that lies this time."""
    body = f"""{INDEX} mov.u32 %r1, dyn; mul.lo.u32 %r2, %r76, %r76; and.b32 %r2, %r2, 63; shl.b32 %r2, %r2, 2;
    shl.b32 %r3, %r76, 2; add.u32 %r3, %r3, %r1; add.u32 %r2, %r2, %r1; st.shared.u32 [%r3], %r79;
    bar.sync 0; ld.shared.u32 %r4, [%r2]; {store("%r4")}"""
    session = Session(entry(body, before=".extern .shared .align 4 .b8 dyn[];"))
    out = session.buffer("out", np.zeros(256, np.uint32))
    session.device.annotate(list(session.buffers.values()))
    function = session.module.function("k")
    block, thread = np.divmod(np.arange(256), 64)
    for size in (256, 4096, 256):
        parameters = (struct.pack("<Q", out.address),)
        function.launch(LaunchConfig((4, 1, 1), (64, 1, 1), None, size, parameters))
        np.testing.assert_array_equal(session.values("out", np.uint32), block * 64 + (thread * thread & 63))


@pytest.mark.parametrize("step", [0, 1, 1 << 60])
def test_generic_addresses_wrap_at_64_bits(step: int) -> None:
    """`cvta` of what is far outside the window: a value for all lanes, one for each, one that wraps among them."""
    first = (1 << 63) - 16
    body = (
        INDEX + f"cvt.u64.u32 %d1, %r76; mul.lo.u64 %d1, %d1, {step}; add.u64 %d1, %d1, {first:#x};"
        "cvta.shared.u64 %d2, %d1;" + store("%d2", "u64", 8)
    )
    session = Session(entry(body))
    out = session.buffer("out", np.zeros(33, np.uint64))
    session.launch(out, block=(33,))
    want = [(first + lane * step + SHARED_WINDOW) % (1 << 64) for lane in range(33)]
    assert session.values("out", np.uint64).tolist() == want

    session = Session(entry(body + "ld.u32 %r1, [%d2];"))
    out = session.buffer("out", np.zeros(33, np.uint64))
    with pytest.raises(LaunchError, match=f"a load of 4 bytes at {want[0]:#x}"):
        session.launch(out, block=(33,))


@pytest.mark.parametrize("space", ["global", "shared"])
def test_offsets_of_64_bits(space: str) -> None:
    """An offset of 2^64 - 4 means 4 bytes before; 2^63 is out of bounds."""
    address = {"global": "%out", "shared": "%d1"}[space]
    fill = "mov.u64 %d1, box; mov.u32 %r2, 5; st.shared.u32 [%d1], %r2; st.global.u32 [%out], %r2;"
    load = f"add.u64 %d2, {address}, 4; ld.{space}.u32 %r1, [%d2+0xfffffffffffffffc]; st.global.u32 [%out+4], %r1;"
    text = entry(fill + load, before=".shared .align 8 .b8 box[64];")
    np.testing.assert_array_equal(run(text, 2, block=(1,)), [5, 5])
    with pytest.raises(LaunchError, match="out of bounds"):
        run(text.replace("0xfffffffffffffffc", "0x8000000000000000"), 2, block=(1,))
