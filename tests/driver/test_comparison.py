"""Comparing what a kernel left with what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teenycuda_cli.driver.arguments.dtypes import decode, encode, poison
from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES
from teenycuda_cli.driver.checks.comparison import Comparison, compare
from teenycuda_cli.driver.checks.expectations import Expectation
from teenycuda_cli.driver.checks.tolerance import Tolerance, parse_tolerance, tolerance_for
from teenycuda_cli.errors import UsageError

EXACT = Tolerance(0.0, 0.0)


def compared(
    name: str, got: Any, expected: Any, tolerance: Tolerance = EXACT, *, poisoned: bool = False
) -> Comparison:
    """Compare numbers (encoded first) or stored elements."""
    element = ELEMENT_TYPES[name]
    stored = got if isinstance(got, np.ndarray) else encode(element, np.array(got))
    return compare(Expectation("x", "…"), element, stored, np.asarray(expected), tolerance, poisoned=poisoned)


@given(
    st.lists(
        st.tuples(st.floats(width=32), st.floats(width=32)) | st.floats(width=32).map(lambda v: (v, v)),
        min_size=1,
    ),
    st.sampled_from([0.0, 1e-6, 1e-3, 0.5]),
    st.sampled_from([0.0, 1e-6, 1.0]),
)
def test_near_enough_is_what_numpy_calls_close(
    pairs: list[tuple[float, float]], rtol: float, atol: float
) -> None:
    """The count of mismatches is that of numpy's isclose with NaN equal."""
    got, expected = (np.array(side, np.float32) for side in zip(*pairs, strict=True))
    with np.errstate(all="ignore"):
        close = np.isclose(got.astype(float), expected.astype(float), rtol=rtol, atol=atol, equal_nan=True)
    comparison = compared("f32", got, expected, Tolerance(rtol, atol))
    assert comparison.mismatches == np.count_nonzero(~close)
    assert comparison.ok == close.all()
    assert comparison.count == len(pairs)


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_64_bit_integers_are_compared_exactly(pairs: list[tuple[int, int]]) -> None:
    """No pair of 64-bit integers is equal by rounding, and the largest error is the true one."""
    got, expected = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    comparison = compared("i64", got, expected)
    assert comparison.mismatches == sum(a != b for a, b in pairs)
    greatest = max(abs(a - b) for a, b in pairs)
    assert (comparison.max_abs.error if comparison.max_abs else 0.0) == float(greatest)


def test_expected_integers_of_any_size() -> None:
    """What the type cannot hold is a mismatch and counted, its error the true one."""
    comparison = compared("u64", np.array([5, 2**64 - 1, 7], np.uint64), np.array([5, 2**70, -1], object))
    assert (comparison.mismatches, comparison.unfit) == (2, 2)
    assert comparison.max_abs is not None
    assert comparison.max_abs.error == 2.0**70 - 2.0**64
    assert [(pair.got, pair.expected) for pair in comparison.first] == [(2**64 - 1, 2**70), (7, -1)]
    assert compared("u32", [4, 0], np.array([5, -1])).unfit == 1
    assert compared("u64", np.array([2**64 - 1], np.uint64), np.array([2**64 - 1], object)).ok
    assert compared("i8", [4, 0, 0], np.array([128.0, 0.5, np.inf])).unfit == 1


def test_expected_values_are_rounded_to_the_buffer_first() -> None:
    """A kernel that stores the nearest f16 is right to the last bit."""
    assert compared("f16", [1 / 3], [1 / 3]).ok
    assert compared("e4m3", [1 / 3], [1 / 3]).ok
    assert not compared("f64", [1 / 3], [np.float32(1 / 3)]).ok


def test_a_fraction_never_equals_an_integer() -> None:
    """Integers are not rounded for the kernel: 2.5 expected is a mismatch, and shown as 2.5."""
    comparison = compared("i32", [1, 2], [1.0, 2.5])
    assert comparison.mismatches == 1
    assert comparison.first[0].expected == 2.5
    assert not compared("u8", [255], [-1.0]).ok
    assert not compared("u8", [0], [256.0]).ok
    assert not compared("i32", [0], [np.nan]).ok


