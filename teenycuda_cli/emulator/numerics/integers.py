"""Integer arithmetic as PTX has it where numpy differs: wide products, carries, division by zero, saturation.

Each function takes arrays or numpy scalars that broadcast, and `out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype


def multiply_add(a: Any, b: Any, c: Any, out: Any = None) -> Any:
    """a × b + c, wrapping."""
    if out is None:
        return a * b + c
    np.multiply(a, b, out=out)
    return np.add(out, c, out=out)


def multiply_wide(name: str) -> Callable[..., Any]:
    """a × b in the type `name`, which is twice as wide as the factors."""
    result = dtype(name)

    def multiply(a: Any, b: Any, out: Any = None) -> Any:
        return np.multiply(a, b, out=out, dtype=result)

    return multiply


def multiply_wide_add(name: str) -> Callable[..., Any]:
    """a × b + c in the type `name`, which is twice as wide as the factors."""
    result = dtype(name)

    def multiply(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        return np.add(np.multiply(a, b, out=out, dtype=result), c, out=out)

    return multiply


def shift_left_16(a: Any, b: Any, out: Any = None) -> Any:
    """u16 a << u32 b; numpy alone would widen a."""
    return np.left_shift(a, np.minimum(b, 16).astype(np.uint16), out=out)


def shift_right_16(a: Any, b: Any, out: Any = None) -> Any:
    """u16 a >> u32 b; numpy alone would widen a."""
    return np.right_shift(a, np.minimum(b, 16).astype(np.uint16), out=out)


def shift_right_signed(name: str) -> Callable[..., Any]:
    """Signed a >> u32 b: numpy clamps amounts of the width and more, but mixes no signs."""
    result = dtype(name)
    most = 8 * result.itemsize - 1

    def shift(a: Any, b: Any, out: Any = None) -> Any:
        return np.right_shift(a, np.minimum(b, most).astype(result), out=out)

    return shift
