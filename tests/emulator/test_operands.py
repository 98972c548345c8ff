"""Instructions with any operands: a result, or an error of teenycuda's own that says where."""

from __future__ import annotations

import random

import numpy as np
import pytest

from teenycuda_cli.emulator.opcodes.table import Form, operand_types, spellings, supported
from teenycuda_cli.errors import TeenycudaError, UnsupportedError
from tests.emulator.harness import Session, entry, run, store

POOL = (
    *(
        "%p1",
        "!%p2",
        "%h1",
        "%r1",
        "%r2",
        "%d1",
        "%out",
        "%f1",
        "%g1",
        "%q1",
        "%c1",
        "%u1",
        "%v",
        "%v.y",
        "%v.w",
    ),
    *("5", "-1", "1.0", "0f3F800000", "0d3FF0000000000000", "_", "WARP_SZ", "!1", "18446744073709551615"),
    *(
        "%tid.x",
        "%clock64",
        "%laneid",
        "%none",
        "nowhere",
        "L",
        "T",
        "f",
        "vprintf",
        "k",
        "gm",
        "gm+4",
        "sm",
        "lo",
    ),
    *(
        "out",
        "[out]",
        "[%d1]",
        "[%out]",
        "[%out+4]",
        "[%r1]",
        "[%h1]",
        "[%f1]",
        "[%p1]",
        "[%q1]",
        "[gm]",
        "[sm+8]",
    ),
    *("[lo]", "[par]", "[L]", "[f]", "[64]", "[%v]", "par", "(par)", "(%r1)", "()", "(par, par)"),
    *("{%r1}", "{%r1, %r2}", "{%f1, %f1}", "{%r1, _}", "{%h1, %h1}", "{%d1, 5}", "{%r1, %r2, %r1, %r2}"),
    *("{%v, %r1}", "%r1|%p1", "%p1|%p2", "_|%p1", "%r1|_", "%r1|%r2", "%f1|%h1", "%d1|5"),
)
REGISTERS = {"pred": "%p1", "8": "%c1", "16": "%h1", "32": "%r1", "64": "%d1"}
BEFORE = (
    ".global .align 16 .b8 gm[64]; .shared .align 16 .b8 sm[64];\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    ".func f(.param .b32 a) { ret; }\n"
)
DECLARED = (
    ".reg .b128 %q<2>; .reg .b8 %c<2>; .reg .u32 %u<2>; .reg .v4 .b32 %v; .local .align 16 .b8 lo[64];\n"
    ".param .b32 par; T: .branchtargets L, M;\nmov.u64 %d1, %out; mov.u32 %r1, 0; mov.u32 %r2, 1;\n"
)


def kernel(line: str) -> str:
    """A kernel of one instruction, with something of every kind declared."""
    return entry(f"{DECLARED}L: {line}\nM: st.global.u32 [%out], %r1;", before=BEFORE)


def attempt(line: str) -> TeenycudaError | None:
    """Compile and run a line; what teenycuda says against it."""
    try:
        session = Session(kernel(line), watchdog=200)
        session.launch(session.buffer("out", np.zeros(64, np.uint32)), block=(2,), timeout=5)
    except TeenycudaError as error:
        error.__context__ = error.__cause__ = None  # they keep the device, with all its address space
        return error.with_traceback(None)
    return None


def _likely(form: Form, name: str) -> list[str]:
    """Operands of the right kinds, as far as the row tells."""
    found = []
    for (names, kinds), text in zip(operand_types(form, name), _places(form), strict=False):
        parts = [REGISTERS.get(kind.lstrip("busf"), REGISTERS.get(kind, "%r1")) for kind in kinds]
        if text.startswith("["):
            found.append("[%d1]")
        elif len(names) > 1:
            found.append("|".join(parts) if "|" in text else "{" + ", ".join(parts) + "}")
        else:
            found.append(parts[0])
    return found


def _places(form: Form) -> list[str]:
    tail = form.syntax.partition(" ")[2].replace("{,", ",")
    depth, places = 0, [""]
    for letter in tail:
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth <= 0:
            places.append("")
        else:
            places[-1] += letter
    return [place.strip() for place in places if place.strip()]