@pytest.mark.filterwarnings("error")
def test_no_type_of_expected_values_makes_numpy_warn() -> None:
    """Values of any number type can be compared with any integer type, quietly."""
    for expected in (np.float16, np.float32, np.int8, np.uint64, np.bool_):
        for name in ("i8", "u8", "i64", "u64"):
            assert compared(name, [0, 1], np.array([0, 1], expected)).ok
    assert not compared("u64", [0], [np.float16(np.inf)]).ok
    for name in ("i8", "u8", "i64", "u64"):
        assert compared(name, [0, 1], np.array([True, True])).mismatches == 1


def test_infinities_equal_themselves_alone() -> None:
    """inf is inf, is not −inf, and no tolerance brings a number near to it."""
    huge = Tolerance(1e300, 1e300)
    assert compared("f32", [np.inf, -np.inf], [np.inf, -np.inf]).ok
    assert compared("f32", [np.inf], [-np.inf]).mismatches == 1
    assert compared("f64", [1.0], [np.inf], huge).mismatches == 1
    assert compared("f64", [np.nan], [1.0], huge).mismatches == 1
    assert compared("f64", [1.0], [np.nan], huge).mismatches == 1


def test_the_report_has_index_and_both_values() -> None:
    """Each largest error comes with its place; the worst of all is the one with a NaN on one side."""
    got = np.array([[1, 2, 3], [4, 5.5, np.nan]], np.float32)
    expected = np.array([[1, 2, 3.25], [4, 5, 6]])
    comparison = compared("f32", got, expected)
    assert comparison.mismatches == 3
    assert comparison.max_abs is not None
    assert (comparison.max_abs.error, comparison.max_abs.pair.index) == (0.5, (1, 1))
    assert (comparison.max_abs.pair.got, comparison.max_abs.pair.expected) == (5.5, 5.0)
    assert comparison.max_rel is not None
    assert comparison.max_rel.error == pytest.approx(0.1)
    assert comparison.max_ulp is not None
    assert comparison.max_ulp.pair.index in {(1, 1), (0, 2)}
    assert comparison.worst is not None
    assert comparison.worst.index == (1, 2)
    assert [pair.index for pair in comparison.first] == [(0, 2), (1, 1), (1, 2)]
    assert (comparison.nan_got, comparison.nan_expected) == (1, 0)


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "e4m3", "e5m2", "tf32"])
def test_ulp_counts_steps_of_the_type(name: str) -> None:
    """The next value up from 1 is one ULP away, in every float type, also across zero."""
    element = ELEMENT_TYPES[name]
    one = encode(element, np.array([1.0]))
    unsigned = f"u{element.size}"
    step = 1 << 13 if name == "tf32" else 1
    above = (one.view(unsigned) + np.array([step], unsigned)).view(one.dtype)
    comparison = compare(Expectation("x", "…"), element, above, np.array([1.0]), EXACT, poisoned=False)
    assert comparison.max_ulp is not None
    assert comparison.max_ulp.error == 1
    assert compare(
        Expectation("x", "…"), element, above, np.array([1.0]), Tolerance(0, 0, 1), poisoned=False
    ).ok


def test_untouched_elements_are_counted() -> None:
    """Elements that still hold the poison pattern are told from NaN that the kernel wrote."""
    stored = poison(ELEMENT_TYPES["f32"], (5,))
    stored[:2] = 1.0
    stored[2] = np.nan
    comparison = compared("f32", stored, np.ones(5), poisoned=True)
    assert (comparison.mismatches, comparison.untouched, comparison.nan_got) == (3, 2, 3)


