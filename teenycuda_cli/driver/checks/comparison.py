"""What a kernel left in a buffer against what was expected, element by element."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teenycuda_cli.driver.arguments.dtypes import Array, decode, encode, is_poison, ordinals
from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.driver.checks.expectations import Expectation
from teenycuda_cli.driver.checks.tolerance import Tolerance

CHUNK = 1 << 18  # elements compared at once: the temporaries stay in the cache
FIRST = 5  # mismatches shown

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """An element: its index, what was there and what was expected, as Python numbers.

    `untouched` says that it was never written: what was there means nothing.
    """

    index: Index
    got: Any
    expected: Any
    untouched: bool = False


@dataclass(frozen=True, slots=True)
class Extreme:
    """The greatest error of a kind, and where."""

    error: float
    pair: Pair


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome; errors are those of all elements, within tolerance or not, None where there is none.

    `worst` is the mismatch with the greatest absolute error; one side being
    NaN is worse than any number.
    """

    name: str
    part: str  # the index behind the name, or empty
    what: str  # the expectation as written
    element: ElementType
    tolerance: Tolerance
    count: int
    total: int  # elements of the buffer
    mismatches: int
    max_abs: Extreme | None
    max_rel: Extreme | None
    max_ulp: Extreme | None
    worst: Pair | None
    nan_got: int
    nan_expected: int
    untouched: int  # elements that still hold the poison pattern
    unfit: int  # whole numbers expected that the integer type cannot hold
    first: tuple[Pair, ...]

    @property
    def ok(self) -> bool:
        """Whether every element was near enough."""
        return self.mismatches == 0


@dataclass(slots=True)
class _Tally:
    """What is known of the chunks so far; places are flat indices."""

    mismatches: int = 0
    nan_got: int = 0
    nan_expected: int = 0
    first: list[int] = field(default_factory=list)
    greatest: dict[str, tuple[float, int]] = field(default_factory=dict)

    def offer(self, kind: str, errors: NDArray[np.float64], start: int) -> None:
        """Keep the greatest error of the chunk, if it is greater than those before."""
        if errors.size:
            at = int(np.argmax(errors))
            if errors[at] > self.greatest.get(kind, (0.0, 0))[0]:
                self.greatest[kind] = (float(errors[at]), start + at)


@np.errstate(all="ignore")
def compare(
    expectation: Expectation,
    element: ElementType,
    stored: Array,
    expected: Array,
    tolerance: Tolerance,
    *,
    poisoned: bool,
    places: Array | None = None,
) -> Comparison:
    """Compare stored elements with expected values of the same shape, or those at `places` (flat indices).

    `expected` are numbers (float64, complex128, integers, bool): they are
    rounded to the element type first where that is a float, since a kernel
    cannot store more; integers are exact, and a fraction never equals one.
    `poisoned` says that the buffer held the poison pattern before the launch:
    what still does was never written, and is as no expected value, except of
    types that hold the pattern by chance.
    """
    tally = _Tally()
    flat, wanted = stored.reshape(-1), expected.reshape(-1)
    if places is not None:
        flat = flat[places.reshape(-1)]
    untouched = 0
    telling = poisoned and not element.is_poison_a_value
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        marks = is_poison(element, part) if poisoned else None
        if marks is not None:
            held = int(np.count_nonzero(marks))
            untouched += held
            marks = marks if held and telling else None
        _compare_chunk(tally, element, part, wanted[start : start + CHUNK], tolerance, start, marks)

    def pair(place: int) -> Pair:
        at = place if places is None else places.flat[place]
        index = tuple(int(axis) for axis in np.unravel_index(at, stored.shape))
        stored_one = flat[place : place + 1]
        value, other = _values(element, stored_one, wanted[place : place + 1])
        never = telling and bool(is_poison(element, stored_one)[0])
        return Pair(index, value.tolist()[0], other.tolist()[0], untouched=never)

    def extreme(kind: str) -> Extreme | None:
        found = tally.greatest.get(kind)
        return Extreme(found[0], pair(found[1])) if found else None

    worst = tally.greatest.get("worst")
    return Comparison(
        name=expectation.name,
        part=expectation.part,
        what=expectation.what,
        element=element,
        tolerance=tolerance,
        count=int(flat.size),
        total=int(stored.size),
        mismatches=tally.mismatches,
        max_abs=extreme("abs"),
        max_rel=extreme("rel"),
        max_ulp=extreme("ulp"),
        worst=pair(worst[1]) if worst else None,
        nan_got=tally.nan_got,
        nan_expected=tally.nan_expected,
        untouched=untouched,
        unfit=_unfit(element, wanted) if tally.mismatches else 0,
        first=tuple(pair(place) for place in tally.first),
    )


