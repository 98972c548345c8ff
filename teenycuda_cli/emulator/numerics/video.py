"""Video instructions: arithmetic on selected bytes and halves of registers, as ptxas spells it out.

Everything is computed in 64 bits, wrapping: parts are extended by the
operand's type, the result is clamped, then merged into c or combined with it.
Chips since sm_50 have the SIMD instructions and the scalar ones no more, and
what ptxas 13 writes for the scalar ones, and thus what an H200 gives, is not
in all things what the ISA says:

- .u32.sat stops at 0 alone; and a result for a byte or half that is no
  number of its type becomes the greatest one, also where it is below;
- shifts saturate from 34 bits, and to 32 whatever part they are for;
- into .h1 goes the upper half of the result;
- .min and .max of u32 take a negative result for greater than any c, and see
  32 bits of a sum, of a difference and of a shift with .sat, as a signed
  number; c of vset has the type of a;
- vmad takes words for signed whatever their type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

Function: TypeAlias = Callable[..., Any]


def _size(selector: str) -> int:
    return {"b": 8, "h": 16}.get(selector[:1], 32)


def part(value: Any, is_signed: bool, selector: str) -> Any:
    """A byte, a half or all of a register's bits, extended to 64 bits."""
    bits = _size(selector)
    place = int(selector[1:] or 0) * bits
    return lanes(value, is_signed, bits, place)


def lanes(value: Any, is_signed: bool, bits: int, place: int) -> Any:
    """So many bits from a place on, extended to 64 bits."""
    wide = value.astype(np.int64)
    if is_signed:
        return (wide << (64 - bits - place)) >> (64 - bits)
    return (wide >> place) & np.int64((1 << bits) - 1)


def clamped(value: Any, is_signed: bool, bits: int) -> Any:
    """The nearest number of so many bits."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return np.clip(value, low, high)


def saturated(value: Any, is_signed: bool, selector: str) -> Any:
    """.sat of arithmetic: the module's text says where it is not the nearest number."""
    if selector:
        most = (1 << (_size(selector) - is_signed)) - 1
        return np.where((value < 0) | (value > most), most, value)
    return clamped(value, True, 32) if is_signed else np.maximum(value, 0)


def saturated_shift(value: Any, is_signed: bool, _: str) -> Any:
    """.sat of shifts, of which 34 bits count."""
    return clamped((value << 30) >> 30, is_signed, 32)


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
    return value.astype(np.uint32)


def merged(value: Any, other: Any, selector: str) -> Any:
    """`other` with bits of a value in the selected byte or half."""
    size = _size(selector)
    place = int(selector[1:]) * size
    mask = np.int64(((1 << size) - 1) << place)
    moved = value if selector == "h1" else value << place
    return _bits((moved & mask) | (other.astype(np.int64) & ~mask))


def combined(value: Any, other: Any, is_signed: bool, second: str) -> Any:
    """A value with `other`: their sum, or one of them."""
    kind = np.int64 if is_signed else np.uint64
    return _bits(_SECOND[second](value.view(kind), part(other, is_signed, "").view(kind)))


def scalar(
    function: Function,
    types: Sequence[bool],
    selectors: Sequence[str],
    *,
    saturate: Function | None,
    is_cut: bool,
    second: str,
) -> Function:
    """An instruction on one part of each source.

    `types` says which of d, a and b are signed; `selectors` are theirs;
    `is_cut` that the second operation sees 32 bits of the result.
    """
    (d_signed, a_signed, b_signed), (d_part, a_part, b_part) = types, selectors

    def evaluate(a: Any, b: Any, c: Any = None) -> Any:
        value = function(part(a, a_signed, a_part), part(b, b_signed, b_part))
        if saturate is not None:
            value = saturate(value, d_signed, d_part)
        if second:
            return combined(lanes(value, True, 32, 0) if is_cut else value, c, d_signed, second)
        return merged(value, c, d_part) if d_part else _bits(value)

    return evaluate


def multiply_add(
    types: Sequence[bool], selectors: Sequence[str], negated: str, scale: int, sat: bool
) -> Function:
    """a × b + c, with a minus on the product (`ab`) or on c (`c`) or 1 more (`po`), scaled and clamped."""
    (a_signed, b_signed), (a_part, b_part) = types, selectors
    is_signed = a_signed or b_signed or negated in ("ab", "c")

    def evaluate(a: Any, b: Any, c: Any) -> Any:
        value = part(a, a_signed or not a_part, a_part) * part(b, b_signed or not b_part, b_part)
        addend = part(~c if negated == "c" else c, True, "")
        if negated == "ab":
            value = ~value
        value = value + addend + (1 if negated else 0)
        kind = np.int64 if is_signed else np.uint64
        value = (value.view(kind) >> kind(scale)).view(np.int64)
        return _bits(clamped(value, is_signed, 32) if sat else value)

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
