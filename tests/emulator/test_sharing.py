"""Values that share an array or memory with something that changes before they are used."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.harness import INDEX, Session, entry, run, store

THREAD = np.arange(64, dtype=np.uint32)
SQUARE = INDEX + "mul.lo.u32 %r5, %r76, %r76;\n"


def one_block(body: str, before: str = "") -> np.ndarray:
    """What 64 threads of one block leave in `out`; one block, so that arrays have the lanes' full shape."""
    return run(entry(SQUARE + body, before=before), 64, block=(64,))


def test_lanes_in_a_guarded_call_stay_the_same_lanes() -> None:
    """The callee computes other predicates while the caller's guard is used no more."""
    callee = """
    .func (.param .b32 r) f(.param .b32 a) {
      .reg .b32 %q<4>; .reg .pred %z;
      ld.param.u32 %q1, [a]; and.b32 %q2, %q1, 2; setp.eq.u32 %z, %q2, 0;
      @%z bra X; add.u32 %q1, %q1, 1000; X: st.param.b32 [r], %q1; ret;
    }"""
    result = one_block(
        """and.b32 %r5, %r5, 5; setp.eq.u32 %p1, %r5, 1;
        { .param .b32 rr; .param .b32 aa; st.param.b32 [rr], 5; st.param.b32 [aa], %r76;
        @%p1 call (rr), f, (aa); ld.param.b32 %r2, [rr]; }"""
        + store("%r2"),
        callee,
    )
    called = THREAD * THREAD & 5 == 1
    np.testing.assert_array_equal(
        result, np.where(called, np.where(THREAD & 2, THREAD + 1000, THREAD), np.uint32(5))
    )


def test_lanes_at_a_guarded_barrier_stay_the_same_lanes() -> None:
    """Those that do not wait compute other predicates meanwhile."""
    result = one_block(
        """and.b32 %r6, %r5, 1; setp.ne.u32 %p1, %r6, 0; @%p1 bar.sync 1, 32;
        mul.lo.u32 %r5, %r76, %r76; setp.gt.u32 %p2, %r5, 100; mov.u32 %r10, 1;
        @%p2 bra X; mov.u32 %r10, 2; X: add.u32 %r10, %r10, %r76;"""
        + store("%r10")
    )
    np.testing.assert_array_equal(result, np.where(THREAD * THREAD > 100, 1, 2) + THREAD)


def test_what_a_waiting_lane_brings_to_a_reduction_stays() -> None:
    """Lanes at two `bar.red` of one barrier each count by their own predicate."""
    result = one_block(
        """and.b32 %r7, %r5, 1; setp.eq.u32 %p3, %r7, 1; @%p3 bra ODD;
        and.b32 %r6, %r5, 8; setp.eq.u32 %p1, %r6, 0; bar.red.popc.u32 %r10, 1, 64, %p1; bra JOIN;
        ODD: and.b32 %r8, %r5, 16; setp.ne.u32 %p5, %r8, 0; bar.red.popc.u32 %r10, 1, 64, %p5;
        JOIN:"""
        + store("%r10")
    )
    square = THREAD * THREAD
    assert set(result) == {np.count_nonzero(np.where(THREAD & 1, square & 16 != 0, square & 8 == 0))}


FLOATS = """ld.param.u64 %d60, [x]; mul.wide.u32 %d0, %r79, 4; add.u64 %d1, %out, %d0; add.u64 %d2, %d60, %d0;
ld.global.f32 %f0, [%d1]; ld.global.f32 %f1, [%d2];
"""


