"""nvcc's kernels of functions: recursion, pointers, virtual functions, variables, structs, the heap."""

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


STEPS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3])
SHAPES = (("square", 1.5, lambda k: 4 * k), ("triangle", -2.25, lambda k: 3 * k + 1))


def _linked(n: int, _: np.random.Generator) -> Launch:
    rows = []
    for i in range(n):
        met = [SHAPES[(i + k) % 2] for k in range(STEPS[i % 16])]
        letters = sum(ord(letter) - ord("a") for name, _, _ in met for letter in name)
        corners = sum(count(k) for k, (_, _, count) in enumerate(met))
        rows.append((letters, sum(side for _, side, _ in met), corners))
    letters, sides, corners = (np.array(column) for column in zip(*rows, strict=True))
    arguments = {"letters": f"ptr:{n}xi32", "sides": f"ptr:{n}xf32", "corners": f"ptr:{n}xi32"}
    expected = {"letters": letters, "sides": sides, "corners": corners}
    return Launch(_grid(n), arguments | {"n": f"i32:{n}"}, expected, block="64")


def _counters(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 2**31, n, np.int32)
    expected = {"seen": np.bincount(x & 3, minlength=4), "sum": np.array([40 + x.sum(dtype=np.uint64)])}
    arguments = {"x": x, "seen": "ptr:4xi32", "sum": "ptr:1xu64", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, expected, block="64")


def _parts(n: int, rng: np.random.Generator) -> Launch:
    block = 96
    x = rng.integers(-99, 100, n) / 4
    rows = np.pad(x, (0, -n % block)).reshape(-1, block)
    at, total = np.arange(block), np.zeros(rows.shape)
    for _ in range(5):
        total, at = 2 * total + np.abs(rows[:, at]), (at * 37 + 11) % block
    arguments = {"x": x, "out": f"ptr:{n}xf64", "n": f"i32:{n}"}
    shared = block * (8 + 4 + 1)
    return Launch(_grid(n, block), arguments, {"out": total.ravel()[:n]}, block=str(block), shared=shared)


WIDE = np.dtype([("d", np.float64, 8), ("i", np.int32, 6), ("f", np.float32, 2)])


def _turned(wide: Array, by: int) -> Array:
    result = wide.copy()
    result["d"], result["i"] = np.roll(wide["d"], -by), np.roll(wide["i"], -by) - by
    result["f"] = wide["f"][::-1]
    return result


def _signed(value: Array, bits: int) -> Array:
    """The low bits as a signed number."""
    low = value & (1 << bits) - 1
    return low - (low >> (bits - 1) << bits)


def _by_large_value(n: int, rng: np.random.Generator) -> Launch:
    wide = np.zeros((), WIDE)
    wide["d"], wide["i"], wide["f"] = rng.standard_normal(8), rng.integers(-99, 100, 6), (0.5, -7)
    fields = rng.integers(0, 2**63, (n, 2), np.int64)
    low, high = fields[:, 0], fields[:, 1]
    a, b, c, d, e = low & 31, low >> 5 & 2047, low >> 16 & 65535, _signed(low >> 32, 7), high & 2**41 - 1
    changed = fields.copy()
    changed[:, 0] = low & ~(2047 << 5 | 127 << 32) | (b + 3 & 2047) << 5 | (-d & 127) << 32
    out = np.stack([_turned(_turned(wide, i % 11), 3) for i in range(n)])
    expected = {
        "out": out.view(np.uint8).reshape(n, 96),
        "fields": changed.view(np.uint64),
        "sum": a + b * 2 + c * 3 + d * 5 + e,
    }
    arguments = {"w": f"bytes:{wide.tobytes().hex()}", "out": f"ptr:{n}x96xu8"}
    arguments |= {"fields": fields.view(np.uint64), "sum": f"ptr:{n}xi64", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, expected, block="64")


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
    ("globals", Kernel("linked", (1, 64, 100), _linked)),
    ("globals", Kernel("counters", (1, 64, 300), _counters)),
    ("globals", Kernel("parts", (1, 96, 250), _parts)),
    ("globals", Kernel("by_large_value", (1, 64, 100), _by_large_value)),
)
