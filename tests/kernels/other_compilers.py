"""Kernels compiled by NVRTC, numba-cuda and rustc."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import partial

import numpy as np

from tests.kernels import formats, references
from tests.kernels.launches import Array, Freedom, Kernel, Launch


def _grid(n: int, block: int = 64) -> str:
    return str(-(-n // block))


def _sum_rows(n: int, rng: np.random.Generator) -> Launch:
    # Sixteenths: every partial sum is exact in double precision.
    x = (rng.integers(-9999, 10000, (3, n)) / 16).astype(np.float32)
    arguments = {"x": x, "out": "ptr:3xf64", "rows": "i32:3", "columns": f"i32:{n}"}
    return Launch("3", arguments, {"out": x.astype(np.float64).sum(1)}, block="128")


def _gray(n: int, rng: np.random.Generator) -> Launch:
    rgb = rng.integers(0, 256, (n, 3), np.uint8)
    expected = (rgb.astype(int) @ (77, 150, 29) + 128) >> 8
    arguments = {"rgb": rgb, "out": f"ptr:{n}xu8", "pixels": f"i32:{n}"}
    return Launch("2", arguments, {"out": expected}, block="64")


def _axpby_half(n: int, rng: np.random.Generator) -> Launch:
    # Powers of two as factors: only the last rounding, to f16, is one.
    x, y = (rng.standard_normal(n).astype(np.float16) for _ in range(2))
    expected = (0.5 * x.astype(np.float32) - 2 * y.astype(np.float32)).astype(np.float16)
    arguments = {"x": x, "y": y, "a": "f32:0.5", "b": "f32:-2", "n": f"u64:{n}"}
    return Launch(_grid(n), arguments, {"y": expected}, block="64")


def _box3x3(n: int, rng: np.random.Generator) -> Launch:
    width, height = n, n // 2 + 2
    x = rng.integers(-9999, 10000, (height, width), np.int32)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, 1, "edge"), (3, 3))
    expected = np.trunc(windows.sum((2, 3)) / 9)
    arguments = {
        "x": x,
        "out": f"ptr:{height}x{width}xi32",
        "width": f"i32:{width}",
        "height": f"i32:{height}",
    }
    return Launch(f"{_grid(width, 16)},{_grid(height, 8)}", arguments, {"out": expected}, block="16,8")


def _dot_blocks(n: int, rng: np.random.Generator) -> Launch:
    x, y = (rng.integers(-99, 100, n).astype(np.float32) for _ in range(2))
    blocks = -(-n // 128)
    expected = np.pad(x * y, (0, 128 * blocks - n)).reshape(-1, 128).sum(1)
    arguments = {"x": x, "y": y, "out": f"ptr:{blocks}xf32", "n": f"i32:{n}"}
    return Launch(str(blocks), arguments, {"out": expected}, block="128")


def _reduce_by(kind: str, n: int, rng: np.random.Generator) -> Launch:
    blocks, block = 2, 96
    # Whole numbers: exact in any order.
    x = {
        "i32": rng.integers(-(2**31), 2**31, n, np.int32),
        "f64": rng.integers(-99, 100, n).astype(np.float64),
        "f16": rng.integers(-2, 3, (n, 2)).astype(np.float16),
    }[kind]
    owner = np.arange(n) // block % blocks
    if kind == "i32":
        expected = np.array([x[owner == b].max(initial=-(2**31)) for b in range(blocks)])
    else:
        expected = np.array([x[owner == b].sum(0) for b in range(blocks)])
    shape = "x".join(map(str, expected.shape))
    arguments = {"x": x, "out": f"ptr:{shape}x{kind}", "n": f"i32:{n}"}
    return Launch(str(blocks), arguments, {"out": expected}, block=str(block), shared=24)


TABLE = np.array(
    [[1, -2, 0.5, 4, -1, 2, 8, 0.25], [3, 1, -1, 2, 0, 5, -4, 1], [0.5, 0.25, 2, 1, 1, -1, 2, -2]]
)


def _polynomials(n: int, rng: np.random.Generator) -> Launch:
    x, row = rng.standard_normal(n, dtype=np.float32), rng.integers(0, 3, n, np.int32)
    total = TABLE[row, 5].astype(np.float32)
    for k in range(4, -1, -1):
        total = references.fma(total, x, TABLE[row, k].astype(np.float32))
    arguments = {"x": x, "row": row, "y": f"ptr:{n}xf32", "short_y": f"ptr:{n}xbf16", "n": f"i32:{n}"}
    return Launch(_grid(n), arguments, {"y": total, "short_y": formats.to_bf16(total)}, block="64")


def _scatter(n: int, rng: np.random.Generator) -> Launch:
    # Whole groups of three, so that each place is written.
    x = rng.integers(0, 2**16, (n, 3), np.uint16)
    expected = (x * np.uint16(3) + np.arange(n, dtype=np.uint16)[:, None])[:, ::-1]
    arguments = {"x": x, "y": f"ptr:{n}x3xu16", "n": f"i32:{3 * n}"}
    return Launch(_grid(3 * n), arguments, {"y": expected}, block="64")


def numba_array(
    name: str, shape: tuple[int, ...], itemsize: int, data: str | Array
) -> Mapping[str, str | Array]:
    """The words by which numba passes an array: owner, parent, counts, the data, its shape and strides."""
    words: dict[str, str | Array] = {f"{name}_owner": "ptr:null", f"{name}_parent": "ptr:null"}
    words |= {f"{name}_items": f"i64:{np.prod(shape)}", f"{name}_itemsize": f"i64:{itemsize}", name: data}
    words |= {f"{name}_shape{axis}": f"i64:{size}" for axis, size in enumerate(shape)}
    strides = [itemsize * int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    return words | {f"{name}_stride{axis}": f"i64:{stride}" for axis, stride in enumerate(strides)}


def _count_and_max(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 2**31, n, np.int32)
    counts, most = np.zeros(13, np.int32), np.zeros(5, np.int32)
    expected = {"counts": np.bincount(x % 13, minlength=13), "most": most.copy()}
    np.maximum.at(expected["most"], x % 5, x)
    arrays = {"x": x, "counts": counts, "most": most}
    arguments: dict[str, str | Array] = {}
    for name, array in arrays.items():
        arguments |= numba_array(name, array.shape, 4, array)
    return Launch(_grid(n), arguments, expected, block="64")


def _polar(n: int, rng: np.random.Generator) -> Launch:
    x, y = rng.standard_normal(n), rng.standard_normal(n)
    expected = {
        "radius": np.sqrt(x * x + y * y) + np.exp(-np.abs(x)) * np.log1p(np.abs(y)),
        "angle": np.arctan2(y, x) + np.sin(x) * np.cos(y) + np.abs(x) ** 0.3,
    }
    arguments = {"x": x, "y": y, "radius": f"ptr:{n}xf64", "angle": f"ptr:{n}xf64", "n": f"i32:{n}"}
    tolerance = {"radius": (1e-14, 0.0), "angle": (1e-14, 1e-14)}
    return Launch(_grid(n), arguments, expected, block="64", tolerance=tolerance)


def _digits(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 10 ** rng.integers(1, 12, n))
    expected = np.array([int(str(value)[::-1]) for value in x])
    return Launch("2", {"x": x, "out": f"ptr:{n}xi64", "n": f"i32:{n}"}, {"out": expected}, block="32")


def _numba_matmul(n: int, rng: np.random.Generator) -> Launch:
    a, b = (
        rng.integers(-9, 10, (n + 2, n)).astype(np.float64),
        rng.integers(-9, 10, (n, n + 5)).astype(np.float64),
    )
    shape = (n + 2, n + 5)
    arguments = {**numba_array("a", a.shape, 8, a), **numba_array("b", b.shape, 8, b)}
    arguments |= numba_array("c", shape, 8, f"ptr:{shape[0]}x{shape[1]}xf64")
    return Launch(f"{_grid(shape[0], 8)},{_grid(shape[1], 8)}", arguments, {"c": a @ b}, block="8,8")


def _gather(n: int, rng: np.random.Generator) -> Launch:
    x, index = (rng.integers(-99, 100, 50) / 4).astype(np.float32), rng.integers(0, 50, n, np.uint32)
    arguments = {"x": x, "length": "u64:50", "index": index, "y": f"ptr:{n}xf32", "n": f"u64:{n}"}
    return Launch(_grid(n), arguments, {"y": x[index] * 2 + 1}, block="64")


def _crc32(n: int, rng: np.random.Generator) -> Launch:
    data = rng.integers(0, 256, (40, n), np.uint8)
    expected = np.array([zlib.crc32(row.tobytes()) for row in data], np.uint32)
    arguments = {"data": data, "columns": f"u64:{n}", "out": "ptr:40xu32", "rows": "u64:40"}
    return Launch("2", arguments, {"out": expected}, block="32")


def _floats(n: int, rng: np.random.Generator) -> Launch:
    x = rng.standard_normal(n, dtype=np.float32)
    total = np.zeros(n, np.float32)
    for coefficient in (0.5, -1.25, 3.0, 0.0625, -2.0):
        total = (total.astype(np.float64) * x + coefficient).astype(np.float32)
    wide = x.astype(np.float64)
    root = (np.sqrt(wide * wide + 4) - wide) / 2
    arguments = {"x": x, "p": f"ptr:{n}xf32", "root": f"ptr:{n}xf64", "n": f"u64:{n}"}
    return Launch(_grid(n), arguments, {"p": total, "root": root}, block="64", tolerance={"p": (1e-6, 1e-7)})


def _peak(start: int) -> int:
    """The highest point of Collatz' orbit."""
    top = start
    while start != 1:
        start = 3 * start + 1 if start & 1 else start // 2
        top = max(top, start)
    return top


