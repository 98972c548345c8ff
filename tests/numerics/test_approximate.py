"""The approximate functions against the ISA's bounds and tables of special values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.numerics import exact_reference as reference
from tests.numerics.exact_reference import F32
from tests.numerics.float_bits import combinations, edges
from tests.numerics.instruction_runner import run
from tests.numerics.test_floating import columns

INF, NAN, NEGATIVE = 0x7F800000, 0x7FFFFFFF, 0x80000000
ONE = 0x3F800000


def sample(low: float, high: float, count: int = 20000) -> list[int]:
    """f32 bits spread over an interval, and around its whole numbers and powers of two."""
    values = np.linspace(low, high, count, dtype=np.float32)
    powers = np.float32(2.0) ** np.arange(-40, 40, dtype=np.float32)
    values = np.concatenate([values, powers, -powers, np.round(values[::50])])
    values = values[(values >= low) & (values <= high)]
    return [int(bits) for bits in values.view(np.uint32)]


def as_f64(bits: list[int]) -> np.ndarray:
    """f32 bits as f64."""
    return np.array(bits, np.uint32).view(np.float32).astype(np.float64)


def relative(got: np.ndarray, exact: np.ndarray) -> float:
    """The greatest relative error where the exact result is a normal f32."""
    usual = (np.abs(exact) >= 2.0**-126) & (np.abs(exact) < 2.0**128)
    return float(np.max(np.abs(got - exact)[usual] / np.abs(exact)[usual]))


@pytest.mark.parametrize(
    ("name", "function", "interval", "bound"),
    [
        ("rcp", lambda x: 1 / x, (0.001, 1000.0), 2.0**-23),
        ("sqrt", np.sqrt, (0.0, 1e6), 2.0**-23),
        ("rsqrt", lambda x: 1 / np.sqrt(x), (0.001, 1e6), 2.0**-22.9),
        ("ex2", np.exp2, (-125.0, 127.0), 2.0**-22),
        ("lg2", np.log2, (2.0, 1e6), 2.0**-22),
        ("lg2", np.log2, (1e-6, 0.5), 2.0**-22),
        ("tanh", np.tanh, (-10.0, 10.0), 2.0**-10.987),
    ],
)
def test_relative_bounds(
    name: str, function: Callable[..., np.ndarray], interval: tuple[float, float], bound: float
) -> None:
    """Results stay within the ISA's relative error."""
    bits = sample(*interval)
    exact = function(as_f64(bits))
    assert relative(as_f64(run(f"{name}.approx.f32", bits)), exact) <= bound
    if name != "tanh":
        assert relative(as_f64(run(f"{name}.approx.ftz.f32", bits)), exact) <= bound


@pytest.mark.parametrize(
    ("name", "function", "interval", "bound"),
    [
        ("sin", np.sin, (-np.pi, np.pi), 2.0**-20.5),
        ("cos", np.cos, (-np.pi, np.pi), 2.0**-20.5),
        ("lg2", np.log2, (0.5, 2.0), 2.0**-22),
    ],
)
def test_absolute_bounds(
    name: str, function: Callable[..., np.ndarray], interval: tuple[float, float], bound: float
) -> None:
    """Results stay within the ISA's absolute error."""
    bits = sample(*interval)
    got = as_f64(run(f"{name}.approx.f32", bits))
    assert float(np.max(np.abs(got - function(as_f64(bits))))) <= bound


