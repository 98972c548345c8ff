"""nvcc's kernels of functions: recursion, pointers, virtual functions, and memory that a kernel asks for."""

from __future__ import annotations

import numpy as np

from tests.kernels.launches import Array, Kernel, Launch


def _grid(n: int, block: int = 64) -> str:
    return str(-(-n // block))


def _ackermann(m: int, n: int) -> int:
    return n + 1 if m == 0 else n + 2 if m == 1 else 2 * n + 3


def _ackermanns(n: int, _: np.random.Generator) -> Launch:
    expected = np.array([_ackermann(i % 3, i % 5) for i in range(n)])
    return Launch(_grid(n), {"out": f"ptr:{n}xi32", "n": f"i32:{n}"}, {"out": expected}, block="64")


def _quicksorts(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-99, 100, (40, n), np.int32)
    arguments = {"x": x, "rows": "i32:40", "n": f"i32:{n}"}
    return Launch("2", arguments, {"x": np.sort(x)}, block="32")


def _by_pointer(n: int, rng: np.random.Generator) -> Launch:
    x, which = rng.integers(-(2**20), 2**20, n, np.int32), rng.integers(0, 8, n, np.int32)
    i = np.arange(n, dtype=np.int32)
    results = np.stack([x + i, x - i, x * i, (x ^ i) * np.int32(31) + (x & 7)])
    arguments = {"x": x, "which": which, "out": f"ptr:{n}xi32", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, {"out": results[which & 3, i]}, block="64")


def _by_virtual(n: int, rng: np.random.Generator) -> Launch:
    x = (rng.integers(-99, 100, n) / 8).astype(np.float32)
    kind = np.arange(n) % 3
    expected = {"area": np.choose(kind, [x * x, x * 2, 3 * x * x]), "sides": np.choose(kind, [4, 3, 0])}
    arguments = {"x": x, "area": f"ptr:{n}xf32", "sides": f"ptr:{n}xi32", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, expected, block="64")


def _by_value(n: int, rng: np.random.Generator) -> Launch:
    chunk = 5
    threads = -(-n // chunk)
    x = (rng.integers(-999, 1000, n) / 16).astype(np.float32)
    parts = [x[start : start + chunk].astype(np.float64) for start in range(0, n, chunk)]
    rows = [(part.sum(), (part**2).sum(), part.min(), part.max(), len(part)) for part in parts]
    nothing = (0, 0, np.inf, -np.inf, 0)
    rows += [nothing] * (-threads % 32)
    arguments = {"x": x, "out": f"ptr:{len(rows)}x5xf64", "n": f"i32:{n}", "chunk": f"i32:{chunk}"}
    return Launch(str(len(rows) // 32), arguments, {"out": np.array(rows)}, block="32")


def _heap_list(n: int, _: np.random.Generator) -> Launch:
    # Values i·j, last in first out, each by its place.
    expected = [sum(i * (i % 7 - p) * (p + 1) for p in range(i % 7 + 1)) for i in range(n)]
    arguments = {"out": f"ptr:{n}xi32", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, {"out": np.array(expected)}, block="64")


def _heap_array(n: int, _: np.random.Generator) -> Launch:
    i = np.arange(n)
    arguments = {"out": f"ptr:{n}xi32", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, {"out": i // 64 * 1000 + 63 - i % 64}, block="64")


def _own_stack(n: int, _: np.random.Generator) -> Launch:
    expected = [sum((i + 3) * (j + 1) % 10 * 10**j for j in range(i % 9 + 1)) for i in range(n)]
    arguments: dict[str, str | Array] = {"out": f"ptr:{n}xi32", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, {"out": np.array(expected)}, block="64")


# file, without the ending; kernel
CALLS = (
    ("calls", Kernel("ackermanns", (1, 64, 100), _ackermanns)),
    ("calls", Kernel("quicksorts", (1, 16, 37), _quicksorts)),
    ("calls", Kernel("by_pointer", (1, 64, 300), _by_pointer)),
    ("calls", Kernel("by_virtual", (1, 64, 300), _by_virtual)),
    ("calls", Kernel("by_value", (1, 160, 333), _by_value)),
    ("calls", Kernel("heap_list", (1, 64, 100), _heap_list)),
    ("calls", Kernel("heap_array", (1, 64, 200), _heap_array)),
    ("calls", Kernel("own_stack", (1, 64, 100), _own_stack)),
)
