"""set, setp, selp and slct against the ISA's tables; mov."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest

from tests.numerics import exact_reference as reference
from tests.numerics.exact_reference import BF16, F16, LAYOUTS, Layout
from tests.numerics.float_bits import combinations
from tests.numerics.instruction_runner import run
from tests.numerics.test_floating import columns
from tests.numerics.test_integer import EDGES, number, pairs

ORDERED: dict[str, Callable[..., bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
UNORDERED = {"equ": "eq", "neu": "ne", "ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge"}
BOOLEAN = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def held(name: str, a: int, b: int, layout: Layout) -> int:
    """A float comparison by the ISA."""
    nans = reference.is_nan(a, layout) or reference.is_nan(b, layout)
    if name in ("num", "nan"):
        return int(nans == (name == "nan"))
    if nans:
        return int(name in UNORDERED)

    def order(bits: int) -> int:
        magnitude = bits & (layout.sign - 1)
        return -magnitude if bits & layout.sign else magnitude

    return int(ORDERED[UNORDERED.get(name, name)](order(a), order(b)))


@pytest.mark.parametrize("kind", ["u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64"])
def test_integers(kind: str) -> None:
    """Integer comparisons follow the type's signedness; p|q gives the opposite too."""
    left, right = pairs(int(kind[1:]))
    names = ["eq", "ne"] if kind[0] == "b" else list(ORDERED)
    names += list(UNSIGNED) if kind[0] == "u" else []
    for name in names:
        compare = ORDERED[UNSIGNED.get(name, name)]
        want = [int(compare(number(a, kind), number(b, kind))) for a, b in zip(left, right, strict=True)]
        assert run(f"setp.{name}.{kind}", left, right) == want
        both = [(w, 1 - w) for w in want]
        assert run(f"setp.{name}.{kind}", left, right, destination="p|q") == both
        third = [(a ^ b >> 1) & 1 for a, b in zip(left, right, strict=True)]
        for boolean, combine in BOOLEAN.items():
            combined = [combine(w, c) for w, c in zip(want, third, strict=True)]
            opposite = [combine(1 - w, c) for w, c in zip(want, third, strict=True)]
            assert run(f"setp.{name}.{boolean}.{kind}", left, right, third) == combined
            both = list(zip(combined, opposite, strict=True))
            got = run(f"setp.{name}.{boolean}.{kind}", left, right, third, destination="p|q")
            assert got == both
            masks = [-w & 0xFFFFFFFF for w in combined]
            assert run(f"set.{name}.{boolean}.u32.{kind}", left, right, third) == masks
        assert run(f"set.{name}.s32.{kind}", left, right) == [-w & 0xFFFFFFFF for w in want]
        assert run(f"set.{name}.f32.{kind}", left, right) == [0x3F800000 * w for w in want]


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("name", [*ORDERED, *UNORDERED, "num", "nan"])
def test_floats(name: str, kind: str) -> None:
    """Ordered comparisons are false with NaN, unordered ones true; ±0 are equal."""
    layout = LAYOUTS[kind]
    table = combinations(layout, 2)
    want = [held(name, a, b, layout) for a, b in table]
    assert run(f"setp.{name}.{kind}", *columns(table)) == want
    third = [(a ^ b >> 1) & 1 for a, b in table]
    combined = [w & c for w, c in zip(want, third, strict=True)]
    assert run(f"setp.{name}.and.{kind}", *columns(table), third) == combined
    if kind in ("f32", "f64"):
        assert run(f"setp.{name}.{kind}", *columns(table), destination="p|q") == [(w, 1 - w) for w in want]
        assert run(f"set.{name}.f32.{kind}", *columns(table)) == [0x3F800000 * w for w in want]
    assert run(f"set.{name}.u32.{kind}", *columns(table)) == [-w & 0xFFFFFFFF for w in want]
    if kind != "bf16":
        assert run(f"set.{name}.f16.{kind}", *columns(table)) == [0x3C00 * w for w in want]
    assert run(f"set.{name}.bf16.{kind}", *columns(table)) == [0x3F80 * w for w in want]
    if kind not in ("f64", "bf16"):
        flushed = [[reference.flush(x, layout) for x in row] for row in table]
        want = [held(name, a, b, layout) for a, b in flushed]
        assert run(f"setp.{name}.ftz.{kind}", *columns(table)) == want


