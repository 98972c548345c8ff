"""Integer instructions on exact values: what costs O(1) a batch instead of O(lanes).

A rule takes the typed facts of its instruction and exact operands, and gives
the exact result, a bool for a comparison, or None where only arrays will do.
Rules are an optimisation alone: without one the table's `evaluate` runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from teenycuda_cli.emulator.machine.values import (
    Affine,
    Exact,
    bounds,
    fit,
    plus,
    split_low,
    times,
    trailing_zeros,
    typed,
)

Rule: TypeAlias = Callable[..., Any]


class IntegerType:
    """Signedness and width of a PTX integer type."""

    __slots__ = ("mask", "signed", "width")

    def __init__(self, name: str) -> None:
        """Take `s32`, `u64`, `b16` … apart."""
        self.signed = name[0] == "s"
        self.width = int(name[1:])
        self.mask = (1 << self.width) - 1

    def read(self, value: Exact) -> Exact | None:
        """A register's value in this type."""
        return typed(value, self.signed, self.width)


def _add(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    return fit(plus(a, b), t.width)


def _sub(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    return fit(plus(a, times(b, -1)), t.width)


def _product(a: Exact | None, b: Exact | None) -> Exact | None:
    if isinstance(b, int) and a is not None:
        return times(a, b)
    if isinstance(a, int) and b is not None:
        return times(b, a)
    return None


def _mul(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    product = _product(a, b)
    return None if product is None else fit(product, t.width)


def _mad(t: IntegerType, a: Exact, b: Exact, c: Exact) -> Exact | None:
    product = _product(a, b)
    return None if product is None else fit(plus(product, c), t.width)


def _wide(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    product = _product(t.read(a), t.read(b))
    return None if product is None else fit(product, 2 * t.width)


def _mad_wide(t: IntegerType, a: Exact, b: Exact, c: Exact) -> Exact | None:
    product = _product(t.read(a), t.read(b))
    return None if product is None else fit(plus(product, c), 2 * t.width)


def _neg(t: IntegerType, a: Exact) -> Exact | None:
    return fit(times(a, -1), t.width)


def _not(t: IntegerType, a: Exact) -> Exact | None:
    return fit(plus(times(a, -1), -1), t.width)


def _shl(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    if not isinstance(b, int):
        return None
    amount = b & 0xFFFFFFFF
    return 0 if amount >= t.width else fit(times(a, 1 << amount), t.width)


def _shr(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    value = t.read(a)
    if value is None or not isinstance(b, int):
        return None
    amount = min(b & 0xFFFFFFFF, t.width)
    if isinstance(value, int):
        return fit(value >> amount, t.width)
    parts = split_low(value, amount)
    if parts is None:
        return None
    upper = parts[0]
    if isinstance(upper, int):
        return fit(upper >> amount, t.width)
    return fit(
        Affine(upper.base >> amount, tuple([s >> amount for s in upper.steps]), upper.extents), t.width
    )


def _and(t: IntegerType, a: Exact, b: Exact) -> Exact | None:  # noqa: PLR0911  (a case each)
    if isinstance(a, int):
        if isinstance(b, int):
            return fit(a & b, t.width)
        a, b = b, a
    if not isinstance(b, int) or isinstance(a, int):
        return None
    mask = b & t.mask
    bits = mask.bit_length()
    if mask == t.mask:
        return a
    if not mask:
        return 0
    parts = split_low(a, bits)
    if parts is None:
        return None
    part = parts[1]
    if isinstance(part, int):
        return fit(part & mask, t.width)
    possible = _possible(part)
    if not possible & ~mask:
        return fit(part, t.width)
    return 0 if not possible & mask else None


def _disjoint(a: Exact, b: Exact) -> bool:
    """Whether no lane has a bit set in both."""
    low, high = bounds(b)
    if low >= 0 and not high >> trailing_zeros(a):
        return True
    if isinstance(b, int) and b >= 0 and not isinstance(a, int):
        parts = split_low(a, b.bit_length())
        return parts is not None and not _possible(parts[1]) & b
    low, high = bounds(a)
    if low >= 0 and not high >> trailing_zeros(b):
        return True
    return isinstance(a, int) and not isinstance(b, int) and _disjoint(b, a)


def _possible(value: Exact) -> int:
    """The bits that may be set in a lane, of a value that is not negative."""
    _, high = bounds(value)
    return ((1 << high.bit_length()) - 1) & -(1 << trailing_zeros(value))


def _or(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    if isinstance(a, int) and isinstance(b, int):
        return fit(a | b, t.width)
    return fit(plus(a, b), t.width) if _disjoint(a, b) else None


def _xor(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    if isinstance(a, int) and isinstance(b, int):
        return fit(a ^ b, t.width)
    return fit(plus(a, b), t.width) if _disjoint(a, b) else None


def _choose(t: IntegerType, a: Exact, b: Exact, lower: bool) -> Exact | None:
    x, y = t.read(a), t.read(b)
    if x is None or y is None:
        return None
    (x_low, x_high), (y_low, y_high) = bounds(x), bounds(y)
    if x_high <= y_low:
        return a if lower else b
    if y_high <= x_low:
        return b if lower else a
    return None


def _min(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    return _choose(t, a, b, True)


def _max(t: IntegerType, a: Exact, b: Exact) -> Exact | None:
    return _choose(t, a, b, False)


def _less(x: tuple[int, int], y: tuple[int, int]) -> bool | None:
    if x[1] < y[0]:
        return True
    return False if x[0] >= y[1] else None


def _equal(x: tuple[int, int], y: tuple[int, int]) -> bool | None:
    if x[1] < y[0] or y[1] < x[0]:
        return False
    return True if x[0] == x[1] == y[0] == y[1] else None


def _negate(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


_COMPARE: dict[str, Callable[[tuple[int, int], tuple[int, int]], bool | None]] = {
    "lt": _less,
    "gt": lambda x, y: _less(y, x),
    "ge": lambda x, y: _negate(_less(x, y)),
    "le": lambda x, y: _negate(_less(y, x)),
    "eq": _equal,
    "ne": lambda x, y: _negate(_equal(x, y)),
}
_COMPARE |= {"lo": _COMPARE["lt"], "ls": _COMPARE["le"], "hi": _COMPARE["gt"], "hs": _COMPARE["ge"]}


def comparison(name: str) -> Rule | None:
    """The rule of `setp.name` on integers: a bool where the ranges decide."""
    compare = _COMPARE.get(name)
    if compare is None:
        return None

    def rule(t: IntegerType, a: Exact, b: Exact) -> bool | None:
        x, y = t.read(a), t.read(b)
        return None if x is None or y is None else compare(bounds(x), bounds(y))

    return rule


def convert(source: str, destination: str) -> Rule:
    """The rule of `cvt` between integer types."""
    read, write = IntegerType(source), IntegerType(destination)

    def rule(_: IntegerType, a: Exact) -> Exact | None:
        value = read.read(a)
        return None if value is None else write.read(value)

    return rule


def _move(_: IntegerType, a: Exact) -> Exact:
    return a


RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "mad": _mad,
    "wide": _wide,
    "madwide": _mad_wide,
    "neg": _neg,
    "not": _not,
    "shl": _shl,
    "shr": _shr,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "min": _min,
    "max": _max,
    "mov": _move,
}
