"""Where lanes go: divergence, loops, calls, barriers, spinning, and what stops a kernel that does not end."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError, TimeoutExpired, UnsupportedError
from tests.emulator.harness import HEAD, INDEX, Session, entry, run, store

LANES = pytest.mark.parametrize("lanes", [1, 64, 1 << 16])


@LANES
def test_nested_divergent_loops(lanes: int) -> None:
    """Loops in loops, each of another length for each lane, with a way out of both."""
    text = entry(
        INDEX
        + """
        mov.u32 %r0, 0; mov.u32 %r1, 0;
        OUTER:
        setp.ge.u32 %p0, %r1, %r76; @%p0 bra DONE;
        mov.u32 %r2, 0;
        INNER:
        setp.ge.u32 %p1, %r2, %r1; @%p1 bra NEXT;
        add.u32 %r0, %r0, %r2; add.u32 %r2, %r2, 1;
        setp.gt.u32 %p2, %r0, 500; @%p2 bra DONE;
        bra INNER;
        NEXT: add.u32 %r1, %r1, 1; bra OUTER;
        DONE:
        """
        + store("%r0")
    )

    def lane(thread: int) -> int:
        total = 0
        for i in range(thread):
            for j in range(i):
                total += j
                if total > 500:
                    return total
        return total

    wanted = [lane(thread % 40) for thread in range(80)]
    np.testing.assert_array_equal(run(text, 80, grid=(2,), block=(40,), lanes=lanes), wanted)


@LANES
def test_a_barrier_counts_threads_that_ended(lanes: int) -> None:
    """Threads that return before `bar.sync` are not waited for."""
    text = entry(
        INDEX
        + """
        setp.ge.u32 %p0, %r76, 20; @%p0 ret;
        mov.u32 %r0, s; shl.b32 %r1, %r76, 2; add.u32 %r1, %r0, %r1;
        st.shared.u32 [%r1], %r76;
        setp.lt.u32 %p1, %r76, 10; @%p1 bra LATE;
        bar.sync 0; bra READ;
        LATE: bar.sync 0;
        READ: mov.u32 %r2, 76; sub.u32 %r2, %r2, %r1; add.u32 %r2, %r2, %r0; add.u32 %r2, %r2, %r0;
        ld.shared.u32 %r3, [%r2];
        """
        + store("%r3"),
        before=".shared .align 4 .b8 s[128];",
    )
    wanted = [19 - t if t < 20 else 0 for t in range(33)] * 3
    np.testing.assert_array_equal(run(text, 99, grid=(3,), block=(33,), lanes=lanes), wanted)


def test_named_barriers_with_counts() -> None:
    """A producer half arrives, a consumer half waits, on a barrier of the whole block's count."""
    text = entry(
        INDEX
        + """
        shl.b32 %r0, %r76, 2; mov.u32 %r1, s; add.u32 %r1, %r1, %r0;
        setp.lt.u32 %p0, %r76, 32; @%p0 bra PRODUCE;
        bar.sync 3, 64; ld.shared.u32 %r2, [%r1+-128];
        """
        + store("%r2")
        + "ret; PRODUCE: add.u32 %r3, %r76, 100; st.shared.u32 [%r1], %r3; bar.arrive 3, 64; ret;",
        before=".shared .align 4 .b8 s[256];",
    )
    result = run(text, 64, block=(64,))
    np.testing.assert_array_equal(result, [0] * 32 + [100 + t for t in range(32)])


def test_arriving_is_not_waiting() -> None:
    """Threads that arrive at a barrier where nobody waits just end."""
    text = entry(INDEX + "bar.arrive 1, 64;" + store("%r76"))
    np.testing.assert_array_equal(run(text, 32, block=(32,)), range(32))


def test_bar_red_combines_predicates() -> None:
    """`bar.red.popc`, `.and` and `.or` see the predicate of every thread of the block."""
    text = entry(
        INDEX
        + """
        setp.lt.u32 %p0, %r76, 11; setp.lt.u32 %p1, %r76, 1000;
        bar.red.popc.u32 %r0, 0, %p0;
        bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 1, !%p1;
        selp.u32 %r1, 1000, 0, %p2; selp.u32 %r2, 5000, 0, %p3;
        add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2;
        """
        + store("%r0")
    )
    np.testing.assert_array_equal(run(text, 80, grid=(2,), block=(40,)), [1011] * 80)


