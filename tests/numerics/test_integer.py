"""Integer instructions against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.numerics.instruction_runner import run

EDGES = {
    width: sorted(
        {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, (1 << width) - 1, (1 << width) - 2, 1 << (width - 1)}
        | {(1 << (width - 1)) - 1, (1 << (width - 1)) + 1, 0x5A5A5A5A5A5A5A5A & ((1 << width) - 1), 200, 255}
    )
    for width in (16, 32, 64)
}


def signed(value: int, width: int) -> int:
    """Raw bits as a signed number."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def number(value: int, kind: str) -> int:
    """Raw bits as the number that a type makes of them."""
    width = int(kind[1:])
    return signed(value, width) if kind[0] == "s" else value & ((1 << width) - 1)


def quotient(a: int, b: int) -> int:
    """Toward zero, all ones for b = 0."""
    if b == 0:
        return -1
    whole = abs(a) // abs(b)
    return -whole if (a < 0) != (b < 0) else whole


def rest(a: int, b: int) -> int:
    """What quotient leaves, all ones for b = 0."""
    return -1 if b == 0 else a - quotient(a, b) * b


def clamp(value: int) -> int:
    """To the range of s32."""
    return max(-(1 << 31), min(value, (1 << 31) - 1))


BINARY: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, w: a + b,
    "sub": lambda a, b, w: a - b,
    "mul.lo": lambda a, b, w: a * b,
    "mul.hi": lambda a, b, w: (a * b) >> w,
    "div": lambda a, b, w: quotient(a, b),
    "rem": lambda a, b, w: rest(a, b),
    "min": lambda a, b, w: min(a, b),
    "max": lambda a, b, w: max(a, b),
}
TERNARY: dict[str, Callable[[int, int, int, int], int]] = {
    "mad.lo": lambda a, b, c, w: a * b + c,
    "mad.hi": lambda a, b, c, w: ((a * b) >> w) + c,
    "sad": lambda a, b, c, w: c + abs(a - b),
}
TYPES = ["u16", "s16", "u32", "s32", "u64", "s64"]


def pairs(width: int) -> tuple[list[int], list[int]]:
    """Every edge with every edge."""
    edges = EDGES[width]
    return [a for a in edges for _ in edges], [b for _ in edges for b in edges]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary_edges(name: str, kind: str) -> None:
    """Two-operand arithmetic agrees with Python's integers on every pair of edge values."""
    width, mask = int(kind[1:]), (1 << int(kind[1:])) - 1
    left, right = pairs(width)
    expected = [
        BINARY[name](number(a, kind), number(b, kind), width) & mask for a, b in zip(left, right, strict=True)
    ]
    assert run(f"{name}.{kind}", left, right) == expected


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", TERNARY)
def test_ternary_edges(name: str, kind: str) -> None:
    """Three-operand arithmetic agrees with Python's integers."""
    width, mask = int(kind[1:]), (1 << int(kind[1:])) - 1
    left, right = pairs(width)
    third = [(a * 0x9E3779B1 + b) & mask for a, b in zip(left, right, strict=True)]
    expected = [
        TERNARY[name](number(a, kind), number(b, kind), number(c, kind), width) & mask
        for a, b, c in zip(left, right, third, strict=True)
    ]
    assert run(f"{name}.{kind}", left, right, third) == expected


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TYPES), st.lists(st.tuples(*[st.integers(0, 2**64 - 1)] * 3), min_size=2, max_size=50))
def test_random_bits(kind: str, rows: list[tuple[int, int, int]]) -> None:
    """Arithmetic agrees with Python's integers on any bits."""
    width, mask = int(kind[1:]), (1 << int(kind[1:])) - 1
    a, b, c = [[row[index] & mask for row in rows] for index in range(3)]
    numbers = [[number(value, kind) for value in part] for part in (a, b, c)]
    for name, reference in BINARY.items():
        expected = [reference(x, y, width) & mask for x, y, _ in zip(*numbers, strict=True)]
        assert run(f"{name}.{kind}", a, b) == expected, name
    for name, other in TERNARY.items():
        expected = [other(x, y, z, width) & mask for x, y, z in zip(*numbers, strict=True)]
        assert run(f"{name}.{kind}", a, b, c) == expected, name


