"""f32 and f64 arithmetic that the ISA defines exactly."""

from __future__ import annotations

import numpy as np

from teenycuda_cli.emulator.numerics.floating import modified
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_RND = "rn rz rm rp"


def _binary(m: Modifiers, ufunc: np.ufunc, symbol: str) -> Value:
    ftz, sat = bool(m.get("ftz")), bool(m.get("sat"))
    lane = f"f32({{0}} {symbol} {{1}})" if m["type"] == "f32" else f"{{0}} {symbol} {{1}}"
    evaluate = modified(ufunc, ftz, sat)
    return Value(evaluate, lane=None if ftz or sat else lane, raw_nan=not sat)


@op("add{.rnd}{.ftz}{.sat}.f32 d, a, b", rnd="rn", isa="floating-point-instructions-add")
@op("add{.rnd}.f64 d, a, b", rnd="rn", isa="floating-point-instructions-add")
def add(m: Modifiers) -> Value:
    """Sum."""
    return _binary(m, np.add, "+")


@op("sub{.rnd}{.ftz}{.sat}.f32 d, a, b", rnd="rn", isa="floating-point-instructions-sub")
@op("sub{.rnd}.f64 d, a, b", rnd="rn", isa="floating-point-instructions-sub")
def sub(m: Modifiers) -> Value:
    """Difference."""
    return _binary(m, np.subtract, "-")


@op("mul{.rnd}{.ftz}{.sat}.f32 d, a, b", rnd="rn", isa="floating-point-instructions-mul")
@op("mul{.rnd}.f64 d, a, b", rnd="rn", isa="floating-point-instructions-mul")
def mul(m: Modifiers) -> Value:
    """Product."""
    return _binary(m, np.multiply, "*")