def test_a_deadlock_at_a_barrier_says_who_waits_where() -> None:
    """Threads of a block that wait at different barriers are told with their lines."""
    text = entry(INDEX + "setp.lt.u32 %p0, %r76, 8;\n@%p0 bra A;\nbar.sync 1;\nret;\nA: bar.sync 2;\nret;")
    with pytest.raises(LaunchError, match="stuck at a barrier") as caught:
        run(text, 32, block=(32,))
    first, second = (text.split("\n").index(line) + 1 for line in ("bar.sync 1;", "A: bar.sync 2;"))
    assert f"24 threads wait at barrier 1, line {first}" in caught.value.context
    assert f"8 threads wait at barrier 2, line {second}" in caught.value.context


SPIN = """
TRY: atom.global.cas.b32 %r0, [lock], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra TRY;
ld.volatile.global.u32 %r1, [%out]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [%out], %r1;
membar.gl; atom.global.exch.b32 %r2, [lock], 0; ret;
"""


@LANES
@pytest.mark.parametrize(("grid", "block"), [(1, 32), (5, 1), (3, 20)])
def test_a_spin_lock_lets_everyone_through(grid: int, block: int, lanes: int) -> None:
    """Lanes that spin on a lock do not starve the one that holds it, across blocks and within a warp."""
    text = entry(SPIN, before=".global .u32 lock = 0;")
    assert run(text, 1, grid=(grid,), block=(block,), lanes=lanes)[0] == grid * block


def test_a_lane_waits_for_a_flag_of_another() -> None:
    """A lane that polls memory sees what a lane of its warp stores later."""
    text = entry(
        INDEX
        + """
        setp.ne.u32 %p0, %r76, 0; @%p0 bra SET;
        POLL: ld.volatile.global.u32 %r0, [%out+4]; setp.eq.u32 %p1, %r0, 0; @%p1 bra POLL;
        st.global.u32 [%out], %r0; ret;
        SET: mov.u32 %r1, 7; st.volatile.global.u32 [%out+4], %r1; ret;
        """
    )
    np.testing.assert_array_equal(run(text, 2, block=(2,)), [7, 7])


@LANES
def test_a_compare_and_swap_loop_loses_nothing(lanes: int) -> None:
    """Each lane adds its number by compare-and-swap."""
    text = entry(
        INDEX
        + """
        ld.global.u32 %r0, [%out];
        AGAIN: add.u32 %r1, %r0, %r79; atom.global.cas.b32 %r2, [%out], %r0, %r1;
        setp.ne.u32 %p0, %r2, %r0; mov.u32 %r0, %r2; @%p0 bra AGAIN;
        """
    )
    assert run(text, 1, grid=(2,), block=(33,), lanes=lanes)[0] == 66 * 65 // 2


CALLS = """
.func (.param .b32 result) twice(.param .b32 x)
{ .reg .b32 %r<4>; ld.param.u32 %r0, [x]; add.u32 %r1, %r0, %r0; st.param.b32 [result], %r1; ret; }
.func (.param .align 8 .b8 result[16]) pair(.param .b64 a, .param .b32 b)
{ .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
  .local .align 8 .b8 frame[16]; .reg .b64 %l;
  ld.param.u64 %d0, [a]; ld.param.u32 %r0, [b]; mov.u64 %l, frame; st.local.u32 [%l+4], %r0;
  setp.gt.u32 %p, %r0, 9; @%p bra BIG;
  { .param .b32 p; .param .b32 q; st.param.b32 [p], %r0; call.uni (q), twice, (p); ld.param.b32 %r1, [q]; }
  bra DONE;
  BIG: ld.local.u32 %r1, [%l+4];
  DONE: st.param.b64 [result], %d0; st.param.b32 [result+8], %r1; ret; }
"""


