"""Triton's kernels on arrays: sorts, scans, reductions, atomics."""

from __future__ import annotations

import numpy as np

from tests.kernels import formats
from tests.kernels.launches import Array, Freedom, Kernel, Launch


def _normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def _blocks(n: int, block: int) -> str:
    return str(-(-n // block))


def _sort_rows(n: int, rng: np.random.Generator) -> Launch:
    x = _normal(rng, 3, n)
    return Launch("3", {"x": x, "o": f"ptr:3x{n}xf32", "n": f"i32:{n}"}, {"o": np.sort(x)})


def _cumsum(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-(2**31), 2**31, (2, n), np.int32)
    arguments = {"x": x, "sum": f"ptr:2x{n}xi32", "back": f"ptr:2x{n}xi32", "n": f"i32:{n}"}
    back = np.cumsum(x[:, ::-1], 1, np.int32)[:, ::-1]
    return Launch("2", arguments, {"sum": np.cumsum(x, 1, np.int32), "back": back})


def _linear_recurrence(n: int, rng: np.random.Generator) -> Launch:
    a, b = rng.integers(-9, 10, (2, n), np.int32), rng.integers(-99, 100, (2, n), np.int32)
    y, last = np.zeros((2, n), np.int32), np.zeros(2, np.int32)
    for i in range(n):
        last = a[:, i] * last + b[:, i]
        y[:, i] = last
    return Launch("2", {"a": a, "b": b, "y": f"ptr:2x{n}xi32", "n": f"i32:{n}"}, {"y": y})


def _extremes(n: int, rng: np.random.Generator) -> Launch:
    x = np.round(4 * _normal(rng, 3, n)) / 4  # many are equal: the first one counts
    expected = {
        "argmax": x.argmax(1),
        "argmin": x.argmin(1),
        "max": x.max(1),
        "xor": np.bitwise_xor.reduce(x.view(np.int32), 1),
    }
    arguments = {"x": x, "argmax": "ptr:3xi32", "argmin": "ptr:3xi32", "max": "ptr:3xf32", "xor": "ptr:3xi32"}
    return Launch("3", arguments | {"n": f"i32:{n}"}, expected)


def _histogram(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 64, n, np.int32)
    arguments = {"x": x, "h": "ptr:64xi32=zeros", "n": f"i32:{n}"}
    return Launch(_blocks(n, 512), arguments, {"h": np.bincount(x, minlength=64)})


def _gather_rows(n: int, rng: np.random.Generator) -> Launch:
    x, index = _normal(rng, 8, n), rng.integers(0, n, (8, n), np.int32)
    arguments = {"x": x, "index": index, "o": f"ptr:8x{n}xf32", "n": f"i32:{n}"}
    return Launch("1", arguments, {"o": np.take_along_axis(x, index, 1)})


def _transpose(n: int, rng: np.random.Generator) -> Launch:
    m = n // 2 + 5
    x = rng.standard_normal((m, n)).astype(np.float16)
    arguments = {"x": x, "o": f"ptr:{n}x{m}xf16", "M": f"i32:{m}", "N": f"i32:{n}"}
    return Launch(f"{-(-m // 64)},{-(-n // 32)}", arguments, {"o": x.T})


def _conv1d(n: int, rng: np.random.Generator) -> Launch:
    # Sixteenths and eighths: exact in float32 whatever is contracted, rounded once to f16.
    x = (rng.integers(-99, 100, n) / 16).astype(np.float16)
    w = (rng.integers(-20, 21, 5) / 8).astype(np.float16)
    padded = np.pad(x.astype(np.float64), 2)
    expected = sum(padded[tap : tap + n] * np.float64(w[tap]) for tap in range(5))
    arguments = {"x": x, "w": w, "o": f"ptr:{n}xf16", "n": f"i32:{n}"}
    return Launch(_blocks(n, 512), arguments, {"o": np.asarray(expected).astype(np.float16)})


def _layernorm_backward(n: int, rng: np.random.Generator) -> Launch:
    rows, eps = 3, 1e-5
    x, dy, w = 2 * _normal(rng, rows, n) + 1, _normal(rng, rows, n), _normal(rng, n)
    wide_x, wide_dy, wide_w = (array.astype(np.float64) for array in (x, dy, w))
    inverse = 1 / np.sqrt(wide_x.var(1, keepdims=True) + eps)
    normal = (wide_x - wide_x.mean(1, keepdims=True)) * inverse
    wdy = wide_w * wide_dy
    first, second = (normal * wdy).mean(1, keepdims=True), wdy.mean(1, keepdims=True)
    expected = {
        "dx": (wdy - (normal * first + second)) * inverse,
        "dw": (wide_dy * normal).sum(0),
        "db": wide_dy.sum(0),
    }
    arguments = {"x": x, "w": w, "dy": dy, "dx": f"ptr:{rows}x{n}xf32"}
    arguments |= {
        "dw": f"ptr:{n}xf32=zeros",
        "db": f"ptr:{n}xf32=zeros",
        "n": f"i32:{n}",
        "eps": f"f32:{eps!r}",
    }
    tolerance = dict.fromkeys(expected, (1e-05, 1e-05))
    return Launch(str(rows), arguments, expected, tolerance=tolerance)


def _casts(n: int, rng: np.random.Generator, *, by_f16: bool) -> Launch:
    x = np.exp2(rng.uniform(-14, 12, n)).astype(np.float32) * rng.choice([-1, 1], n).astype(np.float32)
    given: formats.Floats = x
    if by_f16:  # cut, which misleads the second rounding
        half = x.astype(np.float16)
        given = np.where(np.abs(half) > np.abs(x), np.nextafter(half, np.float16(0)), half)
    small, wide = formats.encode(given, "e4m3"), formats.encode(given, "e5m2")
    back = formats.decode(small, "e4m3") + formats.decode(wide, "e5m2")
    arguments = {
        "x": x,
        "e4m3": f"ptr:{n}xu8",
        "e5m2": f"ptr:{n}xu8",
        "back": f"ptr:{n}xf32",
        "n": f"i32:{n}",
    }
    expected = {"e4m3": small, "e5m2": wide, "back": back.astype(np.float32)}
    return Launch(_blocks(n, 512), arguments, expected)


def _cast_fp8(n: int, rng: np.random.Generator) -> Launch:
    return _casts(n, rng, by_f16=False)


def _cast_fp8_by_f16(n: int, rng: np.random.Generator) -> Launch:
    return _casts(n, rng, by_f16=True)


def _bits_and_ints(n: int, rng: np.random.Generator) -> Launch:
    x, y = (rng.integers(-(2**63), 2**63 - 1, n, np.int64) for _ in range(2))
    y >>= rng.integers(0, 63, n)
    y[y == 0] = 3
    quotient = [
        int(abs(int(a)) // abs(int(b))) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y, strict=True)
    ]
    rest = [int(a) - q * int(b) for a, b, q in zip(x, y, quotient, strict=True)]
    high = [(int(a) % 2**64) * (int(b) % 2**64) >> 64 for a, b in zip(x, y, strict=True)]
    expected = {
        "q": np.array([(q + 2**63) % 2**64 - 2**63 for q in quotient], np.int64),
        "r": np.array(rest, np.int64),
        "high": np.array(high, np.uint64),
        "count": ((x >> 7) ^ (y << 3)) & ~(x | y),
    }
    arguments: dict[str, str | Array] = {"x": x, "y": y}
    arguments |= {name: f"ptr:{n}x{'u64' if name == 'high' else 'i64'}" for name in expected}
    return Launch(_blocks(n, 256), arguments | {"n": f"i32:{n}"}, expected)


def _spin_lock(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-1000, 1000, n, np.int32)
    padded = np.pad(x, (0, -n % 128)).reshape(-1, 128)
    arguments = {"x": x, "lock": "ptr:1xi32=zeros", "sum": "ptr:128xi32=zeros", "n": f"i32:{n}"}
    return Launch(_blocks(n, 128), arguments, {"sum": padded.sum(0), "lock": np.zeros(1)})


def _atomic_halves(kind: str, n: int, rng: np.random.Generator) -> Launch:
    # Small whole numbers: no sum is rounded, so no order counts.
    x, index = rng.integers(0, 3, n).astype(np.float32), rng.integers(0, 37, n, np.int32)
    arguments = {"x": x, "index": index, "sum": f"ptr:37x{kind}=zeros", "n": f"i32:{n}"}
    return Launch(_blocks(n, 256), arguments, {"sum": np.bincount(index, x, 37)})


def _atomic_f16(n: int, rng: np.random.Generator) -> Launch:
    return _atomic_halves("f16", n, rng)


def _atomic_bf16(n: int, rng: np.random.Generator) -> Launch:
    return _atomic_halves("bf16", n, rng)


def _atomic_all(n: int, rng: np.random.Generator) -> Launch:
    x, index = rng.integers(-(2**31), 2**31, n, np.int32), rng.integers(0, 7, n, np.int32)
    start = {
        "min": np.full(7, 2**31 - 1, np.int32),
        "max": np.full(7, -(2**31), np.int32),
        "and": np.full(7, -1, np.int32),
        "or": np.zeros(7, np.int32),
        "xor": np.zeros(7, np.int32),
        "umax": np.zeros(7, np.uint32),
        "fmax": np.full(7, -np.inf, np.float32),
    }
    expected = {name: array.copy() for name, array in start.items()}
    operations = (np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    for name, operation in zip(expected, operations, strict=False):
        operation.at(expected[name], index, x)
    np.maximum.at(expected["umax"], index, x.view(np.uint32))
    np.maximum.at(expected["fmax"], index, x.astype(np.float32))
    return Launch(_blocks(n, 256), {"x": x, "index": index} | start | {"n": f"i32:{n}"}, expected)


def _tickets(n: int, _: np.random.Generator) -> Launch:
    expected = {"counter": np.array([n]), "order": np.repeat(np.arange(n), 32).reshape(n, 32)}
    arguments = {"order": f"ptr:{n}x32xi32", "counter": "ptr:1xi32=zeros"}
    return Launch(str(n), arguments, expected, any_order=frozenset({"order"}))


ROUNDED_SUMS = Freedom("ptxas contracts products and sums; the order of a float sum over blocks", 1e-5, 1e-5)
GRADIENTS = dict.fromkeys(("dx", "dw", "db"), ROUNDED_SUMS)

# file, without the ending; kernel
ARRAYS = (
    ("sort_rows.sm80", Kernel("sort_rows", (1, 100, 256), _sort_rows)),
    ("cumsum.sm80", Kernel("cumsum", (1, 100, 512), _cumsum)),
    ("linear_recurrence.sm80", Kernel("linear_recurrence", (1, 100, 256), _linear_recurrence)),
    ("extremes.sm80", Kernel("extremes", (1, 777, 1024), _extremes)),
    ("histogram_block.sm80", Kernel("histogram_block", (1, 512, 1000), _histogram)),
    ("gather_rows.sm80", Kernel("gather_rows", (1, 50, 64), _gather_rows)),
    ("transpose_tile.sm80", Kernel("transpose_tile", (1, 64, 90), _transpose)),
    ("conv1d.sm80", Kernel("conv1d", (1, 512, 900), _conv1d)),
    ("layernorm_backward.sm80", Kernel("layernorm_backward", (2, 100, 512), _layernorm_backward, GRADIENTS)),
    ("cast_fp8.sm89", Kernel("cast_fp8", (1, 512, 1001), _cast_fp8_by_f16)),
    ("cast_fp8.sm90", Kernel("cast_fp8", (1, 512, 1001), _cast_fp8)),
    ("bits_and_ints.sm80", Kernel("bits_and_ints", (1, 256, 500), _bits_and_ints)),
    ("spin_lock.sm80", Kernel("spin_lock", (1, 512, 1000), _spin_lock)),
    ("atomic_f16.sm80", Kernel("atomic_halves", (1, 256, 900), _atomic_f16)),
    ("atomic_bf16.sm90", Kernel("atomic_halves", (1, 256, 900), _atomic_bf16)),
    ("atomic_all.sm80", Kernel("atomic_all", (1, 256, 900), _atomic_all)),
    ("tickets.sm80", Kernel("tickets", (1, 32, 45), _tickets)),
)
