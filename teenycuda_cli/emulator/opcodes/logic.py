"""Logic and shifts: and or xor not shl shr."""

from __future__ import annotations

import numpy as np

from teenycuda_cli.emulator.numerics import integers
from teenycuda_cli.emulator.numerics.types import width, wrapped
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_BITS = "pred b16 b32 b64"


@op("and.type d, a, b", type=_BITS, isa="logic-and-shift-instructions-and")
def and_(m: Modifiers) -> Value:
    """Bitwise and."""
    return Value(np.bitwise_and, lane="{0} & {1}", affine=None if m["type"] == "pred" else "and")


@op("or.type d, a, b", type=_BITS, isa="logic-and-shift-instructions-or")
def or_(m: Modifiers) -> Value:
    """Bitwise or."""
    return Value(np.bitwise_or, lane="{0} | {1}", affine=None if m["type"] == "pred" else "or")


@op("xor.type d, a, b", type=_BITS, isa="logic-and-shift-instructions-xor")
def xor(m: Modifiers) -> Value:
    """Bitwise exclusive or."""
    return Value(np.bitwise_xor, lane="{0} ^ {1}")


@op("not.type d, a", type=_BITS, isa="logic-and-shift-instructions-not")
def not_(m: Modifiers) -> Value:
    """Bitwise complement."""
    if m["type"] == "pred":
        return Value(np.logical_not, lane="not {0}")
    return Value(np.bitwise_not, lane=wrapped("~{0}", m["type"]))


@op("shl.type d, a, b", type="b16 b32 b64", types="b:u32", isa="logic-and-shift-instructions-shl")
def shl(m: Modifiers) -> Value:
    """Shift left; amounts of the width and more give zero."""
    bits = width(m["type"])
    lane = wrapped(f"{{0}} << min({{1}}, {bits})", m["type"])
    return Value(integers.shift_left_16 if bits == 16 else np.left_shift, lane=lane, affine="shl")


@op("shr.type d, a, b", type="b16 b32 b64 u16 u32 u64", types="b:u32", isa="logic-and-shift-instructions-shr")
def shr_unsigned(m: Modifiers) -> Value:
    """Shift right, zeros coming in; amounts of the width and more give zero."""
    bits = width(m["type"])
    lane = f"{{0}} >> min({{1}}, {bits})"
    return Value(integers.shift_right_16 if bits == 16 else np.right_shift, lane=lane, affine="shr")


@op("shr.type d, a, b", type="s16 s32 s64", types="b:u32", isa="logic-and-shift-instructions-shr")
def shr_signed(m: Modifiers) -> Value:
    """Shift right, the sign coming in; amounts of the width and more give 0 or −1."""
    bits = width(m["type"])
    lane = f"{{0}} >> min({{1}}, {bits})"
    return Value(integers.shift_right_signed(m["type"]), lane=lane, affine="shr")
