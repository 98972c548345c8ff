"""Memory that threads take while they run: alloca and its relatives, malloc and free."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import INDEX, Session, entry, run, store

LANES = pytest.mark.parametrize("lanes", [1, 64, 1 << 16])

FILL = """
.func (.reg .b32 r) sum(.reg .b32 n)
{ .reg .b64 a, p, e; .reg .b32 i, x; .reg .pred q;
  mul.wide.u32 e, n, 4; alloca.u64 a, e; mov.u32 i, 0; mov.u32 r, 0;
  W: setp.ge.u32 q, i, n; @q bra B; mul.wide.u32 p, i, 4; add.u64 p, p, a; st.local.u32 [p], i;
     add.u32 i, i, 1; bra W;
  B: mov.u32 i, 0;
  R: setp.ge.u32 q, i, n; @q ret; mul.wide.u32 p, i, 4; add.u64 p, p, a; cvta.local.u64 p, p; ld.u32 x, [p];
     add.u32 r, r, x; add.u32 i, i, 1; bra R; }
.func (.reg .b32 r) deep(.reg .b32 n)
{ .reg .b64 a; .reg .b32 k; .reg .pred q; setp.ne.u32 q, n, 0; mov.u32 r, 0; @!q ret;
  alloca.u64 a, 24, 32; st.local.u32 [a], n; sub.u32 k, n, 1; call (r), deep, (k);
  ld.local.u32 k, [a]; add.u32 r, r, k; ret; }
