"""nvcc's kernels of warps and blocks that work as one: tensor cores, cooperative groups, pipelines."""

from __future__ import annotations

import numpy as np

from tests.kernels.launches import Array, Freedom, Kernel, Launch
from tests.kernels.triton_matrices import SUM_ORDER


def _normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def _mnk(m: int, n: int, k: int) -> dict[str, str | Array]:
    return {"m": f"i32:{m}", "n": f"i32:{n}", "k": f"i32:{k}"}


def _wmma_f16(n: int, rng: np.random.Generator) -> Launch:
    # Whole numbers at sizes of an odd number of tiles, random ones at the others.
    m, k, exact = 32, n + 16, n % 32 == 16
    a, b = (rng.integers(-5, 6, shape) if exact else _normal(rng, *shape) for shape in ((m, k), (n, k)))
    a, b, c = a.astype(np.float16), b.astype(np.float16), rng.integers(-9, 10, (m, n)).astype(np.float32)
    expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64).T + c, 0)
    arguments = {"a": a, "b": b, "c": c, "d": f"ptr:{m}x{n}xf32"} | _mnk(m, n, k)
    tolerance = {} if exact else {"d": (1e-5, 2e-5)}
    return Launch(f"{n // 16},{m // 16}", arguments, {"d": expected}, block="32", tolerance=tolerance)