@LANES
def test_calls_pass_parameters_both_ways(lanes: int) -> None:
    """Values and structs go in and come back, with calls in calls and frames in local memory."""
    text = entry(
        INDEX
        + """
        mul.wide.u32 %d0, %r79, 1000; setp.eq.u32 %p5, %r76, 3;
        mov.u32 %r5, 77; mov.u64 %d1, 5;
        @%p5 bra SKIP;
        { .param .b64 p0; .param .b32 p1; .param .align 8 .b8 q[16];
          st.param.b64 [p0], %d0; st.param.b32 [p1], %r76; call (q), pair, (p0, p1);
          ld.param.b64 %d1, [q]; ld.param.b32 %r5, [q+8]; }
        SKIP: cvt.u32.u64 %r6, %d1; add.u32 %r6, %r6, %r5;
        """
        + store("%r6"),
        before=CALLS,
    )
    wanted = [
        82 if t == 3 else 1000 * (40 * b + t) + (t if t > 9 else 2 * t) for b in range(2) for t in range(40)
    ]
    np.testing.assert_array_equal(run(text, 80, grid=(2,), block=(40,), lanes=lanes), wanted)


FIB = """
.func (.param .b32 result) fib(.param .b32 n)
{ .reg .b32 %r<8>; .reg .pred %p;
  ld.param.u32 %r0, [n]; mov.u32 %r3, %r0; setp.lt.u32 %p, %r0, 2; @%p bra DONE;
  sub.u32 %r1, %r0, 1;
  { .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), fib, (p); ld.param.b32 %r3, [q]; }
  sub.u32 %r1, %r0, 2;
  { .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), fib, (p); ld.param.b32 %r4, [q]; }
  add.u32 %r3, %r3, %r4;
  DONE: st.param.b32 [result], %r3; ret; }
"""


@LANES
def test_recursion(lanes: int) -> None:
    """A function that calls itself twice, to another depth for each lane."""
    text = entry(
        INDEX
        + "rem.u32 %r0, %r76, 9; { .param .b32 p; .param .b32 q; st.param.b32 [p], %r0; call (q), fib, (p);"
        + "ld.param.b32 %r1, [q]; }"
        + store("%r1"),
        before=FIB,
    )
    fib = [0, 1, 1, 2, 3, 5, 8, 13, 21]
    np.testing.assert_array_equal(run(text, 40, block=(40,), lanes=lanes), [fib[t % 9] for t in range(40)])


def test_endless_recursion_is_a_fault() -> None:
    """A function that never stops calling itself runs out of stack, and the message says so."""
    text = entry(
        "call endless;", before=".func endless()\n{ .reg .b32 %r<2>; .local .b32 x[20]; call endless; ret; }"
    )
    with pytest.raises(LaunchError, match=r"called too deeply: its stack of .* bytes a thread is full"):
        run(text, 1)


@LANES
def test_brx_jumps_by_table(lanes: int) -> None:
    """`brx.idx` sends each lane to its own label, also under a predicate."""
    text = entry(
        INDEX
        + """
        and.b32 %r0, %r76, 3; mov.u32 %r1, 9; setp.ne.u32 %p0, %r76, 6;
        T: .branchtargets A, B, C, A;
        @%p0 brx.idx %r0, T;
        mov.u32 %r1, 55; bra OUT;
        A: mov.u32 %r1, 10; bra OUT;
        B: mov.u32 %r1, 20; bra OUT;
        C: mov.u32 %r1, 30;
        OUT:
        """
        + store("%r1")
    )
    wanted = [55 if t == 6 else [10, 20, 30, 10][t & 3] for t in range(12)]
    np.testing.assert_array_equal(run(text, 12, block=(12,), lanes=lanes), wanted)


def test_brx_past_its_table_is_a_fault() -> None:
    """An index behind the last label stops the kernel and is named."""
    text = entry(INDEX + "T: .branchtargets A; brx.idx %r76, T; A: ret;")
    with pytest.raises(LaunchError, match="jumped past its table: index 1 of 1 target"):
        run(text, 1, block=(4,))


