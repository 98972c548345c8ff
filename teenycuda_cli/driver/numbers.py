"""Numbers as a command line writes them: decimal, hex, binary, octal, floats, inf, nan, complex."""

from __future__ import annotations

import re
from typing import TypeAlias

Number: TypeAlias = int | float | complex

LONGEST = 400  # characters; Python refuses integers of more than 4300 digits, and 1e400 is already infinite

_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|[0-9]+)")
_REAL = r"(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)"
_FLOAT = re.compile(rf"[+-]?{_REAL}", re.IGNORECASE | re.ASCII)
_COMPLEX = re.compile(rf"(?:[+-]?{_REAL})?[+-]?{_REAL}j", re.IGNORECASE | re.ASCII)


def parse_number(text: str, *, allow_complex: bool = False) -> Number | None:
    """The number that the whole text is, or None.

    Integers stay Python ints and are exact; whatever has a point, an exponent,
    `inf` or `nan` is a float.
    """
    if len(text) > LONGEST:
        return None
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
