"""What may stand for the operands of instructions that compute values, beside registers and constants."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.harness import entry, run

BEFORE = ".global .align 16 .b8 gm[64]; .shared .align 16 .b8 sm[64];\n"


def results(body: str, count: int) -> list[int]:
    """What a single thread leaves in `%r0`, `%r1`, …"""
    stores = "".join(f"st.global.b32 [%out+{4 * index}], %r{index};" for index in range(count))
    given = ".reg .b128 %q<4>; .reg .f16x2 %x<2>; mov.b32 %r40, 0x11112222; mov.b32 %r41, 0x33334444;"
    return run(entry(f"{given}{body}{stores}ret;", before=BEFORE), count, block=(1,)).tolist()


@pytest.mark.parametrize("p", [0, 1])
@pytest.mark.parametrize("q", [0, 1])
def test_predicates_may_be_negated(p: int, q: int) -> None:
    """and, or, xor, not and mov of predicates take `!p`."""
    body = f"setp.eq.u32 %p1, {p}, 1; setp.eq.u32 %p2, {q}, 1;"
    written = ["and.pred %p3, !%p1, %p2", "or.pred %p3, %p1, !%p2", "xor.pred %p3, !%p1, !%p2"]
    written += ["not.pred %p3, !%p1", "mov.pred %p3, !%p1"]
    for index, line in enumerate(written):
        body += f"{line}; selp.u32 %r{index}, 1, 0, %p3;"
    assert results(body, 5) == [(1 - p) & q, p | (1 - q), p ^ q, p, 1 - p]


def test_an_address_is_a_constant_anywhere() -> None:
    """`variable+4` counts as a constant in arithmetic too."""
    body = "mov.u32 %r10, sm; add.u32 %r0, sm+4, 1; sub.u32 %r0, %r0, %r10; max.u32 %r1, sm+8, sm; sub.u32 %r1, %r1, %r10;"
    body += "mov.u64 %d1, gm; sub.u64 %d2, gm+12, %d1; cvt.u32.u64 %r2, %d2; setp.lt.u64 %p1, gm, gm+1; selp.u32 %r3, 1, 0, %p1;"
    assert results(body, 4) == [5, 8, 12, 1]


def test_a_vector_of_one_is_its_element() -> None:
    """`mov` takes `{a}` on either side."""
    assert results("mov.b32 {%r0}, %r40; mov.b32 %r1, {%r41};", 2) == [0x11112222, 0x33334444]


def test_nothing_is_read_as_zero() -> None:
    """`_` among the parts that are packed is 0."""
    body = "mov.b32 {%h1, %h2}, %r40; mov.b32 %r0, {_, %h1}; mov.b32 %r1, {%h2, _};"
    assert results(body, 2) == [0x22220000, 0x00001111]


def test_vectors_of_any_width_are_moved_in_one_kernel() -> None:
    """`mov.v2` exchanges pairs of 16, 32 and 64 bits and floats one after the other."""
    body = """
    mov.b32 {%h1, %h2}, %r40; mov.v2.b16 {%h1, %h2}, {%h2, %h1}; mov.b32 %r0, {%h1, %h2};
    mov.v2.b32 {%r1, %r2}, {%r41, %r40}; mov.v2.b32 {%r1, %r2}, {%r2, %r1};
    cvt.u64.u32 %d1, %r40; cvt.u64.u32 %d2, %r41; mov.v2.b64 {%d1, %d2}, {%d2, %d1}; cvt.u32.u64 %r3, %d1;
    mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000; mov.v2.f32 {%f1, %f2}, {%f2, %f1}; mov.b32 %r4, %f1;
    """
    assert results(body, 5) == [0x22221111, 0x11112222, 0x33334444, 0x33334444, 0x40000000]


def test_128_bits_have_four_parts() -> None:
    """`mov.b128` joins four registers of 32 bits, the first one lowest, and takes them apart; some may be `_`."""
    body = "mov.b128 %q1, {%r40, %r41, 5, 6}; mov.b128 {%r0, %r1, %r2, %r3}, %q1; mov.b128 {_, _, %r4, _}, %q1; mov.b128 {%d1, %d2}, %q1;"
    body += "shr.u64 %d1, %d1, 32; cvt.u32.u64 %r5, %d1; setp.eq.u32 %p1, %r0, 0; @%p1 mov.b128 {%r0, %r1, %r2, %r3}, %q1;"
    assert results(body, 6) == [0x11112222, 0x33334444, 5, 6, 5, 0x33334444]
    body = "mov.b128 %q1, {1, 2, 3, 4}; setp.ne.u32 %p1, 0, 0; @%p1 mov.b128 %q1, {5, 6, 7, 8}; mov.b128 {%r0, %r1, %r2, %r3}, %q1;"
    assert results(body, 4) == [1, 2, 3, 4]


def test_a_register_of_packed_halves_is_wide_enough_for_less() -> None:
    """cvt takes a register of .f16x2 where it wants 8 or 16 bits, as any of 32 bits."""
    assert results(
        "mov.b32 %x0, 0x1234; cvt.u32.u8 %r0, %x0; cvt.s8.s32 %x1, %r41; mov.b32 %r1, %x1;", 2
    ) == [0x34, 0x44]


def test_setp_of_one_half_may_drop_what_it_has_not() -> None:
    """`p|_` is p, also of types that have no p|q."""
    half = np.array([1, 2], np.float16).view(np.uint16).tolist()
    body = f"mov.b16 %h1, {half[0]}; mov.b16 %h2, {half[1]}; setp.lt.f16 %p1|_, %h1, %h2; selp.u32 %r0, 1, 0, %p1;"
    body += "setp.gt.s32 %p1|_, %r40, %r41; selp.u32 %r1, 1, 0, %p1; setp.gt.s32 _|%p1, %r40, %r41; selp.u32 %r2, 1, 0, %p1;"
    assert results(body, 3) == [1, 0, 1]
