"""One lane in plain Python: what the lane expressions of the table may call.

Below some thirty live lanes Python numbers beat numpy. Integers are in the
range of their type, f32 and f64 are Python floats, predicates are bools.
`NAMESPACE` is what the generated code runs with.
"""

from __future__ import annotations

import struct
from typing import Any

_F32 = struct.Struct("<f")
_INFINITY = float("inf")


def s16(value: int) -> int:
    """Wrapped to 16 bits, signed."""
    return ((value + 0x8000) & 0xFFFF) - 0x8000


def s32(value: int) -> int:
    """Wrapped to 32 bits, signed."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def s64(value: int) -> int:
    """Wrapped to 64 bits, signed."""
    return ((value + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def s8(value: int) -> int:
    """Wrapped to 8 bits, signed."""
    return ((value + 0x80) & 0xFF) - 0x80


def f32(value: float) -> float:
    """Rounded to the nearest f32, ties to even."""
    try:
        return float(_F32.unpack(_F32.pack(value))[0])
    except OverflowError:
        return _INFINITY if value > 0 else -_INFINITY


def f32_of_int(value: int) -> float:
    """The f32 nearest to an integer, without rounding twice."""
    excess = abs(value).bit_length() - 54
    if excess > 0:
        sticky = bool(abs(value) & ((1 << excess) - 1))
        magnitude = ((abs(value) >> excess) | sticky) << excess
        value = -magnitude if value < 0 else magnitude
    return f32(float(value))


def clamp32(value: int) -> int:
    """Clamped to the range of s32."""
    return max(-0x80000000, min(value, 0x7FFFFFFF))


def div_u(a: int, b: int, width: int) -> int:
    """Unsigned quotient, all ones for b = 0."""
    return a // b if b else (1 << width) - 1


def div_s(a: int, b: int, width: int) -> int:
    """Signed quotient toward zero, −1 for b = 0, wrapping."""
    if b == 0:
        return -1
    whole = abs(a) // abs(b)
    if (a < 0) != (b < 0):
        return -whole
    return whole if whole >> (width - 1) == 0 else -whole


def rem_u(a: int, b: int, width: int) -> int:
    """Unsigned remainder, all ones for b = 0."""
    return a % b if b else (1 << width) - 1


def rem_s(a: int, b: int, width: int) -> int:
    """Signed remainder with the sign of a, −1 for b = 0."""
    if b == 0:
        return -1
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


NAMESPACE: dict[str, Any] = {
    function.__name__: function
    for function in (s8, s16, s32, s64, f32, f32_of_int, clamp32, div_u, div_s, rem_u, rem_s)
}
