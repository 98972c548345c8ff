"""Element types in memory: numpy storage, encoding with round-to-nearest-even, decoding, poison.

numpy has no bf16, tf32 or fp8: bf16 is stored as uint16, e4m3 and e5m2 as
uint8 (their bits), tf32 as float32, bool as uint8. What does not fit e4m3 or
e5m2 saturates, as PTX's `cvt.rn.satfinite` does; infinities stay where the
format has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from teenycuda_cli.driver.arguments.element_types import ElementType

Array: TypeAlias = NDArray[Any]

_STORAGE = {
    "f16": "f2",
    "bf16": "u2",
    "f32": "f4",
    "tf32": "f4",
    "f64": "f8",
    "bool": "u1",
    "e4m3": "u1",
    "e5m2": "u1",
    "c64": "c8",
    "c128": "c16",
}


@dataclass(frozen=True, slots=True)
class _Format:
    """A float format that numpy lacks: fraction bits, exponent of the least normal, greatest finite value."""

    fraction: int
    lowest_exponent: int
    highest: float


_FORMATS = {
    "bf16": _Format(7, -126, (2 - 2**-7) * 2.0**127),
    "tf32": _Format(10, -126, (2 - 2**-10) * 2.0**127),
    "e4m3": _Format(3, -6, 448.0),
    "e5m2": _Format(2, -14, 57344.0),
}

# Quiet NaNs with a payload that no arithmetic makes by itself, so that "never written" is told from "NaN".
_FLOAT_POISON = {
    "f16": 0x7ECD,
    "bf16": 0x7FCD,
    "f32": 0x7FCDCDCD,
    "tf32": 0x7FCDCDCD,
    "f64": 0x7FFDCDCDCDCDCDCD,
    "e4m3": 0xFF,
    "e5m2": 0xFE,
    "c64": 0x7FCDCDCD,
    "c128": 0x7FFDCDCDCDCDCDCD,
}


def storage_dtype(element: ElementType) -> np.dtype[Any]:
    """The little-endian numpy dtype that holds the bytes of an element type."""
    name = _STORAGE.get(element.name) or f"{element.name[0]}{element.size}"
    return np.dtype(f"<{name}")


def natural_dtype(element: ElementType) -> np.dtype[Any]:
    """The numpy dtype of decoded values: bf16 and fp8 are float32, bool is bool, the rest as stored."""
    if element.name in {"bf16", "e4m3", "e5m2"}:
        return np.dtype("<f4")
    return np.dtype(bool) if element.kind == "bool" else storage_dtype(element)


def greatest(element: ElementType) -> float:
    """The greatest finite value of a float type; of a complex one, of its parts."""
    if element.name in _FORMATS:
        return _FORMATS[element.name].highest
    part = element.size // 2 if element.kind == "complex" else element.size
    return float(np.finfo(f"<f{part}").max)


def decode(element: ElementType, stored: Array) -> Array:
    """The exact values of stored elements, in `natural_dtype`; for bool, whatever is not 0 is true."""
    if element.name == "bf16":
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if element.name in {"e4m3", "e5m2"}:
        values: Array = _small_float_table(element.name)[stored]
        return values
    if element.kind == "bool":
        truth: Array = stored != 0
        return truth
    return stored


def encode(element: ElementType, values: Array) -> Array:
    """Values rounded to the nearest element, ties to even, in `storage_dtype`.

    Integers are cast as they are (the caller has checked their range), for
    bool whatever is not 0 is true.
    """
    target = storage_dtype(element)
    if element.kind == "bool":
        return np.asarray(values != 0, dtype=target)
    with np.errstate(all="ignore"):
        if element.name not in _FORMATS:
            return values.astype(target)
        rounded = _round(np.asarray(values, dtype=np.float64), _FORMATS[element.name])
        if element.name == "tf32":
            return rounded.astype(target)
        if element.name == "bf16":
            bits = (rounded.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(target)
            return np.where(np.isnan(rounded), target.type(0x7FFF), bits)
        return _encode_small(element.name, rounded, np.isinf(values))


def bits(element: ElementType, stored: Array) -> Array:
    """The stored bits as unsigned integers; a complex element gives two, in a last axis of its own."""
    contiguous = np.ascontiguousarray(stored)
    if element.kind == "complex":
        return contiguous.view(f"<u{element.size // 2}").reshape(*stored.shape, 2)
    return contiguous.view(f"<u{element.size}").reshape(stored.shape)


def bits_differ(element: ElementType, first: Array, second: Array) -> bool:
    """Whether any bit differs between stored elements of the same shape; NaN equals itself here."""
    return not np.array_equal(bits(element, first), bits(element, second))


def poison(element: ElementType, shape: tuple[int, ...]) -> Array:
    """Stored elements that mean "never written": a marked NaN for floats, 0xCD bytes otherwise."""
    filled = np.full((*shape, 2) if element.kind == "complex" else shape, *_poison_bits(element))
    return filled.view(storage_dtype(element)).reshape(shape)


def is_poison(element: ElementType, stored: Array) -> NDArray[np.bool_]:
    """Which elements still hold the poison pattern; a complex one does when both its parts do."""
    value, dtype = _poison_bits(element)
    same: NDArray[np.bool_] = bits(element, stored) == dtype.type(value)
    return np.asarray(same.all(axis=-1)) if element.kind == "complex" else same


def _poison_bits(element: ElementType) -> tuple[int, np.dtype[Any]]:
    size = element.size // 2 if element.kind == "complex" else element.size
    value = _FLOAT_POISON.get(element.name, int.from_bytes(b"\xcd" * size, "little"))
    return value, np.dtype(f"<u{size}")


def ordinals(element: ElementType, stored: Array) -> NDArray[np.int64]:
    """Floats numbered in order: neighbours differ by 1, −0 equals +0; tf32 counts its own steps."""
    raw = bits(element, stored)
    width = raw.dtype.itemsize * 8
    sign = raw.dtype.type(1 << (width - 1))
    magnitude = (raw & ~sign).astype(np.int64)
    if element.name == "tf32":
        magnitude >>= np.int64(13)
    numbered: NDArray[np.int64] = np.where(raw & sign, -magnitude, magnitude)
    return numbered


def _round(values: NDArray[np.float64], form: _Format) -> NDArray[np.float64]:
    """Round to the format's fraction bits, ties to even; beyond the greatest value, infinity."""
    exponents = np.frexp(values)[1]
    quantum = np.maximum(exponents - 1, form.lowest_exponent) - form.fraction
    rounded = np.ldexp(np.rint(np.ldexp(values, -quantum)), quantum)
    rounded = np.where(np.isfinite(values), rounded, values)
    bounded: NDArray[np.float64] = np.where(
        np.abs(rounded) > form.highest, np.copysign(np.inf, rounded), rounded
    )
    return bounded


