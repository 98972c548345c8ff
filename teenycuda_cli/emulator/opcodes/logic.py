"""Logic and shifts: and or xor not cnot lop3 shl shr shf prmt."""

from __future__ import annotations

import numpy as np

from teenycuda_cli.emulator.numerics import bits
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.numerics.types import width, wrapped
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_BITS = "b16 b32 b64"
_ISA = "logic-and-shift-instructions-"


@op("and.type d, a, b", type=_BITS, isa=_ISA + "and")
@op("and.pred d, {!}a, {!}b", isa=_ISA + "and")
def and_(m: Modifiers) -> Value:
    """Bitwise and."""
    return Value(np.bitwise_and, lane="{0} & {1}", affine=None if m["type"] == "pred" else "and")


@op("or.type d, a, b", type=_BITS, isa=_ISA + "or")
@op("or.pred d, {!}a, {!}b", isa=_ISA + "or")
def or_(m: Modifiers) -> Value:
    """Bitwise or."""
    return Value(np.bitwise_or, lane="{0} | {1}", affine=None if m["type"] == "pred" else "or")


@op("xor.type d, a, b", type=_BITS, isa=_ISA + "xor")
@op("xor.pred d, {!}a, {!}b", isa=_ISA + "xor")
def xor(m: Modifiers) -> Value:
    """Bitwise exclusive or."""
    return Value(np.bitwise_xor, lane="{0} ^ {1}", affine=None if m["type"] == "pred" else "xor")


@op("not.type d, a", type=_BITS, isa=_ISA + "not")
@op("not.pred d, {!}a", isa=_ISA + "not")
def not_(m: Modifiers) -> Value:
    """Bitwise complement."""
    if m["type"] == "pred":
        return Value(np.logical_not, lane="not {0}")
    return Value(np.bitwise_not, lane=wrapped("~{0}", m["type"]), affine="not")


@op("cnot.type d, a", type="b16 b32 b64", isa=_ISA + "cnot")
def cnot(m: Modifiers) -> Value:
    """1 where a is 0, else 0."""
    return Value(bits.is_zero, lane="int({0} == 0)")


@op("lop3.b32 d, a, b, c, table", types="table:b32=", isa=_ISA + "lop3")
def lop3(m: Modifiers) -> Value:
    """The function of three bits that the table says."""
    return Value(blocked(bits.logic_3, "b32"))


@op(
    "lop3.boolop.b32 d|p, a, b, c, table, {!}q",
    boolop="or and",
    types="p:pred q:pred table:b32=",
    isa=_ISA + "lop3",
)
def lop3_test(m: Modifiers) -> Value:
    """lop3, and whether its result is not 0, combined with q."""
    return Value(bits.logic_3_test(m["boolop"]))


@op("shl.type d, a, b", type="b16 b32 b64", types="b:u32", isa=_ISA + "shl")
def shl(m: Modifiers) -> Value:
    """Shift left; amounts of the width and more give zero."""
    size = width(m["type"])
    lane = wrapped(f"({{0}} << min({{1}}, {size}))", m["type"])
    return Value(bits.shift_left_16 if size == 16 else np.left_shift, lane=lane, affine="shl")


@op("shr.type d, a, b", type="b16 b32 b64 u16 u32 u64", types="b:u32", isa=_ISA + "shr")
def shr_unsigned(m: Modifiers) -> Value:
    """Shift right, zeros coming in; amounts of the width and more give zero."""
    size = width(m["type"])
    lane = f"{{0}} >> min({{1}}, {size})"
    return Value(bits.shift_right_16 if size == 16 else np.right_shift, lane=lane, affine="shr")


@op("shr.type d, a, b", type="s16 s32 s64", types="b:u32", isa=_ISA + "shr")
def shr_signed(m: Modifiers) -> Value:
    """Shift right, the sign coming in; amounts of the width and more give 0 or −1."""
    lane = f"{{0}} >> min({{1}}, {width(m['type'])})"
    return Value(bits.shift_right_signed(m["type"]), lane=lane, affine="shr")


@op("shf.side.mode.b32 d, a, b, c", side="l r", mode="clamp wrap", types="c:u32", isa=_ISA + "shf")
def shf(m: Modifiers) -> Value:
    """b above a, shifted; amounts stop at 32 or wrap there."""
    amount = "({2} & 31)" if m["mode"] == "wrap" else "min({2}, 32)"
    shifted = f"<< {amount} >> 32" if m["side"] == "l" else f">> {amount}"
    lane = f"(({{1}} << 32 | {{0}}) {shifted}) & 0xffffffff"
    return Value(blocked(bits.funnel(m["side"] == "l", m["mode"] == "wrap"), "b32"), lane=lane)


@op(
    "prmt.b32{.mode} d, a, b, c",
    mode="f4e b4e rc8 ecl ecr rc16",
    isa="data-movement-and-conversion-instructions-prmt",
)
def prmt(m: Modifiers) -> Value:
    """Four bytes picked out of eight."""
    return Value(blocked(bits.permute(m["mode"]), "b32"))
