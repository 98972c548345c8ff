"""Integer literals as PTX writes them."""

from __future__ import annotations

MASK = (1 << 64) - 1
WARP_SIZE = 32  # WARP_SZ
_LONGEST = 80  # 0b and 64 digits, with some leading zeros; keeps int() from hostile lengths


def integer_value(text: str) -> int:
    """The value of an integer literal as written: decimal, 0x, 0b or octal, with or without U.

    One too long for 64 bits gives some value above them.
    """
    if len(text) > _LONGEST:
        return MASK + 2
    digits = text.rstrip("U")
    if digits[:2] in ("0x", "0X"):
        return int(digits[2:], 16)
    if digits[:2] in ("0b", "0B"):
        return int(digits[2:], 2)
    if digits[0] == "0" and len(digits) > 1:
        return int(digits[1:], 8)
    return int(digits)
