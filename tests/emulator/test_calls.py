"""Calls by name and by address, with parameters in registers, in `.param` variables and as constants."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError, UnsupportedError
from tests.emulator.harness import INDEX, Session, entry, run, store

LANES = pytest.mark.parametrize("lanes", [1, 64, 1 << 16])

FUNCTIONS = """
.func (.reg .b32 r) plus(.reg .b32 a, .reg .b32 b) { add.u32 r, a, b; ret; }
.func (.reg .b32 r) times(.reg .b32 a, .reg .b32 b) { mul.lo.u32 r, a, b; ret; }
.func (.reg .b32 r) less(.reg .b32 a, .reg .b32 b)
{ .reg .pred %p; setp.lt.u32 %p, a, 7; mov.u32 r, 1000; @%p ret; sub.u32 r, a, b; ret; }
.func (.param .b32 r) one(.param .b32 a) { .reg .b32 x; ld.param.b32 x, [a];
  add.u32 x, x, 1; st.param.b32 [r], x; ret; }
.func nothing() { ret; }
.global .align 8 .u64 table[3] = {plus, times, less};
.const .align 8 .u64 constants[3] = {plus, times, less};
"""
PICK = "rem.u32 %r1, %r76, 3; mul.wide.u32 %d1, %r1, 8;"
BY_INDEX = [lambda t: t + 5, lambda t: t * 5, lambda t: 1000 if t < 7 else t - 5]
CHOSEN = [BY_INDEX[t % 3](t) for t in range(40)]


@LANES
@pytest.mark.parametrize(
    "call",
    [
        "mov.u64 %d2, table; add.u64 %d2, %d2, %d1; ld.global.u64 %d3, [%d2];"
        "P: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b32 _); call (%r3), %d3, (%r76, 5), P;",
        "mov.u64 %d2, constants; add.u64 %d2, %d2, %d1; ld.const.u64 %d3, [%d2]; mov.u32 %r2, 5;"
        "T: .calltargets plus, times, less; call (%r3), %d3, (%r76, %r2), T;",
        "mov.u64 %d2, table; add.u64 %d2, %d2, %d1; ld.global.u64 %d3, [%d2];"
        "call (%r3), %d3, (%r76, 5), table;",
        "mov.u64 %d3, plus; setp.eq.u32 %p1, %r1, 1; @%p1 mov.u64 %d3, times; setp.eq.u32 %p2, %r1, 2;"
        "mov.u64 %d4, less; selp.u64 %d3, %d4, %d3, %p2;"
        "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _); call (%r3), %d3, (%r76, 5), P;",
    ],
    ids=["prototype", "calltargets", "table", "addresses of functions"],
)
def test_a_call_goes_where_its_address_says(call: str, lanes: int) -> None:
    """Each lane calls the function whose address it has, however the call names what there may be."""
    text = entry(INDEX + PICK + call + store("%r3"), before=FUNCTIONS)
    np.testing.assert_array_equal(run(text, 80, grid=(2,), block=(40,), lanes=lanes), CHOSEN * 2)


@LANES
def test_a_call_by_address_under_a_predicate(lanes: int) -> None:
    """Lanes whose predicate does not hold call nothing, whatever their address."""
    body = """
    mov.u32 %r3, 9; setp.lt.u32 %p0, %r76, 20; mov.u64 %d3, 0; @%p0 mov.u64 %d3, times;
    P: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b32 _);
    @%p0 call (%r3), %d3, (%r76, 5), P;
    @!%p0 call (%r3), plus, (%r3, 2);
    """
    result = run(entry(INDEX + body + store("%r3"), before=FUNCTIONS), 40, block=(40,), lanes=lanes)
    np.testing.assert_array_equal(result, [5 * t if t < 20 else 11 for t in range(40)])


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("mov.u64 %d3, 0;", "called a null function pointer"),
        ("mov.u64 %d3, 0x123456;", "called 0x123456, where no function is"),
        ("mov.u64 %d3, out;", "where no function is"),
        ("mov.u64 %d3, one;", "called one as a function of other parameters"),
        ("mov.u64 %d3, nothing;", "called nothing as a function of other parameters"),
    ],
)
def test_a_call_to_nowhere_is_a_fault_of_its_threads(address: str, what: str) -> None:
    """An address that is no function's, or one's of other parameters, stops the kernel at the call."""
    if "out;" in address:
        address = "mov.u64 %d3, %out;"
    body = f"""{address} setp.lt.u32 %p0, %r76, 5; @%p0 mov.u64 %d3, plus;
    P: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b32 _);
