# ruff: noqa: E501  (PTX text is easier to read in whole lines)
"""Straight-line blocks that stream through memory: the same values however the work is cut."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import INDEX, Session, entry

LANES = pytest.mark.parametrize("lanes", [1, 96, 1 << 16])
PARAMS = ".param .u64 out, .param .u64 x, .param .u32 n"
START = INDEX + "ld.param.u64 %d60, [x]; ld.param.u32 %r60, [n];\n"


def stream(
    body: str,
    x: np.ndarray,
    out: np.ndarray,
    *,
    lanes: int,
    grid: int,
    block: int,
    n: int = 0,
    alias: int | None = None,
) -> np.ndarray:
    """Run a kernel on `x` and `out`; with `alias`, x is `out` that many bytes further on."""
    session = Session(entry(START + body, PARAMS), lanes=lanes)
    target = session.buffer("out", out)
    source = (
        session.buffer("x", x)
        if alias is None
        else type(target)(target.address + alias, target.size - alias, "x")
    )
    session.launch(target, source, n, grid=(grid,), block=(block,))
    return session.values("out", out.dtype)


@LANES
@pytest.mark.parametrize("n", [0, 1, 700, 1000, 5000])
def test_a_guard_may_hold_for_all_some_or_none(n: int, lanes: int) -> None:
    """Elements up to n are written, the rest are left."""
    body = """
    setp.ge.u32 %p0, %r79, %r60; @%p0 ret;
    mul.wide.u32 %d0, %r79, 4; add.u64 %d1, %d60, %d0; add.u64 %d2, %out, %d0;
    ld.global.f32 %f0, [%d1]; mul.f32 %f1, %f0, 0f40400000; add.f32 %f2, %f1, %f0; st.global.f32 [%d2], %f2;
    """
    x = np.random.default_rng(1).random(1024, dtype=np.float32)
    result = stream(body, x, np.full(1024, 7, np.float32), lanes=lanes, grid=16, block=64, n=n)
    np.testing.assert_array_equal(result, np.where(np.arange(1024) < n, x * np.float32(3) + x, np.float32(7)))


SEVERAL = """
mul.wide.u32 %d0, %r79, 16; add.u64 %d1, %d60, %d0; add.u64 %d2, %out, %d0;
add.u64 %d3, %d1, 4; add.u64 %d4, %d1, 8; add.u64 %d5, %d1, 12;
add.u64 %d6, %d2, 4; add.u64 %d7, %d2, 8; add.u64 %d8, %d2, 12;
ld.global.f32 %f0, [%d1]; ld.global.f32 %f1, [%d3]; ld.global.f32 %f2, [%d4]; ld.global.f32 %f3, [%d5];
add.f32 %f4, %f0, %f0; add.f32 %f5, %f1, %f1; add.f32 %f6, %f2, %f2; add.f32 %f7, %f3, %f3;
st.global.f32 [%d2], %f4; st.global.f32 [%d6], %f5; st.global.f32 [%d7], %f6; st.global.f32 [%d8], %f7;
"""


@LANES
@pytest.mark.parametrize("alias", [None, 0])
def test_several_elements_a_thread(lanes: int, alias: int | None) -> None:
    """A thread's own elements, loaded first and stored last, also in place."""
    x = np.random.default_rng(2).random(4 * 200, dtype=np.float32)
    result = stream(SEVERAL, x, x.copy(), lanes=lanes, grid=5, block=40, alias=alias)
    np.testing.assert_array_equal(result, x + x)