def _integers(n: int, rng: np.random.Generator) -> Launch:
    factor = rng.integers(1, 2**20, n, np.uint64)
    a, b = (factor * rng.integers(0, 2**40, n, np.uint64) for _ in range(2))
    low = (a ^ b) & np.uint64(0xFFFFFFFF)
    expected = {
        "gcd": np.gcd(a, b),
        "peak": np.array([_peak(i + 1) for i in range(n)], np.uint64),
        "bits": np.bitwise_count(low),
    }
    arguments = {"a": a, "b": b, "gcd": f"ptr:{n}xu64", "peak": f"ptr:{n}xu64", "bits": f"ptr:{n}xu32"}
    return Launch(_grid(n), arguments | {"n": f"u64:{n}"}, expected, block="64")


def _orbit(x: Array, y: Array, cx: Array, cy: Array, limit: int) -> Array:
    """Steps to leave the circle, each product and sum rounded to float32."""
    steps = np.zeros(x.shape, np.uint32)
    alive = np.full(x.shape, True)
    with np.errstate(all="ignore"):
        for _ in range(limit):
            xx, yy = x * x, y * y
            alive = alive & ~(xx + yy > 4)
            x, y = xx - yy + cx, np.float32(2) * (x * y) + cy
            steps += alive
    return steps


