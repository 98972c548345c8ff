"""Kernels of tensor cores on the emulator: their time, and how many times numpy's it is."""

from __future__ import annotations

import json
import statistics
import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from teenycuda_cli.driver.registry import open_device
from tests.benchmarks.kernels import ROOT, Contest, Launch, check_result, integer, start
from tests.benchmarks.measure import Row, cpu_milliseconds

Half = NDArray[np.float16]
BLOCK = (128, 1, 1)


def _launch(name: str, entry: str, grid: tuple[int, int, int]) -> Launch:
    file = f"tests/corpus/triton/{name}.ptx"
    shared = json.loads((ROOT / file).with_suffix(".json").read_text())["shared"]
    return Launch(file, entry, grid, BLOCK, shared)


def attention(q: Half, k: Half, v: Half) -> Half:
    """Softmax of q kᵀ / 8 times v, in f32 as numpy users write it."""
    scores = q.astype(np.float32) @ k.astype(np.float32).T * np.float32(0.125)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: Half = (weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float32)).astype(np.float16)
    return result


def matrix_contests() -> Iterator[Contest]:
    """The product of two matrices of f16, and attention; bounds are in milliseconds."""
    rng = np.random.default_rng(3)
    size, tokens, depth = 256, 512, 64
    a, b = (rng.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    sizes = [integer(size)] * 3
    launch = _launch("matmul_f16.sm80", "matmul", (size // 64, size // 64, 1))

    def product() -> Half:
        result: Half = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
        return result

    yield Contest(
        "matmul_f16 256³ (Triton, sm_80)",
        150,
        launch,
        [a, b, np.zeros_like(a), *sizes],
        judged=2,
        expected=a.astype(np.float64) @ b,
        numpy=product,
        rtol=2e-3,
        astray=1e-3,  # sums near zero
    )
    q, k, v = (rng.standard_normal((tokens, depth)).astype(np.float16) for _ in range(3))
    yield Contest(
        "attention N=512 (Triton, sm_80)",
        400,
        _launch("attention.sm80", "attention", (tokens // 64, 1, 1)),
        [q, k, v, np.zeros_like(q), integer(tokens), struct.pack("<f", 0.125)],
        judged=3,
        expected=attention(q, k, v),
        numpy=lambda: attention(q, k, v),
        rtol=1e-2,
        astray=0.02,  # near zero: weights rounded to f16 before they are multiplied
    )


def measure(contest: Contest, rounds: int = 5) -> Row:
    """Run once and check, then the emulator and numpy in turn: milliseconds of the emulator."""
    with open_device("cpu") as device, start(contest, device) as run:
        run.milliseconds()
        check_result(contest, run.result())
        pairs = [(cpu_milliseconds(run.milliseconds), cpu_milliseconds(contest.numpy)) for _ in range(rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Row(contest.name, ours, contest.bound, "ms", f"{ours / theirs:.0f} × numpy's {theirs:.2f} ms")


def matrix_rows() -> Iterator[Row]:
    """A row a contest."""
    for contest in matrix_contests():
        yield measure(contest)
