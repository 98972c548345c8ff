"""Extended-precision integer arithmetic: add sub mad with the carry flag CC.CF."""

from __future__ import annotations

from teenycuda_cli.emulator.numerics import carries
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_TYPES = "u32 s32 u64 s64"
_BITS = "d:bits a:bits b:bits"
_ISA = "extended-precision-arithmetic-instructions-"


@op("add.cc.type d, a, b", type=_TYPES, types=_BITS, isa=_ISA + "add-cc")
def add_cc(m: Modifiers) -> Value:
    """Sum, carry out."""
    return Value(carries.add(reads=False, writes=True))


@op("addc{.cc}.type d, a, b", type=_TYPES, types=_BITS, reads_carry=True, isa=_ISA + "addc")
def addc(m: Modifiers) -> Value:
    """Sum with carry in."""
    return Value(carries.add(reads=True, writes=bool(m["cc"])))


@op("sub.cc.type d, a, b", type=_TYPES, types=_BITS, isa=_ISA + "sub-cc")
def sub_cc(m: Modifiers) -> Value:
    """Difference, CC.CF telling that there is no borrow."""
    return Value(carries.subtract(reads=False, writes=True))


@op("subc{.cc}.type d, a, b", type=_TYPES, types=_BITS, reads_carry=True, isa=_ISA + "subc")
def subc(m: Modifiers) -> Value:
    """Difference, less 1 where CC.CF is 0."""
    return Value(carries.subtract(reads=True, writes=bool(m["cc"])))


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
def madc(m: Modifiers) -> Value:
    """One half of the product, plus c, with carry in."""
    return Value(carries.multiply_add(m["type"], m["half"] == "hi", reads=True, writes=bool(m["cc"])))