SPECIAL = {
    "rcp": {NEGATIVE | INF: NEGATIVE, INF: 0, 0: INF, NEGATIVE: NEGATIVE | INF, NAN: NAN},
    "sqrt": {NEGATIVE | INF: NAN, NEGATIVE | ONE: NAN, NEGATIVE: NEGATIVE, 0: 0, INF: INF, NAN: NAN},
    "rsqrt": {NEGATIVE | INF: NAN, NEGATIVE: NEGATIVE | INF, 0: INF, INF: 0, NAN: NAN, ONE: ONE},
    "sin": {NEGATIVE | INF: NAN, INF: NAN, NEGATIVE: NEGATIVE, 0: 0, NAN: NAN},
    "cos": {NEGATIVE | INF: NAN, INF: NAN, NEGATIVE: ONE, 0: ONE, NAN: NAN},
    "lg2": {NEGATIVE | INF: NAN, NEGATIVE: NEGATIVE | INF, 0: NEGATIVE | INF, INF: INF, NAN: NAN, ONE: 0},
    "ex2": {NEGATIVE | INF: 0, NEGATIVE: ONE, 0: ONE, INF: INF, NAN: NAN, 0x41800000: 0x47800000},
    "tanh": {NEGATIVE | INF: NEGATIVE | ONE, NEGATIVE: NEGATIVE, 0: 0, INF: ONE, NAN: NAN},
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str) -> None:
    """Zeros, infinities and NaN give what the ISA's tables say."""
    table = SPECIAL[name]
    assert run(f"{name}.approx.f32", list(table)) == list(table.values())


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("rcp", INF),
        ("sqrt", 0),
        ("rsqrt", INF),
        ("lg2", NEGATIVE | INF),
        ("ex2", ONE),
        ("sin", 0),
        ("cos", ONE),
    ],
)
def test_flush(name: str, want: int) -> None:
    """.ftz takes a subnormal for zero."""
    assert run(f"{name}.approx.ftz.f32", [1, 0x7FFFFF]) == [want, want]


def units_apart(a: int, b: int) -> int:
    """How many f32 lie between two f32."""
    first, second = (-(x & ~F32.sign) if x & F32.sign else x for x in (a, b))
    return abs(first - second)


def test_division() -> None:
    """div.full is within 2 ulp everywhere; div.approx gives 0 for divisors above 2¹²⁶."""
    table = combinations(F32, 2)
    exact = [reference.div(a, b, F32, "rn") for a, b in table]
    for got, want in zip(run("div.full.f32", *columns(table)), exact, strict=True):
        assert units_apart(got, want) <= 2
    for (a, b), got, want in zip(table, run("div.approx.f32", *columns(table)), exact, strict=True):
        large = 0x7E800000 < b & 0x7FFFFFFF < INF and not reference.is_nan(a, F32)
        if large and not reference.is_infinite(a, F32):
            assert got == (a ^ b) & F32.sign
        elif large:
            assert got == NAN
        else:
            assert units_apart(got, want) <= 2
    flush = reference.flush
    want = [flush(reference.div(flush(a, F32), flush(b, F32), F32, "rn"), F32) for a, b in table]
    for got, quotient in zip(run("div.full.ftz.f32", *columns(table)), want, strict=True):
        assert units_apart(got, quotient) <= 2 or {got & ~F32.sign, quotient & ~F32.sign} == {0, 1 << 23}


def test_coarse_f64() -> None:
    """rcp and rsqrt.approx.ftz.f64 work on the upper 32 bits; the lower ones are ignored and zero."""
    values = np.linspace(0.001, 1000.0, 5000)
    bits = [int(b) for b in values.view(np.uint64)]
    for name, function in (("rcp", lambda x: 1 / x), ("rsqrt", lambda x: 1 / np.sqrt(x))):
        got = np.array(run(f"{name}.approx.ftz.f64", bits), np.uint64)
        assert not np.any(got & np.uint64(0xFFFFFFFF))
        error = np.abs(got.view(np.float64) - function(values)) / function(values)
        assert float(np.max(error)) < 2.0**-18
    specials = {0: 0x7FF << 52, 1 << 63: 0xFFF << 52, 0x7FF << 52: 0, 1: 0x7FF << 52}
    assert run("rcp.approx.ftz.f64", list(specials)) == list(specials.values())
    exact = 1 / np.sqrt(values)
    plain = np.array(run("rsqrt.approx.f64", bits), np.uint64).view(np.float64)
    assert float(np.max(np.abs(plain - exact) / exact)) < 2.0**-50


def test_all_tiers_agree_on_every_edge() -> None:
    """The array function and the per-lane expression give the same bits; `run` compares them."""
    values = edges(F32)
    for name in SPECIAL:
        run(f"{name}.approx.f32", values)
