"""Video instructions: arithmetic on selected bytes and halves of registers, as ptxas spells it out.

Everything is computed in 64 bits, wrapping: parts are extended by the
operand's type, the result is clamped, then merged into c or combined with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

Function: TypeAlias = Callable[..., Any]
_ALL = np.int64(0xFFFFFFFF)


def part(value: Any, is_signed: bool, selector: str) -> Any:
    """A byte, a half or all of a register's bits, extended to 64 bits."""
    bits = {"b": 8, "h": 16}.get(selector[:1], 32)
    place = int(selector[1:] or 0) * bits
    return lanes(value, is_signed, bits, place)


def lanes(value: Any, is_signed: bool, bits: int, place: int) -> Any:
    """So many bits from a place on, extended to 64 bits."""
    wide = np.asarray(value).view(np.int32).astype(np.int64)
    if is_signed:
        return (wide << (64 - bits - place)) >> (64 - bits)
    return (wide >> place) & np.int64((1 << bits) - 1)


def clamped(value: Any, is_signed: bool, bits: int) -> Any:
    """The nearest number of a type."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return np.clip(value, low, high)


def average(a: Any, b: Any) -> Any:
    """The mean, halves going up from 0 on and down below."""
    total = a + b
    return (total + (total >= 0)) >> 1


def distance(a: Any, b: Any) -> Any:
    """How far apart two numbers are."""
    return np.absolute(a - b)


COMPARE: dict[str, Function] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_SECOND: dict[str, Function] = {"add": np.add, "min": np.minimum, "max": np.maximum}


def compared(comparison: str) -> Function:
    """1 where a comparison holds, else 0."""
    compare = COMPARE[comparison]
    return lambda a, b: compare(a, b).astype(np.int64)


def shift(left: bool, wraps: bool) -> Function:
    """a shifted by at most 32, or by the low five bits of b."""

    def function(a: Any, b: Any) -> Any:
        amount = b & 31 if wraps else np.minimum(b, 32)
        return np.left_shift(a, amount) if left else np.right_shift(a, amount)

    return function


def _bits(value: Any) -> Any:
    return (value & _ALL).astype(np.uint32)


def merged(value: Any, other: Any, selector: str) -> Any:
    """`other` with the low bits of a value in the selected byte or half."""
    size = 8 if selector[0] == "b" else 16
    place = int(selector[1:]) * size
    mask = np.int64(((1 << size) - 1) << place)
    return _bits(((value << place) & mask) | (other.astype(np.int64) & ~mask))


def scalar(
    function: Function, types: Sequence[bool], selectors: Sequence[str], *, sat: bool, second: str
) -> Function:
    """An instruction on one part of each source.

    `types` says which of d, a and b are signed; `selectors` are theirs.
    """
    (d_signed, a_signed, b_signed), (d_part, a_part, b_part) = types, selectors
    bits = {"b": 8, "h": 16}.get(d_part[:1], 32)

    def evaluate(a: Any, b: Any, c: Any = None) -> Any:
        value = function(part(a, a_signed, a_part), part(b, b_signed, b_part))
        if sat:
            value = clamped(value, d_signed, bits)
        if second:
            return _bits(_SECOND[second](value, part(c, d_signed, "")))
        return merged(value, c, d_part) if d_part else _bits(value)

    return evaluate


def multiply_add(
    types: Sequence[bool], selectors: Sequence[str], negated: str, scale: int, sat: bool
) -> Function:
    """a × b + c, with a minus on the product (`ab`) or on c (`c`) or 1 more (`po`), scaled and clamped."""
    (a_signed, b_signed), (a_part, b_part) = types, selectors
    is_signed = a_signed or b_signed or negated in ("ab", "c")

    def evaluate(a: Any, b: Any, c: Any) -> Any:
        value = part(a, a_signed, a_part) * part(b, b_signed, b_part)
        addend = part(~c if negated == "c" else c, is_signed, "")
        if negated == "ab":
            value = ~value
        value = value + addend + (1 if negated else 0)
        if not is_signed:
            value = value.view(np.uint64)
        value = value >> value.dtype.type(scale)
        if sat:
            value = clamped(value, is_signed, 32)
        return value.astype(np.uint32)

    return evaluate


def several(
    function: Function, count: int, types: Sequence[bool], selectors: Sequence[str], *, sat: bool, adds: bool
) -> Function:
    """An instruction on two halves or four bytes; `selectors` are d's mask and the parts of a and b."""
    (d_signed, a_signed, b_signed), (mask, a_parts, b_parts) = types, selectors
    bits = 32 // count
    order = "3210"[-count:]
    written = {int(place) for place in (mask[1:] or order)}
    a_places, b_places = (
        parts[1:] or usual for parts, usual in ((a_parts, order), (b_parts, "7654" if count == 4 else "32"))
    )

    def chosen(a: Any, b: Any, places: str, index: int, is_signed: bool) -> Any:
        place = int(places[-1 - index])
        return lanes(a if place < count else b, is_signed, bits, place % count * bits)

    def evaluate(a: Any, b: Any, c: Any) -> Any:
        result = c.astype(np.int64)
        for index in written:
            value = function(chosen(a, b, a_places, index, a_signed), chosen(a, b, b_places, index, b_signed))
            if sat:
                value = clamped(value, d_signed, bits)
            if adds:
                result = result + value
            else:
                place = index * bits
                hole = np.int64(((1 << bits) - 1) << place)
                result = (result & ~hole) | ((value << place) & hole)
        return _bits(result)

    return evaluate
