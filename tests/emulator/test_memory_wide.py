"""Registers of 128 bits and long vectors: loads, stores, moves, and addresses of the wrong space."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError, UnsupportedError
from tests.emulator.harness import INDEX, Session, entry

PARAMS = ".param .u64 out, .param .u64 given, .param .b128 whole"
COUNT = 48
WHOLE = bytes(range(16))


def launch(body: str, step: int = 16, *, dtype: Any = np.uint64) -> tuple[Any, Any]:
    """Run `body` with %d1 and %d2 the addresses of a thread's part of `given` and `out`; both buffers after it."""
    start = f"""
    {INDEX} .reg .b128 %q<4>; .reg .b128 %whole;
    ld.param.u64 %d1, [given]; mul.wide.u32 %d79, %r79, {step}; add.u64 %d1, %d1, %d79; add.u64 %d2, %out, %d79;
    """
    session = Session(entry(f"{start}\n{body}\nret;", PARAMS))
    values = np.random.default_rng(9).integers(0, 1 << 63, COUNT * step // 8, np.uint64).view(dtype)
    given = session.buffer("given", values)
    out = session.buffer("out", np.zeros_like(values))
    session.launch(out, given, WHOLE, block=(COUNT,))
    return values, session.values("out", dtype)


@pytest.mark.parametrize(
    "body",
    [
        "ld.global.b128 %q1, [%d1]; st.global.b128 [%d2], %q1;",
        "ld.b128 %q1, [%d1]; mov.b128 %q2, %q1; st.b128 [%d2], %q2;",
        "ld.global.v2.b64 {%d5, %d6}, [%d1]; mov.b128 %q1, {%d5, %d6}; st.global.b128 [%d2], %q1;",
        "ld.global.b128 %q1, [%d1]; mov.b128 {%d5, %d6}, %q1; st.global.v2.b64 [%d2], {%d5, %d6};",
        "ld.volatile.global.b128 %whole, [%d1]; st.relaxed.gpu.global.b128 [%d2], %whole;",
        ".shared .align 16 .b128 s[48]; mov.u64 %d5, s; add.u64 %d5, %d5, %d79; ld.global.b128 %q1, [%d1]; st.shared.b128 [%d5], %q1; ld.shared.b128 %q2, [%d5]; st.global.b128 [%d2], %q2;",
        ".local .align 16 .b8 l[16]; ld.global.b128 %q1, [%d1]; st.local.b128 [l], %q1; ld.local.b128 %q2, [l]; st.global.b128 [%d2], %q2;",
    ],
)
def test_128_bits(body: str) -> None:
    """Sixteen bytes come out as they went in, by whichever registers and spaces."""
    given, out = launch(body)
    assert np.array_equal(out, given)


def test_halves() -> None:
    """The first element of a vector is the lower half; a predicate spares the other lanes."""
    body = """
    ld.global.b128 %q1, [%d1]; mov.b128 {%d5, %d6}, %q1; mov.b128 %q2, {%d6, %d5};
    and.b32 %r1, %r79, 1; setp.eq.u32 %p1, %r1, 1; @%p1 mov.b128 %q1, %q2; st.global.b128 [%d2], %q1;
    """
    given, out = launch(body)
    expected = given.reshape(-1, 2).copy()
    expected[1::2] = expected[1::2, ::-1]
    assert np.array_equal(out.reshape(-1, 2), expected)


def test_parameter() -> None:
    """A parameter of 128 bits is read as one, and a constant fills a register."""
    _, out = launch("ld.param.b128 %q1, [whole]; st.global.b128 [%d2], %q1;")
    assert out.tobytes() == WHOLE * COUNT
    _, out = launch("mov.b128 %q1, 7; st.global.b128 [%d2], %q1;")
    assert np.array_equal(out.reshape(-1, 2), [[7, 0]] * COUNT)


def test_across_blocks() -> None:
    """A register of 128 bits keeps its value around a loop."""
    body = """
    ld.global.b128 %q1, [%d1]; mov.u32 %r1, 0;
    L: mov.b128 {%d5, %d6}, %q1; add.u64 %d5, %d5, 1; mov.b128 %q1, {%d6, %d5};
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r79; @%p1 bra L;
    st.global.b128 [%d2], %q1;
    """
    given, out = launch(body)
    for thread, pair in enumerate(given.reshape(-1, 2).tolist()):
        low, high = pair
        for _ in range(max(thread, 1)):
            low, high = high, (low + 1) & (1 << 64) - 1
        assert out.reshape(-1, 2)[thread].tolist() == [low, high]


@pytest.mark.parametrize(
    ("vector", "kind", "register"),
    [("v8", "b32", "%r"), ("v4", "b64", "%d"), ("v8", "f32", "%f"), ("v4", "f64", "%g")],
)
def test_32_bytes(vector: str, kind: str, register: str) -> None:
    """Vectors of 32 bytes, in global memory."""
    names = ", ".join(f"{register}{10 + number}" for number in range(int(vector[1:])))
    body = f"ld.global.{vector}.{kind} {{{names}}}, [%d1]; st.global.{vector}.{kind} [%d2], {{{names}}};"
    given, out = launch(body, 32)
    assert np.array_equal(out, given)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("add.u64 %d1, %d1, 8; ld.global.b128 %q1, [%d1];", "misaligned"),
        ("cvta.global.u64 %d5, %d1; ld.shared.u32 %r1, [%d5];", "shared memory"),
        (
            ".shared .b32 s[4]; mov.u64 %d5, s; cvta.shared.u64 %d5, %d5; ld.shared.u32 %r1, [%d5];",
            "generic address",
        ),
        (
            ".shared .b32 s[4]; mov.u64 %d5, s; cvta.shared.u64 %d5, %d5; atom.global.add.u32 %r1, [%d5], 1;",
            "shared memory",
        ),
        (
            ".local .b32 l[4]; mov.u64 %d5, l; cvta.local.u64 %d5, %d5; st.global.u32 [%d5], 1;",
            "local memory",
        ),
        (
            ".local .b32 l[4]; mov.u64 %d5, l; cvta.local.u64 %d5, %d5; atom.add.u32 %r1, [%d5], 1;",
            "local memory",
        ),
    ],
)
def test_wrong_space(body: str, says: str) -> None:
    """An address that is none of the instruction's space, or not aligned to all its bytes, is a fault."""
    with pytest.raises(LaunchError) as caught:
        launch(body)
    assert says in "\n".join([str(caught.value), *caught.value.context])


@pytest.mark.parametrize(
    "body",
    [
        "ld.global.b128 {%d5, %d6}, [%d1];",
        "ld.global.v2.b64 %q1, [%d1];",
        "ld.global.v2.b128 {%q1, %q2}, [%d1];",
        "mov.b128 %q1, %d5;",
        "mov.b64 %d5, %q1;",
        "st.global.b128 [%d2], {%d5, %d6};",
        "ld.shared.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1];",
    ],
)
def test_refused(body: str) -> None:
    """What the assembler does not take of these, the emulator names before anything runs."""
    with pytest.raises(UnsupportedError):
        launch(body)
