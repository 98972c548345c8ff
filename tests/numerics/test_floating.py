"""f32 and f64 arithmetic against exact fractions, in every rounding mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teenycuda_cli.emulator.numerics.fma import fma32, fma64
from teenycuda_cli.emulator.numerics.fused import FusedMultiplyAdd
from tests.numerics import exact_reference as reference
from tests.numerics.exact_reference import F32, F64, LAYOUTS, Layout
from tests.numerics.float_bits import bits, combinations, edges, rows
from tests.numerics.instruction_runner import column, raw, run

MODES = ["rn", "rz", "rm", "rp"]


def expected(name: str, row: Sequence[int], layout: Layout, mode: str) -> int:
    """One instruction on one row."""
    if name == "sub":
        return reference.add(row[0], row[1] ^ layout.sign, layout, mode)
    if name == "rcp":
        return reference.div(layout.bias << layout.fraction, row[0], layout, mode)
    function: Callable[..., int] = getattr(reference, name)
    return function(*row, layout, mode)


def columns(table: Sequence[Sequence[int]]) -> list[list[int]]:
    """Rows as columns."""
    return [list(column) for column in zip(*table, strict=True)]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "count"), [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("sqrt", 1), ("rcp", 1)]
)
def test_edges(name: str, count: int, mode: str, kind: str) -> None:
    """Arithmetic is exactly rounded on every combination of edge values."""
    layout = LAYOUTS[kind]
    table = combinations(layout, count)
    assert run(f"{name}.{mode}.{kind}", *columns(table)) == [expected(name, r, layout, mode) for r in table]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", MODES)
def test_fma_edges(mode: str, kind: str) -> None:
    """fma is exactly rounded on combinations of edge values."""
    layout = LAYOUTS[kind]
    table = combinations(layout, 3)[:: 23 if mode == "rn" else 67]
    assert run(f"fma.{mode}.{kind}", *columns(table)) == [expected("fma", r, layout, mode) for r in table]


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from(["f32", "f64"]), st.sampled_from(MODES))
def test_any_bits(data: st.DataObject, kind: str, mode: str) -> None:
    """Arithmetic is exactly rounded on any bits."""
    layout = LAYOUTS[kind]
    table = data.draw(rows(layout, 3))
    for name, count in (("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("fma", 3), ("sqrt", 1), ("rcp", 1)):
        short = [row[:count] for row in table]
        want = [expected(name, row, layout, mode) for row in short]
        assert run(f"{name}.{mode}.{kind}", *columns(short)) == want, name


def _near_ties(layout: Layout) -> list[tuple[int, int, int]]:
    """Rows whose exact fma is a tie plus or minus a trifle, which a second rounding would get wrong."""
    one = layout.bias << layout.fraction
    table = []
    for shift in range(-4, 6):
        c = one + (shift << layout.fraction) + 1
        for gap in (layout.fraction + 1, layout.fraction):
            for below in range(layout.fraction, 3 * layout.fraction, 3):
                exponent = one + ((shift - gap) << layout.fraction)
                tiny = one - (below << layout.fraction)
                for sign in (0, layout.sign):
                    table.append((exponent + 1, one + 1, c | sign))
                    table.append((exponent, one, c | sign))
                    table.append((exponent - 1, one + 1, c | sign))
                    table.append((tiny, tiny, exponent | sign))
    return table


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fma_near_ties(kind: str) -> None:
    """fma.rn rounds once, also where the exact result lies beside a tie."""
    layout = LAYOUTS[kind]
    table = _near_ties(layout)
    assert run(f"fma.rn.{kind}", *columns(table)) == [expected("fma", r, layout, "rn") for r in table]


@pytest.mark.parametrize(("kind", "function"), [("f32", fma32), ("f64", fma64)])
def test_fma_without_the_processor(kind: str, function: FusedMultiplyAdd) -> None:
    """Where the processor's own fma is not to be had, the result is the same."""
    layout = LAYOUTS[kind]
    table = _near_ties(layout) + combinations(layout, 3)[::17]
    sources = [column(values, kind) for values in columns(table)]
    with np.errstate(all="ignore"):
        result = function.exactly(*sources)
        single = [
            function.exactly(*[source[index] for source in sources]) for index in range(0, len(table), 97)
        ]
    assert raw(result) == [expected("fma", row, layout, "rn") for row in table]
    assert raw(np.array(single)) == raw(result[::97])


def flushed(name: str, row: Sequence[int], layout: Layout, mode: str) -> int:
    """An operation with .ftz: its result is flushed by its value before that meets the subnormal range."""
    row = [reference.flush(b, layout) for b in row]
    result = expected(name, row, layout, mode)
    least = 1 << layout.fraction
    if result & ~layout.sign == least:
        first, *others = [reference.value(b, layout) for b in row]
        exact = first * others[0] if name in ("mul", "fma") else first
        exact = exact + others[1] if name == "fma" else exact
        if name in ("mul", "fma"):
            wide = Layout(layout.exponent + 3, layout.fraction, 0)
            rounded = reference.value(reference.rounded(exact, wide, mode), wide)
            if abs(rounded) < reference.value(least, layout):
                return result & layout.sign
    return reference.flush(result, layout)


