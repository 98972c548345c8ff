"""f16, bf16, tf32, e4m3 and e5m2: raw bits to f32 and back, rounded once in any mode.

NaN becomes 0x7fff (f16, bf16), 0x7fffe000 (tf32, but by `rna`) or 0x7f (fp8).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.rounding import narrowed, stepped

_NAN = np.uint16(0x7FFF)
_SIXTEEN = np.uint32(16)


_F16_VALUES = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def from_f16(bits: Any) -> Any:
    """f16 bits as f32: looked up, three times as fast as numpy's conversion."""
    return np.take(_F16_VALUES, bits, mode="clip")


def _with_nan(values: Any, bits: Any, nan: Any) -> Any:
    """`bits` with `nan` where `values` are NaN."""
    missing = np.isnan(values)
    return np.where(missing, nan, bits)[()] if missing.any() else bits[()]


def from_bf16(bits: Any) -> Any:
    """bf16 bits as f32."""
    return np.left_shift(bits, _SIXTEEN, dtype=np.uint32).view(np.float32)


def to_f16(values: Any, mode: str = "rn") -> Any:
    """f32 or f64 as f16 bits."""
    nearest = values.astype(np.float16)
    if mode not in ("", "rn"):
        back = np.asarray(nearest).astype(values.dtype)
        lost = np.greater(values, back).astype(np.int8) - np.less(values, back).astype(np.int8)
        nearest = stepped(nearest, lost, mode)
    return _with_nan(values, np.asarray(nearest).view(np.uint16), _NAN)


def odd32(values: Any) -> Any:
    """f64 as f32 rounded to odd, from which any narrower rounding is exact."""
    short = np.asarray(narrowed(values, "rz"))
    inexact = short.astype(np.float64) != values
    return (short.view(np.uint32) | (inexact & ~np.isnan(values))).view(np.float32)


def _grows(bits: Any, mode: str) -> Any:
    """Whether the magnitude of f32 `bits` grows when its lower half goes, in a mode that is not `rz`."""
    lost = bits & np.uint32(0xFFFF)
    if mode == "rn":
        last = (bits >> _SIXTEEN) & np.uint32(1)
        return lost + last > np.uint32(0x8000)
    negative = (bits >> np.uint32(31)).astype(np.bool_)
    return (lost != 0) & (negative if mode == "rm" else ~negative)


def to_bf16(values: Any, mode: str = "rn") -> Any:
    """f32 or f64 as bf16 bits."""
    values = np.asarray(values)
    bits = (values if values.dtype == np.float32 else odd32(values)).view(np.uint32)
    short = (bits >> _SIXTEEN).astype(np.uint16)
    if mode != "rz":
        short = short + _grows(bits, mode or "rn").astype(np.uint16)
    return _with_nan(values, short, _NAN)


def to_tf32(values: Any, mode: str) -> Any:
    """f32 as tf32: 10 bits of fraction, the 13 below them zero; `rna` rounds ties away from zero.

    `rna` cuts a NaN as it is.
    """
    bits = np.asarray(values).view(np.uint32)
    step: dict[str, Any] = {
        "rna": np.uint32(0x1000),
        "rn": np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1)),
        "rz": np.uint32(0),
    }
    grown = bits + step[mode]
    finite = np.isfinite(values)
    result = np.where(finite, grown, bits) & np.uint32(0xFFFFE000)
    return result[()] if mode == "rna" else _with_nan(values, result, np.uint32(0x7FFFE000))


# ------------------------------------------------------------------------ fp8


def _magnitudes(fraction: int, bias: int, count: int) -> Any:
    """The values of the first `count` bit patterns of a small format."""
    patterns = np.arange(count)
    exponent, part = patterns >> fraction, patterns & ((1 << fraction) - 1)
    normal = (exponent > 0) << fraction
    return np.ldexp((part + normal).astype(np.float64), np.maximum(exponent, 1) - bias - fraction)


def _borders(fraction: int, bias: int, count: int) -> Any:
    """The greatest magnitude that rounds to each finite pattern but the last; ties go to the even one."""
    values = _magnitudes(fraction, bias, count)
    middles = (values[1:] + values[:-1]) / 2
    middles[1::2] = np.nextafter(middles[1::2], 0)  # a tie above an odd pattern goes up
    return middles


FP8: dict[str, tuple[int, int, int]] = {
    "e4m3": (3, 7, 0x7F),  # fraction bits, bias, count of finite patterns
    "e5m2": (2, 15, 0x7C),
}


def to_fp8(kind: str) -> Callable[[Any], Any]:
    """f32 as e4m3 or e5m2 bits, to nearest, overflow to the greatest finite value (.satfinite)."""
    borders = _borders(*FP8[kind])

    def convert(values: Any) -> Any:
        code = np.searchsorted(borders, np.abs(values).astype(np.float64)).astype(np.uint8)
        code = code | (np.signbit(values).astype(np.uint8) << np.uint8(7))
        return _with_nan(values, code, np.uint8(0x7F))

    return convert


def from_fp8(kind: str) -> Callable[[Any], Any]:
    """e4m3 or e5m2 bits as f16 bits."""
    fraction, bias, count = FP8[kind]
    positive = np.full(128, 0x7FFF, np.uint16)
    positive[:count] = _magnitudes(fraction, bias, count).astype(np.float16).view(np.uint16)
    if kind == "e5m2":
        positive[0x7C] = 0x7C00
    negative = np.where(positive == 0x7FFF, np.uint16(0x7FFF), positive | np.uint16(0x8000))
    table = np.concatenate([positive, negative])

    def convert(bits: Any) -> Any:
        return table[bits]

    return convert


# --------------------------------------------------------------------- packed


def joined(low: Any, high: Any) -> Any:
    """Two u16 in a u32."""
    return np.left_shift(high, _SIXTEEN, dtype=np.uint32) | low


def lower(bits: Any) -> Any:
    """The low u16 of a u32."""
    return bits.astype(np.uint16)


def upper(bits: Any) -> Any:
    """The high u16 of a u32."""
    return (bits >> _SIXTEEN).astype(np.uint16)
