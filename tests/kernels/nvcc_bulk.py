"""nvcc's kernels of copies in bulk, between global memory, shared memory and the blocks of a cluster."""

from __future__ import annotations

import numpy as np

from tests.kernels.launches import Kernel, Launch


def _bulk_tiles(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-99, 100, 4 * n, np.int32)  # copies are of 16 bytes
    tiles = [x[start : start + 256] for start in range(0, 4 * n, 256)]
    expected = np.concatenate([tile[::-1] * 3 + np.arange(len(tile), dtype=np.int32) for tile in tiles])
    arguments = {"x": x, "out": f"ptr:{4 * n}xi32", "n": f"i32:{4 * n}"}
    return Launch("2", arguments, {"out": expected}, block="64")


def _bulk_sums(blocks: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-(2**20), 2**20, (blocks, 64), np.int32)
    words = x.view(np.uint32)
    expected = {
        "sum": x.sum(0),
        "largest": words.max(0),
        "smallest": np.minimum(x.min(0), 0),
        "wide": (words.astype(np.uint64) << np.uint64(20)).sum(0),
        "bits": np.bitwise_xor.reduce(words, 0),
    }
    kinds = {"sum": "i32", "largest": "u32", "smallest": "i32", "wide": "u64", "bits": "u32"}
    buffers = {name: f"ptr:64x{kind}=zeros" for name, kind in kinds.items()}
    return Launch(str(blocks), {"x": x, **buffers}, expected, block="64")


def _bulk_ring(clusters: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-99, 100, (clusters, 4, 128), np.int32)
    sent = x * 2 + np.arange(4)[:, None]
    expected = np.roll(sent, 1, 1)[:, :, ::-1]
    arguments = {"x": x, "out": f"ptr:{clusters}x4x128xi32"}
    return Launch(str(4 * clusters), arguments, {"out": expected}, block="128")


# file, without the ending; kernel
BULK = (
    ("bulk", Kernel("bulk_tiles", (1, 64, 300), _bulk_tiles)),
    ("bulk", Kernel("bulk_sums", (1, 5), _bulk_sums)),
    ("bulk", Kernel("bulk_ring", (1, 3), _bulk_ring)),
)