@pytest.mark.parametrize(("kind", "layout", "true"), [("f16x2", F16, 0x3C00), ("bf16x2", BF16, 0x3F80)])
def test_packed(kind: str, layout: Layout, true: int) -> None:
    """Packed halves compare each on its own: p the lower, q the upper."""
    table = combinations(layout, 2)
    a, b = columns(table)
    a, b = ([x | y << 16 for x, y in zip(c, c[::-1], strict=True)] for c in (a, b))
    for name in ("lt", "neu", "nan"):
        low = [held(name, *row, layout) for row in table]
        both = list(zip(low, low[::-1], strict=True))
        assert run(f"setp.{name}.{kind}", a, b, destination="p|q") == both
        assert run(f"setp.{name}.{kind}", a, b) == low
        third = [x & 1 for x in a]
        assert run(f"setp.{name}.and.{kind}", a, b, third) == [p & c for p, c in zip(low, third, strict=True)]
        want = [(p | c, q | c) for (p, q), c in zip(both, third, strict=True)]
        assert run(f"setp.{name}.or.{kind}", a, b, third, destination="p|q") == want
        assert run(f"set.{name}.{kind}.{kind}", a, b) == [p * true | q * true << 16 for p, q in both]
        assert run(f"set.{name}.u32.{kind}", a, b) == [p * 0xFFFF | q * 0xFFFF << 16 for p, q in both]


def test_both_results_take_the_third_operand() -> None:
    """In p|q, q is the opposite of the comparison, and c."""
    assert run("setp.lt.and.s32", [1, 1], [2, 2], [0, 1], destination="p|q") == [(0, 0), (1, 0)]


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "u16", "s32", "u64", "f32", "f64"])
def test_selection(kind: str) -> None:
    """selp takes a where c holds; slct where c ≥ 0, −0 counting as 0, NaN as less."""
    left, right = pairs(int(kind[1:]))
    if kind[0] == "f":
        layout = LAYOUTS[kind]
        left, right = columns([row for row in combinations(layout, 2) if not any(
            reference.is_nan(bits, layout) for bits in row)])  # fmt: skip
    chosen = [(a ^ b >> 1) & 1 for a, b in zip(left, right, strict=True)]
    want = [a if c else b for a, b, c in zip(left, right, chosen, strict=True)]
    assert run(f"selp.{kind}", left, right, chosen) == want
    signs = [0 if c else 0x80000000 for c in chosen]
    assert run(f"slct.{kind}.s32", left, right, signs) == want
    numbers = [0x80000000 if c else 0x80000001 for c in chosen]
    assert run(f"slct.{kind}.f32", left, right, numbers) == want
    assert run(f"slct.ftz.{kind}.f32", left, right, numbers) == left
    assert run(f"slct.{kind}.f32", left, right, [0x7FC00000] * len(left)) == right


@pytest.mark.parametrize("kind", ["b16", "b32", "b64", "u32", "s64"])
def test_mov(kind: str) -> None:
    """mov keeps every bit."""
    values = EDGES[int(kind[1:])]
    assert run(f"mov.{kind}", values) == values
    assert run("mov.pred", [0, 1]) == [0, 1]


def test_mov_of_vectors() -> None:
    """mov joins narrow registers into a wide one, the first lowest, and takes it apart."""
    parts = [[0x1234, 0xFFFF], [0xABCD, 0], [0x8001, 7], [0x7FFF, 0x8000]]
    low = [a | b << 16 for a, b in zip(*parts[:2], strict=True)]
    high = [a | b << 16 for a, b in zip(*parts[2:], strict=True)]
    whole = [a | b << 32 for a, b in zip(low, high, strict=True)]
    assert run("mov.b32", *parts[:2], vector=True) == low
    assert run("mov.b64", low, high, vector=True) == whole
    assert run("mov.b64", *parts, vector=True) == whole
    assert run("mov.b32", low, destination="{2}") == list(zip(*parts[:2], strict=True))
    assert run("mov.b64", whole, destination="{2}") == list(zip(low, high, strict=True))
    assert run("mov.b64", whole, destination="{4}") == list(zip(*parts, strict=True))
