"""Fills: the same bytes everywhere, and nothing that the type cannot hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from teenycuda_cli.driver.arguments.dtypes import decode, encode, is_poison
from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES
from teenycuda_cli.driver.arguments.fills import fill
from teenycuda_cli.driver.arguments.initializers import InitializerError, parse_initializer
from teenycuda_cli.errors import UsageError


def filled(
    kind: str, shape: tuple[int, ...], text: str, *, seed: int = 0, index: int = 0
) -> np.ndarray[Any, Any]:
    """The decoded values of a fill."""
    element = ELEMENT_TYPES[kind]
    stored = fill(element, shape, parse_initializer(text), seed=seed, index=index, name="x")
    assert stored.shape == shape
    assert stored.nbytes == np.prod(shape) * element.size
    return decode(element, stored)


@pytest.mark.parametrize(
    ("kind", "shape", "text", "expected"),
    [
        ("f32", (3,), "zeros", [0, 0, 0]),
        ("u8", (2, 2), "ones", [[1, 1], [1, 1]]),
        ("i32", (4,), "arange", [0, 1, 2, 3]),
        ("i32", (2, 2), "arange:10:-3", [[10, 7], [4, 1]]),
        ("f32", (3,), "arange:0.5:0.25", [0.5, 0.75, 1.0]),
        ("u64", (2,), "arange:18446744073709551614", [2**64 - 2, 2**64 - 1]),
        ("i64", (2,), "arange:-9223372036854775808", [-(2**63), -(2**63) + 1]),
        ("f16", (2, 3), "eye", [[1, 0, 0], [0, 1, 0]]),
        ("f64", (1,), "nan", [np.nan]),
        ("bf16", (2,), "1.00390625", [1.0, 1.0]),
        ("bool", (3,), "1,0,1", [True, False, True]),
        ("c64", (2,), "1+2j,3", [1 + 2j, 3]),
        ("e5m2", (2,), "inf", [np.inf, np.inf]),
        ("i64", (1,), "9007199254740993", [2**53 + 1]),
    ],
)
def test_fills(kind: str, shape: tuple[int, ...], text: str, expected: Any) -> None:
    """Each fill holds what its name says."""
    np.testing.assert_array_equal(filled(kind, shape, text), np.array(expected))


def test_random_fills_are_numpys_default_generator() -> None:
    """rand, randn and randint are default_rng([seed, index])'s first numbers, rounded to the type."""
    np.testing.assert_array_equal(
        filled("f32", (4, 5), "randn:1:2", seed=7, index=3),
        (np.random.default_rng([7, 3]).standard_normal((4, 5)) * 2 + 1).astype(np.float32),
    )
    np.testing.assert_array_equal(
        filled("f16", (9,), "rand:-1:1"), (np.random.default_rng([0, 0]).random(9) * 2 - 1).astype(np.float16)
    )
    np.testing.assert_array_equal(
        filled("u8", (9,), "randint:0:256"), np.random.default_rng([0, 0]).integers(0, 256, 9)
    )
    wide = filled("u64", (100,), "randint:18446744073709551000:18446744073709551616")
    assert int(wide.min()) >= 18446744073709551000


def test_random_fills_differ_by_seed_and_place() -> None:
    """Two arguments, or two seeds, have different numbers; the same ones the same."""
    a = filled("f32", (8,), "rand")
    assert np.array_equal(a, filled("f32", (8,), "rand"))
    assert not np.array_equal(a, filled("f32", (8,), "rand", index=1))
    assert not np.array_equal(a, filled("f32", (8,), "rand", seed=1))


@pytest.mark.parametrize("kind", sorted(ELEMENT_TYPES))
def test_no_contents_means_poison(kind: str) -> None:
    """A buffer without INIT is all poison."""
    element = ELEMENT_TYPES[kind]
    assert is_poison(element, fill(element, (7,), None, seed=0, index=0, name="x")).all()


@pytest.mark.parametrize(
    ("kind", "shape", "text", "says"),
    [
        ("u8", (4,), "256", "does not fit"),
        ("i8", (4,), "-129", "does not fit"),
        ("i32", (4,), "1.5", "not a whole number"),
        ("i32", (4,), "nan", "has no NaN|not a whole number"),
        ("i32", (4,), "rand", "fractions"),
        ("u8", (300,), "arange", "element 299: 299 does not fit"),
        ("u32", (4,), "randint:-1:5", "does not fit"),
        ("f32", (4,), "1,2,3", "3 values for 4 elements"),
        ("f32", (4,), "eye", "two dimensions"),
        ("f32", (4,), "1e39", "does not fit"),
        ("c64", (4,), "1e39", "does not fit"),
        ("c64", (4,), "1+1e39j", "does not fit"),
        ("e4m3", (4,), "inf", "e4m3 has no infinity"),
        ("u8", (4,), "1e3", "does not fit"),
        ("f16", (4,), "65536", "does not fit"),
        ("e4m3", (4,), "449", "does not fit"),
        ("f32", (4,), "1j", "complex"),
        ("f64", (4,), "1" + "0" * 390, "does not fit"),
        ("f64", (4,), "arange:0:1" + "0" * 390, "does not fit"),
        ("bool", (4,), "2", "does not fit"),
        ("f32", (4,), "randint:0:99999999999999999999", "wider than 64 bits"),
        ("f64", (4,), "randint:-1:9223372036854775809", "wider than 64 bits"),
        ("f64", (4,), "randint:-9223372036854775809:0", "wider than 64 bits"),
    ],
)
def test_what_does_not_fit(kind: str, shape: tuple[int, ...], text: str, says: str) -> None:
    """A fill that the type or the shape cannot hold is refused, naming the buffer."""
    with pytest.raises(UsageError, match=says) as caught:
        fill(ELEMENT_TYPES[kind], shape, parse_initializer(text), seed=0, index=0, name="x")
    assert "buffer 'x'" in caught.value.message


def test_randint_over_a_range_holds_its_ends() -> None:
    """LO is included, HI is not."""
    values = filled("i32", (1000,), "randint:-2:2")
    assert set(values.tolist()) == {-2, -1, 0, 1}


def test_float_fills_are_rounded_once() -> None:
    """A number beside a tie of bf16 is not rounded by way of float32."""
    element = ELEMENT_TYPES["bf16"]
    number = 1 + 2.0**-8 + 2.0**-40
    stored = fill(element, (1,), parse_initializer(repr(number)), seed=0, index=0, name="x")
    assert stored.tolist() == encode(element, np.array([number])).tolist() == [0x3F81]


def test_whole_numbers_may_have_an_exponent() -> None:
    """1e3 is a whole number, and fits an integer as 1000 does."""
    assert filled("i32", (2,), "1e3").tolist() == [1000, 1000]
    assert filled("u8", (3,), "1.0,2.,3e0").tolist() == [1, 2, 3]
    assert filled("i64", (3,), "arange:1e3:2e0").tolist() == [1000, 1002, 1004]
    assert filled("i32", (9,), "randint:0:1e1").max() < 10


@pytest.mark.parametrize("text", ["arange:0:inf", "arange:nan", "rand:0:inf", "randn:nan:1", "randint:0:inf"])
def test_parameters_that_no_number_follows_from(text: str) -> None:
    """An infinite or undefined start, step or bound is refused where it stands."""
    with pytest.raises(InitializerError):
        parse_initializer(text)