@pytest.mark.parametrize(
    "name", ["f16", "bf16", "f32", "f64", "tf32", "e4m3", "e5m2", "c64", "i32", "u64", "bool"]
)
def test_what_was_never_written_is_never_as_expected(name: str) -> None:
    """Poison fails whatever is expected, NaN, the pattern's own value and any tolerance included."""
    element = ELEMENT_TYPES[name]
    stored = poison(element, (3,))
    stored[0] = 1
    expected = decode(element, stored) if element.kind != "bool" else stored
    for tolerance in (EXACT, Tolerance(1e300, 1e300, 1e300)):
        comparison = compared(name, stored, expected, tolerance, poisoned=True)
        assert (comparison.mismatches, comparison.untouched) == (2, 2)
        assert [pair.untouched for pair in comparison.first] == [True, True]
    assert compared(name, stored, expected, poisoned=False).ok


@pytest.mark.parametrize("name", ["i8", "u8", "i16", "u16"])
def test_narrow_integers_may_hold_the_poison_value(name: str) -> None:
    """Where 0xCD may well have been computed, it is as good as any other value, and still counted."""
    stored = poison(ELEMENT_TYPES[name], (2,))
    comparison = compared(name, stored, stored.astype(np.int64), poisoned=True)
    assert (comparison.ok, comparison.untouched) == (True, 2)
    comparison = compared(name, stored, [stored[0], 0], poisoned=True)
    assert (comparison.mismatches, comparison.first[0].untouched) == (1, False)
    assert comparison.max_abs is not None


def test_complex_elements_compare_as_one() -> None:
    """The error of a complex element is its distance in the plane."""
    comparison = compared("c64", [1 + 1j, 4 + 5j], [1 + 1j, 1 + 1j])
    assert comparison.mismatches == 1
    assert comparison.max_abs is not None
    assert comparison.max_abs.error == 5
    assert compared("c128", [1 + 1e-13j], [1 + 0j], Tolerance(1e-12, 1e-12)).ok


def test_bool_buffers_hold_0_or_1() -> None:
    """Any other byte in a bool buffer is a mismatch."""
    stored = np.array([0, 1, 2], np.uint8)
    assert compared("bool", stored, np.array([False, True, True])).mismatches == 1
    assert compared("bool", stored, np.array([0.0, 1.0, 2.0])).mismatches == 0


@pytest.mark.parametrize("count", [1, 2**18 - 1, 2**18, 2**18 + 1, 600_000])
def test_large_arrays_are_compared_whole(count: int) -> None:
    """The last element counts like the first, and its index is right."""
    got = np.zeros(count, np.float32)
    got[-1] = 1
    comparison = compared("f32", got, np.broadcast_to(0.0, (count,)))
    assert comparison.mismatches == 1
    assert comparison.worst is not None
    assert comparison.worst.index == (count - 1,)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], Tolerance(1e-5, 1e-5)),
        (["rtol=1e-3"], Tolerance(1e-3, 1e-5)),
        (["rtol=1e-3,atol=0"], Tolerance(1e-3, 0)),
        (["ulp=2"], Tolerance(0, 0, 2)),
        (["rtol=1e-3,ulp=2"], Tolerance(1e-3, 1e-5, 2)),
        (["1e-4"], Tolerance(1e-4, 1e-4)),
        (["x:atol=1", "atol=2"], Tolerance(1e-5, 1)),
        (["atol=2", "x:atol=1"], Tolerance(1e-5, 1)),
        (["y:atol=1"], Tolerance(1e-5, 1e-5)),
        (["atol=2", "atol=3"], Tolerance(1e-5, 3)),
    ],
)
def test_tolerances(texts: list[str], expected: Tolerance) -> None:
    """A buffer's own --tol counts before one for all, the later before the earlier, the default last."""
    assert tolerance_for("x", ELEMENT_TYPES["f32"], [parse_tolerance(text) for text in texts]) == expected


REFUSED = ["", "x", "rtol", "rtol=", "rtol=-1", "rtol=nan", "rtol=inf", "foo=1", ":rtol=1", "rtol=1,", "x:"]


@pytest.mark.parametrize("text", [*REFUSED, "rtol=1,rtol=2", "x:y:rtol=1"])
def test_tolerances_refused(text: str) -> None:
    """What is no tolerance is a usage error."""
    with pytest.raises(UsageError, match="--tol"):
        parse_tolerance(text)
