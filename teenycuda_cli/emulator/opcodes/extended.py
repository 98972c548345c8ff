"""Extended-precision integer arithmetic: add sub mad with the carry flag CC.CF."""

from __future__ import annotations

from teenycuda_cli.emulator.numerics import carries
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_TYPES = "u32 s32 u64 s64"
_SHORT = "u16 s16"
_BITS = "d:bits a:bits b:bits"
_ISA = "extended-precision-arithmetic-instructions-"


@op("add.cc.type d, a, b", type=_TYPES, types=_BITS, isa=_ISA + "add-cc")
def add_cc(m: Modifiers) -> Value:
    """Sum, carry out."""
    return Value(carries.add(reads=False, writes=True))


@op("addc{.cc}.type d, a, b", type=_TYPES, types=_BITS, reads_carry=True, isa=_ISA + "addc")
@op("addc.type d, a, b", type=_SHORT, types=_BITS, reads_carry=True, isa=_ISA + "addc")
def addc(m: Modifiers) -> Value:
    """Sum with carry in."""
    return Value(carries.add(reads=True, writes=bool(m.get("cc"))))


@op("addc.sat.s32 d, a, b", reads_carry=True, isa=_ISA + "addc")
def addc_sat(m: Modifiers) -> Value:
    """Sum with carry in, clamped to the range."""
    return Value(carries.add_saturated)


@op("sub.cc.type d, a, b", type=_TYPES, types=_BITS, isa=_ISA + "sub-cc")
def sub_cc(m: Modifiers) -> Value:
    """Difference, CC.CF telling that there is no borrow."""
    return Value(carries.subtract(reads=False, writes=True))


@op("subc{.cc}.type d, a, b", type=_TYPES, types=_BITS, reads_carry=True, isa=_ISA + "subc")
@op("subc.type d, a, b", type=_SHORT, types=_BITS, reads_carry=True, isa=_ISA + "subc")
def subc(m: Modifiers) -> Value:
    """Difference, less 1 where CC.CF is 0."""
    return Value(carries.subtract(reads=True, writes=bool(m.get("cc"))))


@op("subc.sat.s32 d, a, b", reads_carry=True, isa=_ISA + "subc")
def subc_sat(m: Modifiers) -> Value:
    """Difference, less 1 where CC.CF is 0, clamped to the range."""
    return Value(carries.subtract_saturated)


@op("mad.half.cc.type d, a, b, c", half="lo hi", type=_TYPES, types="d:bits c:bits", isa=_ISA + "mad-cc")
def mad_cc(m: Modifiers) -> Value:
    """One half of the product, plus c, carry out."""
    return Value(carries.multiply_add(m["type"], m["half"] == "hi", reads=False, writes=True))


@op(
    "madc.half{.cc}.type d, a, b, c",
    half="lo hi",
    type=_TYPES,
    types="d:bits c:bits",
    reads_carry=True,
    isa=_ISA + "madc",
)
@op("madc.lo.type d, a, b, c", type=_SHORT, types="d:bits c:bits", reads_carry=True, isa=_ISA + "madc")
def madc(m: Modifiers) -> Value:
    """One half of the product, plus c, with carry in."""
    high = m.get("half") == "hi"
    return Value(carries.multiply_add(m["type"], high, reads=True, writes=bool(m.get("cc"))))