def two_buffers(body: str, out: np.ndarray, x: np.ndarray, grid: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Threads with an element of `out` in %f0 (at %d1) and of `x` in %f1 (at %d2); what is left in both."""
    session = Session(entry(SQUARE + FLOATS + body, ".param .u64 out, .param .u64 x"))
    buffers = session.buffer("out", out), session.buffer("x", x)
    session.launch(*buffers, grid=(grid,), block=(64,))
    return session.values("out", out.dtype), session.values("x", x.dtype)


def test_a_register_written_on_two_paths_keeps_the_first() -> None:
    """A guarded write that no lane does leaves the value before it, while the other path computes."""
    x = np.arange(64, dtype=np.float32) % 16
    result, _ = two_buffers(
        """and.b32 %r5, %r5, 1; setp.eq.u32 %p1, %r5, 1; setp.gt.u32 %p2, %r78, 1000; bar.sync 0; @%p1 bra B;
        add.f32 %f9, %f0, %f1; @%p2 mul.f32 %f9, %f0, %f1; bra J;
        B: mul.f32 %f20, %f0, %f1; mul.f32 %f21, %f20, %f0; add.f32 %f22, %f21, %f20; add.f32 %f9, %f22, %f1;
        J: st.global.f32 [%d1], %f9;""",
        x,
        x,
    )
    np.testing.assert_array_equal(result, np.where(THREAD & 1, x * x * x + x * x + x, x + x))


def test_a_loaded_value_outlives_what_is_stored_over_it() -> None:
    """In place, a difference is made of what was there before the sum was stored."""
    out, x = np.arange(256, dtype=np.float32), np.arange(256, dtype=np.float32) * 2 + 1000
    body = """add.f32 %f2, %f0, %f1; st.global.f32 [%d1], %f2;
    sub.f32 %f3, %f0, %f1; st.global.f32 [%d2], %f3;"""
    sums, differences = two_buffers(body, out, x, grid=4)
    np.testing.assert_array_equal(sums, out + x)
    np.testing.assert_array_equal(differences, out - x)


def test_neighbours_are_put_together_only_where_their_steps_agree() -> None:
    """Two elements that lie side by side for the first thread, and not for the others."""
    x = np.arange(512, dtype=np.float32)
    body = """add.u64 %d4, %d60, 4; mul.wide.u32 %d5, %r79, 8; add.u64 %d3, %d60, %d5; add.u64 %d4, %d4, %d0;
    add.u64 %d6, %out, %d5;
    ld.global.f32 %f4, [%d3]; ld.global.f32 %f5, [%d4]; add.f32 %f6, %f4, %f4; add.f32 %f7, %f5, %f5;
    st.global.f32 [%d6], %f6; st.global.f32 [%d6+4], %f7;"""
    result, _ = two_buffers(body, np.zeros(512, np.float32), x, grid=4)
    np.testing.assert_array_equal(result[::2], 2 * x[::2])
    np.testing.assert_array_equal(result[1::2], 2 * x[1:257])


def test_a_thread_stores_what_it_loads_next() -> None:
    """Each of four steps doubles the element that the step before has just stored."""
    steps = "".join(
        f"ld.global.f32 %f{k}, [%d1+{4 * k}]; add.f32 %f1{k}, %f{k}, %f{k};"
        f"st.global.f32 [%d1+{4 * k + 4}], %f1{k};"
        for k in range(4)
    )
    address = "mul.wide.u32 %d0, %r79, 32; add.u64 %d1, %out, %d0;"
    session = Session(entry(INDEX + address + steps))
    buffer = session.buffer("out", np.ones(8 * 256, np.float32))
    session.launch(buffer, grid=(4,), block=(64,))
    left = session.values("out", np.float32).reshape(256, 8)
    np.testing.assert_array_equal(left, np.tile([1, 2, 4, 8, 16, 1, 1, 1], (256, 1)))


PAYLOAD = np.full(256, 0x7FC12345, np.uint32)
ONE_NAN = np.uint32(0x7FFFFFFF)


@pytest.mark.parametrize(
    ("body", "computed"),
    [
        ("setp.eq.u32 %p1, %r76, 1; @%p1 add.f32 %f1, %f1, %f1;", np.arange(256) % 64 == 1),
        (
            "mov.u32 %r1, 0; L: setp.ge.u32 %p1, %r1, %r78; @%p1 bra D;"
            "add.f32 %f1, %f1, 0f3f800000; add.u32 %r1, %r1, 1; bra L; D:",
            np.arange(256) >= 64,
        ),
        (
            "add.f32 %f2, %f1, %f1; setp.eq.u32 %p1, %r76, 1; selp.f32 %f1, %f2, %f1, %p1;",
            np.arange(256) % 64 == 1,
        ),
        (
            "add.f32 %f2, %f1, %f1; setp.eq.u32 %p1, %r76, 1; @%p1 mov.f32 %f1, %f2;",
            np.arange(256) % 64 == 1,
        ),
        ("st.global.f32 [%d1], %f1; bar.sync 0; add.f32 %f1, %f1, %f1;", np.full(256, True)),
    ],
)
def test_a_loaded_nan_keeps_its_payload_beside_a_computed_one(body: str, computed: np.ndarray) -> None:
    """A register that is loaded and computed, and the memory that it was loaded from."""
    result, x = two_buffers(body + "st.global.f32 [%d1], %f1;", np.zeros(256, np.uint32), PAYLOAD, grid=4)
    np.testing.assert_array_equal(x, PAYLOAD)
    np.testing.assert_array_equal(result, np.where(computed, ONE_NAN, PAYLOAD))


def test_a_logic_operation_that_picks_an_input_keeps_its_value() -> None:
    """lop3 with the table of `b`, while the memory that b came from is overwritten."""
    text = entry(
        INDEX
        + """mov.u32 %r1, %tid.x; mul.wide.u32 %d0, %r1, 4; add.u64 %d1, %out, %d0; ld.global.u32 %r5, [%d1];
        lop3.b32 %r6, 0, %r5, 0, 0xCC; st.global.u32 [%d1], 7; add.u32 %r79, %r79, 64;"""
        + store("%r6")
    )
    result = run(text, 5 * 64, grid=(4,), block=(64,))
    np.testing.assert_array_equal(result, np.repeat([7, 0], [64, 256]))


@pytest.mark.parametrize("lanes", [1, 1 << 16])
def test_a_value_that_a_predicate_leaves_to_the_next_block(lanes: int) -> None:
    """It stays what it was while other results are worked out, where the predicate holds for no lane."""
    body = """mov.u32 %r78, 0; mul.wide.u32 %d0, %r79, 8; add.u64 %d0, %d0, %out; ld.global.u64 %d5, [%d0];
    cvt.u32.u64 %r7, %d5; mov.u32 %r2, box; shl.b32 %r3, %r76, 4; add.u32 %r2, %r2, %r3; bar.sync 0;
    ld.global.u64 %d4, [%d0]; setp.lt.u32 %p4, %r76, %r78; @%p4 mul.lo.s64 %d4, %d5, %d5;
    and.b32 %r13, %r7, 3;
    mad.wide.u32 %d1, %r13, 16, %out; cp.async.cg.shared.global [%r2], [%d1], 16, 0; bar.sync 1;
    st.global.u64 [%d0], %d4;"""
    session = Session(entry(INDEX + body, before=".shared .align 16 .b8 box[1024];"), lanes=lanes)
    values = np.arange(96, dtype=np.uint64) * 5 + 7
    out = session.buffer("out", values)
    session.launch(out, grid=(3,), block=(32,))
    np.testing.assert_array_equal(session.values("out", np.uint64), values)
