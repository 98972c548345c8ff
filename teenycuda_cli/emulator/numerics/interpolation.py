"""The interpolator of a GPU's special function unit, bit for bit.

The unit computes 1/x, 1/√x, √x, log₂ x, 2ˣ, sin, cos and tanh of an f32 by
piecewise quadratics in fixed point: the upper bits of the argument choose a
row (base, slope, curve), its next 17 bits are x, and the result is

    base · 2¹⁵ + slope · x + curve · square(x) + rounding,    in units of 2⁻⁴¹

where square(x) is x² without the partial products below 2¹⁹, in units of
2¹⁷: the hardware leaves those columns of the multiplication out. Rows and
rounding stand in `interpolation.csv`, a row without a slope giving the
rounding. They were found by solving, row by row, for the integers that
reproduce what an H200 gives: on all 2²³ mantissas of 1/x, 2ˣ and, for two
exponents each, of 1/√x, √x and log₂ x, and on millions of arguments of sin,
cos and tanh. See `tests/hardware/FINDINGS.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
UNITS = 41
"""The result's fraction bits."""
X_BITS = 17
_DROPPED = 19
_FILE = Path(__file__).with_name("interpolation.csv")


@dataclass(frozen=True, slots=True)
class Quadratics:
    """The rows of one function, as f64: every product and sum of them is exact."""

    base: Array
    slope: Array
    curve: Array

    def at(self, row: Array, x: Array) -> Array:
        """The value in units of 2⁻⁴¹, as an integral f64; `row` and `x` are integers."""
        result = self.slope.take(row)
        result *= x
        result += self.base.take(row)
        result += self.curve.take(row) * squares().take(x)
        return result


@cache
def quadratics(name: str) -> Quadratics:
    """The rows of a function: rcp, rsqrt, sqrt, lg2, ex2, sin or tanh."""
    rows = [line for line in _lines() if line[0] == name]
    rounding = next(int(line[1]) for line in rows if not line[2])
    numbers = np.array([[int(text) for text in line[1:]] for line in rows if line[2]], np.float64)
    base, slope, curve = np.ascontiguousarray(numbers.T)
    return Quadratics(base * 2.0**15 + rounding, slope, curve)


def _lines() -> Iterator[list[str]]:
    for line in _FILE.read_text(encoding="ascii").splitlines()[1:]:
        yield line.split(",")


@cache
def squares() -> Array:
    """square(x) for every x of 17 bits, as f64."""
    x = np.arange(1 << X_BITS, dtype=np.int64)
    bits = [(x >> place) & 1 for place in range(X_BITS)]
    total = np.zeros_like(x)
    for low in range(X_BITS):
        if 2 * low >= _DROPPED:
            total += bits[low] << (2 * low)
        for high in range(low + 1, X_BITS):
            if low + high + 1 >= _DROPPED:
                total += (bits[low] & bits[high]) << (low + high + 1)
    return (total >> X_BITS).astype(np.float64)