def _orbits(n: int, _: np.random.Generator) -> Launch:
    width = 48
    i = np.arange(n)
    x, y = (i % width / 16 - 2).astype(np.float32), (i // width / 16 - 1).astype(np.float32)
    zero = np.zeros(n, np.float32)
    expected = {
        "first": _orbit(zero, zero, x, y, 50),
        "second": _orbit(x, y, zero + np.float32(-0.75), zero + np.float32(0.125), 40),
    }
    arguments = {"first": f"ptr:{n}xu32", "second": f"ptr:{n}xu32", "width": f"u64:{width}", "n": f"u64:{n}"}
    return Launch(_grid(n), arguments, expected, block="64")


def _insertions(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-99, 100, (n, 16), np.int32)
    arguments = {"x": x, "y": f"ptr:{n}x16xi32", "n": f"u64:{n}"}
    return Launch(_grid(n), arguments, {"y": np.sort(x)}, block="64")


def _turn(x: int, by: int) -> int:
    return (x << by | x >> (64 - by)) % 2**64


def _hash(row: Array) -> int:
    h = 0x27D4EB2F165667C5 + len(row) * 8
    for word in row:
        scrambled = _turn(int(word) * 0xC2B2AE3D27D4EB4F % 2**64, 31) * 0x9E3779B185EBCA87 % 2**64
        h = (_turn(h ^ scrambled, 27) * 0x9E3779B185EBCA87 + 0x85EBCA77C2B2AE63) % 2**64
    h = (h ^ h >> 33) * 0xC2B2AE3D27D4EB4F % 2**64
    h = (h ^ h >> 29) * 0x165667B19E3779F9 % 2**64
    return h ^ h >> 32


def _hashes(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 2**64, (n, 5), np.uint64)
    hashes = np.array([_hash(row) for row in x], np.uint64)
    low = np.pad(hashes & np.uint64(0xFFFFFFFF), (0, -n % 64)).reshape(-1, 32)
    expected = {"hash": hashes, "sum": low.sum(1).astype(np.uint32)}
    arguments = {"x": x, "columns": "u64:5", "hash": f"ptr:{n}xu64", "sum": f"ptr:{len(low)}xu32"}
    return Launch(_grid(n), arguments | {"rows": f"u64:{n}"}, expected, block="64")


LIBRARY = Freedom("products and sums of the functions that ptxas contracts", 1e-14, 1e-14)

# file, without the ending; kernel
NVRTC = (
    ("raw", Kernel("sum_rows", (1, 128, 300), _sum_rows)),
    ("raw", Kernel("gray", (1, 128, 500), _gray)),
    ("raw", Kernel("axpby_half", (1, 64, 300), _axpby_half)),
    ("raw", Kernel("box3x3", (1, 32, 45), _box3x3)),
    ("templates", Kernel("_Z9reduce_byIi7LargestEvPKT_PS1_i", (1, 96, 500), partial(_reduce_by, "i32"))),
    ("templates", Kernel("_Z9reduce_byId3SumEvPKT_PS1_i", (1, 96, 500), partial(_reduce_by, "f64"))),
    ("templates", Kernel("_Z9reduce_byI7__half23SumEvPKT_PS2_i", (1, 96, 500), partial(_reduce_by, "f16"))),
    ("templates", Kernel("_Z11polynomialsILi5EEvPKfPKiPfP13__nv_bfloat16i", (1, 64, 300), _polynomials)),
    ("templates", Kernel("_Z7scatterItLi3EEvPKT_PS0_i", (1, 64, 100), _scatter)),
)
NUMBA = (
    ("dot_blocks", Kernel("", (1, 128, 500), _dot_blocks)),
    ("count_and_max", Kernel("", (1, 64, 300), _count_and_max)),
    ("polar", Kernel("", (1, 64, 300), _polar, dict.fromkeys(("radius", "angle"), LIBRARY))),
    ("digits", Kernel("", (1, 64, 300), _digits)),
    ("matmul", Kernel("", (1, 8, 21), _numba_matmul)),
)
RUST = (
    ("kernels", Kernel("gather", (1, 64, 300), _gather)),
    ("kernels", Kernel("crc32", (1, 16, 100), _crc32)),
    ("kernels", Kernel("floats", (1, 64, 300), _floats)),
    ("kernels", Kernel("integers", (1, 64, 200), _integers)),
    ("kernels", Kernel("orbits", (1, 64, 1500), _orbits)),
    ("kernels", Kernel("insertions", (1, 64, 100), _insertions)),
    ("kernels", Kernel("hashes", (1, 64, 300), _hashes)),
)