def _wmma_tf32(n: int, rng: np.random.Generator) -> Launch:
    m, k = 16, n + 8
    a, b = _normal(rng, m, k), _normal(rng, k, n)
    # To the nearest of ten bits, ties away from zero.
    near_a, near_b = (
        ((x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32) for x in (a, b)
    )
    expected = near_a.astype(np.float64) @ near_b
    arguments = {"a": a, "b": b, "d": f"ptr:{m}x{n}xf32"} | _mnk(m, n, k)
    return Launch(f"{n // 16},1", arguments, {"d": expected}, block="32", tolerance={"d": (1e-5, 2e-5)})


def _wmma_s8(n: int, rng: np.random.Generator) -> Launch:
    m, k = 64, 2 * n
    a, b = rng.integers(-128, 128, (m, k), np.int8), rng.integers(-128, 128, (n, k), np.int8)
    expected = (a.astype(np.int64) @ b.astype(np.int64).T).T
    arguments = {"a": a, "b": b, "d": f"ptr:{n}x{m}xi32"} | _mnk(m, n, k)
    return Launch(f"{n // 8},{m // 32}", arguments, {"d": expected}, block="32")


def _wmma_f64(n: int, rng: np.random.Generator) -> Launch:
    k = n + 4
    a, b = rng.standard_normal((8, k)), rng.standard_normal((k, n))
    arguments = {"a": a, "b": b, "d": f"ptr:8x{n}xf64", "n": f"i32:{n}", "k": f"i32:{k}"}
    return Launch(f"{n // 8},1", arguments, {"d": a @ b}, block="32", tolerance={"d": (1e-14, 1e-14)})


def _wmma_b1(n: int, rng: np.random.Generator) -> Launch:
    k = 16 * n
    bits_a, bits_b = rng.integers(0, 2, (16, k), np.uint8), rng.integers(0, 2, (n, k), np.uint8)
    a, b = (np.packbits(x, axis=1, bitorder="little").view(np.uint32) for x in (bits_a, bits_b))
    expected = (bits_a[:, None, :] != bits_b[None, :, :]).sum(2)
    arguments = {"a": a, "b": b, "d": f"ptr:16x{n}xi32", "n": f"i32:{n}", "k": f"i32:{k}"}
    return Launch(f"{n // 8},2", arguments, {"d": expected}, block="32")


def _tiles(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-50, 50, n, np.int32)
    blocks = -(-n // 96)
    padded = np.pad(x, (0, blocks * 96 - n))
    warps = padded.reshape(-1, 32)
    expected = {
        "by4": np.repeat(padded.reshape(-1, 4).sum(1), 4)[:n],
        "by16": np.repeat(padded.reshape(-1, 16).sum(1), 16)[:n],
        "best": np.repeat(warps.max(1), 32)[:n],
        "before": (warps.cumsum(1) - warps).ravel()[:n],
    }
    arguments = {"x": x} | dict.fromkeys(expected, f"ptr:{n}xi32") | {"n": f"i32:{n}"}
    return Launch(str(blocks), arguments, expected, block="96")


def _compact(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-50, 50, n, np.int32)
    positive = x[x > 0]
    arguments = {"x": x, "out": f"ptr:{n}xi32=zeros", "count": "ptr:1xi32=zeros", "n": f"i32:{n}"}
    expected = {"out": np.pad(positive, (0, n - len(positive))), "count": np.array([len(positive)])}
    return Launch(str(-(-n // 64)), arguments, expected, block="64", any_order=frozenset({"out"}))


def _labels(n: int, rng: np.random.Generator) -> Launch:
    key, x = rng.integers(0, 99, n, np.int32), rng.integers(-50, 50, n, np.int32)
    group = np.arange(n) // 32 * 4 + (key & 3)
    total, size = np.bincount(group, x).astype(int), np.bincount(group)
    arguments = {"key": key, "x": x, "sum": f"ptr:{n}xi32", "size": f"ptr:{n}xi32", "n": f"i32:{n}"}
    return Launch(str(-(-n // 64)), arguments, {"sum": total[group], "size": size[group]}, block="64")


def _grid_steps(n: int, rng: np.random.Generator) -> Launch:
    # Quarters of quarters of whole numbers: exact in float32.
    now, then = rng.integers(-99, 100, n).astype(np.float32), np.zeros(n, np.float32)
    arguments = {"a": now, "b": then, "n": f"i32:{n}", "steps": "i32:5"}
    for _ in range(5):
        now, then = np.roll(now, 1) / 4 + now / 2 + np.roll(now, -1) / 4, now
    return Launch("3", arguments, {"a": then, "b": now}, block="64")


def _grid_by_hand(n: int, rng: np.random.Generator) -> Launch:
    blocks, threads = 5, 64
    x = rng.integers(-999, 999, n, np.int32)
    owner = np.arange(n) // threads % blocks
    sums = np.bincount(owner, x, blocks)
    arguments = {
        "x": x,
        "partial": f"ptr:{blocks}xi32",
        "arrived": "ptr:1xu32=zeros",
        "out": f"ptr:{blocks}xi32",
    }
    expected = {"partial": sums, "arrived": np.array([blocks]), "out": np.cumsum(sums) - sums}
    return Launch(str(blocks), arguments | {"n": f"i32:{n}"}, expected, block=str(threads))


def _staged_dot(n: int, rng: np.random.Generator) -> Launch:
    x, y = (rng.integers(-9, 10, (n, 4)).astype(np.float32) for _ in range(2))
    products = np.pad((x * y).sum(1), (0, -n % 64)).reshape(-1, 64).sum(0)[::-1]
    arguments = {"x": x, "y": y, "out": "ptr:64xf32", "n": f"i32:{n}"}
    return Launch("1", arguments, {"out": products}, block="64")


def _cuda_pipeline(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-(2**31), 2**31, n, np.int32)
    thread, total = np.arange(128), np.zeros(128, np.int32)
    for batch in range(n // 128):
        total = total * np.int32(3) + x[batch * 128 + (thread * 7 + batch) % 128]
    return Launch("1", {"x": x, "out": "ptr:128xi32", "n": f"i32:{n}"}, {"out": total}, block="128")


def _producer_consumer(rounds: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-(2**31), 2**31, (rounds, 64), np.int32)
    total = np.zeros(64, np.int32)
    for row in x:
        total = total * np.int32(5) + (row * np.int32(2) + np.int32(1))[::-1]
    return Launch("1", {"x": x, "out": "ptr:64xi32", "rounds": f"i32:{rounds}"}, {"out": total}, block="128")


def _barrier_copy(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-(2**31), 2**31, n, np.int32)
    expected = np.concatenate([x[start : start + 256][::-1] for start in range(0, n, 256)])
    arguments = {"x": x, "out": f"ptr:{n}xi32", "n": f"i32:{n}"}
    return Launch(str(-(-n // 256)), arguments, {"out": expected}, block="128")


F64_ORDER = Freedom("an f64 tensor core's order of a step's four products", 1e-14, 1e-14)

# file, without the ending; kernel
GROUPS = (
    ("tensor", Kernel("wmma_f16", (16, 32, 48), _wmma_f16, {"d": SUM_ORDER})),
    ("tensor", Kernel("wmma_tf32", (16, 48), _wmma_tf32, {"d": SUM_ORDER})),
    ("tensor", Kernel("wmma_s8", (8, 24, 32), _wmma_s8)),
    ("tensor", Kernel("wmma_f64", (8, 24), _wmma_f64, {"d": F64_ORDER})),
    ("tensor", Kernel("wmma_b1", (8, 24), _wmma_b1)),
    ("groups", Kernel("tiles", (1, 96, 250), _tiles)),
    ("groups", Kernel("compact", (1, 64, 250), _compact)),
    ("groups", Kernel("labels", (1, 64, 250), _labels)),
    ("grid", Kernel("grid_steps", (1, 192, 500), _grid_steps)),
    ("grid", Kernel("grid_by_hand", (1, 320, 1000), _grid_by_hand)),
    ("pipeline", Kernel("staged_dot", (1, 64, 300), _staged_dot)),
    ("pipeline", Kernel("cuda_pipeline", (128, 256, 640), _cuda_pipeline)),
    ("pipeline", Kernel("producer_consumer", (1, 2, 7), _producer_consumer)),
    ("pipeline", Kernel("barrier_copy", (1, 256, 700), _barrier_copy)),
)
