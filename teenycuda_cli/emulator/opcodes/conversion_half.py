"""cvt to and from f16, bf16, tf32, e4m3x2 and e5m2x2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import conversions, half
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.numerics.floating import flushed, saturated
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_INT = "u8 u16 u32 u64 s8 s16 s32 s64"
_LONG = "u16 u32 u64 s16 s32 s64"
_RND = "rn rz rm rp"
_WHOLE = "rni rzi rmi rpi"
_CVT = "data-movement-and-conversion-instructions-cvt"
_EXPONENT, _LAST_OF_TF32 = np.uint32(0x7F800000), np.uint32(0x2000)


def _clean(m: Modifiers, values: Any, ftz: bool, target: str) -> Any:
    """Values before they are rounded: .ftz, .sat, .relu and .satfinite all commute with the rounding."""
    if ftz:
        values = flushed(values)
    if m.get("sat"):
        values = saturated(values)
    if m.get("relu"):
        values = conversions.relu(values)
    if m.get("satfinite"):
        values = conversions.finite(values, target)
    return values


@op("cvt.rnd{.sat}.f16.atype d, a", rnd=_RND, atype=_INT, types="d:f16 a:atype", isa=_CVT)
@op("cvt.rnd.bf16.atype d, a", rnd=_RND, atype=_LONG, types="d:bf16 a:atype", isa=_CVT)
def integer_to_half(m: Modifiers) -> Value:
    """The nearest half of a mode."""
    target = "f16" if "f16" in m else "bf16"

    def convert(a: Any) -> Any:
        return conversions.narrow(_clean(m, conversions.odd_f64(a), False, target), target, m["rnd"])

    return Value(blocked(convert, target))


@op("cvt.whole{.sat}.dtype.f16 d, a", whole=_WHOLE, dtype=_INT, types="d:dtype a:f16", isa=_CVT)
@op("cvt.whole.dtype.bf16 d, a", whole=_WHOLE, dtype=_LONG, types="d:dtype a:bf16", isa=_CVT)
def half_to_integer(m: Modifiers) -> Value:
    """The nearest integer of a mode, clamped to the range."""
    source = "f16" if "f16" in m else "bf16"
    convert = conversions.to_integer(m["dtype"], source, m["whole"])
    return Value(blocked(lambda a: convert(conversions.widen(a, source)), m["dtype"]))


def _between(m: Modifiers, target: str, source: str) -> Callable[..., Any]:
    """From one float type to another; .ftz flushes f32 on either side, but not what becomes f16."""
    ftz, mode = bool(m.get("ftz")) and target != "f16", m.get("rnd", "")

    def convert(a: Any) -> Any:
        values = _clean(m, conversions.widen(a, source), ftz and source != "f64", target)
        if m.get("whole"):
            values = conversions.WHOLE[m["whole"]](values)
        return conversions.narrow(values, target, mode)

    return blocked(convert, target)


@op("cvt.rnd{.ftz}{.sat}.f16.f32 d, a", "cvt.rnd{.ftz}.bf16.f32 d, a", rnd=_RND, types="a:f32", isa=_CVT)
@op(
    "cvt.rnd.relu{.satfinite}.f16.f32 d, a",
    "cvt.rnd.relu{.satfinite}.bf16.f32 d, a",
    "cvt.rnd.satfinite.f16.f32 d, a",
    "cvt.rnd.satfinite.bf16.f32 d, a",
    rnd="rn rz",
    types="a:f32",
    isa=_CVT,
)
@op("cvt.rnd{.sat}.f16.f64 d, a", "cvt.rnd.bf16.f64 d, a", rnd=_RND, types="a:f64", isa=_CVT)
def to_half(m: Modifiers) -> Value:
    """The nearest half of a mode."""
    return Value(_between(m, "f16" if "f16" in m else "bf16", "f64" if "f64" in m else "f32"))


@op("cvt{.ftz}{.sat}.f32.f16 d, a", types="d:f32 a:f16", isa=_CVT)
@op("cvt{.sat}.f64.f16 d, a", types="d:f64 a:f16", isa=_CVT)
@op("cvt{.rnd}{.ftz}.f32.bf16 d, a", rnd=_RND, types="d:f32 a:bf16", isa=_CVT)
@op("cvt{.rnd}.f64.bf16 d, a", rnd=_RND, types="d:f64 a:bf16", isa=_CVT)
def from_half(m: Modifiers) -> Value:
    """The same value, wider."""
    target, source = "f64" if "f64" in m else "f32", "bf16" if "bf16" in m else "f16"
    moved = source == "bf16" and not m.get("ftz")
    return Value(_between({**m, "rnd": ""}, target, source), raw_nan=target == "f32" and not moved)


@op("cvt{.rnd}.f16.bf16 d, a", rnd=_RND, types="d:f16 a:bf16", isa=_CVT)
@op("cvt{.rnd}.bf16.f16 d, a", rnd=_RND, types="d:bf16 a:f16", isa=_CVT)
def half_to_half(m: Modifiers) -> Value:
    """The nearest half of the other kind, to nearest even unless a mode is given."""
    target = next(name for name in m if name in ("f16", "bf16"))
    return Value(_between(m, target, "bf16" if target == "f16" else "f16"))


@op("cvt{.whole}{.sat}.f16.f16 d, a", whole=_WHOLE, types="d:f16 a:f16", isa=_CVT)
@op("cvt{.whole}.bf16.bf16 d, a", whole=_WHOLE, types="d:bf16 a:bf16", isa=_CVT)
def half_to_whole(m: Modifiers) -> Value:
    """The nearest whole number of a mode, or the value itself."""
    kind = "f16" if "f16" in m else "bf16"
    return Value(_between(m, kind, kind))


@op(
    "cvt.rnd{.relu}{.satfinite}.f16x2.f32 d, a, b",
    "cvt.rnd{.relu}{.satfinite}.bf16x2.f32 d, a, b",
    rnd="rn rz",
    types="a:f32 b:f32",
    isa=_CVT,
)
def pair_of_halves(m: Modifiers) -> Value:
    """Two halves, a above b."""
    kind = "f16" if "f16x2" in m else "bf16"
    one = _between(m, kind, "f32")
    return Value(blocked(lambda a, b: half.joined(one(b), one(a)), "b32"))


@op("cvt.rnd{.relu}.tf32.f32 d, a", rnd="rn rz", types="d:tf32 a:f32", isa=_CVT)
@op("cvt.rna{.satfinite}.tf32.f32 d, a", types="d:tf32 a:f32", isa=_CVT)
def to_tf32(m: Modifiers) -> Value:
    """10 bits of fraction."""
    mode = m.get("rnd") or "rna"

    def convert(a: Any) -> Any:
        values = _clean({**m, "satfinite": ""}, a, False, "tf32")
        bits = half.to_tf32(values, mode)
        if m.get("satfinite"):  # the hardware steps down from infinity, and from NaN all the same
            bits = np.where(bits & _EXPONENT == _EXPONENT, bits - _LAST_OF_TF32, bits)
        return bits

    return Value(blocked(convert, "tf32"))


@op(
    "cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b",
    "cvt.rn.satfinite{.relu}.e5m2x2.f32 d, a, b",
    types="a:f32 b:f32",
    isa=_CVT,
)
def f32_to_fp8(m: Modifiers) -> Value:
    """Two fp8, a above b."""
    kind = "e4m3" if "e4m3x2" in m else "e5m2"
    code = half.to_fp8(kind)

    def convert(a: Any, b: Any) -> Any:
        high, low = (conversions.relu(v) if m["relu"] else v for v in (a, b))
        return code(high).astype("u2") << 8 | code(low)

    return Value(blocked(convert, "b16"))


@op(
    "cvt.rn.satfinite{.relu}.e4m3x2.f16x2 d, a",
    "cvt.rn.satfinite{.relu}.e5m2x2.f16x2 d, a",
    types="d:b16 a:f16x2",
    isa=_CVT,
)
def f16x2_to_fp8(m: Modifiers) -> Value:
    """Two fp8 from two f16."""
    code = half.to_fp8("e4m3" if "e4m3x2" in m else "e5m2")

    def convert(a: Any) -> Any:
        high, low = half.from_f16(half.upper(a)), half.from_f16(half.lower(a))
        if m["relu"]:
            high, low = conversions.relu(high), conversions.relu(low)
        return code(high).astype("u2") << 8 | code(low)

    return Value(blocked(convert, "b16"))


@op(
    "cvt.rn{.relu}.f16x2.e4m3x2 d, a",
    "cvt.rn{.relu}.f16x2.e5m2x2 d, a",
    types="d:f16x2 a:b16",
    isa=_CVT,
)
def fp8_to_f16x2(m: Modifiers) -> Value:
    """Two f16 from two fp8."""
    decode = half.from_fp8("e4m3" if "e4m3x2" in m else "e5m2")

    def convert(a: Any) -> Any:
        parts = [decode(a & 0xFF), decode(a >> 8)]
        if m["relu"]:
            parts = [half.to_f16(conversions.relu(half.from_f16(part))) for part in parts]
        return half.joined(*parts)

    return Value(blocked(convert, "b32"))
