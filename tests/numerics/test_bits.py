"""Logic, shifts and bit manipulation against the ISA's own definitions in Python's integers."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.numerics.instruction_runner import run
from tests.numerics.test_integer import EDGES, pairs, signed

AMOUNTS = [0, 1, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 65536, 2**31, 2**32 - 1]


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize(
    ("name", "function"), [("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)]
)
def test_logic(name: str, function: Callable[[int, int], int], width: int) -> None:
    """and, or and xor work on every bit, and on predicates."""
    left, right = pairs(width)
    assert run(f"{name}.b{width}", left, right) == [function(a, b) for a, b in zip(left, right, strict=True)]
    assert run(f"{name}.pred", [0, 0, 1, 1], [0, 1, 0, 1]) == [function(a, b) for a in (0, 1) for b in (0, 1)]


@pytest.mark.parametrize("width", [16, 32, 64])
def test_not(width: int) -> None:
    """not and cnot."""
    values = EDGES[width]
    assert run(f"not.b{width}", values) == [~v & ((1 << width) - 1) for v in values]
    assert run(f"cnot.b{width}", values) == [int(v == 0) for v in values]
    assert run("not.pred", [0, 1]) == [1, 0]


@pytest.mark.parametrize("width", [16, 32, 64])
def test_shifts(width: int) -> None:
    """Shifts by the width and more give zero, or the sign; amounts are unsigned 32-bit numbers."""
    values = [v for v in EDGES[width] for _ in AMOUNTS]
    amounts = AMOUNTS * len(EDGES[width])
    mask = (1 << width) - 1
    rows = [(v, min(s, width)) for v, s in zip(values, amounts, strict=True)]
    assert run(f"shl.b{width}", values, amounts) == [(v << s) & mask for v, s in rows]
    assert run(f"shr.u{width}", values, amounts) == [v >> s for v, s in rows]
    assert run(f"shr.b{width}", values, amounts) == [v >> s for v, s in rows]
    assert run(f"shr.s{width}", values, amounts) == [(signed(v, width) >> s) & mask for v, s in rows]


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shift(mode: str) -> None:
    """shf shifts b above a; wrap masks the amount to 5 bits, clamp stops at 32."""
    low = [v for v in EDGES[32] for _ in AMOUNTS]
    high = [(v * 0x9E3779B1) & 0xFFFFFFFF for v in low]
    amounts = AMOUNTS * len(EDGES[32])
    real = [s & 31 if mode == "wrap" else min(s, 32) for s in amounts]
    both = [b << 32 | a for a, b in zip(low, high, strict=True)]
    left = [(v << s >> 32) & 0xFFFFFFFF for v, s in zip(both, real, strict=True)]
    right = [(v >> s) & 0xFFFFFFFF for v, s in zip(both, real, strict=True)]
    assert run(f"shf.l.{mode}.b32", low, high, amounts) == left
    assert run(f"shf.r.{mode}.b32", low, high, amounts) == right


def lop3(a: int, b: int, c: int, table: int) -> int:
    """The ISA's truth table."""
    return sum(
        1 << bit
        for bit in range(32)
        if table >> ((a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)) & 1
    )


def test_lop3_every_table() -> None:
    """lop3 gives each of the 256 functions of three bits, and a predicate whether one is not zero."""
    a, b, c = 0xF0F0A5C3, 0xCCCC5A3C, 0xAAAA96E1
    for table in range(256):
        expected = lop3(a, b, c, table)
        assert run("lop3.b32", [a, a], [b, b], [c, c], table) == [expected] * 2, table
        assert run("lop3.b32", a, [b, b], c, table) == [expected] * 2, table
        got = run("lop3.or.b32", [a, a], [b, b], [c, c], table, [0, 1], destination="p|q")
        assert got == [(expected, int(expected != 0)), (expected, 1)], table
        got = run("lop3.and.b32", [a, a], [b, b], [c, c], table, [0, 1], destination="p|q")
        assert got == [(expected, 0), (expected, int(expected != 0))], table


def prmt(a: int, b: int, selector: int) -> int:
    """The ISA's default mode."""
    source = [(b << 32 | a) >> (8 * i) & 0xFF for i in range(8)]
    result = 0
    for index in range(4):
        choice = selector >> (4 * index) & 15
        byte = source[choice & 7]
        if choice & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << (8 * index)
    return result


def test_prmt() -> None:
    """prmt picks bytes by nibbles, or by one of its six modes."""
    a, b = 0x8A114273, 0x7F80C1D2
    selectors = [0x3210, 0x7654, 0x5410, 0x7632, 0xFEDC, 0xBA98, 0x0123, 0x8888, 0x4444, 0xFFFF3210]
    assert run("prmt.b32", [a] * 10, [b] * 10, selectors) == [prmt(a, b, s) for s in selectors]
    for selector in [*selectors, 0xA6B1, 0x2103, 0x5555]:
        assert run("prmt.b32", [a, b], [b, a], selector) == [prmt(a, b, selector), prmt(b, a, selector)]
    source = [(b << 32 | a) >> (8 * i) & 0xFF for i in range(8)]
    modes = {
        "f4e": lambda n, i: source[n + i],
        "b4e": lambda n, i: source[(n - i) % 8],
        "rc8": lambda n, i: source[n],
        "ecl": lambda n, i: source[max(n, i)],
        "ecr": lambda n, i: source[min(n, i)],
        "rc16": lambda n, i: source[2 * (n & 1) + (i & 1)],
    }
    for mode, pick in modes.items():
        expected = [sum(pick(n & 3, i) << (8 * i) for i in range(4)) for n in range(6)]
        assert run(f"prmt.b32.{mode}", [a] * 6, [b] * 6, list(range(6))) == expected, mode


