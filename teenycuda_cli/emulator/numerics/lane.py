"""One lane in plain Python: what the lane expressions of the table may call.

Below some thirty live lanes Python numbers beat numpy. Integers are in the
range of their type, f32 and f64 are Python floats, predicates are bools.
`NAMESPACE` is what the generated code runs with.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from teenycuda_cli.emulator.numerics import exact
from teenycuda_cli.emulator.numerics.special_function_lanes import approximate, reciprocal

_F32 = struct.Struct("<f")
_F64 = struct.Struct("<d")
_U32 = struct.Struct("<I")
_I64 = struct.Struct("<q")
_INFINITY = float("inf")
_TINY = 2.0**-126
NAN32: float = _F32.unpack(b"\xff\xff\xff\x7f")[0]


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
    excess = abs(value).bit_length() - 53
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


def ftz(value: float) -> float:
    """An f32, subnormal flushed to zero of its sign."""
    return value * 0.0 if -_TINY < value < _TINY else value


def sat(value: float) -> float:
    """Clamped to [0, 1], NaN and −0 to +0."""
    return min(value, 1.0) if value > 0 else 0.0


_BORDERS = {"rn": 2.0**-126 - 2.0**-151, "rz": 0.0}
_BORDER_AWAY = 2.0**-126 - 2.0**-150


def flushed32(result: float, name: str, mode: str, a: float, b: float = 1.0, c: float = 0.0) -> float:
    """A rounded f32 result of mul, div, rcp or fma, zero where it lay below 2⁻¹²⁶ before it was rounded."""
    if abs(result) != _TINY:
        return result
    border = _BORDERS.get(mode, _BORDER_AWAY)
    if name == "rcp":
        name, a, b = "div", 1.0, a
    if name == "div":
        above = abs(a) - border * abs(b)
    else:
        sign = math.copysign(1.0, result)
        above = math.fsum((sign * a * b, sign * c, -border))
    below = above < 0 or (above == 0 and border == _BORDER_AWAY)
    return math.copysign(0.0, result) if below else result


def approximate_quotient(full: bool, flush: bool, a: float, b: float) -> float:
    """div.approx or div.full of one lane; see `approximations`."""
    if full and abs(b) > 2.0**126:
        a, b = _scaled(a, 0.25, flush), b * 0.25
    if not flush and abs(b) < _TINY:
        a, b = f32(a * 2.0**24), b * 2.0**24
    return _scaled(a, reciprocal(b), flush)


def _scaled(a: float, factor: float, flush: bool) -> float:
    if not flush:
        return f32(a * factor)
    a = ftz(a)
    return ftz(flushed32(f32(a * factor), "mul", "rn", a, factor))


def fma32(a: float, b: float, c: float) -> float:
    """a × b + c of f32, rounded once: the f64 sum is made odd where it is not exact."""
    product = a * b
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    if error and error - error == 0.0 and not _I64.unpack(_F64.pack(total))[0] & 1:
        total = math.nextafter(total, math.inf if error > 0 else -math.inf)
    return f32(total)


def nan64(result: float, *sources: float) -> float:
    """An f64 result; where that is NaN, the first source that is, or what an invalid operation gives."""
    if not math.isnan(result):
        return result
    for source in sources:
        if math.isnan(source):
            return source + 0.0
    return -math.nan


def f32_of_bits(bits: int) -> float:
    """An f32 from its bits."""
    return float(_F32.unpack(_U32.pack(bits))[0])


def canonical32(value: float) -> float:
    """An f32 with NaN made PTX's one."""
    return NAN32 if math.isnan(value) else value


def quotient(a: float, b: float) -> float:
    """a ÷ b, by zero too."""
    if b:
        return a / b
    if a == 0 or math.isnan(a) or math.isnan(b):
        return a + a if math.isnan(a) else b + b if math.isnan(b) else -math.nan
    return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))


def root(value: float) -> float:
    """√value; NaN below zero."""
    return math.sqrt(value) if value >= 0 else value + value if math.isnan(value) else -math.nan


_FORMATS = {"f32": exact.F32, "f64": exact.F64}


def directed(name: str, kind: str, mode: str, a: float, b: float = 0.0, c: float = 0.0) -> float:
    """add sub mul div rcp sqrt fma on one lane in a rounding mode."""
    target = _FORMATS[kind]
    if name == "sub":
        name, b = "add", -b
    if name == "add":
        return exact.fma(1.0, a, b, mode, target)
    if name == "mul":
        return exact.fma(a, b, -0.0 if math.copysign(1.0, a) != math.copysign(1.0, b) else 0.0, mode, target)
    if name == "fma":
        return exact.fma(a, b, c, mode, target)
    if name == "rcp":
        name, a, b = "div", 1.0, a
    if name == "div":
        plain = quotient(a, b)
        special = not (a and b) or not (math.isfinite(a) and math.isfinite(b))
        return plain if special else exact.divide(a, b, mode, target)
    return root(a) if not (a > 0 and math.isfinite(a)) else exact.root(a, mode, target)


def lesser(a: float, b: float, keep_nan: bool) -> float:
    """min with −0 below +0; NaN wins with `keep_nan`, and otherwise loses to a number."""
    if math.isnan(a) or math.isnan(b):
        return math.nan if keep_nan else a if math.isnan(b) else b
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return a if a < b else b


def greater(a: float, b: float, keep_nan: bool) -> float:
    """max with +0 above −0; NaN wins with `keep_nan`, and otherwise loses to a number."""
    return -lesser(-a, -b, keep_nan)


def whole(value: float, mode: str) -> float:
    """The nearest whole number of a mode, the sign of zero kept."""
    if not math.isfinite(value):
        return value
    if mode == "rni":
        number: float = round(value)
    elif mode == "rzi":
        number = math.trunc(value)
    else:
        number = math.floor(value) if mode == "rmi" else math.ceil(value)
    return math.copysign(number, value)


def integer(value: float, mode: str, low: int, high: int, nan: int) -> int:
    """The nearest integer of a mode, clamped."""
    if math.isnan(value):
        return nan
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(int(whole(value, mode)), high))


def _field(value: int, width: int) -> int:
    """A position or length: of 32 bits its low byte counts, of 64 bits all of it."""
    return min(value & 255 if width == 32 else value, width)


def bfe_u(a: int, position: int, length: int, width: int) -> int:
    """`length` bits of an unsigned a from `position` on."""
    return (a >> _field(position, width)) & ((1 << _field(length, width)) - 1)


def bfe_s(a: int, position: int, length: int, width: int) -> int:
    """`length` bits of a signed a from `position` on, sign-extended."""
    size = _field(length, width)
    if size == 0:
        return 0
    half = 1 << (size - 1)
    return (((a >> _field(position, width)) + half) & (2 * half - 1)) - half


def bfi(a: int, b: int, position: int, length: int, width: int) -> int:
    """b with `length` bits from `position` on replaced by the low bits of a."""
    place = _field(position, width)
    mask = (((1 << _field(length, width)) - 1) << place) & ((1 << width) - 1)
    return (b & ~mask) | ((a << place) & mask)


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    *(s8, s16, s32, s64, f32, f32_of_int, clamp32, div_u, div_s, rem_u, rem_s),
    *(ftz, sat, fma32, exact.fma64, quotient, root, directed, lesser, greater, whole, integer),
    *(bfe_u, bfe_s, bfi, nan64, canonical32, f32_of_bits, flushed32, approximate, approximate_quotient),
)
NAMESPACE: dict[str, Any] = {function.__name__: function for function in _FUNCTIONS}
