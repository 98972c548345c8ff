"""numba-cuda's kernels of warps, complex numbers, records, random numbers and device functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.kernels.launches import Array, Freedom, Kernel, Launch
from tests.kernels.other_compilers import numba_array

Words = dict[str, str | Array]


def _grid(n: int, block: int = 64) -> str:
    return str(-(-n // block))


def _warp_words(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-50, 50, n, np.int32)
    warps = np.pad(x, (0, -n % 64)).reshape(-1, 32)
    lanes = np.arange(32)
    same = (((warps[:, :, None] ^ warps[:, None, :]) & 3) == 0) * (1 << lanes.astype(np.int64))
    positive = (warps > 0).sum(1, keepdims=True)
    first = ((same.sum(2) & -same.sum(2)) >> 1).astype(float)
    lowest = np.where(first > 0, np.log2(np.maximum(first, 1)).astype(int) + 2, 1)
    leading = 31 - np.floor(np.log2(same.sum(2))).astype(int)
    largest = warps[:, lanes ^ 5] + (warps > 48).any(1, keepdims=True)
    word = (positive + 100 * lowest + 10000 * leading) ^ largest
    expected = {
        "scan": warps.cumsum(1).ravel()[:n],
        "word": (word & 0xFFFFFFFF).astype(np.uint32).ravel()[:n],
    }
    arguments: Words = {"x": x, "scan": f"ptr:{n}xi32", "word": f"ptr:{n}xu32", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, expected, block="64")


def _spin_sum(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-999, 1000, n, np.int32)
    zero = np.zeros(1, np.int32)
    arguments: Words = {}
    for name, array in (("x", x), ("lock", zero), ("total", zero)):
        arguments |= numba_array(name, array.shape, 4, array)
    expected = {"lock": zero, "total": np.array([x.sum()])}
    return Launch(_grid(n), arguments | {"n": f"i32:{n}"}, expected, block="64")


def _spectrum(n: int, rng: np.random.Generator) -> Launch:
    x = rng.standard_normal((3, n)) + 1j * rng.standard_normal((3, n))
    expected = np.fft.fft(x).view(np.float64)
    arguments: Words = {"x": x.view(np.float64), "out": f"ptr:3x{2 * n}xf64", "n": f"i32:{n}"}
    return Launch("3", arguments, {"out": expected}, block="64", tolerance={"out": (1e-13, 1e-13)})


def _number_theory(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(1, 2**32, n, np.uint32)
    expected = {
        "divisor": np.gcd(x, np.uint32(360360)),
        "residue": np.array([pow(int(v), i + 65537, 2**31 - 1) for i, v in enumerate(x)]),
    }
    arguments: Words = {"x": x, "divisor": f"ptr:{n}xu32", "residue": f"ptr:{n}xu32", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, expected, block="64")


RECORD = np.dtype([("mass", np.float32), ("place", np.float64, 3), ("kind", np.int16)], align=True)


def _records(n: int, rng: np.random.Generator) -> Launch:
    bodies = np.zeros(n, RECORD)
    bodies["mass"], bodies["place"] = rng.integers(1, 9, n), rng.integers(-99, 100, (n, 3)) / 8
    bodies["kind"] = rng.integers(0, 5, n)
    turned: Any = bodies.view(np.uint8).copy().view(RECORD)  # what lies between the fields, too
    turned["kind"] = -bodies["kind"]
    expected = {
        "bodies": turned.view(np.uint8),
        "energy": bodies["mass"] * (bodies["place"] ** 2).sum(1),
        "counts": np.bincount(bodies["kind"], minlength=5),
    }
    arguments: Words = dict(numba_array("bodies", (n,), RECORD.itemsize, bodies.view(np.uint8)))
    arguments |= numba_array("energy", (n,), 8, f"ptr:{n}xf64")
    return Launch(
        _grid(n), arguments | numba_array("counts", (5,), 4, "ptr:5xi32=zeros"), expected, block="64"
    )


def _next(states: Array) -> Array:
    """The next numbers of xoroshiro128+, in the version of 2016; the states step on."""
    first, second = states[:, 0].copy(), states[:, 1] ^ states[:, 0]
    result = states.sum(1, dtype=np.uint64)

    def turned(x: Array, k: int) -> Array:
        return x << np.uint64(k) | x >> np.uint64(64 - k)

    states[:, 0] = turned(first, 55) ^ second ^ second << np.uint64(14)
    states[:, 1] = turned(second, 36)
    return result


def _unit(words: Array) -> Array:
    return (words >> np.uint64(11)) * 2.0**-53


def _draws(n: int, rng: np.random.Generator) -> Launch:
    before = rng.integers(0, 2**64, (n, 2), np.uint64)
    states = before.copy()
    whole = _unit(_next(states))
    radius, angle = (_unit(_next(states)).astype(np.float32).astype(np.float64) for _ in range(2))
    normal = np.sqrt(-2 * np.log(radius)) * np.cos(2 * math.pi * angle)
    arguments: Words = dict(numba_array("states", (n,), 16, before))
    arguments |= numba_array("whole", (n,), 8, f"ptr:{n}xf64")
    arguments |= numba_array("normal", (n,), 4, f"ptr:{n}xf32")
    expected = {"states": states, "whole": whole, "normal": normal}
    return Launch(_grid(n), arguments, expected, block="64", tolerance={"normal": (2e-6, 5e-6)})


def _tile_sums(n: int, rng: np.random.Generator) -> Launch:
    block = 32
    x = rng.integers(-99, 100, (n, 20)).astype(np.float64)
    padded = np.pad(x, ((0, 0), (0, block - 20)))
    expected = np.stack([np.roll(padded, -t, 1) @ np.arange(1, block + 1) for t in range(block)], 1)
    arguments: Words = dict(numba_array("x", x.shape, 8, x))
    arguments |= numba_array("out", (n, block), 8, f"ptr:{n}x{block}xf64")
    return Launch(str(n), arguments, {"out": expected}, block=str(block), shared=8 * block)


FUNCTIONS = Freedom("log and cos with products and sums that ptxas contracts", 2e-6, 2e-6)
TURNS = Freedom("sin and cos with products and sums that ptxas contracts", 1e-13, 1e-13)

# file, without the ending; kernel
NUMBA_WARPS = (
    ("warp_words", Kernel("", (1, 64, 300), _warp_words)),
    ("spin_sum", Kernel("", (1, 64, 300), _spin_sum)),
    ("spectrum", Kernel("", (1, 32, 45), _spectrum, {"out": TURNS})),
    ("number_theory", Kernel("", (1, 64, 200), _number_theory)),
    ("records", Kernel("", (1, 64, 300), _records)),
    ("draws", Kernel("", (1, 64, 300), _draws, {"normal": FUNCTIONS})),
    ("tile_sums", Kernel("", (1, 3), _tile_sums)),
)
