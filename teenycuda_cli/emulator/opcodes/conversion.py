"""cvt among integers, f32 and f64; cvt.pack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import conversions
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.numerics.floating import NAN32, flushed, modified, saturated
from teenycuda_cli.emulator.numerics.types import highest, lowest, wrapped
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_INT = "u8 u16 u32 u64 s8 s16 s32 s64"
_RND = "rn rz rm rp"
_WHOLE = "rni rzi rmi rpi"
_CVT = "data-movement-and-conversion-instructions-cvt"


@op("cvt.dtype.atype d, a", dtype=_INT, atype=_INT, types="d:dtype a:atype", isa=_CVT)
def integer_to_integer(m: Modifiers) -> Value:
    """The low bits, or the value extended as its own type says."""
    return Value(conversions.cast(m["dtype"]), lane=wrapped("{0}", m["dtype"]), affine="cvt")


def _may_clamp(m: Modifiers) -> bool:
    return not conversions.is_narrower(m["atype"], m["dtype"])


@op(
    "cvt.sat.dtype.atype d, a",
    dtype=_INT,
    atype=_INT,
    types="d:dtype a:atype",
    where=_may_clamp,
    isa=_CVT,
)
def integer_clamped(m: Modifiers) -> Value:
    """The nearest value of the other type."""
    low, high = lowest(m["dtype"]), highest(m["dtype"])
    evaluate = blocked(conversions.clamped(m["dtype"], m["atype"]), m["dtype"])
    return Value(evaluate, lane=f"max({low}, min({{0}}, {high}))")


@op("cvt.rnd{.ftz}{.sat}.f32.atype d, a", rnd=_RND, atype=_INT, types="d:f32 a:atype", isa=_CVT)
@op("cvt.rnd{.sat}.f64.atype d, a", rnd=_RND, atype=_INT, types="d:f64 a:atype", isa=_CVT)
def integer_to_float(m: Modifiers) -> Value:
    """The nearest float of a mode."""
    target = "f64" if "f64" in m else "f32"
    convert = conversions.integer_to_float(target, m["rnd"])
    if m["sat"]:
        return Value(blocked(lambda a: saturated(convert(a)), target))
    if m["rnd"] != "rn":
        return Value(blocked(convert, target))
    return Value(convert, lane="f32_of_int({0})" if target == "f32" else "float({0})")


@op(
    "cvt.whole{.ftz}{.sat}.dtype.f32 d, a",
    whole=_WHOLE,
    dtype=_INT,
    types="d:dtype a:f32",
    isa=_CVT,
)
@op("cvt.whole{.sat}.dtype.f64 d, a", whole=_WHOLE, dtype=_INT, types="d:dtype a:f64", isa=_CVT)
def float_to_integer(m: Modifiers) -> Value:
    """The nearest integer of a mode, clamped to the range."""
    source, target, ftz = "f64" if "f64" in m else "f32", m["dtype"], bool(m.get("ftz"))
    convert = conversions.to_integer(target, source, m["whole"])
    low, high, nan = lowest(target), highest(target), conversions.nan_integer(target, source)
    value = "ftz({0})" if ftz else "{0}"
    lane = f"integer({value}, '{m['whole']}', {low}, {high}, {nan if low == 0 else -nan})"
    return Value(blocked((lambda a: convert(flushed(a))) if ftz else convert, target), lane=lane)


def _is_modified(m: Modifiers) -> bool:
    return bool(m.get("whole") or m["ftz"] or m["sat"])


@op("cvt.f32.f32 d, a", types="d:f32 a:b32", isa=_CVT)
def f32_moved(m: Modifiers) -> Value:
    """The same bits."""
    return Value(blocked(conversions.moved, "f32"))


@op("cvt{.whole}{.ftz}{.sat}.f32.f32 d, a", whole=_WHOLE, where=_is_modified, types="d:f32 a:f32", isa=_CVT)
@op("cvt{.whole}{.sat}.f64.f64 d, a", whole=_WHOLE, types="d:f64 a:f64", isa=_CVT)
def float_to_whole(m: Modifiers) -> Value:
    """The nearest whole number of a mode, or the value itself."""
    kind = "f64" if "f64" in m else "f32"
    ftz, sat = bool(m.get("ftz")), bool(m["sat"])
    convert: Callable[..., Any] = conversions.WHOLE[m["whole"]] if m["whole"] else conversions.cast(kind)
    lane = f"whole({{0}}, '{m['whole']}')" if m["whole"] else "{0}"
    evaluate = blocked(modified(convert, ftz, sat), kind) if ftz or sat else convert
    lane = lane.replace("{0}", "ftz({0})") if ftz else lane
    return Value(evaluate, lane=f"sat({lane})" if sat else lane, raw_nan=kind == "f32" and not sat)


@op("cvt.rnd{.ftz}{.sat}.f32.f64 d, a", rnd=_RND, types="d:f32 a:f64", isa=_CVT)
def f64_to_f32(m: Modifiers) -> Value:
    """The nearest f32 of a mode."""
    ftz, sat, mode = bool(m["ftz"]), bool(m["sat"]), m["rnd"]
    convert: Callable[..., Any] = conversions.cast("f32")
    if mode != "rn":
        convert = blocked(lambda a: conversions.narrow(a, "f32", mode), "f32")
    lane = "f32({0})" if mode == "rn" else f"directed('mul', 'f32', '{mode}', {{0}}, 1.0)"
    if ftz or sat:
        convert = blocked(modified(convert, ftz, sat), "f32")
        lane = f"ftz({lane})" if ftz else lane
        lane = f"sat({lane})" if sat else lane
    return Value(convert, lane=lane)


@op("cvt.f64.f32 d, a", types="d:f64 a:b32", isa=_CVT)
def f32_to_f64(m: Modifiers) -> Value:
    """The same value, wider; a NaN keeps its payload."""
    return Value(blocked(conversions.widened, "f64"), lane="f32_of_bits({0})")


@op("cvt{.ftz}{.sat}.f64.f32 d, a", where=_is_modified, types="d:f64 a:f32", isa=_CVT)
def f32_flushed_to_f64(m: Modifiers) -> Value:
    """The same value, wider, subnormals flushed or clamped to [0, 1]; NaN is PTX's one f32."""
    ftz, sat = bool(m["ftz"]), bool(m["sat"])

    def convert(a: Any) -> Any:
        values = flushed(a) if ftz else a
        values = np.where(np.isnan(values), NAN32, values).astype(np.float64)
        return saturated(values) if sat else values

    lane = "canonical32(ftz({0}))" if ftz else "{0}"
    return Value(blocked(convert, "f64"), lane=f"sat({lane})" if sat else lane)


@op("cvt.pack.sat.ctype.s32 d, a, b", ctype="u16 s16", types="d:b32 a:s32 b:s32", isa=_CVT + "-pack")
@op(
    "cvt.pack.sat.ctype.s32.b32 d, a, b, c",
    ctype="u2 s2 u4 s4 u8 s8",
    types="d:b32 a:s32 b:s32 c:b32",
    isa=_CVT + "-pack",
)
def pack(m: Modifiers) -> Value:
    """Two clamped integers side by side, a above b, and c above both."""
    return Value(blocked(conversions.packed_integers(m["ctype"], "b32" in m), "b32"))
