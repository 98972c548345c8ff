"""Special registers: all that the ISA has, with the values that it gives them."""

from __future__ import annotations

import time

import numpy as np
import pytest

from teenycuda_cli.driver.device import LaunchConfig
from teenycuda_cli.errors import UnsupportedError
from tests.emulator.harness import INDEX, Session, entry, run, store

GRID, BLOCK = (3, 2, 2), (5, 4, 3)
THREADS, BLOCKS = 60, 12


def coordinates() -> dict[str, np.ndarray]:
    """What a thread knows of its place, for all threads in the order of their numbers."""
    b, t = np.divmod(np.arange(THREADS * BLOCKS), THREADS)
    found = {
        "%tid": (t % 5, t // 5 % 4, t // 20, 0 * t),
        "%ctaid": (b % 3, b // 3 % 2, b // 6, 0 * b),
        "%ntid": (5 + 0 * t, 4 + 0 * t, 3 + 0 * t, 0 * t),
        "%nctaid": (3 + 0 * t, 2 + 0 * t, 2 + 0 * t, 0 * t),
    }
    lane = t % 32
    one = 1 << lane.astype(np.int64)
    return {
        **{
            f"{name}.{axis}": v
            for name, values in found.items()
            for axis, v in zip("xyzw", values, strict=True)
        },
        "%laneid": lane,
        "%warpid": t // 32,
        "%nwarpid": 64 + 0 * t,  # as an H200 has it
        "%lanemask_eq": one,
        "%lanemask_lt": one - 1,
        "%lanemask_le": 2 * one - 1,
        "%lanemask_ge": (1 << 32) - one,
        "%lanemask_gt": (1 << 32) - 2 * one,
    }


@pytest.mark.parametrize("name", coordinates())
@pytest.mark.parametrize("lanes", [60, 1 << 16])
def test_where_a_thread_is(name: str, lanes: int) -> None:
    """Coordinates, extents and lane masks of every thread of a three-dimensional grid."""
    text = entry(INDEX + f"mov.u32 %r1, {name};" + store("%r1"))
    result = run(text, THREADS * BLOCKS, grid=GRID, block=BLOCK, lanes=lanes)
    np.testing.assert_array_equal(result, coordinates()[name])


@pytest.mark.parametrize("name", ["%tid.x", "%ctaid.y", "%ntid.z", "%nctaid.x"])
def test_sixteen_bits_of_a_coordinate(name: str) -> None:
    """`mov.u16` reads the low half."""
    text = entry(INDEX + f"mov.u16 %h1, {name}; cvt.u32.u16 %r1, %h1;" + store("%r1"))
    result = run(text, THREADS * BLOCKS, grid=GRID, block=BLOCK)
    np.testing.assert_array_equal(result, coordinates()[name])


@pytest.mark.parametrize(
    "read",
    [
        "mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid;",
        ".reg .v4 .u32 v; mov.v4.u32 v, %tid; mov.u32 %r1, v.x; mov.u32 %r2, v.y; mov.u32 %r3, v.z;"
        "mov.u32 %r4, v.w;",
        "mov.v4.u16 {%h1, %h2, %h3, %h4}, %tid; cvt.u32.u16 %r1, %h1; cvt.u32.u16 %r2, %h2;"
        "cvt.u32.u16 %r3, %h3; cvt.u32.u16 %r4, %h4;",
    ],
)
def test_a_vector_of_coordinates(read: str) -> None:
    """`mov.v4` reads all four elements at once."""
    text = entry(
        INDEX + read + "mad.lo.u32 %r1, %r2, 10, %r1; mad.lo.u32 %r1, %r3, 100, %r1;"
        "mad.lo.u32 %r1, %r4, 1000, %r1;" + store("%r1")
    )
    x, y, z = (coordinates()[f"%tid.{axis}"] for axis in "xyz")
    result = run(text, THREADS * BLOCKS, grid=GRID, block=BLOCK)
    np.testing.assert_array_equal(result, x + 10 * y + 100 * z)


def test_vectors_of_registers_change_places() -> None:
    """`mov.v2` reads all before it writes any."""
    text = entry(INDEX + "mov.u32 %r1, 3; mov.u32 %r2, 50; mov.v2.b32 {%r1, %r2}, {%r2, %r1};" + store("%r1"))
    assert run(text, 1, block=(1,))[0] == 50


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("%smid", 0),
        ("%cluster_nctarank", 1),
        ("%cluster_ctarank", 0),
        ("%nclusterid.x", 2),
        ("%clusterid.y", 0),
        ("%cluster_ctaid.y", 0),
        ("%cluster_nctaid.z", 1),
        ("%dynamic_smem_size", 64),
        ("%total_smem_size", 128),  # they come by 128
        ("%aggr_smem_size", 64 + 1024),
        ("%reserved_smem_offset_begin", 0),
        ("%reserved_smem_offset_end", 0x120),
        ("%reserved_smem_offset_cap", 1024),
        ("%reserved_smem_offset_0", 0),
        ("%reserved_smem_offset_1", 0),
        *[(f"%pm{number}", 0) for number in range(8)],
        *[(f"%envreg{number}", 0) for number in (0, 1, 30, 31)],
    ],
)
def test_what_is_the_same_for_all(name: str, value: int) -> None:
    """Sizes of a launch without clusters, and counters that count nothing."""
    text = entry(INDEX + f"mov.u32 %r1, {name};" + store("%r1"), before=".extern .shared .b32 s[];")
    text = text.replace("ret;", "").replace("mov.u32 %r1, %", "mov.u32 %r50, s; mov.u32 %r1, %", 1)
    np.testing.assert_array_equal(run(text, 64, grid=(2,), shared=64), np.full(64, value))