def _values(element: ElementType, stored: Array, expected: Array) -> tuple[Array, Array]:
    """Got and expected as numbers that can be compared."""
    if element.kind in {"float", "complex"}:
        return decode(element, stored), decode(element, encode(element, expected))
    wanted = expected.astype(stored.dtype) if expected.dtype.kind == "b" else expected
    if wanted.dtype == stored.dtype:
        return stored, wanted
    if wanted.dtype.kind in "fc":
        wanted = wanted.real.astype(np.float64)  # complex values are refused before they come here
        whole = np.nan_to_num(wanted, nan=0.5, posinf=0.5, neginf=0.5)
        exact = (
            (np.floor(whole) == whole)
            & (whole >= float(element.lowest))
            & (whole < float(element.highest) + 1)
        )
        if exact.all():
            return stored, wanted.astype(stored.dtype)
        return stored.astype(np.float64), wanted
    limits = np.iinfo(stored.dtype)
    if np.all((wanted >= limits.min) & (wanted <= limits.max)):
        return stored, wanted.astype(stored.dtype)
    return stored.astype(object), wanted.astype(object)


def _unfit(element: ElementType, wanted: Array) -> int:
    """How many whole numbers lie outside an integer type."""
    if not element.is_integer or wanted.dtype.kind == "b":
        return 0
    numbers = wanted.real if wanted.dtype.kind == "c" else wanted
    outside = (numbers < element.lowest) | (numbers > element.highest)
    if numbers.dtype.kind == "f":
        outside &= np.isfinite(numbers) & (np.floor(numbers) == numbers)
    return int(np.count_nonzero(outside))


def _compare_chunk(
    tally: _Tally,
    element: ElementType,
    stored: Array,
    expected: Array,
    tolerance: Tolerance,
    start: int,
    untouched: NDArray[np.bool_] | None,
) -> None:
    """Add a chunk to the tally; `untouched` marks what was never written, which nothing is near to."""
    got, wanted = _values(element, stored, expected)
    if untouched is None and got.dtype == wanted.dtype and _same_bytes(got, wanted):
        nans = int(np.count_nonzero(np.isnan(got))) if got.dtype.kind in "fc" else 0
        tally.nan_got += nans
        tally.nan_expected += nans
        return
    error, size = _distance(got, wanted)
    finite = np.isfinite(error)  # no tolerance brings a number near to infinity
    near = (got == wanted) | (finite & (error <= tolerance.atol + tolerance.rtol * size))
    telling = finite if untouched is None else finite & ~untouched
    tally.offer("abs", np.where(telling, error, 0.0), start)
    tally.offer("rel", np.where(telling & (size > 0), error / size, 0.0), start)
    if element.kind in {"float", "complex"}:
        nan_got, nan_wanted = np.isnan(got), np.isnan(wanted)
        tally.nan_got += int(np.count_nonzero(nan_got))
        tally.nan_expected += int(np.count_nonzero(nan_wanted))
        near |= nan_got & nan_wanted
        steps = _steps(element, stored, encode(element, expected))
        tally.offer("ulp", np.where(finite, steps, 0.0), start)
        if tolerance.ulp is not None:
            near |= finite & (steps <= tolerance.ulp)
    if untouched is not None:
        near &= ~untouched
    wrong = np.flatnonzero(~near)
    tally.mismatches += int(wrong.size)
    tally.first += [start + int(place) for place in wrong[: FIRST - len(tally.first)]]
    if wrong.size:
        badness = np.where(np.isnan(error) | (~telling & finite), math.inf, error)
        tally.offer("worst", np.where(near, 0.0, np.maximum(badness, 5e-324)), start)


def _same_bytes(got: Array, wanted: Array) -> bool:
    if got.dtype.kind == "O":
        return False
    return bool(np.array_equal(got.view(np.uint8), np.ascontiguousarray(wanted).view(np.uint8)))


def _distance(got: Array, wanted: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Absolute difference and size of what was expected, in float64; integers are subtracted exactly."""
    if got.dtype.kind in "iu" and got.dtype == wanted.dtype:
        return _integer_distance(got, wanted), np.abs(wanted.astype(np.float64))
    if got.dtype.kind == "O":
        return np.abs(got - wanted).astype(np.float64), np.abs(wanted).astype(np.float64)
    wide = np.complex128 if "c" in {got.dtype.kind, wanted.dtype.kind} else np.float64
    difference = np.abs(got.astype(wide) - wanted.astype(wide))
    both_infinite = np.isinf(got) & (got == wanted)
    return np.where(both_infinite, 0.0, difference), np.abs(wanted.astype(wide))


def _integer_distance(got: Array, wanted: Array) -> NDArray[np.float64]:
    low, high = np.minimum(got, wanted), np.maximum(got, wanted)
    unsigned = np.dtype(f"u{got.dtype.itemsize}")
    return np.asarray(high.view(unsigned) - low.view(unsigned), dtype=np.float64)


def _steps(element: ElementType, stored: Array, expected: Array) -> NDArray[np.float64]:
    """ULPs between stored elements; of a complex one, the greater of its two parts."""
    a, b = ordinals(element, stored), ordinals(element, expected)
    low, high = np.minimum(a, b), np.maximum(a, b)
    steps = (high.view(np.uint64) - low.view(np.uint64)).astype(np.float64)
    return np.asarray(steps.max(axis=-1)) if element.kind == "complex" else steps
