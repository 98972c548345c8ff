"""Counting, finding, extracting and inserting bits: popc clz bfind fns brev bfe bfi bmsk szext."""

from __future__ import annotations

from teenycuda_cli.emulator.numerics import bits
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.numerics.types import signed, width
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_ISA = "integer-arithmetic-instructions-"
_INT = "u32 u64 s32 s64"


@op("popc.type d, a", type="b32 b64", types="d:u32", isa=_ISA + "popc")
def popc(m: Modifiers) -> Value:
    """The number of ones."""
    return Value(bits.count_ones, lane="{0}.bit_count()")


@op("clz.type d, a", type="b32 b64", types="d:u32", isa=_ISA + "clz")
def clz(m: Modifiers) -> Value:
    """The number of zeros above the first one; the width for 0."""
    return Value(blocked(bits.count_leading_zeros, "u32"), lane=f"{width(m['type'])} - {{0}}.bit_length()")


@op("bfind{.shiftamt}.type d, a", type=_INT, types="d:u32", isa=_ISA + "bfind")
def bfind(m: Modifiers) -> Value:
    """The place of the highest bit that is not the sign; all ones where there is none."""
    return Value(blocked(bits.find_first(bool(m["shiftamt"])), "u32"))


@op("fns.b32 d, mask, base, offset", types="base:u32 offset:s32", isa=_ISA + "fns")
def fns(m: Modifiers) -> Value:
    """The place of the n-th one from a bit on; all ones where there is none."""
    return Value(blocked(bits.find_nth, "b32"))


@op("brev.type d, a", type="b32 b64", isa=_ISA + "brev")
def brev(m: Modifiers) -> Value:
    """The bits in reverse order."""
    return Value(blocked(bits.reverse, m["type"]))


@op("bfe.type d, a, b, c", type=_INT, types="b:u32 c:u32", isa=_ISA + "bfe")
def bfe(m: Modifiers) -> Value:
    """c bits from bit b on, extended."""
    lane = f"bfe_u({{0}}, {{1}}, {{2}}, {width(m['type'])})"
    if signed(m["type"]):
        lane = f"bfe_s({{0}}, {{1}}, {{2}}, {width(m['type'])})"
    return Value(blocked(bits.extract(m["type"]), m["type"]), lane=lane)


@op("bfi.type f, a, b, c, e", type="b32 b64", types="c:u32 e:u32", isa=_ISA + "bfi")
def bfi(m: Modifiers) -> Value:
    """b with e bits from bit c on taken from a."""
    lane = f"bfi({{0}}, {{1}}, {{2}}, {{3}}, {width(m['type'])})"
    return Value(blocked(bits.insert(m["type"]), m["type"]), lane=lane)


@op("bmsk.mode.b32 d, a, b", mode="clamp wrap", types="a:u32 b:u32", isa=_ISA + "bmsk")
def bmsk(m: Modifiers) -> Value:
    """b ones from bit a on."""
    return Value(blocked(bits.mask_of(m["mode"] == "wrap"), "b32"))


@op("szext.mode.type d, a, b", mode="clamp wrap", type="u32 s32", types="b:u32", isa=_ISA + "szext")
def szext(m: Modifiers) -> Value:
    """The low b bits, extended."""
    return Value(blocked(bits.extend(m["type"], m["mode"] == "wrap"), m["type"]))