def mutations(seed: int, count: int) -> list[str]:
    """Instructions of every row with operands that mostly do not fit."""
    choose = random.Random(seed)
    lines = []
    for form in supported():
        names = [name for name, _ in zip(spellings(form), range(40), strict=False)]
        for _ in range(count if form.kind == "effect" else max(1, count // 8)):
            name = choose.choice(names)
            operands = _likely(form, name)
            for _ in range(choose.choice((1, 1, 1, 2, 3))):
                if operands:
                    operands[choose.randrange(len(operands))] = choose.choice(POOL)
            change = choose.randrange(12)
            if change == 0:
                operands.append(choose.choice(POOL))
            elif change == 1 and operands:
                operands.pop(choose.randrange(len(operands)))
            guard = choose.choice(("", "", "", "", "@%p1 ", "@!%p2 ", "@%r1 "))
            lines.append(f"{guard}{name} {', '.join(operands)};")
    return lines


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_operands_give_a_result_or_an_error_of_teenycuda(seed: int) -> None:
    """Whatever stands where an operand is due, no instruction ends in a fault of the emulator's own code."""
    outcomes = [attempt(line) for line in mutations(seed, 10)]
    assert any(outcome is None for outcome in outcomes)
    assert any(isinstance(outcome, UnsupportedError) for outcome in outcomes)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("bar.sync %d1;", "operand 1 is %d1 (.b64); a register or constant for .u32 is expected"),
        ("bar.red.and.pred %p1, 0, %d1;", "operand 3 is %d1 (.b64)"),
        ("cvta.local.u64 5, %d1;", "operand 1 is the constant 5; a register for .u64 is expected"),
        ("elect.sync %d1|%p1, -1;", "operand 1 is %d1 (.b64)"),
        ("brx.idx %r1, L;", "operand 2 is the label L; a .branchtargets table is expected"),
        ("bra T;", "operand 1 is the table T; a label is expected"),
        ("ld.global.u32 %r1, [%p1];", "an address with an integer base is expected"),
        ("ld.global.v2.u32 {%r1, %r2, %r1, %r2}, [%d1];", "2 elements of .u32 are expected"),
        ("st.global.u32 [%d1], %h1;", "operand 2 is %h1 (.b16)"),
        ("redux.sync.add.u32 %r1, %d1, -1;", "operand 2 is %d1 (.b64)"),
        ("lop3.b32 %r1, %r1, %r1, %r1, %r2;", "operand 5 is %r2 (.b32); a constant for .b32 is expected"),
        ("@%r1 bra L;", "%r1 is no predicate register"),
    ],
)
def test_operands_that_do_not_fit_are_told_with_what_is_expected(line: str, told: str) -> None:
    """The message has the line, the column, what stands there and what would fit."""
    text = kernel(line)
    error = attempt(line)
    assert isinstance(error, UnsupportedError)
    start = text.index("L: " + line)
    assert error.line == text[:start].count("\n") + 1
    assert error.column is not None
    assert told in error.context[0]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16"
            " {%r1, %r2}, {%r1, %r2, %r1, %r2}, {%r1, %r2, %r1, %r2}, {%r1, %r2}, %r1, 2;",
            "is 2, not 0 or 1",
        ),
        (
            "mma.sp.sync.aligned.m16n8k64.row.col.s32.u8.u8.s32 {%r1, %r2, %r1, %r2}, {%r1, %r2, %r1, %r2},"
            " {%r1, %r2, %r1, %r2}, {%r1, %r2, %r1, %r2}, %r1, 1;",
            "is 1, not 0",
        ),
        ("tensormap.replace.tile.elemtype.global.b1024.b32 [%d1], 13;", "is 13, not 0 to 12"),
    ],
)
def test_constants_that_choose_are_among_the_choices(line: str, told: str) -> None:
    """The message says which constants there may be."""
    error = attempt(line)
    assert isinstance(error, UnsupportedError)
    assert told in error.message


@pytest.mark.parametrize(
    "line",
    [
        "ld.global.u8 %d1, [%out];",
        "ld.global.b32 {%r1}, [%out];",
        "ld.global.v4.u32 %v, [%out];",
        "ld.global.v2.u32 {%r1, _}, [%out];",
        "ld.global.f32 %d1, [%out];",
        "st.global.b16 [%out], %r1;",
        "st.global.v2.u32 [%out], {%r1, 5};",
        "st.global.b32 [%out], 0f3F800000;",
        "atom.global.exch.b32 _, [%out], 1;",
        "atom.global.add.f32 %r1, [%out], %r2;",
        "vote.sync.ballot.b32 %f1, !1, -1;",
        "elect.sync _|%p1, -1;",
        "isspacep.global %p1, %r1;",
        "cvta.local.u64 %d1, lo+4;",
        "fence.proxy.async.shared::cta;",
        "bar.sync %v.y;",
    ],
)
def test_what_ptxas_takes_is_taken(line: str) -> None:
    """Operands at the border of what is legal."""
    error = attempt(f"mov.b32 %v.y, 1; {line}")
    assert not isinstance(error, UnsupportedError)


def test_an_offset_is_part_of_an_address_that_is_moved() -> None:
    """`mov` of `variable+4` gives the place four bytes on, in each space."""
    line = (
        "mov.u64 %d1, gm+4; mov.u64 %d2, gm; sub.u64 %d3, %d1, %d2; st.global.u32 [%out+4], %d3;"
        "mov.u64 %d1, lo+8; mov.u64 %d2, lo; sub.u64 %d3, %d1, %d2; st.global.u32 [%out+8], %d3;"
    )
    np.testing.assert_array_equal(run(kernel(line), 3, block=(1,))[1:], [4, 8])


def test_an_offset_is_part_of_an_address_that_is_stored() -> None:
    """Where a value is expected, `variable+4` is the place four bytes on."""
    line = (
        "mov.u64 %d2, gm; st.global.u64 [%out+8], gm+12; ld.global.u64 %d1, [%out+8];"
        "sub.u64 %d3, %d1, %d2; st.global.u32 [%out+4], %d3;"
        "mov.u64 %d1, 0; st.global.u64 [%out+8], %d1; red.global.add.u64 [%out+8], gm+4;"
        "ld.global.u64 %d1, [%out+8]; sub.u64 %d3, %d1, %d2; st.global.u64 [%out+8], %d3;"
    )
    np.testing.assert_array_equal(run(kernel(line), 4, block=(1,))[1:], [12, 4, 0])


@pytest.mark.parametrize(
    "opcode", ["add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "and.b32", "or.b32", "min.u32"]
)
def test_constants_without_a_sign(opcode: str) -> None:
    """A constant of the upper half of 32 bits may be written with its sign or without."""
    given = "mov.u32 %r79, %tid.x; mad.lo.u32 %r6, %r79, %r79, 3;"
    results = []
    for constant in ("0x9E3779B1", str(0x9E3779B1 - (1 << 32))):
        for source in ("%r79", "%r6"):
            text = entry(f"{given} {opcode} %r5, {source}, {constant}; {store('%r5')} ret;")
            results.append(run(text, 64, block=(64,)))
    np.testing.assert_array_equal(results[:2], results[2:])
