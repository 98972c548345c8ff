"""Integer arithmetic: add sub mul mad mul24 mad24 sad div rem abs neg min max dp4a dp2a."""

from __future__ import annotations

import numpy as np

from teenycuda_cli.emulator.numerics import integers
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.numerics.types import signed, wide, width, wrapped
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_INT = "u16 u32 u64 s16 s32 s64"


@op("add.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-add")
def add(m: Modifiers) -> Value:
    """Wrapping sum."""
    return Value(np.add, lane=wrapped("{0} + {1}", m["type"]), affine="add")


@op("add.sat.s32 d, a, b", isa="integer-arithmetic-instructions-add")
def add_sat(m: Modifiers) -> Value:
    """Sum, clamped to the range."""
    return Value(blocked(integers.add_saturated, "s32"), lane="clamp32({0} + {1})")


@op("add.type d, a, b", type="u16x2 s16x2", isa="integer-arithmetic-instructions-add")
def add_halves(m: Modifiers) -> Value:
    """Two wrapping sums."""
    return Value(blocked(integers.halves("u16", np.add), "b32"))


@op("sub.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-sub")
def sub(m: Modifiers) -> Value:
    """Wrapping difference."""
    return Value(np.subtract, lane=wrapped("{0} - {1}", m["type"]), affine="sub")


@op("sub.sat.s32 d, a, b", isa="integer-arithmetic-instructions-sub")
def sub_sat(m: Modifiers) -> Value:
    """Difference, clamped to the range."""
    return Value(blocked(integers.subtract_saturated, "s32"), lane="clamp32({0} - {1})")


@op("mul.lo.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-mul")
def mul_lo(m: Modifiers) -> Value:
    """The low half of the product."""
    return Value(np.multiply, lane=wrapped("{0} * {1}", m["type"]), affine="mul")


@op("mul.hi.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-mul")
def mul_hi(m: Modifiers) -> Value:
    """The high half of the product."""
    kind = m["type"]
    return Value(blocked(integers.multiply_high(kind), kind), lane=f"({{0}} * {{1}}) >> {width(kind)}")


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


@op("mad.hi.type d, a, b, c", type=_INT, isa="integer-arithmetic-instructions-mad")
@op("mad.hi.sat.s32 d, a, b, c", isa="integer-arithmetic-instructions-mad")
def mad_hi(m: Modifiers) -> Value:
    """The high half of the product, plus c."""
    kind, sat = m["type"], bool(m.get("sat"))
    lane = f"(({{0}} * {{1}}) >> {width(kind)}) + {{2}}"
    evaluate = integers.multiply_high_add(kind, sat)
    return Value(blocked(evaluate, kind), lane=f"clamp32({lane})" if sat else wrapped(lane, kind))


@op(
    "mad.wide.type d, a, b, c",
    type="u16 u32 s16 s32",
    types="d:wide c:wide",
    isa="integer-arithmetic-instructions-mad",
)
def mad_wide(m: Modifiers) -> Value:
    """The whole product plus c, twice as wide."""
    double = wide(m["type"])
    lane = wrapped("{0} * {1} + {2}", double)
    return Value(integers.multiply_wide_add(double), lane=lane, affine="madwide")


@op(
    "mul24.half.type d, a, b",
    half="lo hi",
    type="u32 s32",
    isa="integer-arithmetic-instructions-mul24",
)
def mul24(m: Modifiers) -> Value:
    """The low 32 bits, or the high 32 of 48, of the product of the low 24 bits."""
    return Value(blocked(integers.multiply_24(m["type"], m["half"] == "hi"), m["type"]))


@op(
    "mad24.half.type d, a, b, c",
    half="lo hi",
    type="u32 s32",
    isa="integer-arithmetic-instructions-mad24",
)
@op("mad24.hi.sat.s32 d, a, b, c", isa="integer-arithmetic-instructions-mad24")
def mad24(m: Modifiers) -> Value:
    """mul24, plus c."""
    high, sat = m.get("half", "hi") == "hi", bool(m.get("sat"))
    return Value(blocked(integers.multiply_24_add(m["type"], high, sat), m["type"]))


