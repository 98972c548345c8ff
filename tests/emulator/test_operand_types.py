"""Registers and constants in places for values of other types: refused, as ptxas refuses them."""

from __future__ import annotations

import pytest

from teenycuda_cli.driver.assembly.assembler import assemble
from teenycuda_cli.errors import UnsupportedError
from tests.emulator.harness import Session, entry

DECLARED = (
    ".reg .b16 %b<2>; .reg .u16 %w<2>; .reg .f16 %e<2>; .reg .f16x2 %ee<2>; .reg .pred %pp<2>;\n"
    ".reg .b32 %bb<2>; .reg .u32 %u<2>; .reg .s32 %s<2>; .reg .f32 %ff<2>; .reg .b64 %bbb<2>;\n"
    ".reg .f64 %fff<2>;\n"
)


def kernel(line: str) -> str:
    """A kernel of one instruction."""
    return entry(f"{DECLARED}{line} ret;").replace("sm_80", "sm_90")


@pytest.mark.parametrize(
    "line",
    [
        "add.f32 %ff1, %ff0, 0f3F800000;",
        "add.f32 %bb1, %bb0, 1.5;",
        "add.f64 %fff1, %bbb0, 0f3F800000;",
        "add.f16 %e1, %b0, %e0;",
        "add.f16x2 %ee1, %bb0, %ee0;",
        "add.bf16x2 %bb1, %bb0, %bb0;",
        "add.u32 %s1, %u0, %bb0;",
        "add.u32 %u1, %ee0, 5;",
        "min.u16x2 %ee1, %ee0, %bb0;",
        "and.b32 %ff1, %ff0, 0x7fffffff;",
        "setp.lt.s32 %pp1, %u0, -1;",
        "selp.f32 %ff1, %ff0, 0f00000000, %pp0;",
        "mov.b32 %bb1, 0f3F800000; and.b32 %bb1, %bb0, 0f3F800000; mov.b64 %bbb1, 1.5;",
        "cvt.f32.f16 %bbb1, %b0;",
        ".local .b8 lo[4]; ld.local.u32 %u1, [lo]; ld.u32 %u1, [lo]; cvta.local.u64 %bbb1, lo;",
        ".shared .b8 sh[4]; ld.shared::cta.u32 %u1, [sh+4]; st.u32 [sh], %u1; cvta.shared.u64 %bbb1, sh;",
        "ld.param.u64 %bbb1, [out];",
    ],
)
def test_taken(line: str) -> None:
    """Bits stand for all types of their size, and integers for one another."""
    Session(kernel(line)).module.function("k")
    assert assemble(kernel(line).encode(), arch="sm_90").ok


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("add.f32 %ff1, %ff0, 1;", 3),
        ("add.f32 %ff1, %u0, %ff0;", 2),
        ("add.f32 %u1, %ff0, %ff0;", 1),
        ("add.f64 %fff1, %fff0, -1;", 3),
        ("add.f16 %e1, %w0, %e0;", 2),
        ("add.f16 %e1, %e0, 1.0;", 3),
        ("add.f16x2 %ee1, %ff0, %ee0;", 2),
        ("add.bf16x2 %bb1, %bb0, 5;", 3),
        ("add.u32 %u1, %ff0, %u0;", 2),
        ("add.u32 %u1, %u0, 1.0;", 3),
        ("min.u16x2 %bb1, %bb0, 5;", 3),
        ("setp.lt.f32 %pp1, %ff0, 0;", 3),
        ("mov.f32 %ff1, 5;", 2),
        ("mov.b32 %bb1, 1.5;", 2),
        ("mov.b64 %bbb1, 0f3F800000;", 2),
        ("and.b32 %bb1, %bb0, 0d3FF8000000000000;", 3),
        ("selp.b32 %bb1, %bb0, 1e5, %pp0;", 3),
        ("mov.u64 %bbb1, L; L:", 2),
        (".local .b8 lo[4]; mov.pred %pp1, lo;", 2),
        (".local .b8 lo[4]; ld.global.u32 %u1, [lo];", 2),
        (".shared .b8 sh[4]; ld.global.u32 %u1, [sh];", 2),
        (".shared .b8 sh[4]; st.local.u32 [sh], %u1;", 1),
        (".shared .b8 sh[4]; atom.global.add.u32 %u1, [sh], %u0;", 2),
        (".shared .b8 sh[4]; cvta.global.u64 %bbb1, sh;", 2),
        ("ld.global.u64 %bbb1, [out];", 2),
        ("ld.u64 %bbb1, [out];", 2),
        (".local .b8 lo[4]; mov.f32 %ff1, lo;", 2),
    ],
)
def test_refused(line: str, number: int) -> None:
    """An operand of another type is named with its number before anything runs."""
    with pytest.raises(UnsupportedError) as error:
        Session(kernel(line)).module.function("k")
    assert f"operand {number} is" in str(error.value.context), error.value.context
    assert not assemble(kernel(line).encode(), arch="sm_90").ok