"""


@LANES
def test_alloca_gives_each_thread_what_it_asks_for(lanes: int) -> None:
    """Every thread has memory of its own size, which goes when the function returns."""
    body = """
    mov.u32 %r2, 0; mov.u32 %r4, 0;
    L: call (%r3), sum, (%r76); add.u32 %r2, %r2, %r3; add.u32 %r4, %r4, 1;
    setp.lt.u32 %p0, %r4, 300; @%p0 bra L;
    """
    result = run(entry(INDEX + body + store("%r2"), before=FILL), 80, grid=(2,), block=(40,), lanes=lanes)
    np.testing.assert_array_equal(result, [300 * (t * (t - 1) // 2) for t in range(40)] * 2)


@LANES
def test_alloca_in_a_function_that_calls_itself(lanes: int) -> None:
    """Each call has its own memory, beside the others' frames."""
    text = entry(INDEX + "call (%r2), deep, (%r76);" + store("%r2"), before=FILL)
    result = run(text, 40, block=(40,), lanes=lanes)
    np.testing.assert_array_equal(result, [t * (t + 1) // 2 for t in range(40)])


@pytest.mark.parametrize("width", ["u32", "u64"])
def test_stackrestore_gives_back_what_was_taken_since(width: str) -> None:
    """After `stackrestore`, `alloca` gives the same memory again; it grows down, and is aligned as asked."""
    d = "%r" if width == "u32" else "%d"
    body = f"""
    stacksave.{width} {d}1; alloca.{width} {d}2, 100, 64; alloca.{width} {d}3, 4;
    stackrestore.{width} {d}1; alloca.{width} {d}4, 100, 64;
    setp.eq.{width} %p1, {d}2, {d}4; setp.lt.{width} %p2, {d}3, {d}2; setp.lt.{width} %p3, {d}2, {d}1;
    and.b{width[1:]} {d}5, {d}2, 63; setp.eq.{width} %p4, {d}5, 0;
    and.pred %p1, %p1, %p2; and.pred %p1, %p1, %p3; and.pred %p1, %p1, %p4; selp.u32 %r9, 1, 0, %p1;
    """
    np.testing.assert_array_equal(run(entry(INDEX + body + store("%r9")), 32), np.ones(32))


def test_alloca_under_a_predicate() -> None:
    """Threads whose predicate does not hold take nothing and keep their register."""
    body = """
    mov.u64 %d2, 7; stacksave.u64 %d1; setp.lt.u32 %p0, %r76, 3; @%p0 alloca.u64 %d2, 64; stacksave.u64 %d3;
    sub.u64 %d4, %d1, %d3; cvt.u32.u64 %r1, %d4; setp.eq.u64 %p1, %d2, 7; @%p1 add.u32 %r1, %r1, 1;
    """
    np.testing.assert_array_equal(run(entry(INDEX + body + store("%r1")), 32), [64] * 3 + [1] * 29)


@pytest.mark.parametrize("size", ["1000000", "%d5", "0xfffffffffffffff0"])
def test_alloca_of_too_much_is_a_fault(size: str) -> None:
    """More than the stack has is told with the thread and the line."""
    body = f"setp.eq.u32 %p0, %r76, 4; selp.u64 %d5, 20000, 8, %p0;\n@%p0 alloca.u64 %d1, {size};"
    text = entry(INDEX + body)
    with pytest.raises(LaunchError, match=r"took more stack than the \d+ bytes") as caught:
        run(text, 1)
    assert caught.value.line == text.split("\n").index(f"@%p0 alloca.u64 %d1, {size};") + 1
    assert "thread (4, 0, 0)" in caught.value.context[0]


HEAP = """
.extern .func (.param .b64 r) malloc(.param .b64 size);
.extern .func free(.param .b64 p);
.global .u64 kept[64];
"""
TAKE = "call (%d1), malloc, (%d0);"


@LANES
def test_malloc_gives_memory_to_each_thread(lanes: int) -> None:
    """Blocks do not overlap, hold what is stored, and can be freed."""
    body = f"""
    add.u32 %r1, %r76, 1; mul.wide.u32 %d0, %r1, 4; {TAKE}
    mov.u32 %r2, 0; mov.u64 %d2, %d1;
    L: st.u32 [%d2], %r79; add.u64 %d2, %d2, 4; add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, %r1; @%p0 bra L;
    mov.u32 %r2, 0; mov.u64 %d2, %d1; mov.u32 %r4, 0;
    M: ld.global.u32 %r3, [%d2]; add.u32 %r4, %r4, %r3; add.u64 %d2, %d2, 4; add.u32 %r2, %r2, 1;
    setp.lt.u32 %p0, %r2, %r1; @%p0 bra M;
    and.b64 %d3, %d1, 15; cvt.u32.u64 %r5, %d3; add.u32 %r4, %r4, %r5; call free, (%d1); mov.u64 %d1, 0;
    call free, (%d1);
    """
    result = run(entry(INDEX + body + store("%r4"), before=HEAP), 80, grid=(2,), block=(40,), lanes=lanes)
    np.testing.assert_array_equal(result, [(b * 40 + t) * (t + 1) for b in range(2) for t in range(40)])


def test_malloc_gives_null_when_the_heap_is_full() -> None:
    """8 MB is all there is, in any number of pieces; what is freed can be had again."""
    body = f"""
    mov.u32 %r1, 0; mov.u64 %d5, 0;
    L: mov.u64 %d0, 3000000; {TAKE} setp.ne.u64 %p0, %d1, 0; @!%p0 bra E; mov.u64 %d5, %d1;
    add.u32 %r1, %r1, 1; bra L;
    E: call free, (%d5); {TAKE} setp.eq.u64 %p1, %d1, 0; @%p1 add.u32 %r1, %r1, 100;
    mov.u64 %d0, 1000000000000; {TAKE} setp.ne.u64 %p1, %d1, 0; @%p1 add.u32 %r1, %r1, 1000;
    mov.u64 %d0, 0; {TAKE} call free, (%d1);
    """
    assert run(entry(INDEX + body + store("%r1"), before=HEAP), 1, block=(1,))[0] == 2


def test_what_one_kernel_allocates_another_may_use() -> None:
    """The heap lives as long as the device."""
    text = entry(
        INDEX + "mov.u64 %d0, 4;" + TAKE + "st.global.u32 [%d1], 77; st.global.u64 [kept], %d1;", before=HEAP
    )
    text = (
        text
        + "\n"
        + entry(
            "ld.global.u64 %d1, [kept]; ld.u32 %r1, [%d1]; call free, (%d1); st.global.u32 [%out], %r1;",
            name="k2",
        ).split("64\n", 1)[1]
    )
    session = Session(text)
    out = session.buffer("out", np.zeros(1, np.uint32))
    session.launch(out, block=(1,))
    session.launch(out, block=(1,), name="k2")
    assert session.values("out", np.uint32)[0] == 77


@pytest.mark.parametrize(
    ("line", "what", "more"),
    [
        (
            "ld.global.u32 %r1, [%d1+20];",
            "out of bounds",
            "begins 0 bytes past the end of memory from malloc, line",
        ),
        ("st.u32 [%d1+-4], %r1;", "out of bounds", "begins 4 bytes before the start of memory from malloc"),
        ("st.u64 [%d1+16], %d1;", "out of bounds", "last 4 bytes past the end"),
        ("call free, (%d5);", "freed 0x", "which malloc did not give"),
    ],
)
def test_misuse_of_the_heap_is_a_fault(line: str, what: str, more: str) -> None:
    """Accesses beyond a block, and freeing what is no block, are told with the line."""
    text = entry(INDEX + f"mov.u64 %d0, 20; {TAKE} add.u64 %d5, %d1, 16;\n{line}", before=HEAP)
    with pytest.raises(LaunchError, match=what) as caught:
        run(text, 1, block=(3,))
    assert more in str(caught.value.message) + str(caught.value.context)
    assert caught.value.line == text.split("\n").index(line) + 1


@pytest.mark.parametrize(
    ("line", "what"),
    [("ld.global.u32 %r1, [%d1+16];", "used freed memory"), ("call free, (%d1);", "freed already")],
)
def test_use_of_freed_memory_is_a_fault(line: str, what: str) -> None:
    """Reading what was freed, and freeing it again, tell where it was freed."""
    text = entry(INDEX + f"mov.u64 %d0, 20; {TAKE}\ncall free, (%d1);\n{line}\n", before=HEAP)
    with pytest.raises(LaunchError, match=what) as caught:
        run(text, 1, block=(3,))
    freed = text.split("\n").index("call free, (%d1);") + 1
    assert f"freed in line {freed}" in str(caught.value.context)
