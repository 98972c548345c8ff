"""Numbers as a command line writes them: decimal, hex, binary, octal, floats, inf, nan, complex."""

from __future__ import annotations

import re
from math import isfinite
from typing import TypeAlias, TypeVar

Number: TypeAlias = int | float | complex
AnyNumber = TypeVar("AnyNumber", bound=Number)

LONGEST = 400  # characters; Python refuses integers of more than 4300 digits, and 1e400 is beyond every type
_SHOWN = 40  # characters of a text in a message
_EXACT = 1 << 53  # whole numbers up to here are exact as floats

_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|[0-9]+)")
_REAL = r"(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)"
_FLOAT = re.compile(rf"[+-]?{_REAL}", re.IGNORECASE | re.ASCII)
_COMPLEX = re.compile(rf"(?:[+-]?{_REAL})?[+-]?{_REAL}j", re.IGNORECASE | re.ASCII)


def parse_number(text: str, *, allow_complex: bool = False) -> Number | None:
    """The number that the whole text is, or None.

    Integers stay Python ints and are exact; whatever has a point, an exponent,
    `inf` or `nan` is a float. None also for finite numbers beyond every type:
    none becomes infinite by the way.
    """
    if len(text) > LONGEST:
        return None
    number = _number(text, allow_complex)
    if number is None or isinstance(number, int) or "inf" in text.lower():
        return number
    return None if abs(number) == float("inf") else number


def whole(number: AnyNumber) -> AnyNumber | int:
    """The int that a float such as 1e3 is exactly; any other number as it is."""
    if isinstance(number, float) and isfinite(number) and number.is_integer() and abs(number) <= _EXACT:
        return int(number)
    return number


def no_number(text: str) -> str:
    """What is wrong with a text that `parse_number` does not take."""
    shown = repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
    numeric = _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text)
    return f"{shown} is beyond the range of every type" if numeric else f"{shown} is no number"


def _number(text: str, allow_complex: bool) -> Number | None:
    if _INTEGER.fullmatch(text):
        digits = text.lstrip("+-")
        base = {"x": 16, "b": 2, "o": 8}.get(digits[1:2].lower(), 10) if digits.startswith("0") else 10
        value = int(digits[2:] if base != 10 else digits, base)
        return -value if text.startswith("-") else value
    if _FLOAT.fullmatch(text):
        return float(text)
    if allow_complex and _COMPLEX.fullmatch(text):
        return complex(text)
    return None