@pytest.mark.parametrize("width", [32, 64])
def test_counting(width: int) -> None:
    """popc, clz, bfind and brev."""
    values = sorted(
        {*EDGES[width], *[(1 << k) - 1 for k in range(width)], *[3 << k for k in range(width - 1)]}
    )
    ones = 0xFFFFFFFF
    assert run(f"popc.b{width}", values) == [v.bit_count() for v in values]
    assert run(f"clz.b{width}", values) == [width - v.bit_length() for v in values]
    assert run(f"bfind.u{width}", values) == [(v.bit_length() - 1) & ones for v in values]
    expected = [width - v.bit_length() if v else ones for v in values]
    assert run(f"bfind.shiftamt.u{width}", values) == expected
    folded = [v ^ ((1 << width) - 1) if v >> (width - 1) else v for v in values]
    assert run(f"bfind.s{width}", values) == [(v.bit_length() - 1) & ones for v in folded]
    assert run(f"brev.b{width}", values) == [int(f"{v:0{width}b}"[::-1], 2) for v in values]


def test_fns() -> None:
    """fns finds the n-th one upward, downward, or tests one bit."""
    masks = [0, 1, 0x80000000, 0xFFFFFFFF, 0xA5A5A5A5, 0x00F0]
    rows = [(m, b, o) for m in masks for b in (0, 4, 17, 31) for o in (0, 1, 2, 5, -1, -2, -7, 40)]

    def reference(mask: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        places = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [place for place in places if mask >> place & 1]
        return found[abs(offset) - 1] if abs(offset) <= len(found) else 0xFFFFFFFF

    got = run("fns.b32", [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
    assert got == [reference(*row) for row in rows]


def bfe(a: int, position: int, length: int, width: int, is_signed: bool) -> int:
    """The ISA's pseudo-code, but that of 64 bits the whole position and length count, as they do on a GPU."""
    if width == 32:
        position, length = position & 255, length & 255
    top = width - 1
    sign = a >> min(position + length - 1, top) & 1 if is_signed and length else 0
    return sum(
        ((a >> (position + bit) & 1) if bit < length and position + bit <= top else sign) << bit
        for bit in range(width)
    )


def bfi(a: int, b: int, position: int, length: int, width: int) -> int:
    """The ISA's pseudo-code, but that of 64 bits the whole position and length count, as they do on a GPU."""
    if width == 32:
        position, length = position & 255, length & 255
    result = b
    for bit in range(length):
        place = position + bit
        if place < width:
            result = result & ~(1 << place) | (a >> bit & 1) << place
    return result


@pytest.mark.parametrize("width", [32, 64])
def test_fields(width: int) -> None:
    """bfe and bfi follow the ISA's pseudo-code, also where the field leaves the register."""
    amounts = [0, 1, 7, 31, 32, 33, 63, 64, 65, 255, 256 + 3]
    rows = [(v, p, n) for v in EDGES[width] for p in amounts for n in amounts]
    a, position, length = [[row[index] for row in rows] for index in range(3)]
    expected = [bfe(*row, width, False) for row in rows]
    assert run(f"bfe.u{width}", a, position, length) == expected
    expected = [bfe(*row, width, True) for row in rows]
    assert run(f"bfe.s{width}", a, position, length) == expected
    b = [(v * 0x9E3779B97F4A7C15) & ((1 << width) - 1) for v in a]
    expected = [bfi(v, w, p, n, width) for (v, p, n), w in zip(rows, b, strict=True)]
    assert run(f"bfi.b{width}", a, b, position, length) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 2), min_size=1, max_size=30))
def test_masks_and_extension(rows: list[tuple[int, int]]) -> None:
    """bmsk and szext, with amounts that wrap or stop at 32."""
    small = [(a % 40, b % 40) for a, b in rows]
    ones = 0xFFFFFFFF
    for mode in ("wrap", "clamp"):
        limit = (lambda n: n & 31) if mode == "wrap" else (lambda n: min(n, 32))
        masks = [((1 << limit(b)) - 1) << limit(a) & ones for a, b in small]
        assert run(f"bmsk.{mode}.b32", [a for a, _ in small], [b for _, b in small]) == masks
        values = [a for a, _ in rows]
        lengths = [b for _, b in small]
        low = [a & ((1 << limit(n)) - 1) for a, n in zip(values, lengths, strict=True)]
        assert run(f"szext.{mode}.u32", values, lengths) == low
        extended = [signed(v, limit(n)) & ones if limit(n) else 0 for v, n in zip(low, lengths, strict=True)]
        assert run(f"szext.{mode}.s32", values, lengths) == extended
