"""Triton's kernels that reach tensors by descriptors: what lies outside is read as zero and not written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tests.kernels.launches import Kernel, Launch
from tests.kernels.triton_matrices import HALF_ULP


def _size(**sizes: int) -> dict[str, str]:
    return {name: f"i32:{size}" for name, size in sizes.items()}


def _tile_sums(n: int, rng: np.random.Generator) -> Launch:
    m, n = n + 5, 16 * n
    x = rng.integers(-99, 100, (m, n), np.int32)
    tiles = np.pad(x, ((0, -m % 16), (0, -n % 32)))
    tiles = tiles.reshape(len(tiles) // 16, 16, -1, 32)
    y = (tiles * 3 + tiles.sum(3, keepdims=True)).reshape(tiles.shape[0] * 16, -1)[:m, :n]
    arguments = {"x": x, "y": f"ptr:{m}x{n}xi32", "total": "ptr:16x32xi32=zeros"} | _size(M=m, N=n)
    return Launch(f"{-(-m // 16)},{-(-n // 32)}", arguments, {"y": y, "total": tiles.sum((0, 2))})


def _matmul(n: int, rng: np.random.Generator) -> Launch:
    m, k = n + 9, n + 16
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    arguments = {"a": a, "b": b, "c": f"ptr:{m}x{n}xf16"} | _size(M=m, N=n, K=k)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    grid = f"{-(-m // 64)},{-(-n // 64)}"
    return Launch(grid, arguments, {"c": expected}, tolerance={"c": (6e-4, 5e-5)})


def _shifted_tiles(n: int, rng: np.random.Generator, shift: Sequence[int] = (2, -5)) -> Launch:
    m, n = n + 3, 16 * n
    x = rng.standard_normal((2, m, n), np.float32)
    padded = np.pad(x, ((0, 0), (9, 9), (9, 9)))
    expected = np.stack([padded[b, 9 + s : 9 + s + m, 9 - s : 9 - s + n] for b, s in enumerate(shift)])
    arguments = {"x": x, "index": np.array(shift, np.int32), "o": f"ptr:2x{m}x{n}xf32"} | _size(M=m, N=n)
    return Launch(f"2,{-(-m // 8)},{-(-n // 16)}", arguments, {"o": expected})


_KERNELS = (
    Kernel("tile_sums", (1, 3, 14), _tile_sums),
    Kernel("descriptor_matmul", (16, 64, 80), _matmul, {"c": HALF_ULP}),
    Kernel("shifted_tiles", (1, 2, 6), _shifted_tiles),
)

# file, without the ending; kernel
DESCRIPTORS = tuple((f"{kernel.entry}.sm80", kernel) for kernel in _KERNELS)
# TMA takes boxes that begin at multiples of 16 bytes; an H200 calls other ones an illegal instruction.
_ALIGNED = Kernel("shifted_tiles", (1, 2, 6), partial(_shifted_tiles, shift=(4, -8)))
TMA_DESCRIPTORS = tuple((f"{kernel.entry}.sm90", kernel) for kernel in (*_KERNELS[:2], _ALIGNED))
