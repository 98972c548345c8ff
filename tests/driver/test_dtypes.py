"""Element types in memory, against formulas that share nothing with the implementation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teenycuda_cli.driver.arguments.dtypes import decode, encode, is_poison, ordinals, poison, storage_dtype
from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES

# exponent bits, fraction bits, bias; e4m3 has no infinity
SMALL = {"bf16": (8, 7, 127), "e4m3": (4, 3, 7), "e5m2": (5, 2, 15), "f16": (5, 10, 15)}


def value_of(name: str, code: int) -> float:
    """The value of a code by the definition of the format."""
    exponent_bits, fraction_bits, bias = SMALL[name]
    sign = -1 if code >> (exponent_bits + fraction_bits) else 1
    exponent = (code >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = code & ((1 << fraction_bits) - 1)
    if name == "e4m3":
        if exponent == 15 and fraction == 7:
            return math.nan
    elif exponent == (1 << exponent_bits) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * float(Fraction(fraction, 1 << fraction_bits) * Fraction(2) ** (1 - bias))
    return float(sign * (1 + Fraction(fraction, 1 << fraction_bits)) * Fraction(2) ** (exponent - bias))


@pytest.mark.parametrize("name", SMALL)
def test_every_code_decodes_by_the_definition(name: str) -> None:
    """All 256 or 65536 codes mean what the format says, the sign of zero too."""
    element = ELEMENT_TYPES[name]
    codes = np.arange(1 << element.bits).astype(f"u{element.size}")
    with np.errstate(invalid="ignore"):
        got = decode(element, codes.view(storage_dtype(element))).astype(np.float64)
    expected = np.array([value_of(name, int(code)) for code in codes])
    assert np.array_equal(
        got.view(np.uint64)[~np.isnan(expected)], expected.view(np.uint64)[~np.isnan(expected)]
    )
    assert np.array_equal(np.isnan(got), np.isnan(expected))


@pytest.mark.parametrize("name", SMALL)
def test_every_value_encodes_to_its_code(name: str) -> None:
    """Encoding gives back the code of each value."""
    element = ELEMENT_TYPES[name]
    codes = np.arange(1 << element.bits).astype(f"u{element.size}").view(storage_dtype(element))
    with np.errstate(invalid="ignore"):
        values = decode(element, codes).astype(np.float64)
    again = encode(element, values)
    numbers = ~np.isnan(values)
    assert np.array_equal(again[numbers].view(f"u{element.size}"), codes[numbers].view(f"u{element.size}"))
    assert np.isnan(decode(element, again[~numbers]).astype(np.float64)).all()


def _nearest(name: str, value: float) -> float:
    """The nearest value of a format, ties to the even code, found among all of them in exact fractions."""
    exponent_bits, fraction_bits, _ = SMALL[name]
    codes = range(1 << (exponent_bits + fraction_bits))
    finite = [(Fraction(v), code) for code in codes if math.isfinite(v := value_of(name, code))]
    wanted = abs(Fraction(value))
    return float(min(finite, key=lambda pair: (abs(pair[0] - wanted), pair[1] & 1))[0])


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
@given(st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1000, 1000) | st.floats(-0.01, 0.01))
def test_fp8_rounds_to_nearest_even_and_saturates(name: str, value: float) -> None:
    """Any float64 becomes the nearest fp8, ties to even; what is too large becomes the greatest."""
    element = ELEMENT_TYPES[name]
    got = float(decode(element, encode(element, np.array([value])))[0])
    assert abs(got) == _nearest(name, value)
    assert math.copysign(1, got) == math.copysign(1, value)


@given(st.floats(allow_nan=False, width=64))
def test_bf16_rounds_once(value: float) -> None:
    """A float64 becomes the nearest bf16 in one rounding: never one by way of float32."""
    element = ELEMENT_TYPES["bf16"]
    stored = encode(element, np.array([value]))
    got = float(decode(element, stored)[0])
    if math.isinf(got):
        assert abs(value) >= (2 - 2**-8) * 2.0**127
        return
    code = int(stored[0])
    for neighbour in (code - 1, code + 1):
        other = value_of("bf16", neighbour) if 0 <= neighbour < 1 << 16 else math.nan
        if math.isfinite(other) and math.copysign(1, other) == math.copysign(1, got):
            here, there = abs(Fraction(got) - Fraction(value)), abs(Fraction(other) - Fraction(value))
            assert here < there or (here == there and code % 2 == 0)


def test_bf16_of_a_value_that_double_rounding_gets_wrong() -> None:
    """1 + 2^-8 + 2^-40 lies above the tie, which float32 would hide."""
    stored = encode(ELEMENT_TYPES["bf16"], np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8]))
    assert stored.tolist() == [0x3F81, 0x3F80]


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_tf32_has_ten_fraction_bits(value: float) -> None:
    """tf32 is a float32 whose last 13 bits are zero, rounded to nearest even."""
    element = ELEMENT_TYPES["tf32"]
    stored = encode(element, np.array([value]))
    assert int(stored.view(np.uint32)[0]) & 0x1FFF == 0
    bits = int(np.float32(value).view(np.uint32))
    rounded = (bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF & 0xFFFFFFFF
    assert int(stored.view(np.uint32)[0]) == rounded


@pytest.mark.parametrize("name", sorted(ELEMENT_TYPES))
def test_poison_is_known_again(name: str) -> None:
    """The poison pattern is recognised, is NaN for floats, and nothing usual is mistaken for it."""
    element = ELEMENT_TYPES[name]
    stored = poison(element, (3, 2))
    assert is_poison(element, stored).all()
    assert is_poison(element, stored).shape == (3, 2)
    if element.kind in {"float", "complex"}:
        assert np.isnan(decode(element, stored)).all()
        usual = encode(element, np.array([0.0, 1.0, -1.0, np.inf, np.nan, -np.nan]))
        assert not is_poison(element, usual).any()
    else:
        assert set(stored.tobytes()) == {0xCD}


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_ordinals_count_steps(value: float) -> None:
    """Neighbouring floats are one step apart, and both zeros are the same place."""
    element = ELEMENT_TYPES["f32"]
    with np.errstate(over="ignore"):
        pair = np.array([value, np.nextafter(np.float32(value), np.float32(np.inf))], np.float32)
    low, high = ordinals(element, pair).tolist()
    assert high - low == 1
    assert ordinals(element, np.array([0.0, -0.0], np.float32)).tolist() == [0, 0]
