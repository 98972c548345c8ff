"""cvt: conversions among integers and floats."""

from __future__ import annotations

from teenycuda_cli.emulator.numerics import conversions
from teenycuda_cli.emulator.numerics.types import wrapped
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_INT = "u8 u16 u32 u64 s8 s16 s32 s64"
_CVT = "data-movement-and-conversion-instructions-cvt"


@op("cvt.dtype.atype d, a", dtype=_INT, atype=_INT, types="d:dtype a:atype", isa=_CVT)
def integer_to_integer(m: Modifiers) -> Value:
    """The low bits, or the value extended as its own type says."""
    return Value(conversions.cast(m["dtype"]), lane=wrapped("{0}", m["dtype"]), affine="cvt")


@op("cvt.rnd.f32.atype d, a", rnd="rn", atype=_INT, types="d:f32 a:atype", isa=_CVT)
def integer_to_f32(m: Modifiers) -> Value:
    """The nearest f32."""
    return Value(conversions.cast("f32"), lane="f32_of_int({0})")


@op("cvt.rnd.f64.atype d, a", rnd="rn", atype=_INT, types="d:f64 a:atype", isa=_CVT)
def integer_to_f64(m: Modifiers) -> Value:
    """The nearest f64."""
    return Value(conversions.cast("f64"), lane="float({0})")


@op("cvt.f64.f32 d, a", types="d:f64 a:f32", isa=_CVT)
def f32_to_f64(m: Modifiers) -> Value:
    """The same value, wider."""
    return Value(conversions.cast("f64"), lane="{0}", raw_nan=True)
