"""Triton's kernels on elements: random numbers, library functions, shuffled tensors, reductions of tuples."""

from __future__ import annotations

import math

import numpy as np

from tests.kernels import references
from tests.kernels.launches import Array, Freedom, Kernel, Launch


def _blocks(n: int, block: int) -> str:
    return str(-(-n // block))


def _randoms(n: int, _: np.random.Generator) -> Launch:
    seed, index = 20240229, np.arange(n, dtype=np.uint32)
    words = references.philox(index, seed)
    a, b, c, d = references.philox(index, seed, rounds=7)
    radius, angle = (references.uniform(word).astype(np.float64) for word in words[:2])
    normal = np.sqrt(-2 * np.log(np.maximum(radius, 1e-7))) * np.cos(2 * np.pi * angle)
    expected = {
        "whole": words[0].view(np.int32),
        "four": (a ^ (b * np.uint32(3)) ^ (c * np.uint32(5)) ^ (d * np.uint32(7))).view(np.int32),
        "normal": normal,
    }
    arguments: dict[str, str | Array] = {"seed": f"i32:{seed}", "whole": f"ptr:{n}xi32"}
    arguments |= {"four": f"ptr:{n}xi32", "normal": f"ptr:{n}xf32", "n": f"i32:{n}"}
    return Launch(_blocks(n, 256), arguments, expected, tolerance={"normal": (2e-6, 5e-6)})


def _functions(n: int, rng: np.random.Generator) -> Launch:
    x = (rng.standard_normal(n) * np.exp2(rng.integers(-4, 4, n))).astype(np.float32)
    wide = x.astype(np.float64)
    size = np.abs(wide)
    expected = {
        "gelu": wide / 2 * (1 + np.array([math.erf(v * 0.5**0.5) for v in wide])),
        "power": size**0.75 + np.tanh(wide) + 1 / (1 + np.exp(-wide)),
        "angle": np.arctan2(wide, 2) + np.cos(wide) * np.sin(wide) + np.log1p(size),
        "double": np.array([math.erfc(v) + math.lgamma(abs(v) + 1.5) for v in wide]) + np.cbrt(wide),
    }
    arguments: dict[str, str | Array] = {"x": x} | dict.fromkeys(("gelu", "power", "angle"), f"ptr:{n}xf32")
    arguments |= {"double": f"ptr:{n}xf64", "n": f"i32:{n}"}
    tolerance = dict.fromkeys(("gelu", "power", "angle"), (1e-6, 1e-6)) | {"double": (2e-15, 2e-15)}
    return Launch(_blocks(n, 256), arguments, expected, tolerance=tolerance)


def _shuffled(programs: int, rng: np.random.Generator) -> Launch:
    x, y = (rng.integers(-99, 100, (programs, 256), np.int32) for _ in range(2))
    squares = (x - y).reshape(programs, 16, 4, 4).transpose(0, 3, 1, 2).reshape(programs, 128, 2)
    expected = {
        "joined": np.stack([x, y], 2),
        "turned": x[:, ::-1],
        "parts": squares[:, :, 0] * 3 + squares[:, :, 1],
    }
    arguments: dict[str, str | Array] = {"x": x, "y": y, "joined": f"ptr:{programs}x256x2xi32"}
    arguments |= {"turned": f"ptr:{programs}x256xi32", "parts": f"ptr:{programs}x128xi32"}
    return Launch(str(programs), arguments, expected)


def _own_words(n: int, rng: np.random.Generator) -> Launch:
    x, y = (rng.integers(0, 2**32, n, np.uint64) for _ in range(2))
    odd = x ^ y ^ np.uint64(0x12345678)
    picked = sum(
        (word >> np.uint64(8 * byte) & np.uint64(255)) << np.uint64(8 * place)
        for place, (word, byte) in enumerate(((y, 2), (y, 0), (odd, 2), (odd, 0)))
    )
    shifted = ((x << np.uint64(32) | picked) << (y & np.uint64(31))) >> np.uint64(32)
    apart = np.abs((x & np.uint64(255)).astype(int) - (y & np.uint64(255)).astype(int))
    expected = (shifted.astype(np.uint32) + apart.astype(np.uint32)).view(np.int32)
    words = {name: value.astype(np.uint32).view(np.int32) for name, value in (("x", x), ("y", y))}
    return Launch(_blocks(n, 512), words | {"out": f"ptr:{n}xi32", "n": f"i32:{n}"}, {"out": expected})


def _welford(n: int, rng: np.random.Generator) -> Launch:
    x = 3 * rng.standard_normal((4, n), np.float32) + 100
    wide = x.astype(np.float64)
    arguments = {"x": x, "mean": "ptr:4xf32", "variance": "ptr:4xf32", "n": f"i32:{n}"}
    tolerance = {"mean": (5e-7, 0.0), "variance": (1e-5, 1e-6)}
    return Launch("4", arguments, {"mean": wide.mean(1), "variance": wide.var(1)}, tolerance=tolerance)


def _best_of_row(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-999, 1000, (5, n), np.int32)
    padded = np.pad(x, ((0, 0), (0, 128 - n)), constant_values=-(2**31))
    expected = np.sort(padded)[:, ::-1][:, :8]
    return Launch("5", {"x": x, "o": "ptr:5x8xi32", "n": f"i32:{n}"}, {"o": expected})


def _collatz(n: int, _: np.random.Generator) -> Launch:
    expected = np.array([references.collatz(i + 1) for i in range(n)])
    return Launch(_blocks(n, 128), {"o": f"ptr:{n}xi32", "n": f"i32:{n}"}, {"o": expected})


APPROXIMATE = Freedom("approximate functions and divisions: a few units in the last place", 2e-6, 2e-6)
DIVISIONS = Freedom("div.full: a unit of a mean that is thirty times the deviation", 1e-5, 1e-6)
DOUBLE = Freedom("products and sums of the functions that ptxas contracts", 1e-14, 1e-14)

# file, without the ending; kernel
ELEMENTS = (
    ("randoms.sm80", Kernel("randoms", (1, 256, 500), _randoms, {"normal": APPROXIMATE})),
    (
        "functions.sm80",
        Kernel(
            "functions",
            (1, 256, 500),
            _functions,
            dict.fromkeys(("gelu", "power", "angle"), APPROXIMATE) | {"double": DOUBLE},
        ),
    ),
    ("shuffled.sm80", Kernel("shuffled", (1, 3), _shuffled)),
    ("own_words.sm80", Kernel("own_words", (1, 512, 900), _own_words)),
    (
        "welford.sm80",
        Kernel("welford", (1, 300, 512), _welford, {"mean": APPROXIMATE, "variance": DIVISIONS}),
    ),
    ("best_of_row.sm80", Kernel("best_of_row", (1, 100, 128), _best_of_row)),
    ("collatz.sm80", Kernel("collatz", (1, 128, 300), _collatz)),
)
