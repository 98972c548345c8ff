"""What a buffer holds, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import Array, decode, is_poison
from teenycuda_cli.driver.arguments.element_types import ElementType


@dataclass(frozen=True, slots=True)
class Statistics:
    """Least, greatest and mean of the numbers that were written, NaNs, elements still poison.

    They are None where there is no such number, and of complex elements. Of
    types that hold the poison pattern by chance, it counts as a number.
    Infinite values count for least and greatest, not for the mean.
    """

    least: float | int | None
    greatest: float | int | None
    mean: float | None
    nan_count: int
    poison_count: int


def statistics(element: ElementType, stored: Array, *, poisoned: bool) -> Statistics:
    """The statistics of stored elements; `poisoned` says that they held the poison pattern before."""
    marks = is_poison(element, stored) if poisoned else None
    untouched = int(np.count_nonzero(marks)) if marks is not None else 0
    values = stored if element.kind == "bool" else decode(element, stored)
    with np.errstate(all="ignore"):
        if element.kind == "complex":
            return Statistics(None, None, None, int(np.count_nonzero(np.isnan(values))), untouched)
        if element.kind != "float":
            if marks is not None and untouched and not element.is_poison_a_value:
                values = values[~marks]
            if not values.size:
                return Statistics(None, None, None, 0, untouched)
            return Statistics(
                int(values.min()), int(values.max()), float(values.mean(dtype=np.float64)), 0, untouched
            )
        least, greatest = values.min(), values.max()
        if np.isfinite(least) and np.isfinite(greatest):
            return Statistics(float(least), float(greatest), _mean(values), 0, untouched)
        nans = np.isnan(values)
        numbers: Any = values[~nans]
        finite = numbers[np.isfinite(numbers)]
        return Statistics(
            float(numbers.min()) if numbers.size else None,
            float(numbers.max()) if numbers.size else None,
            _mean(finite) if finite.size else None,
            int(np.count_nonzero(nans)),
            untouched,
        )


def _mean(values: Array) -> float:
    return float(values.mean(dtype=np.float64))
