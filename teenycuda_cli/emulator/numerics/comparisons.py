"""PTX comparison operators on integers and floats, and what `setp` makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.floating import flushed

_LANES: dict[str, str] = {
    "eq": "{0} == {1}",
    "ne": "{0} < {1} or {0} > {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "lo": "{0} < {1}",
    "ls": "{0} <= {1}",
    "hi": "{0} > {1}",
    "hs": "{0} >= {1}",
    "equ": "not ({0} < {1} or {0} > {1})",
    "neu": "{0} != {1}",
    "ltu": "not {0} >= {1}",
    "leu": "not {0} > {1}",
    "gtu": "not {0} <= {1}",
    "geu": "not {0} < {1}",
    "num": "{0} == {0} and {1} == {1}",
    "nan": "{0} != {0} or {1} != {1}",
}


def _ordered_unequal(a: Any, b: Any, out: Any = None) -> Any:
    return np.logical_or(np.less(a, b), np.greater(a, b), out=out)


def _unordered_equal(a: Any, b: Any, out: Any = None) -> Any:
    return np.logical_not(_ordered_unequal(a, b, out=out), out=out)


def _both_numbers(a: Any, b: Any, out: Any = None) -> Any:
    return np.logical_and(np.equal(a, a), np.equal(b, b), out=out)


def _any_nan(a: Any, b: Any, out: Any = None) -> Any:
    return np.logical_or(np.isnan(a), np.isnan(b), out=out)


def _opposite(ufunc: np.ufunc) -> Callable[..., Any]:
    def compare(a: Any, b: Any, out: Any = None) -> Any:
        return np.logical_not(ufunc(a, b, out=out), out=out)

    return compare


_OPERATORS: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": _ordered_unequal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
    "equ": _unordered_equal,
    "neu": np.not_equal,
    "ltu": _opposite(np.greater_equal),
    "leu": _opposite(np.greater),
    "gtu": _opposite(np.less_equal),
    "geu": _opposite(np.less),
    "num": _both_numbers,
    "nan": _any_nan,
}


def comparison(operator: str, ftz: bool, integer: bool) -> Callable[..., Any]:
    """The function of a comparison operator: two arrays to a bool array."""
    compare = np.not_equal if integer and operator == "ne" else _OPERATORS[operator]
    if not ftz:
        return compare

    def compare_flushed(a: Any, b: Any, out: Any = None) -> Any:
        return compare(flushed(a), flushed(b), out=out)

    return compare_flushed


def lane(operator: str, integer: bool) -> str:
    """The per-lane expression of a comparison operator."""
    return "{0} != {1}" if integer and operator == "ne" else _LANES[operator]


COMBINE: dict[str, np.ufunc] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
LANE_COMBINE: dict[str, str] = {
    "and": "({compare}) and {{2}}",
    "or": "({compare}) or {{2}}",
    "xor": "({compare}) != {{2}}",
}


def combined(compare: Callable[..., Any], boolean: str) -> Callable[..., Any]:
    """A comparison of the first two sources, combined with the third."""
    combine = COMBINE[boolean]

    def evaluate(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        return combine(compare(a, b, out=out), c, out=out)

    return evaluate


def pair(compare: Callable[..., Any], boolean: str = "") -> Callable[..., Any]:
    """`p|q`: the comparison and its opposite, each combined with the third source where there is one."""

    def both(a: Any, b: Any, out: Any = None) -> Any:
        held = compare(a, b)
        return held, np.logical_not(held)

    def both_combined(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        held, other = both(a, b)
        return COMBINE[boolean](held, c), COMBINE[boolean](other, c)

    return both_combined if boolean else both


def chosen(test: Callable[..., Any], true: int, kind: np.dtype[Any]) -> Callable[..., Any]:
    """A result of raw bits: `true` where a test holds, else 0."""
    raw = np.dtype(f"u{kind.itemsize}")

    def evaluate(*sources: Any) -> Any:
        return np.multiply(test(*sources).astype(raw), raw.type(true)).view(kind)

    return evaluate


def selected_by_sign(a: Any, b: Any, c: Any) -> Any:
    """slct: a where c ≥ 0, else b; NaN chooses b."""
    return np.where(c >= 0, a, b)
