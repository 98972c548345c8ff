"""Conversions among integers and floats.

A float that an integer cannot hold becomes the nearest integer that it can.
NaN becomes 0, or for f64 sources and 64-bit results the top bit alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import half
from teenycuda_cli.emulator.numerics.fma import odd, two_sum
from teenycuda_cli.emulator.numerics.rounding import narrowed, stepped
from teenycuda_cli.emulator.numerics.types import dtype, highest, lowest, width

WHOLE: dict[str, np.ufunc] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_GREATEST = {"f16": 65504.0, "bf16": (2 - 2.0**-7) * 2.0**127, "tf32": (2 - 2.0**-10) * 2.0**127}


def cast(name: str) -> Callable[..., Any]:
    """numpy's own conversion, where it is PTX's: among integers, integer to float nearest, f32 to f64."""
    result = dtype(name)

    def convert(a: Any, out: Any = None) -> Any:
        if out is None:
            return a.astype(result)
        np.copyto(out, a, casting="unsafe")
        return out

    return convert


def clamped(target: str, source: str) -> Callable[..., Any]:
    """An integer clamped to the range of another integer type."""
    least, most = max(lowest(target), lowest(source)), min(highest(target), highest(source))
    low, high = dtype(source).type(least), dtype(source).type(most)

    def convert(a: Any) -> Any:
        return np.clip(a, low, high).astype(dtype(target))

    return convert


def nan_integer(target: str, source: str) -> int:
    """What NaN of a float type becomes in an integer type, as raw bits."""
    if source == "f64" or width(target) == 64:
        return 1 << (width(target) - 1)
    return 0


def to_integer(target: str, source: str, mode: str) -> Callable[[Any], Any]:
    """f32 or f64 values (of the PTX type `source`) to the nearest integer of a mode, clamped to the range."""
    kind, whole = dtype(target), WHOLE[mode]
    least, most = lowest(target), highest(target)
    floor, ceiling = float(least), float(most + 1)
    nan = np.array(nan_integer(target, source), f"u{kind.itemsize}").view(kind)[()]

    def convert(a: Any) -> Any:
        rounded = whole(a)
        inside = (rounded >= floor) & (rounded < ceiling)
        if inside.all():
            return rounded.astype(kind)
        result = np.where(inside, rounded, 0).astype(kind)
        result = np.where(rounded >= ceiling, kind.type(most), result)
        result = np.where(rounded < floor, kind.type(least), result)
        return np.where(np.isnan(rounded), nan, result)

    return convert


def _in_two(a: Any) -> tuple[Any, Any]:
    """A 64-bit integer as an f64 and the exact rest."""
    low = (a & a.dtype.type(0xFFFFFFFF)).astype(np.float64)
    high = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32
    return two_sum(high, low)


def odd_f64(a: Any) -> Any:
    """An integer as f64, exact or rounded to odd."""
    return odd(*_in_two(a)) if a.dtype.itemsize == 8 else a.astype(np.float64)


def integer_to_float(target: str, mode: str) -> Callable[..., Any]:
    """An integer to f32, f64, f16 or bf16 in a mode; halves are raw bits."""
    if mode == "rn" and target in ("f32", "f64"):
        return cast(target)

    def convert(a: Any, out: Any = None) -> Any:
        if target != "f64":
            return narrow(odd_f64(a), target, mode)
        if a.dtype.itemsize < 8:
            return a.astype(np.float64)
        return stepped(*_in_two(a), mode)

    return convert


def narrow(values: Any, target: str, mode: str) -> Any:
    """f32 or f64 values to a float type of PTX in a mode, rounded once; halves and tf32 are raw bits."""
    if target in ("f16", "bf16"):
        bits = half.to_f16(values, mode) if target == "f16" else half.to_bf16(values, mode)
        return _with_payloads(values, bits, target) if values.dtype == np.float64 else bits
    if target == "tf32":
        return half.to_tf32(values, mode)
    if target == "f32" and values.dtype == np.float64:
        return narrowed(values, mode or "rn")
    return values.astype(dtype(target))


def _with_payloads(values: Any, bits: Any, target: str) -> Any:
    """Half bits with the sign and the upper payload of each NaN among f64 values, quiet."""
    missing = np.isnan(values)
    if not missing.any():
        return bits
    upper = np.asarray(values).view(np.uint64) >> np.uint64(32)
    sign = (upper >> np.uint64(16)) & np.uint64(0x8000)
    drop, fraction, quiet = (10, 0x3FF, 0x7E00) if target == "f16" else (13, 0x7F, 0x7FC0)
    payload = (upper >> np.uint64(drop)) & np.uint64(fraction) | np.uint64(quiet)
    return np.where(missing, (sign | payload).astype(np.uint16), bits)


def moved(a: Any) -> Any:
    """f32 from its bits."""
    return np.array(a).view(np.float32)[()]


def widened(a: Any) -> Any:
    """f64 from the bits of an f32."""
    return np.asarray(a).view(np.float32).astype(np.float64)


def widen(values: Any, source: str) -> Any:
    """Raw bits of a half as f32; f32 and f64 as they are."""
    if source == "f16":
        return half.from_f16(values)
    return half.from_bf16(values) if source == "bf16" else values


def relu(values: Any) -> Any:
    """Negative values and −0 to +0; NaN stays."""
    return np.maximum(values, values.dtype.type(0)) + values.dtype.type(0)


def finite(values: Any, target: str) -> Any:
    """Clamped to the greatest finite value of a half type; NaN stays."""
    most = values.dtype.type(_GREATEST[target])
    return np.clip(values, -most, most)


def packed_integers(kind: str, with_c: bool) -> Callable[..., Any]:
    """cvt.pack: a and b (s32) clamped to a small integer type, a above b and c's low bits above both."""
    bits = width(kind)
    low, high = np.int32(lowest(kind)), np.int32(highest(kind))
    mask, size = np.uint32((1 << bits) - 1), np.uint32(bits)

    def part(value: Any) -> Any:
        return np.clip(value, low, high).view(np.uint32) & mask

    def convert(a: Any, b: Any, c: Any = None) -> Any:
        both = (part(a) << size) | part(b)
        return both | (c << (size + size)) if with_c else both

    return convert


def is_narrower(source: str, target: str) -> bool:
    """Whether every integer of the source type fits the target type."""
    return lowest(target) <= lowest(source) and highest(source) <= highest(target)
