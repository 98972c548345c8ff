"""nvcc's kernels built on CUB and libcu++, and those of warps, fragments and clusters by hand."""

from __future__ import annotations

import numpy as np

from tests.kernels.launches import Array, Kernel, Launch
from tests.kernels.triton_matrices import SUM_ORDER


def _sort_pairs(blocks: int, rng: np.random.Generator) -> Launch:
    # Few keys: the order of equal ones must stay.
    key = rng.integers(-99, 100, (blocks, 256), np.int32)
    x = rng.standard_normal((blocks, 256), np.float32)
    order = np.argsort(key, kind="stable")
    expected = {"keys": np.take_along_axis(key, order, 1), "values": np.take_along_axis(x, order, 1)}
    arguments = {"key": key, "x": x, "keys": f"ptr:{blocks}x256xi32", "values": f"ptr:{blocks}x256xf32"}
    return Launch(str(blocks), arguments, expected, block="64")


def _merge_pairs(blocks: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-9, 10, (blocks, 192, 2), np.int32)
    order = np.lexsort((-x[:, :, 1], x[:, :, 0]))
    expected = np.take_along_axis(x, order[:, :, None], 1)
    return Launch(str(blocks), {"x": x, "out": f"ptr:{blocks}x192x2xi32"}, {"out": expected}, block="64")