@pytest.mark.parametrize("kind", ["u16", "s16", "u32", "s32"])
def test_wide(kind: str) -> None:
    """mul.wide and mad.wide give the whole product."""
    width = int(kind[1:])
    mask = (1 << (2 * width)) - 1
    left, right = pairs(width)
    third = [(a * 0x9E3779B97F4A7C15 + b) & mask for a, b in zip(left, right, strict=True)]
    products = [number(a, kind) * number(b, kind) for a, b in zip(left, right, strict=True)]
    assert run(f"mul.wide.{kind}", left, right) == [product & mask for product in products]
    expected = [(product + c) & mask for product, c in zip(products, third, strict=True)]
    assert run(f"mad.wide.{kind}", left, right, third) == expected


def test_saturating() -> None:
    """.sat clamps the s32 sum, difference and mad.hi."""
    left, right = pairs(32)
    a, b = [signed(value, 32) for value in left], [signed(value, 32) for value in right]
    mask = 0xFFFFFFFF
    assert run("add.sat.s32", left, right) == [clamp(x + y) & mask for x, y in zip(a, b, strict=True)]
    assert run("sub.sat.s32", left, right) == [clamp(x - y) & mask for x, y in zip(a, b, strict=True)]
    expected = [clamp(((x * y) >> 32) + x) & mask for x, y in zip(a, b, strict=True)]
    assert run("mad.hi.sat.s32", left, right, left) == expected


@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_24_bits(kind: str) -> None:
    """mul24 and mad24 multiply the low 24 bits and give the low 32 or high 32 of 48 bits."""
    left, right = pairs(32)
    low = [number(value & 0xFFFFFF, "u24" if kind == "u32" else "s24") for value in left]
    other = [number(value & 0xFFFFFF, "u24" if kind == "u32" else "s24") for value in right]
    mask = 0xFFFFFFFF
    products = [x * y for x, y in zip(low, other, strict=True)]
    assert run(f"mul24.lo.{kind}", left, right) == [p & mask for p in products]
    assert run(f"mul24.hi.{kind}", left, right) == [(p >> 16) & mask for p in products]
    assert run(f"mad24.lo.{kind}", left, right, left) == [
        (p + c) & mask for p, c in zip(products, left, strict=True)
    ]
    if kind == "s32":
        expected = [clamp((p >> 16) + signed(c, 32)) & mask for p, c in zip(products, left, strict=True)]
        assert run("mad24.hi.sat.s32", left, right, left) == expected


@pytest.mark.parametrize("kind", ["s16", "s32", "s64"])
def test_unary(kind: str) -> None:
    """abs and neg wrap at the least value."""
    width, mask = int(kind[1:]), (1 << int(kind[1:])) - 1
    values = EDGES[width]
    assert run(f"abs.{kind}", values) == [abs(signed(v, width)) & mask for v in values]
    assert run(f"neg.{kind}", values) == [-v & mask for v in values]


def halves(kind: str, function: Callable[[int, int], int], a: int, b: int) -> int:
    """A function on both 16-bit halves."""
    low = function(number(a & 0xFFFF, kind), number(b & 0xFFFF, kind)) & 0xFFFF
    high = function(number(a >> 16, kind), number(b >> 16, kind)) & 0xFFFF
    return high << 16 | low


@pytest.mark.parametrize(
    ("name", "kind", "function"),
    [
        ("add.u16x2", "u16", lambda a, b: a + b),
        ("add.s16x2", "s16", lambda a, b: a + b),
        ("min.u16x2", "u16", min),
        ("max.u16x2", "u16", max),
        ("min.s16x2", "s16", min),
        ("max.s16x2", "s16", max),
        ("min.relu.s16x2", "s16", lambda a, b: max(min(a, b), 0)),
        ("max.relu.s16x2", "s16", lambda a, b: max(a, b, 0)),
    ],
)
def test_packed(name: str, kind: str, function: Callable[[int, int], int]) -> None:
    """Packed halves are computed each on its own."""
    left, right = pairs(32)
    left = [(value * 0x9E3779B1) & 0xFFFFFFFF for value in left]
    expected = [halves(kind, function, a, b) for a, b in zip(left, right, strict=True)]
    assert run(name, left, right) == expected


