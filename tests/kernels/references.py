"""What the corpus kernels compute, said again in numpy; the judge of the launch tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
U32 = NDArray[np.uint32]


def fma(a: F32, b: F32, c: F32) -> F32:
    """a * b + c in one rounding: the product is exact in float64."""
    return (np.float64(a) * np.float64(b) + np.float64(c)).astype(np.float32)


def matmul(a: F32, b: F32) -> F32:
    """a @ b with a float32 sum along k, in the kernel's own order."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total = fma(a[:, k : k + 1], b[k : k + 1, :], total)
    return total


def matmul_apart(a: F32, b: F32) -> F32:
    """The same with each product rounded before it is added."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1] * b[k : k + 1, :]
    return total


def mandelbrot(
    width: int, height: int, left: float, top: float, step: float, limit: int
) -> NDArray[np.int32]:
    """Steps to leave the circle, with the roundings of the compiled loop (squares kept, y by fma)."""
    px, py = (axis.astype(np.float32) for axis in np.meshgrid(np.arange(width), np.arange(height)))
    cx, cy = (fma(p, np.float32(step), np.float32(start)) for p, start in ((px, left), (py, top)))
    x = y = xx = yy = np.zeros_like(cx)
    steps = np.zeros(cx.shape, np.int32)
    alive = np.full(cx.shape, limit >= 1)
    with np.errstate(all="ignore"):
        while alive.any():
            new_x = cx + (xx - yy)
            y = fma(x + x, y, cy)
            x, xx, yy = new_x, new_x * new_x, y * y
            steps += alive
            alive = alive & (xx + yy < 4) & (steps < limit)
    return steps


def collatz(start: int) -> int:
    """Steps from `start` down to 1."""
    steps = 0
    while start != 1:
        start = 3 * start + 1 if start & 1 else start >> 1
        steps += 1
    return steps


def switcher(x: NDArray[np.int32]) -> NDArray[np.int32]:
    """One answer a case: constants, the index, and its bits counted and reversed."""
    index = np.arange(len(x), dtype=np.uint32)
    bits = (index[:, None] >> np.arange(32, dtype=np.uint32)) & 1
    population = bits.sum(axis=1)
    leading_zeros = np.where(index == 0, 32, 31 - np.floor(np.log2(np.maximum(index, 1))))
    mirrored = (bits.astype(np.uint64) << np.arange(31, -1, -1, dtype=np.uint64)).sum(axis=1)
    answers = [np.full(len(x), 7), np.full(len(x), 3), index, index ^ 5, population, leading_zeros, mirrored]
    table = np.stack([answer.astype(np.uint32).view(np.int32) for answer in answers])
    known = (x >= 0) & (x < len(answers))
    return np.where(known, table[np.where(known, x, 0), index.astype(np.int64)], -1).astype(np.int32)


def softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Softmax over the rows."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(
    x: NDArray[np.float64], weight: NDArray[np.float64], bias: NDArray[np.float64], eps: float
) -> NDArray[np.float64]:
    """Rows brought to mean 0 and variance 1, then scaled and shifted."""
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * weight + bias


def philox(counter: U32, key: int, rounds: int = 10) -> list[U32]:
    """The words of Philox-4x32 for the counters (c, 0, 0, 0) and a 64-bit key."""
    words = [counter.astype(np.uint64)] + [np.zeros(len(counter), np.uint64)] * 3
    low, high = key & 0xFFFFFFFF, key >> 32
    for _ in range(rounds):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            (second >> np.uint64(32)) ^ words[1] ^ np.uint64(low),
            second & np.uint64(0xFFFFFFFF),
            (first >> np.uint64(32)) ^ words[3] ^ np.uint64(high),
            first & np.uint64(0xFFFFFFFF),
        ]
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return [word.astype(np.uint32) for word in words]


def uniform(words: U32) -> F32:
    """Triton's float from 0 to below 1 of each word."""
    signed = words.view(np.int32)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)


def dropout(x: F32, p: float, seed: int) -> NDArray[np.float64]:
    """x / (1 - p) where Triton's uniform number of that index is above p, 0 elsewhere."""
    number = uniform(philox(np.arange(len(x), dtype=np.uint32), seed)[0])
    return np.where(number > np.float32(p), np.float64(x) / (1 - np.float64(np.float32(p))), 0.0)
