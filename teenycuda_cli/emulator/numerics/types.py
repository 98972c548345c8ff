"""PTX types as numpy dtypes, and the properties that instructions ask for.

f16, bf16, tf32, fp8 and the packed types travel as raw bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_BY_NAME: dict[str, str] = {
    "pred": "?",
    "b1": "?",
    "f32": "f4",
    "f64": "f8",
    "f16": "u2",
    "bf16": "u2",
    "tf32": "u4",
    "f16x2": "u4",
    "bf16x2": "u4",
    "f32x2": "u8",
    "u16x2": "u4",
    "s16x2": "u4",
    "e4m3": "u1",
    "e5m2": "u1",
    "e4m3x2": "u2",
    "e5m2x2": "u2",
}


def _dtypes() -> dict[str, np.dtype[Any]]:
    found = {name: np.dtype(text) for name, text in _BY_NAME.items()}
    for bits in (8, 16, 32, 64):
        found[f"u{bits}"] = found[f"b{bits}"] = np.dtype(f"u{bits // 8}")
        found[f"s{bits}"] = np.dtype(f"i{bits // 8}")
    found["b128"] = np.dtype([("low", "<u8"), ("high", "<u8")])
    return found


DTYPES = _dtypes()


def dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype in which values of a PTX type are computed with."""
    return DTYPES[name]


def width(name: str) -> int:
    """Bits of a PTX integer type (`s16` → 16)."""
    return int(name[1:])


def signed(name: str) -> bool:
    """Whether a PTX type is a signed integer."""
    return name[0] == "s"


def lowest(name: str) -> int:
    """The least value of a PTX integer type."""
    return -(1 << (width(name) - 1)) if signed(name) else 0


def highest(name: str) -> int:
    """The greatest value of a PTX integer type."""
    return (1 << (width(name) - 1)) - 1 if signed(name) else (1 << width(name)) - 1


def wide(name: str) -> str:
    """The type of twice the width (`s32` → `s64`)."""
    return f"{name[0]}{2 * width(name)}"


def wrapped(expression: str, name: str) -> str:
    """A lane expression that brings a Python int into the range of an integer type."""
    if signed(name):
        return f"s{width(name)}({expression})"
    return f"({expression}) & {highest(name):#x}"


def split(value: Any, part: Any) -> Any:
    """Each element as its parts along a new last axis, the lowest first, without copying."""
    return np.asarray(value)[..., np.newaxis].view(part)


def merged(parts: Any, whole: Any) -> Any:
    """What `split` took apart, put together again."""
    return np.ascontiguousarray(parts).view(whole)[..., 0]