def _scans(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-50, 50, n, np.int32)
    blocks = -(-n // 96)
    padded = np.pad(x, (0, 96 * blocks - n), constant_values=-1000).reshape(blocks, 96)
    warps = padded.reshape(-1, 32)
    expected = {
        "before": (padded.cumsum(1) - padded).ravel()[:n],
        "top": np.maximum.accumulate(padded, 1).ravel()[:n],
        "sum": padded.sum(1),
        "place": warps.argmax(1) + 32 * np.arange(len(warps)),
    }
    sizes = {"before": n, "top": n, "sum": blocks, "place": 3 * blocks}
    arguments: dict[str, str | Array] = {"x": x}
    arguments |= {name: f"ptr:{size}xi32" for name, size in sizes.items()} | {"n": f"i32:{n}"}
    return Launch(str(blocks), arguments, expected, block="96")


def _decode_runs(n: int, rng: np.random.Generator) -> Launch:
    value, length = rng.integers(-99, 100, n, np.int32), rng.integers(1, 9, n, np.int32)
    expected = np.repeat(value, length)
    arguments = {"value": value, "length": length, "out": f"ptr:{len(expected)}xi32", "n": f"i32:{n}"}
    return Launch("1", arguments, {"out": expected}, block="64")


def _atomic_refs(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-(2**31), 2**31, n, np.int32)
    high = 3 * int(x.view(np.uint32).sum(dtype=np.uint64)) % 2**32
    expected = {
        "largest": np.array([x.max()]),
        "product": np.array([1.5 * (-1) ** n]),
        "pair": np.array([high << 32 | n], np.uint64),
        "bytes": np.bincount(x & 7, minlength=8).astype(np.uint8),
    }
    arguments = {"x": x, "largest": f"ptr:1xi32={-(2**31)}", "product": "ptr:1xf64=1.5"}
    arguments |= {"pair": "ptr:1xu64=zeros", "bytes": "ptr:8xu8=zeros", "n": f"i32:{n}"}
    return Launch(str(-(-n // 64)), arguments, expected, block="64")


def _waits(blocks: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-99, 100, (blocks, 128), np.int32)
    expected = {"out": x[:, ::-1], "most": np.ones(blocks)}
    arguments = {"x": x, "out": f"ptr:{blocks}x128xi32", "most": f"ptr:{blocks}xi32"}
    return Launch(str(blocks), arguments, expected, block="128")


def _bits_of(v: int) -> int:
    turned = (v << 7 | v >> 25) & 0xFFFFFFFF
    ones = (~v & -~v).bit_length() - 1 if v != 0xFFFFFFFF else 32
    power = 77 if v.bit_count() == 1 else 0
    return (turned + v.bit_count() * 1000 + v.bit_length() + power + ones) & 0xFFFFFFFF


def _standard(n: int, rng: np.random.Generator) -> Launch:
    rows, columns = n, n // 2 + 1
    x = rng.integers(0, 2**32, (rows, columns), np.uint32) >> rng.integers(0, 32, (rows, columns), np.uint32)
    # Eighths, and a divisor that is a power of two: all is exact.
    z = rng.choice([(1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)], rows * columns)
    wide = z.view(np.complex128)[:, 0]
    product = wide * wide + (1 - 2j) / (np.abs(wide) ** 2 + 1)
    found = np.select([x % p == 0 for p in (2, 3, 5, 7, 11)], [2, 3, 5, 7, 11], 1)
    expected = {
        "bits": np.array([_bits_of(int(v)) for v in x.ravel()], np.uint32),
        "found": found.ravel(),
        "product": product.view(np.float64).reshape(-1, 2),
    }
    arguments = {"x": np.ascontiguousarray(x.T), "z": z, "bits": f"ptr:{x.size}xu32"}
    arguments |= {"found": f"ptr:{x.size}xi32", "product": f"ptr:{x.size}x2xf64"}
    arguments |= {"rows": f"i32:{rows}", "columns": f"i32:{columns}"}
    return Launch(str(-(-x.size // 64)), arguments, expected, block="64")


def _rows_by_rows(n: int, rng: np.random.Generator) -> Launch:
    m, k = 32, n + 16
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    arguments = {"a": a, "b": b, "c": f"ptr:{m}x{n}xf32", "n": f"i32:{n}", "k": f"i32:{k}"}
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return Launch(f"{n // 16},2", arguments, {"c": expected}, block="32", tolerance={"c": (1e-5, 2e-5)})


def _two_of_four(_: int, rng: np.random.Generator) -> Launch:
    kept, b = (
        rng.integers(-9, 10, (16, 8)).astype(np.float16),
        rng.integers(-9, 10, (16, 8)).astype(np.float16),
    )
    pairs = np.array([(i, j) for i in range(4) for j in range(i + 1, 4)])[rng.integers(0, 6, (16, 4))]
    whole = np.zeros((16, 4, 4))
    np.put_along_axis(whole, pairs, kept.reshape(16, 4, 2).astype(np.float64), 2)
    places = (pairs[:, :, 0] | pairs[:, :, 1] << 2).astype(np.uint8)
    arguments = {"a": kept, "places": places, "b": np.ascontiguousarray(b.T), "c": "ptr:16x8xf32"}
    return Launch("1", arguments, {"c": whole.reshape(16, 16) @ b}, block="32")


def _warp_word(x: Array) -> Array:
    """What the lanes of one warp make of their numbers."""
    bitwise = np.bitwise_xor.reduce(x) ^ np.bitwise_and.reduce(x | 3) ^ np.bitwise_or.reduce(x & 0xF0F0)
    word = (int(x.sum()) ^ int(x.max()) << 1 ^ int(x.min()) << 2) & 0xFFFFFFFF
    same = len(set(x >> 31)) == 1
    lanes = (1 << len(x)) - 1 if same else 5
    return (word + int(bitwise) + lanes + np.bincount(x & 3, minlength=4)[x & 3]) & 0xFFFFFFFF


def _warp_words(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 2**32, n, np.int64)
    x[:32] &= 0x7FFFFFFF  # one warp that agrees in the highest bit
    expected = np.concatenate([_warp_word(x[start : start + 32]) for start in range(0, n, 32)])
    arguments = {"x": x.astype(np.uint32), "out": f"ptr:{n}xu32", "n": f"i32:{n}"}
    return Launch(str(-(-n // 64)), arguments, {"out": expected}, block="64")


def _spread_histogram(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 256, n, np.uint8)
    arguments = {"x": x, "h": "ptr:64xu32=zeros", "n": f"i32:{n}"}
    return Launch("4", arguments, {"h": np.bincount(x & 63, minlength=64)}, block="64")


def _ring(size: int, rng: np.random.Generator) -> Launch:
    clusters, rounds = 2, 5
    x = rng.integers(-99, 100, (clusters, size, 64), np.int32)
    tiles = x
    for _ in range(rounds):
        tiles = np.roll((tiles * 3 + np.arange(size, dtype=np.int32)[:, None])[:, :, ::-1], 1, axis=1)
    arguments = {"x": x, "out": f"ptr:{clusters}x{size}x64xi32", "rounds": f"i32:{rounds}"}
    return Launch(str(clusters * size), arguments, {"out": tiles}, block="64", cluster=str(size))


def _remote_arrivals(width: int, rng: np.random.Generator) -> Launch:
    height, rounds, threads = 4, 3, 64
    x = rng.integers(-99, 100, (height, width, rounds, threads), np.int32)
    # Clusters of two by two blocks; the first block of each tells of all four.
    parts = x.sum(3).reshape(height // 2, 2, width // 2, 2, rounds).cumsum(4)
    out = np.zeros((height, width, rounds, 4), np.int32)
    out[::2, ::2] = parts.transpose(0, 2, 4, 1, 3).reshape(height // 2, width // 2, rounds, 4)
    arguments = {"x": x, "out": np.zeros(out.shape, np.int32), "rounds": f"i32:{rounds}"}
    return Launch(f"{width},{height}", arguments, {"out": out}, block=str(threads))


# file, without the ending; kernel
LIBRARIES = (
    ("library", Kernel("sort_pairs", (1, 3), _sort_pairs)),
    ("library", Kernel("merge_pairs", (1, 2), _merge_pairs)),
    ("library", Kernel("scans", (1, 96, 250), _scans)),
    ("library", Kernel("decode_runs", (1, 77, 128), _decode_runs)),
    ("library", Kernel("atomic_refs", (1, 64, 300), _atomic_refs)),
    ("library", Kernel("waits", (1, 3), _waits)),
    ("library", Kernel("standard", (1, 13, 24), _standard)),
    ("fragments", Kernel("rows_by_rows", (16, 48), _rows_by_rows, {"c": SUM_ORDER})),
    ("fragments", Kernel("two_of_four", (16,), _two_of_four)),
    ("fragments", Kernel("warp_words", (1, 64, 300), _warp_words)),
    ("clusters", Kernel("spread_histogram", (1, 256, 5000), _spread_histogram)),
    ("clusters", Kernel("ring", (1, 2, 8), _ring)),
    ("clusters", Kernel("remote_arrivals", (2, 6), _remote_arrivals)),
)