@pytest.mark.parametrize("modifiers", ["ftz", "sat", "ftz.sat"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma"])
def test_flush_and_saturate(name: str, modifiers: str) -> None:
    """.ftz flushes inputs and outputs, keeping signs; .sat clamps to [0, 1] and makes NaN +0."""
    count = 3 if name == "fma" else 2
    table = combinations(F32, count)[:: 31 if name == "fma" else 1]
    for mode in ("rn", "rp"):
        want = []
        for row in table:
            result = flushed(name, row, F32, mode) if "ftz" in modifiers else expected(name, row, F32, mode)
            want.append(reference.saturate(result, F32) if "sat" in modifiers else result)
        assert run(f"{name}.{mode}.{modifiers}.f32", *columns(table)) == want, mode


@pytest.mark.parametrize("name", ["div", "sqrt", "rcp"])
def test_flush_of_division(name: str) -> None:
    """.ftz flushes inputs and outputs of div, sqrt and rcp; to rcp of f64 it does nothing."""
    table = combinations(F32, 2 if name == "div" else 1)
    want = [
        reference.flush(expected(name, [reference.flush(b, F32) for b in row], F32, "rn"), F32)
        for row in table
    ]
    assert run(f"{name}.rn.ftz.f32", *columns(table)) == want
    if name == "rcp":
        table = combinations(F64, 1)
        assert run("rcp.rz.ftz.f64", *columns(table)) == [expected("rcp", row, F64, "rz") for row in table]


def extreme(a: int, b: int, layout: Layout, greatest: bool, keep_nan: bool) -> int:
    """min or max by the ISA."""
    nans = [reference.is_nan(x, layout) for x in (a, b)]
    if any(nans):
        return layout.nan if keep_nan or all(nans) else (b if nans[0] else a)

    def order(x: int) -> int:
        return -(x & ~layout.sign) - 1 if x & layout.sign else x

    return max(a, b, key=order) if greatest else min(a, b, key=order)


@pytest.mark.parametrize("name", ["min", "max"])
def test_min_max(name: str) -> None:
    """min and max put −0 below +0; a number beats NaN unless .NaN; .ftz and .xorsign.abs."""
    greatest = name == "max"
    for kind, layout in (("f32", F32), ("f64", F64)):
        table = combinations(layout, 2)
        assert run(f"{name}.{kind}", *columns(table)) == [
            extreme(a, b, layout, greatest, False) for a, b in table
        ]
    table = combinations(F32, 2)
    assert run(f"{name}.NaN.f32", *columns(table)) == [extreme(a, b, F32, greatest, True) for a, b in table]
    flush = reference.flush
    want = [extreme(flush(a, F32), flush(b, F32), F32, greatest, False) for a, b in table]
    assert run(f"{name}.ftz.f32", *columns(table)) == want
    signless = F32.sign - 1
    want = []
    for a, b in table:
        result = extreme(a & signless, b & signless, F32, greatest, False)
        is_nan = reference.is_nan(result, F32)
        want.append(result if is_nan else result | (a ^ b) & F32.sign)
    assert run(f"{name}.xorsign.abs.f32", *columns(table)) == want


def test_min_max_of_three() -> None:
    """The least and greatest of three, with .abs of their magnitudes."""
    table = combinations(F32, 3)[::29]
    for name, greatest in (("min", False), ("max", True)):
        want = [extreme(extreme(a, b, F32, greatest, False), c, F32, greatest, False) for a, b, c in table]
        assert run(f"{name}.f32", *columns(table)) == want
        bare = [[bits_ & (F32.sign - 1) for bits_ in row] for row in table]
        want = [extreme(extreme(a, b, F32, greatest, True), c, F32, greatest, True) for a, b, c in bare]
        assert run(f"{name}.NaN.abs.f32", *columns(table)) == want


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_sign_bits(kind: str) -> None:
    """abs, neg and copysign touch the sign alone."""
    layout = LAYOUTS[kind]
    values = [b for b in edges(layout) if not reference.is_nan(b, layout)]
    assert run(f"abs.{kind}", values) == [b & ~layout.sign for b in values]
    assert run(f"neg.{kind}", values) == [b ^ layout.sign for b in values]
    table = combinations(layout, 2)
    got = run(f"copysign.{kind}", *columns(table))
    for (a, b), result in zip(table, got, strict=True):
        if not reference.is_nan(b, layout):
            assert result == b & ~layout.sign | a & layout.sign


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_testp(kind: str) -> None:
    """testp tells the classes of floats apart."""
    layout = LAYOUTS[kind]
    values = edges(layout)
    classes = {
        "notanumber": [reference.is_nan(b, layout) for b in values],
        "infinite": [reference.is_infinite(b, layout) for b in values],
        "finite": [b & layout.infinity != layout.infinity for b in values],
        "number": [not reference.is_nan(b, layout) for b in values],
        "normal": [0 < b & layout.infinity < layout.infinity or reference.is_zero(b, layout) for b in values],
        "subnormal": [not b & layout.infinity and not reference.is_zero(b, layout) for b in values],
    }
    for name, want in classes.items():
        assert run(f"testp.{name}.{kind}", values) == want, name


@settings(max_examples=50, deadline=None)
@given(st.lists(bits(F32), min_size=1, max_size=20))
def test_canonical_nan(values: list[int]) -> None:
    """Every NaN that arithmetic gives counts as 0x7fffffff."""
    zero = [0] * len(values)
    for result, operand in zip(run("add.f32", values, zero), values, strict=True):
        if reference.is_nan(operand, F32):
            assert result == 0x7FFFFFFF