@pytest.mark.parametrize("threads", [1, 64])
def test_a_timeout_names_the_kernel_and_the_stuck_line(threads: int) -> None:
    """`timeout` stops an infinite loop with the line that it was at, of one lane as of many."""
    text = entry("L: add.u32 %r0, %r0, 1;\nbra L;")
    session = Session(text)
    out = session.buffer("out", np.zeros(1, np.uint32))
    with pytest.raises(TimeoutExpired, match=r"kernel k was still running 0\.2 s after its launch") as caught:
        session.launch(out, timeout=0.2, block=(threads,))
    assert caught.value.line == text.split("\n").index("bra L;") + 1
    assert caught.value.context[0] == "at bra L;"


@pytest.mark.parametrize("threads", [1, 64])
def test_the_watchdog_stops_an_infinite_loop(threads: int) -> None:
    """Without a timeout, a kernel that never ends is stopped after so many steps."""
    with pytest.raises(LaunchError, match="the kernel k does not end: 1000 steps"):
        run(entry("L: bra L;"), 1, watchdog=1000, block=(threads,))


@pytest.mark.parametrize("instruction", ["trap;", "brkpt;"])
def test_trap_is_a_fault_of_the_lanes_that_meet_it(instruction: str) -> None:
    """`trap` under a predicate names its first thread."""
    text = entry(INDEX + f"setp.gt.u32 %p0, %r79, 40;\n@%p0 {instruction}")
    with pytest.raises(LaunchError, match=r"trapped|breakpoint") as caught:
        run(text, 1, grid=(2,), block=(32,))
    assert caught.value.context[0] == "by thread (9, 0, 0) of block (1, 0, 0) (and 22 more threads at once)"


def test_exit_in_a_function_ends_the_thread() -> None:
    """`exit` in a callee ends its lanes; the others come back."""
    text = entry(
        INDEX + "{ .param .b32 p; st.param.b32 [p], %r76; call leave, (p); } mov.u32 %r1, 5;" + store("%r1"),
        before=".func leave(.param .b32 n)\n{ .reg .b32 %r<2>; .reg .pred %p; ld.param.u32 %r0, [n];"
        " setp.gt.u32 %p, %r0, 3; @%p exit; ret; }",
    )
    np.testing.assert_array_equal(run(text, 8, block=(8,)), [5] * 4 + [0] * 4)


def test_shapes_of_grid_and_block() -> None:
    """Every thread of a three-dimensional grid of three-dimensional blocks has its own coordinates."""
    text = entry(
        INDEX
        + """
        mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;
        mad.lo.u32 %r0, %r1, 10, %r0; mad.lo.u32 %r0, %r2, 100, %r0;
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
        mad.lo.u32 %r0, %r1, 1000, %r0; mad.lo.u32 %r0, %r2, 10000, %r0; mad.lo.u32 %r0, %r3, 100000, %r0;
        """
        + store("%r0")
    )
    for lanes in (1, 50, 500, 1 << 16):
        result = run(text, 3 * 2 * 4 * 5 * 3 * 2, grid=(3, 2, 4), block=(5, 3, 2), lanes=lanes).reshape(
            4, 2, 3, 2, 3, 5
        )
        z, y, x, c, b, a = np.indices(result.shape)
        np.testing.assert_array_equal(result, a + 10 * b + 100 * c + 1000 * x + 10000 * y + 100000 * z)


