"""Integers inside expressions: exact, whatever their size."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES
from teenycuda_cli.driver.checks.expressions import evaluate
from teenycuda_cli.errors import UsageError

INTEGERS = st.integers(-(2**63), 2**64 - 1) | st.integers(-(2**32), 2**32) | st.integers(-3, 3)
OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "==": operator.eq,
    ">=": operator.ge,
}


def array(values: list[int]) -> Any:
    """The array that a buffer of them would be: of 64 bits, signed where one is negative."""
    signed = min(values, default=0) < 0
    assume(not (signed and max(values) >= 2**63))
    return np.array(values, np.int64 if signed else np.uint64)


@given(st.lists(st.tuples(INTEGERS, INTEGERS), min_size=1, max_size=5), st.sampled_from(sorted(OPERATORS)))
def test_operators_are_those_of_integers(pairs: list[tuple[int, int]], sign: str) -> None:
    """Arrays, and an array with a number, give what Python's integers give."""
    assume(sign not in {"//", "%"} or all(b for _, b in pairs))
    compute = OPERATORS[sign]
    values = {"x": array([a for a, _ in pairs]), "y": array([b for _, b in pairs]), "n": pairs[0][1]}
    assert evaluate(f"x{sign}y", values).tolist() == [compute(a, b) for a, b in pairs]
    assert evaluate(f"x{sign}n", values).tolist() == [compute(a, pairs[0][1]) for a, _ in pairs]
    assert evaluate(f"x[0]{sign}n", values) == compute(*pairs[0])


@given(st.lists(INTEGERS, min_size=1, max_size=6), st.integers(0, 63), st.integers(0, 3))
def test_functions_of_integers_are_exact(items: list[int], shift: int, power: int) -> None:
    """Shifts, powers, sums, extremes and their like."""
    values = {"x": array(items), "s": shift, "p": power}
    expected: dict[str, Any] = {
        "x<<s": [a << shift for a in items],
        "x>>s": [a >> shift for a in items],
        "x**p": [a**power for a in items],
        "~x": [~a for a in items],
        "-x": [-a for a in items],
        "abs(x)": [abs(a) for a in items],
        "sign(x)": [(a > 0) - (a < 0) for a in items],
        "fmod(x,7)": [(1 if a >= 0 else -1) * (abs(a) % 7) for a in items],
        "sum(x)": sum(items),
        "cumsum(x)": [sum(items[: at + 1]) for at in range(len(items))],
        "x.min()": min(items),
        "max(x)": max(items),
        "ptp(x)": max(items) - min(items),
        "sort(x)": sorted(items),
        "x[::-1]": items[::-1],
        "x[x.argmax()]": max(items),
        "where(x>p,x,p-1)": [a if a > power else power - 1 for a in items],
        "maximum(x,p)": [max(a, power) for a in items],
        "clip(x,-5,2**40)": [min(max(a, -5), 2**40) for a in items],
        "concatenate([x,[2**64]])": [*items, 2**64],
        "diff(x)": [b - a for a, b in pairwise(items)],
        "outer(x,x)": [[a * b for b in items] for a in items],
        "x@x": sum(a * a for a in items),
        "trunc(x)": items,
        "any(x)": any(items),
        "count_nonzero(x)": sum(map(bool, items)),
    }
    if len(items) <= 3:
        expected["prod(x)"] = int(np.prod(np.array(items, object)))
    for text, result in expected.items():
        assert np.asarray(evaluate(text, values)).tolist() == result, text


@given(
    st.lists(INTEGERS, min_size=1, max_size=4),
    st.sampled_from(["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]),
)
def test_astype_is_the_conversion_of_c(items: list[int], name: str) -> None:
    """Modulo 2^bits, of integers of any size and of floats, which lose their fraction first."""
    element = ELEMENT_TYPES[name]
    bits = element.bits

    def converted(value: int) -> int:
        return (value - element.lowest) % (1 << bits) + element.lowest

    values = {"x": array(items), "f": np.array([float(item) for item in items]) + 0.75}
    assert evaluate(f"x.astype({name})", values).tolist() == list(map(converted, items))
    assert evaluate(f"(x*x).astype({name})", values).tolist() == [converted(a * a) for a in items]
    assert evaluate(f"f.astype({name})", values).tolist() == [converted(int(a)) for a in values["f"]]


def test_what_kernels_compute_of_integers() -> None:
    """Products of 64 bits, generators and hashes that wrap, as C writes them."""
    u32 = np.random.default_rng(0).integers(0, 2**32, 1000, np.uint32)
    i64 = np.random.default_rng(1).integers(-(10**9), 10**9, 1000, np.int64)
    u64 = np.random.default_rng(2).integers(0, 2**64, 1000, np.uint64)
    values = {"x": u32, "y": i64, "z": u64}
    step = u32 * np.uint32(1103515245) + np.uint32(12345)
    for text in (
        "(x*1103515245+12345)%2**32",
        "x*1103515245+12345&0xffffffff",
        "(x*1103515245+12345).astype(uint32)",
    ):
        assert np.array_equal(evaluate(text, values), step)
    assert np.array_equal(evaluate("y*y[::-1]", values), i64 * i64[::-1])
    mixed = (u64 ^ (u64 >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    assert evaluate("((z^z>>33)*0xff51afd7ed558ccd).astype(u64)", values).tolist() == mixed.tolist()
    a = np.random.default_rng(3).integers(-128, 128, (20, 30), np.int8)
    assert np.array_equal(evaluate("a@a.T", {"a": a}), a.astype(np.int64) @ a.T.astype(np.int64))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x/2", [-3.5, 3.5]),
        ("x//2", [-4, 3]),
        ("trunc(x/2)", [-3, 3]),
        ("x%3", [2, 1]),
        ("fmod(x,3)", [-1, 1]),
        ("x//0", [-np.inf, np.inf]),
        ("x%0", [np.nan, np.nan]),
        ("x**-1", [-1 / 7, 1 / 7]),
        ("2**-1", 0.5),
        ("x*0.5", [-3.5, 3.5]),
        ("mean(x)", 0),
        ("x.astype(f32)/2", [-3.5, 3.5]),
        ("(x*2**60).astype(f32)", [-7 * 2.0**60, 7 * 2.0**60]),
        ("x+2.0**64", [2.0**64, 2.0**64]),
        ("x*1.0+2**64", [2.0**64, 2.0**64]),
        ("nan.astype(i32)", np.nan),
    ],
)
def test_where_floats_come_in(text: str, expected: Any) -> None:
    """Division, division by 0, negative powers and floats give float64, as before."""
    result = evaluate(text, {"x": np.array([-7, 7], np.int32)})
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x+2**300", "an integer of more than 256 bits"),
        ("(x+9)**99", "an integer of more than 256 bits"),
        ("10**30*0.5", "beyond 2\\^53"),
        ("prod(arange(1,999))", "a product of more than 256 bits; .astype\\(f64\\)"),
    ],
)
def test_integers_beyond_the_bounds(text: str, says: str) -> None:
    """What is too long, or meets floats, is refused, with what to do."""
    with pytest.raises(UsageError, match=says):
        evaluate(text, {"x": np.array([-7, 7], np.int32)})