@pytest.mark.parametrize("name", [f"%pm{number}_64" for number in range(8)] + ["%current_graph_exec"])
def test_counters_of_64_bits(name: str) -> None:
    """They can be read, and count nothing."""
    assert run(entry(f"mov.u64 %d1, {name}; st.global.u64 [%out], %d1;"), 2)[0] == 0


def test_a_grid_has_a_number_of_its_own() -> None:
    """`%gridid` differs from launch to launch, and 16 or 32 bits of it can be read."""
    session = Session(
        entry(
            "mov.u64 %d1, %gridid; mov.u32 %r1, %gridid; cvt.u32.u64 %r2, %d1; sub.u32 %r1, %r1, %r2;"
            "st.global.u32 [%out], %r2; st.global.u32 [%out+4], %r1;"
        )
    )
    out = session.buffer("out", np.zeros(2, np.uint32))
    seen = []
    for _ in range(3):
        session.launch(out)
        number, difference = session.values("out", np.uint32)
        assert difference == 0
        seen.append(int(number))
    assert len(set(seen)) == 3


CLUSTER = [
    ("%cluster_nctarank", lambda x, y: 4),
    ("%cluster_ctarank", lambda x, y: y % 2 * 2 + x % 2),
    ("%cluster_ctaid.x", lambda x, y: x % 2),
    ("%cluster_ctaid.y", lambda x, y: y % 2),
    ("%cluster_nctaid.y", lambda x, y: 2),
    ("%clusterid.x", lambda x, y: x // 2),
    ("%clusterid.y", lambda x, y: y // 2),
    ("%nclusterid.x", lambda x, y: 3),
]


@pytest.mark.parametrize(("name", "value"), CLUSTER)
def test_blocks_in_clusters(name: str, value: object) -> None:
    """Where a block is in its cluster, and the cluster in the grid."""
    body = f"mov.u32 %r1, {name}; mov.pred %p1, %is_explicit_cluster; @!%p1 mov.u32 %r1, 99;"
    session = Session(entry(INDEX + body + store("%r1")).replace("sm_80", "sm_90"))
    out = session.buffer("out", np.zeros(24, np.uint32))
    session.device.annotate(list(session.buffers.values()))
    config = LaunchConfig((6, 4, 1), (1, 1, 1), (2, 2, 1), 0, (out.address.to_bytes(8, "little"),))
    session.module.function("k").launch(config)
    wanted = [value(n % 6, n // 6) for n in range(24)]  # type: ignore[operator]
    np.testing.assert_array_equal(session.values("out", np.uint32), wanted)


def test_no_cluster_unless_one_is_asked_for() -> None:
    """`%is_explicit_cluster` is false without clusters."""
    body = "mov.pred %p1, %is_explicit_cluster; selp.u32 %r1, 1, 2, %p1;"
    assert run(entry(INDEX + body + store("%r1")), 1, block=(1,))[0] == 2


@pytest.mark.parametrize("clock", ["u64 %d{}, %clock64", "u32 %r{}, %clock"])
def test_the_clock_counts_instructions(clock: str) -> None:
    """More instructions take longer, in proportion; no two readings are the same."""
    is_long = "64" in clock
    body = [f"mov.{clock.format(1)};", "add.u32 %r9, %r9, 1;" * 10, f"mov.{clock.format(2)};"]
    body += ["add.u32 %r9, %r9, 1;" * 1000, f"mov.{clock.format(3)};"]
    d = "%d" if is_long else "%r"
    width = "u64" if is_long else "u32"
    body += [f"sub.{width} {d}4, {d}2, {d}1; sub.{width} {d}5, {d}3, {d}2;"]
    body += [f"st.global.{width} [%out], {d}4; st.global.{width} [%out+{8 if is_long else 4}], {d}5;"]
    short, long = run(entry(" ".join(body)), 2, np.uint64 if is_long else np.uint32, block=(1,))
    assert 11 <= short <= 20
    assert 1001 <= long <= 1010


def test_a_loop_takes_time() -> None:
    """`%clock` goes on through loops and branches, also in lanes that run alone."""
    body = """
    mov.u32 %r1, %clock; mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 500; @%p0 bra L;
    mov.u32 %r3, %clock; sub.u32 %r1, %r3, %r1;
    """
    assert 1500 <= run(entry(INDEX + body + store("%r1")), 1, block=(1,))[0] <= 3000


def test_the_halves_of_the_clock() -> None:
    """`%clock_hi` is the upper half, and both can be read as one."""
    body = "mov.b64 %d1, {%clock, %clock_hi}; st.global.u64 [%out], %d1;"
    assert 0 < run(entry(body), 1, np.uint64, block=(1,))[0] < 1 << 32


def test_the_global_timer_is_real_time() -> None:
    """`%globaltimer` gives nanoseconds, whole and in halves, and goes on."""
    body = """
    mov.u64 %d1, %globaltimer; mov.u32 %r1, %globaltimer_lo; mov.u32 %r2, %globaltimer_hi;
    st.global.u64 [%out], %d1; st.global.u32 [%out+8], %r1; st.global.u32 [%out+12], %r2;
    mov.u64 %d2, %globaltimer; st.global.u64 [%out+16], %d2;
    """
    before = time.time_ns()
    first, halves, last = run(entry(body), 3, np.uint64, block=(1,)).tolist()
    assert before - 10**9 <= first <= halves <= last <= time.time_ns() + 10**9


@pytest.mark.parametrize(
    "line",
    [
        "add.u32 %r1, %tid.x, 1;",
        "st.global.u32 [%out], %tid.x;",
        "mov.u64 %d1, %tid.x;",
        "mov.f32 %f1, %tid.x;",
        "mov.u32 %r1, %clock64;",
        "mov.u32 %r1, %is_explicit_cluster;",
        "mov.pred %p1, %tid.x;",
        "mov.u16 %h1, %laneid;",
        "mov.u32 %r1, %envreg32;",
        "mov.u32 %r1, %tid;",
        "setp.eq.u32 %p1, %tid.x, 0;",
    ],
)
def test_only_mov_and_cvt_read_special_registers(line: str) -> None:
    """As ptxas has it: other instructions, and other widths, are refused with their line."""
    with pytest.raises(UnsupportedError):
        run(entry(line), 1)


def test_reserved_shared_memory_is_apart() -> None:
    """What lies at the reserved places is not the kernel's own shared memory, and can be accessed."""
    body = """
    mov.u32 %r2, %reserved_smem_offset_1; mov.u32 %r3, s; mov.u32 %r4, 77; mov.u32 %r5, 33;
    st.shared.u32 [%r3], %r4; st.shared.u32 [%r2+1020], %r5; st.shared.u32 [%r2], %r5;
    ld.shared.u32 %r6, [%r3]; ld.shared.u32 %r7, [%r2]; add.u32 %r1, %r6, %r7;
    """
    text = entry(INDEX + body + store("%r1"), before=".shared .align 4 .b32 s;")
    np.testing.assert_array_equal(run(text, 2, grid=(2,), block=(1,)), [110, 110])


def test_a_block_s_own_shared_memory_of_a_cluster_s() -> None:
    """`isspacep.shared` tells addresses in the own block from those in another block of the cluster."""
    body = """
    mov.u64 %d2, s; cvta.shared.u64 %d2, %d2; and.b32 %r2, %r76, 3; mapa.u64 %d3, %d2, %r2;
    isspacep.shared %p1, %d3; isspacep.shared::cluster %p2, %d3; isspacep.shared::cta %p3, %d2;
    selp.u32 %r1, 1, 0, %p1; selp.u32 %r3, 2, 0, %p2; selp.u32 %r4, 4, 0, %p3;
    add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
    """
    text = entry(INDEX + body + store("%r1"), before=".shared .align 4 .b32 s[4];")
    expected = np.where(np.arange(32) % 4 == np.arange(32) // 4 % 4, 7, 6)
    session = Session(text)
    out = session.buffer("out", np.zeros(32, np.uint32))
    session.launch(out, grid=(8,), block=(4,), cluster=(4, 1, 1))
    np.testing.assert_array_equal(session.values("out", np.uint32), expected)