def test_unsupported_instructions_are_all_named() -> None:
    """Everything that the emulator lacks is named once with all of its lines, before anything runs."""
    from teenycuda_cli.errors import UnsupportedError

    text = entry(
        "frobnicate.u32 %r0, %r1;\nadd.sat.u64 %d0, %d1, %d2;\nadd.u32 %r0, %r1, %r2;\n"
        "frobnicate.u32 %r1, %r1; frobnicate.u32 %r2, %r1;\nfrobnicate.s32 %r0, %r1;\n call nothere;"
    )
    with pytest.raises(UnsupportedError) as caught:
        run(text, 1)
    first = text.split("\n").index("frobnicate.u32 %r0, %r1;") + 1
    assert caught.value.line == first
    assert "4 instructions that the emulator lacks, in 6 places" in caught.value.message
    reason = "the emulator has no instruction frobnicate"
    unsigned, sum64, signed, call = caught.value.context
    assert unsigned == f"frobnicate.u32 3 times, at lines {first}, {first + 3}: {reason}"
    assert sum64.startswith(f"add.sat.u64 at line {first + 1}: ")
    assert signed == f"frobnicate.s32 at line {first + 4}: {reason}"
    assert call == f"call nothere at line {first + 5}: the function is not defined in this file"
    told = caught.value.document["unsupported"]
    assert told[0] == {"instruction": "frobnicate.u32", "lines": (first, first + 3), "reason": reason}
    assert [each["instruction"] for each in told[1:]] == ["add.sat.u64", "frobnicate.s32", "call nothere"]
    assert HEAD in text


ADD_ONE = """.func (.param .b32 r) f(.param .b32 a) {
  .reg .b32 %q<3>; ld.param.u32 %q1, [a]; add.u32 %q2, %q1, 1; st.param.b32 [r], %q2; ret; }
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);"""


@pytest.mark.parametrize(
    "call",
    [
        "(rr), f, (small)",
        "(rr), f, (%d1)",
        "(%d1), f, (rr)",
        "(rr), f",
        "(rr), vprintf, (rr, rr)",
        "(rr), f, (1, 2)",
    ],
)
def test_a_call_passes_what_fits_alone(call: str) -> None:
    """Anything else would read or write local memory beyond the callee's parameters, and is refused."""
    body = f"{{ .param .b32 rr; .param .b16 small; call {call}; }}"
    with pytest.raises(UnsupportedError, match="lacks"):
        run(entry(body, before=ADD_ONE), 1)


def test_branch_tables_of_one_name_in_two_functions() -> None:
    """Each function jumps by its own."""
    callee = """.func (.param .b32 r) f(.param .b32 a) {
      .reg .b32 %q<3>; ts: .branchtargets A, B; ld.param.u32 %q1, [a]; brx.idx %q1, ts;
      A: mov.u32 %q2, 10; bra E; B: mov.u32 %q2, 20; E: st.param.b32 [r], %q2; ret; }"""
    body = """ts: .branchtargets C, D; and.b32 %r1, %r76, 1;
    { .param .b32 rr; .param .b32 aa; st.param.b32 [aa], %r1; call (rr), f, (aa); ld.param.b32 %r2, [rr]; }
    brx.idx %r1, ts; C: add.u32 %r2, %r2, 1; bra X; D: add.u32 %r2, %r2, 2; X:"""
    result = run(entry(INDEX + body + store("%r2"), before=callee), 32)
    np.testing.assert_array_equal(result, np.where(np.arange(32) & 1, 22, 11))


def test_scopes_may_nest_as_deep_as_they_like() -> None:
    """Thousands of braces are no recursion."""
    result = run(entry(INDEX + "{" * 3000 + store("%r79") + "}" * 3000), 32)
    np.testing.assert_array_equal(result, np.arange(32))


@pytest.mark.parametrize(
    "line",
    [
        "shl.b32 %r3, %d1, 1;",
        "add.f32 %f1, %f1, %p1;",
        "mov.b64 %p1, %d1;",
        "setp.eq.u32 %r1, %r2, %r3;",
        "neg.s32 5, %r1;",
        "cvt.u32.u64 %r1, %r2;",
    ],
)
def test_registers_that_cannot_hold_an_operand_are_named(line: str) -> None:
    """What ptxas would refuse for its types is refused with its line, before anything runs."""
    text = entry(line)
    with pytest.raises(UnsupportedError) as caught:
        run(text, 1)
    assert caught.value.line == text[: text.index(line)].count("\n") + 1


def test_a_conversion_reads_the_low_bits_of_a_wider_register() -> None:
    """As it may in PTX, other than all else."""
    assert (
        run(entry("mov.u64 %d1, 0x1234567890; cvt.u32.u8 %r1, %d1; st.global.u32 [%out], %r1;"), 1)[0] == 0x90
    )