@op("sad.type d, a, b, c", type=_INT, isa="integer-arithmetic-instructions-sad")
def sad(m: Modifiers) -> Value:
    """c plus the distance of a and b."""
    lane = wrapped("{2} + abs({0} - {1})", m["type"])
    return Value(blocked(integers.absolute_difference_add, m["type"]), lane=lane)


@op("div.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-div")
def div(m: Modifiers) -> Value:
    """Quotient toward zero; all ones where b is 0."""
    lane = f"div_{'s' if signed(m['type']) else 'u'}({{0}}, {{1}}, {width(m['type'])})"
    return Value(blocked(integers.divide, m["type"]), lane=lane)


@op("rem.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-rem")
def rem(m: Modifiers) -> Value:
    """Remainder with the sign of a; all ones where b is 0."""
    lane = f"rem_{'s' if signed(m['type']) else 'u'}({{0}}, {{1}}, {width(m['type'])})"
    return Value(blocked(integers.remainder, m["type"]), lane=lane)


@op("abs.type d, a", type="s16 s32 s64", isa="integer-arithmetic-instructions-abs")
def abs_(m: Modifiers) -> Value:
    """Absolute value; the least value is its own."""
    return Value(np.absolute, lane=wrapped("abs({0})", m["type"]))


@op("neg.type d, a", type="s16 s32 s64", isa="integer-arithmetic-instructions-neg")
def neg(m: Modifiers) -> Value:
    """Wrapping negation: the least value is its own."""
    return Value(np.negative, lane=wrapped("-{0}", m["type"]), affine="neg")


@op("min.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-min")
def min_(m: Modifiers) -> Value:
    """The smaller."""
    return Value(np.minimum, lane="min({0}, {1})", affine="min")


@op("max.type d, a, b", type=_INT, isa="integer-arithmetic-instructions-max")
def max_(m: Modifiers) -> Value:
    """The greater."""
    return Value(np.maximum, lane="max({0}, {1})", affine="max")


@op("min.relu.s32 d, a, b", isa="integer-arithmetic-instructions-min")
def min_relu(m: Modifiers) -> Value:
    """The smaller, or 0 if that is negative."""
    return Value(integers.relu(np.minimum), lane="max(min({0}, {1}), 0)")


@op("max.relu.s32 d, a, b", isa="integer-arithmetic-instructions-max")
def max_relu(m: Modifiers) -> Value:
    """The greater, or 0 if that is negative."""
    return Value(integers.relu(np.maximum), lane="max({0}, {1}, 0)")


@op("min.u16x2 d, a, b", isa="integer-arithmetic-instructions-min")
@op("min{.relu}.s16x2 d, a, b", isa="integer-arithmetic-instructions-min")
def min_halves(m: Modifiers) -> Value:
    """The smaller, in each half."""
    part = integers.relu(np.minimum) if m.get("relu") else np.minimum
    return Value(blocked(integers.halves(m["type"][:3], part), "b32"))


@op("max.u16x2 d, a, b", isa="integer-arithmetic-instructions-max")
@op("max{.relu}.s16x2 d, a, b", isa="integer-arithmetic-instructions-max")
def max_halves(m: Modifiers) -> Value:
    """The greater, in each half."""
    part = integers.relu(np.maximum) if m.get("relu") else np.maximum
    return Value(blocked(integers.halves(m["type"][:3], part), "b32"))


@op(
    "dp4a.atype.btype d, a, b, c",
    atype="u32 s32",
    btype="u32 s32",
    types="d:b32 a:atype b:btype c:b32",
    isa="integer-arithmetic-instructions-dp4a",
)
def dp4a(m: Modifiers) -> Value:
    """c plus the dot product of four bytes and four bytes."""
    return Value(blocked(integers.dot_4("b32"), "b32"))


@op(
    "dp2a.half.atype.btype d, a, b, c",
    half="lo hi",
    atype="u32 s32",
    btype="u32 s32",
    types="d:b32 a:atype b:btype c:b32",
    isa="integer-arithmetic-instructions-dp2a",
)
def dp2a(m: Modifiers) -> Value:
    """c plus the dot product of two words of a and two bytes of b."""
    return Value(blocked(integers.dot_2("b32", m["half"] == "hi"), "b32"))