def test_relu() -> None:
    """.relu clamps negative results to zero."""
    left, right = pairs(32)
    a, b = [signed(value, 32) for value in left], [signed(value, 32) for value in right]
    assert run("min.relu.s32", left, right) == [max(min(x, y), 0) for x, y in zip(a, b, strict=True)]
    assert run("max.relu.s32", left, right) == [max(x, y, 0) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("a_kind", ["u32", "s32"])
@pytest.mark.parametrize("b_kind", ["u32", "s32"])
def test_dot_products(a_kind: str, b_kind: str) -> None:
    """dp4a and dp2a sum the products of bytes and words in their own signedness."""
    left, right = pairs(32)
    left = [(value * 0x9E3779B1) & 0xFFFFFFFF for value in left]

    def part(value: int, index: int, width: int, kind: str) -> int:
        return number(value >> (index * width) & ((1 << width) - 1), f"{kind[0]}{width}")

    def four(a: int, b: int, c: int) -> int:
        return c + sum(part(a, i, 8, a_kind) * part(b, i, 8, b_kind) for i in range(4))

    def two(a: int, b: int, c: int, first: int) -> int:
        return c + sum(part(a, i, 16, a_kind) * part(b, i + first, 8, b_kind) for i in range(2))

    rows = list(zip(left, right, left, strict=True))
    mask = 0xFFFFFFFF
    assert run(f"dp4a.{a_kind}.{b_kind}", left, right, left) == [four(*row) & mask for row in rows]
    assert run(f"dp2a.lo.{a_kind}.{b_kind}", left, right, left) == [two(*row, 0) & mask for row in rows]
    assert run(f"dp2a.hi.{a_kind}.{b_kind}", left, right, left) == [two(*row, 2) & mask for row in rows]


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_carry(kind: str) -> None:
    """The carry chain adds, subtracts and multiplies numbers of two words."""
    width = int(kind[1:])
    mask = (1 << width) - 1
    left, right = pairs(width)
    carry = [(a ^ b) & 1 for a, b in zip(left, right, strict=True)]
    rows = list(zip(left, right, carry, strict=True))
    assert run(f"add.cc.{kind}", left, right) == [((a + b) & mask, (a + b) >> width) for a, b, _ in rows]
    assert run(f"sub.cc.{kind}", left, right) == [((a - b) & mask, int(a >= b)) for a, b, _ in rows]
    sums = [a + b + c for a, b, c in rows]
    assert run(f"addc.cc.{kind}", left, right, carry=carry) == [(s & mask, s >> width) for s in sums]
    assert run(f"addc.{kind}", left, right, carry=carry) == [s & mask for s in sums]
    rests = [a - b - (1 - c) for a, b, c in rows]  # CC.CF is 1 where there is no borrow
    assert run(f"subc.cc.{kind}", left, right, carry=carry) == [(r & mask, int(r >= 0)) for r in rests]
    assert run(f"subc.{kind}", left, right, carry=carry) == [r & mask for r in rests]
    for half, shift in (("lo", 0), ("hi", width)):
        parts = [((number(a, kind) * number(b, kind)) >> shift) & mask for a, b, _ in rows]
        sums = [p + b for p, (_, b, _) in zip(parts, rows, strict=True)]
        assert run(f"mad.{half}.cc.{kind}", left, right, right) == [(s & mask, s >> width) for s in sums]
        sums = [s + c for s, c in zip(sums, carry, strict=True)]
        got = run(f"madc.{half}.cc.{kind}", left, right, right, carry=carry)
        assert got == [(s & mask, s >> width) for s in sums]


@pytest.mark.parametrize("kind", ["u16", "s16"])
def test_carry_into_16_bits(kind: str) -> None:
    """Sums, differences and low halves of products of 16 bits take CC.CF in, but give none."""
    left, right = pairs(16)
    carry = [(a ^ b) & 1 for a, b in zip(left, right, strict=True)]
    rows = list(zip(left, right, carry, strict=True))
    mask = 0xFFFF
    assert run(f"addc.{kind}", left, right, carry=carry) == [(a + b + c) & mask for a, b, c in rows]
    assert run(f"subc.{kind}", left, right, carry=carry) == [(a - b - (1 - c)) & mask for a, b, c in rows]
    got = run(f"madc.lo.{kind}", left, right, right, carry=carry)
    assert got == [(a * b + b + c) & mask for a, b, c in rows]


def test_carry_and_saturation() -> None:
    """addc.sat and subc.sat clamp the sum with the carry in it."""
    left, right = pairs(32)
    carry = [(a ^ b) & 1 for a, b in zip(left, right, strict=True)]
    rows = [(signed(a, 32), signed(b, 32), c) for a, b, c in zip(left, right, carry, strict=True)]
    mask = 0xFFFFFFFF
    assert run("addc.sat.s32", left, right, carry=carry) == [clamp(a + b + c) & mask for a, b, c in rows]
    assert run("subc.sat.s32", left, right, carry=carry) == [
        clamp(a - b - (1 - c)) & mask for a, b, c in rows
    ]