call (%r3), %d3, (%r76, 5), P;"""
    text = entry(INDEX + body, before=FUNCTIONS)
    with pytest.raises(LaunchError, match=what) as caught:
        run(text, 1)
    assert caught.value.line == text.split("\n").index("call (%r3), %d3, (%r76, 5), P;") + 1
    assert caught.value.context[0] == "by thread (5, 0, 0) of block (0, 0, 0) (and 26 more threads at once)"


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("call (%r3), one, (%r76);", lambda t: t + 1),
        ("call (%r3), one, (41);", lambda t: 42),
        ("call (_), one, (41); mov.u32 %r3, 5;", lambda t: 5),
        ("{ .param .b32 q; call (q), plus, (%r76, 2); ld.param.b32 %r3, [q]; }", lambda t: t + 2),
        ("{ .param .b32 q; st.param.b32 [q], %r76; call.uni (%r3), plus, (q, q); }", lambda t: 2 * t),
        ("call nothing; call nothing, (); mov.u32 %r3, 3;", lambda t: 3),
        ("call (%f1), third, (1.5, %f1); cvt.rzi.u32.f32 %r3, %f1;", lambda t: 3),
        ("call (%r3, %r4), both, (%r76, 3); shl.b32 %r4, %r4, 8; or.b32 %r3, %r3, %r4;", lambda t: t | 768),
        (
            ".reg .v2 .b32 v; mov.u32 v.x, 4; mov.u32 v.y, %r76; call (v), swap, (v);"
            "mov.u32 %r3, v.x; mad.lo.u32 %r3, v.y, 100, %r3;",
            lambda t: 400 + t,
        ),
        ("cvt.u16.u32 %h1, %r76; call (%h2), halves, (%h1); cvt.u32.u16 %r3, %h2;", lambda t: 3 * t),
        ("call (%r3), other, (%r76, 1);", lambda t: t + 1),
    ],
)
def test_what_a_call_passes(call: str, wanted: object) -> None:
    """Registers, constants and `.param` variables go into parameters of either kind, and come back."""
    before = (
        FUNCTIONS
        + """
    .func (.reg .f32 r) third(.reg .f32 a, .reg .b32 b) { add.f32 r, a, a; ret; }
    .func (.reg .b32 r, .reg .b32 s) both(.reg .b32 a, .reg .b32 b) { mov.b32 r, a; mov.b32 s, b; ret; }
    .func (.reg .v2 .b32 r) swap(.reg .v2 .b32 a) { mov.b32 r.x, a.y; mov.b32 r.y, a.x; ret; }
    .func (.reg .b16 r) halves(.reg .u16 a) { mul.lo.u16 r, a, 3; ret; }
    .func (.reg .b32 r) other(.reg .b32 a, .reg .b32 b); .alias other, plus;
    """
    )
    result = run(entry(INDEX + call + store("%r3"), before=before), 32)
    np.testing.assert_array_equal(result, [wanted(t) for t in range(32)])  # type: ignore[operator]


ACKERMANN = """
.func (.reg .b32 r) a(.reg .b32 m, .reg .b32 n)
{ .reg .pred p; .reg .b32 k;
  setp.ne.u32 p, m, 0; @p bra M; add.u32 r, n, 1; ret;
  M: sub.u32 k, m, 1; setp.ne.u32 p, n, 0; @p bra N; call (r), a, (k, 1); ret;
  N: sub.u32 n, n, 1; call (r), a, (m, n); call (r), a, (k, r); ret; }
