"""Integer arithmetic: add sub mul mad neg and their relatives of one result."""

from __future__ import annotations

import numpy as np

from teenycuda_cli.emulator.numerics import integers
from teenycuda_cli.emulator.numerics.types import wide, wrapped
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_INT = "u16 u32 u64 s16 s32 s64"


@op("add.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-add")
def add(m: Modifiers) -> Value:
    """Wrapping sum."""
    return Value(np.add, lane=wrapped("{0} + {1}", m["type"]), affine="add")


@op("sub.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-sub")
def sub(m: Modifiers) -> Value:
    """Wrapping difference."""
    return Value(np.subtract, lane=wrapped("{0} - {1}", m["type"]), affine="sub")


@op("mul.lo.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-mul")
def mul_lo(m: Modifiers) -> Value:
    """The low half of the product."""
    return Value(np.multiply, lane=wrapped("{0} * {1}", m["type"]), affine="mul")


@op(
    "mul.wide.type d, a, b",
    type="u16 u32 s16 s32",
    types="d:wide",
    isa="integer-arithmetic-instructions-mul",
)
def mul_wide(m: Modifiers) -> Value:
    """The whole product, twice as wide."""
    return Value(integers.multiply_wide(wide(m["type"])), lane="{0} * {1}", affine="wide")


@op("mad.lo.type d, a, b, c", type=_INT, isa="integer-arithmetic-instructions-mad")
def mad_lo(m: Modifiers) -> Value:
    """The low half of the product, plus c."""
    return Value(integers.multiply_add, lane=wrapped("{0} * {1} + {2}", m["type"]), affine="mad")


@op(
    "mad.wide.type d, a, b, c",
    type="u16 u32 s16 s32",
    types="d:wide c:wide",
    isa="integer-arithmetic-instructions-mad",
)
def mad_wide(m: Modifiers) -> Value:
    """The whole product plus c, twice as wide."""
    double = wide(m["type"])
    return Value(
        integers.multiply_wide_add(double), lane=wrapped("{0} * {1} + {2}", double), affine="madwide"
    )


@op("neg.type d, a", type="s16 s32 s64", isa="integer-arithmetic-instructions-neg")
def neg(m: Modifiers) -> Value:
    """Wrapping negation: the least value is its own."""
    return Value(np.negative, lane=wrapped("-{0}", m["type"]), affine="neg")
