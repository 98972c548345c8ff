"""What mma is tried on: bits, numbers of many sizes, products with few terms."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.hardware.inputs import Array

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64}
BITS |= {"e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
KINDS = ("bits", "unit", "wide", "few", "whole", "tiny", "zeros", "special")
_LAYOUT = {  # exponent bits, mantissa bits
    "f16": (5, 10),
    "bf16": (8, 7),
    "tf32": (8, 23),
    "f32": (8, 23),
    "f64": (11, 52),
    "e4m3": (4, 3),
    "e5m2": (5, 2),
}
_SPANS = {"f16": 9, "bf16": 18, "tf32": 18, "f32": 32, "f64": 60, "e4m3": 5, "e5m2": 9}
_PAIRS = np.array([0x4, 0x8, 0x9, 0xC, 0xD, 0xE], np.uint32)
_SINGLES = np.array([0x4, 0xE], np.uint32)


@dataclass(frozen=True)
class MatrixForm:
    """One spelling of mma. `selector` is that of a sparse form; None: it is dense."""

    text: str
    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    d: str
    selector: int | None = None

    @property
    def name(self) -> str:
        """Unique among all."""
        return self.text if self.selector is None else f"{self.text} selector {self.selector}"

    @property
    def wide(self) -> bool:
        """Whether the registers are of 64 bits."""
        return self.a == "f64"

    @property
    def products(self) -> int:
        """How many a warp makes at once."""
        return 4 if (self.m, self.k, self.a) == (8, 4, "f16") else 1

    @property
    def registers(self) -> tuple[int, int, int, int]:
        """Of a lane, for a, b, c and d."""
        unit = 64 if self.wide else 32
        elements = (self.m * self.k, self.k * self.n, self.m * self.n, self.m * self.n)
        counts = [
            count * self.products * BITS[kind] // (32 * unit)
            for count, kind in zip(elements, (self.a, self.b, self.c, self.d), strict=True)
        ]
        if self.selector is not None:
            counts[0] //= 2
        return counts[0], counts[1], counts[2], counts[3]


def _floats(kind: str, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    exponent_bits, mantissa_bits = _LAYOUT[name]
    dtype = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[BITS[name]]
    bits = rng.integers(0, 1 << BITS[name], shape, dtype=dtype, endpoint=False) if BITS[name] < 64 else None
    if bits is None:
        bits = rng.integers(0, (1 << 64) - 1, shape, dtype=np.uint64, endpoint=True)
    if kind == "bits":
        return bits
    if kind in ("zeros", "special"):
        return np.where(rng.integers(0, 4, shape) == 0, bits, _chosen(kind, name, dtype, shape, rng))
    bias = (1 << (exponent_bits - 1)) - 1
    mantissa = bits & dtype((1 << mantissa_bits) - 1)
    sign = bits & dtype(1 << (BITS[name] - 1))
    span = 2 if kind in ("unit", "whole") else _SPANS[name]
    exponent = rng.integers(bias - span, bias + span, shape, endpoint=True)
    if kind == "tiny":
        exponent = rng.integers(0, min(2 * bias, bias + 3), shape, endpoint=True)
        exponent = np.where(rng.integers(0, 2, shape), exponent, exponent % 4)
    if kind == "whole":  # few mantissa bits: sums are exact
        mantissa &= dtype((1 << mantissa_bits) - (1 << max(mantissa_bits - 2, 0)))
    value = sign | (exponent.astype(dtype) << dtype(mantissa_bits)) | mantissa
    if kind == "few":
        value = np.where(rng.integers(0, 8, shape) == 0, value, dtype(0))
    return value


def _chosen(kind: str, name: str, dtype: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Zeros of both signs; or these, infinities, NaNs, ones, the largest and the least numbers."""
    exponent_bits, mantissa_bits = _LAYOUT[name]
    top = ((1 << exponent_bits) - 1) << mantissa_bits
    one = ((1 << (exponent_bits - 1)) - 1) << mantissa_bits
    values = [0]
    if kind == "special":
        values = [0, 0, one, one, top, top - 1, 1, top + 1, top + (1 << (mantissa_bits - 1))]
    signs = rng.integers(0, 2, shape).astype(dtype) << dtype(BITS[name] - 1)
    return np.array(values, dtype)[rng.integers(0, len(values), shape)] | signs


def words_of(kind: str, name: str, shape: tuple[int, ...], rng: np.random.Generator, unit: int = 32) -> Array:
    """Words of `unit` bits that are full of elements of a type."""
    if name in _LAYOUT:
        parts = unit // BITS[name]
        values = _floats(kind, name, (*shape, parts), rng)
        return np.ascontiguousarray(values).view(np.uint64 if unit == 64 else np.uint32)[..., 0]
    bits = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    if name == "s32" and kind in ("unit", "whole"):
        return (bits.view(np.int32) >> 12).view(np.uint32)
    return bits


def metadata_of(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Words of legal metadata for a sparse factor of a type."""
    choice = _SINGLES if name == "tf32" else _PAIRS
    nibbles = choice[rng.integers(0, len(choice), (*shape, 8))]
    return (nibbles << np.arange(0, 32, 4, dtype=np.uint32)).sum(axis=-1, dtype=np.uint32)


def warps_of(form: MatrixForm, each: int) -> Array:
    """Registers (warp, register, lane) of a, b, c and the metadata, `each` warps for every kind of input.

    The same for every numpy: PCG64 and whole numbers.
    """
    rng = np.random.Generator(np.random.PCG64(zlib.crc32(form.name.encode())))
    na, nb, nc, _ = form.registers
    rows = []
    for kind in KINDS:
        parts = [
            words_of(kind, name, (each, count, 32), rng, 64 if form.wide else 32)
            for name, count in ((form.a, na), (form.b, nb), (form.c, nc))
        ]
        if form.selector is not None:
            parts.append(metadata_of(form.a, (each, 1, 32), rng))
        rows.append(np.concatenate(parts, axis=1))
    return np.concatenate(rows)
