"""The small float formats that numpy lacks: their values, and rounding to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def _values(mantissa: int, bias: int) -> NDArray[np.float64]:
    """The values of the codes 0…127, as if none were infinite or NaN."""
    code = np.arange(128)
    exponent, fraction = code >> mantissa, (code & ((1 << mantissa) - 1)) / 2**mantissa
    return np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))


E4M3 = _values(3, 7)
E5M2 = _values(2, 15)
LARGEST = {"e4m3": 0x7E, "e5m2": 0x7B}
TABLES = {"e4m3": E4M3, "e5m2": E5M2}


def decode(code: NDArray[np.uint8], name: str) -> NDArray[np.float64]:
    """The values of finite codes of `e4m3` or `e5m2`."""
    return np.where(code & 0x80, -1.0, 1.0) * TABLES[name][code & 0x7F]


def encode(x: Floats, name: str) -> NDArray[np.uint8]:
    """The nearest codes, of two as near the even one; the largest finite one for what is larger."""
    finite = TABLES[name][: LARGEST[name] + 1]
    size = np.minimum(np.abs(x).astype(np.float64), finite[-1])
    above = np.searchsorted(finite, size)
    below = np.maximum(above - 1, 0)
    down, up = size - finite[below], finite[above] - size
    code = np.where((down < up) | ((down == up) & (below % 2 == 0)), below, above)
    return (code | np.where(np.signbit(x), 0x80, 0)).astype(np.uint8)


def to_bf16(x: Floats) -> NDArray[np.float32]:
    """Finite floats rounded to the nearest bf16, ties to even; float64 comes in one rounding."""
    wide = np.asarray(x, np.float64)
    _, exponent = np.frexp(wide)
    step = np.ldexp(1.0, np.maximum(exponent, -125) - 8)
    return (np.round(wide / step) * step).astype(np.float32)


def bits_of_bf16(x: Floats) -> NDArray[np.uint16]:
    """The bits of finite floats rounded to bf16."""
    return (to_bf16(x).view(np.uint32) >> 16).astype(np.uint16)


def to_tf32(x: Floats) -> NDArray[np.float32]:
    """Floats cut to the ten bits of fraction that a tensor core reads."""
    return (np.asarray(x, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
