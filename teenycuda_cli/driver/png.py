"""Pictures of two-dimensional arrays, written as PNG with zlib alone."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from teenycuda_cli.driver.arguments.dtypes import Array

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Dark blue over green to yellow: even steps in lightness, so that it also reads in grey.
STOPS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
NOT_A_NUMBER = (255, 0, 255)


def png_bytes(values: Array) -> bytes:
    """A picture, one pixel an element, first row on top, least value dark and greatest bright.

    u8 and bool arrays are grey, the values themselves (bool black and white);
    all else is spread over a palette, with NaN in magenta.
    """
    if values.dtype == np.bool_:
        return _png(values.astype(np.uint8) * np.uint8(255), colour=0)
    if values.dtype == np.uint8:
        return _png(values, colour=0)
    return _png(colours(values), colour=2)


def colours(values: Array) -> NDArray[np.uint8]:
    """Red, green and blue of each element, spread from the least finite value to the greatest."""
    levels = scaled(values)
    stops = np.array(STOPS, dtype=np.float64)
    place = np.where(np.isnan(levels), 0.0, levels) * (len(stops) - 1)
    below = np.minimum(place.astype(np.int64), len(stops) - 2)
    share = (place - below)[..., None]
    mixed = stops[below] * (1 - share) + stops[below + 1] * share
    mixed[np.isnan(levels)] = NOT_A_NUMBER
    return np.asarray(np.rint(mixed), dtype=np.uint8)


def scaled(values: Array) -> NDArray[np.float64]:
    """Values from 0 (the least finite one) to 1 (the greatest); infinities at the ends, NaN stays."""
    with np.errstate(all="ignore"):
        wide = np.asarray(values, dtype=np.float64)
    finite = wide[np.isfinite(wide)]
    if not finite.size:
        return np.where(np.isnan(wide), wide, np.where(wide > 0, 1.0, 0.0))
    least, greatest = float(finite.min()), float(finite.max())
    middle, half = least / 2 + greatest / 2, greatest / 2 - least / 2
    if half == 0:
        return np.where(np.isfinite(wide), 0.5, np.clip(wide, 0, 1))
    with np.errstate(all="ignore"):
        levels: NDArray[np.float64] = np.clip(((wide - middle) / half + 1) / 2, 0.0, 1.0)
    return levels


def _png(pixels: NDArray[np.uint8], colour: int) -> bytes:
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + pixels[0].size), np.uint8)  # each row starts with its filter, 0 for none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)), _chunk(b"IEND", b""))
    return SIGNATURE + b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