@LANES
@pytest.mark.parametrize("shift", [4, 8])
def test_a_thread_that_loads_what_it_overwrites_later(lanes: int, shift: int) -> None:
    """With x a few elements into out, each thread must load all before it stores (one thread, so no race)."""
    x = np.arange(1, 13, dtype=np.float32)
    result = stream(SEVERAL, x, x.copy(), lanes=lanes, grid=1, block=1, alias=shift)
    wanted = x.copy()
    wanted[:4] = 2 * x[shift // 4 : shift // 4 + 4]
    np.testing.assert_array_equal(result, wanted)


def groups(places: list[int], interleaved: bool) -> str:
    """Four elements a thread at each of the places, doubled: loads and stores of each in turn, or all loads first."""
    loads, stores = [], []
    for number, place in enumerate(place + each for place in places for each in range(4)):
        loads.append(f"ld.global.f32 %f{number}, [%d1+{4 * place}];")
        stores.append(f"add.f32 %f{number + 20}, %f{number}, %f{number};")
        stores[-1] += f" st.global.f32 [%d2+{4 * place}], %f{number + 20};"
    both = zip(loads, stores, strict=True)
    lines = [line for pair in both for line in pair] if interleaved else [*loads, *stores]
    index = "mul.lo.u32 %r5, %r71, 2048; mad.lo.u32 %r5, %r76, 4, %r5; mul.wide.u32 %d0, %r5, 4;"
    head = "mov.u32 %r71, %ctaid.x;" + index + "add.u64 %d1, %d60, %d0; add.u64 %d2, %out, %d0;"
    return head + "".join(lines)


@LANES
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("alias", [None, 0, 2048])
@pytest.mark.parametrize("places", [[0, 512], [512, 0], [0, 512, 1024], [0, 512, 640], [0, 256, 1024]])
def test_groups_of_elements_at_distances(
    places: list[int], alias: int | None, interleaved: bool, lanes: int
) -> None:
    """A thread has elements in several places, at one distance or not; what it stores it may load again."""
    size, blocks, shift = 2048, 3, (alias or 0) // 4
    memory = np.arange(blocks * size + 1024, dtype=np.float32)
    x = np.random.default_rng(4).random(len(memory), dtype=np.float32)
    threads = 32
    result = stream(
        groups(places, interleaved), x, memory, lanes=lanes, grid=blocks, block=threads, alias=alias
    )
    expected = memory.copy()
    for thread in range(blocks * threads):
        base = thread // threads * size + thread % threads * 4
        source = x if alias is None else expected[shift:]
        steps = [base + place + each for place in places for each in range(4)]
        if interleaved:
            for at in steps:
                expected[at] = source[at] * 2
        else:
            loaded = [source[at] for at in steps]
            for at, value in zip(steps, loaded, strict=True):
                expected[at] = value * 2
    np.testing.assert_array_equal(result, expected)


@LANES
def test_strides_that_overlap_and_reversed_order(lanes: int) -> None:
    """Backwards through memory, and every lane at the same place."""
    body = """
    mov.u32 %r0, 255; sub.u32 %r0, %r0, %r79; mul.wide.u32 %d0, %r0, 4; mul.wide.u32 %d1, %r79, 4;
    add.u64 %d0, %d60, %d0; add.u64 %d1, %out, %d1; ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d60];
    sub.f32 %f2, %f0, %f1; st.global.f32 [%d1], %f2;
    """
    x = np.random.default_rng(3).random(256, dtype=np.float32)
    result = stream(body, x, np.zeros(256, np.float32), lanes=lanes, grid=4, block=64)
    np.testing.assert_array_equal(result, x[::-1] - x[0])


@LANES
def test_nan_is_ptx_s_own(lanes: int) -> None:
    """Arithmetic that makes NaN stores 0x7fffffff, in every path."""
    body = """
    mul.wide.u32 %d0, %r79, 4; add.u64 %d1, %d60, %d0; add.u64 %d2, %out, %d0;
    ld.global.f32 %f0, [%d1]; sub.f32 %f1, %f0, %f0; st.global.f32 [%d2], %f1;
    """
    x = np.array([1, np.inf, -np.inf, np.nan] * 16, np.float32)
    result = stream(body, x, np.zeros(64, np.float32), lanes=lanes, grid=2, block=32)
    np.testing.assert_array_equal(
        result.view(np.uint32).reshape(-1, 4), [[0, 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF]] * 16
    )


@LANES
def test_a_loop_with_a_multiply_add(lanes: int) -> None:
    """A grid-stride loop; the factor is an argument of each lane's own."""
    body = """
    cvt.rn.f32.u32 %f0, %r76; mov.u32 %r0, %r79; mov.u32 %r1, %nctaid.x; mov.u32 %r2, %ntid.x; mul.lo.u32 %r1, %r1, %r2;
    LOOP: setp.ge.u32 %p0, %r0, %r60; @%p0 ret;
    mul.wide.u32 %d0, %r0, 4; add.u64 %d1, %d60, %d0; add.u64 %d2, %out, %d0;
    ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d2]; fma.rn.f32 %f3, %f0, %f1, %f2; st.global.f32 [%d2], %f3;
    add.u32 %r0, %r0, %r1; bra LOOP;
    """
    rng = np.random.default_rng(4)
    x, y = rng.random(1000, dtype=np.float32), rng.random(1000, dtype=np.float32)
    result = stream(body, x, y, lanes=lanes, grid=3, block=50, n=1000)
    factor = (np.arange(1000) % 50).astype(np.float64)
    np.testing.assert_array_equal(result, (factor * x + y).astype(np.float32))


@LANES
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_chained_multiply_adds_round_each_step(kind: str, lanes: int) -> None:
    """A dot product of multiply-adds gives the bits that the same steps give one by one."""
    size, prefix = (4, "%f") if kind == "f32" else (8, "%g")
    load = f"mul.wide.u32 %d0, %r79, {size}; add.u64 %d1, %d60, %d0; add.u64 %d2, %out, %d0;"
    load += "".join(f"ld.global.{kind} {prefix}{i}, [%d1+{64 * i * size}];" for i in range(9))
    steps = [
        f"fma.rn.{kind} {prefix}{20 + i}, {prefix}{2 * i}, {prefix}{2 * i + 1}, {prefix}{19 + i};"
        for i in range(4)
    ]
    begin = f"mov.{kind} {prefix}19, {prefix}8;"
    chained = load + begin + "".join(steps) + f"st.global.{kind} [%d2], {prefix}23;"
    # a store of each sum in between keeps the steps apart
    apart = (
        load
        + begin
        + "".join(f"{step} st.global.{kind} [%d2], {prefix}{20 + i};" for i, step in enumerate(steps))
    )
    dtype = np.dtype(np.float32 if kind == "f32" else np.float64)
    x = np.random.default_rng(6).standard_normal(64 * 9).astype(dtype)
    results = [
        stream(body, x, np.zeros(64, dtype), lanes=lanes, grid=2, block=32) for body in (chained, apart)
    ]
    np.testing.assert_array_equal(results[0].view(np.uint8), results[1].view(np.uint8))
    assert np.isfinite(results[0]).all()


@LANES
def test_what_is_loaded_and_not_used(lanes: int) -> None:
    """Nothing is to be done with it, but the loads are checked."""
    body = "mul.wide.u32 %d0, %r79, 4; add.u64 %d1, %d60, %d0; ld.global.f32 %f0, [%d1+SHIFT];"
    x = np.ones(64, np.float32)
    zeros = np.zeros(64, np.float32)
    result = stream(body.replace("SHIFT", "0"), x, zeros, lanes=lanes, grid=2, block=32)
    np.testing.assert_array_equal(result, zeros)
    with pytest.raises(LaunchError, match="out of bounds"):
        stream(body.replace("SHIFT", "4"), x, zeros, lanes=lanes, grid=2, block=32)