.func (.reg .b32 r) even(.reg .b32 n);
.func (.reg .b32 r) odd(.reg .b32 n)
{ .reg .pred p; setp.eq.u32 p, n, 0; mov.u32 r, 0; @p ret; sub.u32 n, n, 1; call (r), even, (n); ret; }
.func (.reg .b32 r) even(.reg .b32 n)
{ .reg .pred p; setp.eq.u32 p, n, 0; mov.u32 r, 1; @p ret; sub.u32 n, n, 1; call (r), odd, (n); ret; }
.func (.reg .b32 r) sum(.reg .b32 n);
.global .u64 self = sum;
.func (.reg .b32 r) sum(.reg .b32 n)
{ .reg .pred p; .reg .b64 f; .reg .b32 k; mov.u32 r, 0; setp.eq.u32 p, n, 0; @p ret;
  ld.global.u64 f, [self]; sub.u32 k, n, 1;
  P: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (k), f, (k), P; add.u32 r, k, n; ret; }
"""


def ackermann(m: int, n: int) -> int:
    """Its definition."""
    if not m:
        return n + 1
    return ackermann(m - 1, ackermann(m, n - 1)) if n else ackermann(m - 1, 1)


@LANES
def test_recursion_of_every_kind(lanes: int) -> None:
    """A function may call itself twice, by another, and by its address, each lane as deep as it likes."""
    body = """
    and.b32 %r1, %r76, 3; and.b32 %r2, %r76, 1; add.u32 %r2, %r2, 1; call (%r3), a, (%r2, %r1);
    call (%r4), even, (%r76); mad.lo.u32 %r3, %r4, 1000, %r3;
    call (%r5), sum, (%r76); mad.lo.u32 %r3, %r5, 10000, %r3;
    """
    result = run(entry(INDEX + body + store("%r3"), before=ACKERMANN), 40, block=(40,), lanes=lanes)
    wanted = [
        ackermann(1 + (t & 1), t & 3) + 1000 * (t % 2 == 0) + 10000 * (t * (t + 1) // 2) for t in range(40)
    ]
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    ("declared", "call", "reason"),
    [
        (".extern .func (.param .b32 r) far(.param .b32 a);", "call (%r1), far, (%r2);", "link it first"),
        (
            ".extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 a);",
            "call (%d1), cudaGetParameterBufferV2, (%d2);",
            "dynamic parallelism",
        ),
        (
            ".extern .func (.param .b32 r) __nv_sinf(.param .b32 a);",
            "call (%r1), __nv_sinf, (%r2);",
            "libdevice",
        ),
        ("", "call (%r1), %d1, (%r2), Q;", "callprototype"),
        (FUNCTIONS, "call (%r1), plus, (%r2);", "not those that the function takes"),
        (FUNCTIONS, "call plus, (%r2, %r2);", "not those that the function takes"),
        (FUNCTIONS, "call (%r1), plus, (%d1, %r2);", "not those that the function takes"),
    ],
)
def test_calls_that_cannot_be_are_named(declared: str, call: str, reason: str) -> None:
    """A function that is not there, and arguments that do not fit, are told before anything runs."""
    text = entry("\n" + call, before=declared)
    with pytest.raises(UnsupportedError) as caught:
        run(text, 1)
    assert reason in str(caught.value.context)
    assert caught.value.line == text.split("\n").index(call) + 1


def test_a_function_that_only_unreachable_code_calls() -> None:
    """Its loop has no place among the blocks that run."""
    before = ".func f() { .reg .u32 x; .reg .pred p; L: setp.lt.u32 p, x, 9; @p bra L; ret; }"
    session = Session(entry("bra END; call f; END: st.global.u32 [%out], 7;", before=before))
    out = session.buffer("out", np.zeros(1, np.uint32))
    session.launch(out)
    assert session.values("out", np.uint32)[0] == 7