def _encode_small(name: str, rounded: NDArray[np.float64], infinite: NDArray[np.bool_]) -> Array:
    """Bits of fp8 values that are exact already; only what was `infinite` before stays so."""
    positive = _small_float_table(name)[: 0x7F if name == "e4m3" else 0x7C].astype(np.float64)
    magnitude = np.minimum(np.abs(rounded), positive[-1])
    codes: Array = np.searchsorted(positive, np.where(np.isnan(rounded), 0, magnitude))
    if name == "e5m2":
        codes = np.where(infinite, 0x7C, codes)
    signed = codes | np.where(np.signbit(rounded), 0x80, 0)
    return np.where(np.isnan(rounded), 0x7F, signed).astype(np.uint8)


@cache
def _small_float_table(name: str) -> NDArray[np.float32]:
    """The value of each of the 256 codes of e4m3 (no infinity, NaN 0x7f) or e5m2 (IEEE-like)."""
    form = _FORMATS[name]
    bias = 1 - form.lowest_exponent
    codes = np.arange(128)
    exponent, fraction = codes >> form.fraction, codes & ((1 << form.fraction) - 1)
    scale = 2.0 ** (np.maximum(exponent, 1) - bias)
    values = scale * ((exponent > 0) + fraction / (1 << form.fraction))
    if name == "e4m3":
        values[0x7F] = np.nan
    else:
        values[0x7C], values[0x7D:] = np.inf, np.nan
    return np.concatenate([values, -values]).astype(np.float32)
