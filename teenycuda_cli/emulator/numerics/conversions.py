"""Conversions among integers and floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype


def cast(name: str) -> Callable[..., Any]:
    """numpy's own conversion, where it is PTX's: among integers, integer to float nearest, f32 to f64."""
    result = dtype(name)

    def convert(a: Any, out: Any = None) -> Any:
        if out is None:
            return a.astype(result)
        np.copyto(out, a, casting="unsafe")
        return out

    return convert
