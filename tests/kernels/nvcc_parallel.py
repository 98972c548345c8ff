"""nvcc's kernels of algorithms that threads share: sorts, scans, histograms, sparse products, stencils."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.kernels.launches import Array, Freedom, Kernel, Launch


def _normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def _grid(n: int, block: int) -> str:
    return str(-(-n // block))


def _warp_scan(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-99, 100, n, np.int32)
    blocks = -(-n // 64)
    warps = np.pad(x, (0, 64 * blocks - n)).reshape(-1, 32)
    bit = 1 << np.arange(32, dtype=np.int64)
    odd = ((warps & 1) * bit).sum(1, keepdims=True)
    digit = warps & 15
    same = ((digit[:, :, None] == digit[:, None, :]) * bit).sum(2)
    flags = np.where((warps > 90).any(1), 5, 0) ^ np.where((warps > -95).all(1), 9, 0)
    vote = odd ^ (same << 1) ^ flags[:, None] ^ warps.max(1, keepdims=True)
    expected = {"out": warps.cumsum(1).ravel()[:n], "vote": (vote & 0xFFFFFFFF).astype(np.uint32).ravel()[:n]}
    arguments = {"x": x, "out": f"ptr:{n}xi32", "vote": f"ptr:{n}xu32", "n": f"i32:{n}"}
    return Launch(str(blocks), arguments, expected, block="64")


def _bitonic(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-(2**31), 2**31, (3, n), np.int32)
    return Launch("3", {"x": x, "n": f"i32:{n}"}, {"x": np.sort(x)}, block="128", shared=512)


def _radix_pass(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 2**32, n, np.uint32)
    shift = n % 29
    expected = x[np.argsort(x >> np.uint32(shift) & np.uint32(15), kind="stable")]
    arguments = {"x": x, "out": f"ptr:{n}xu32", "shift": f"i32:{shift}", "n": f"i32:{n}"}
    return Launch("1", arguments, {"out": expected}, block="256")


def _look_back(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-99, 100, n, np.int32)
    blocks = -(-n // 256)
    arguments = {"x": x, "out": f"ptr:{n}xi32", "state": f"ptr:{blocks}xu64=zeros"}
    arguments |= {"ticket": "ptr:1xi32=zeros", "n": f"i32:{n}"}
    return Launch(str(blocks), arguments, {"out": x.cumsum(), "ticket": np.array([blocks])}, block="256")


def _shared_histogram(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 256, n, np.uint8) & rng.integers(0, 256, n, np.uint8)
    arguments = {"x": x, "h": "ptr:256xu32=zeros", "n": f"i32:{n}"}
    return Launch("3", arguments, {"h": np.bincount(x, minlength=256)}, block="96")


def _spmv(n: int, rng: np.random.Generator) -> Launch:
    full = np.where(rng.random((n, n + 3)) < 0.3, rng.standard_normal((n, n + 3)), 0)
    row, column = np.nonzero(full)
    x = rng.standard_normal(n + 3)
    start = np.searchsorted(row, np.arange(n + 1)).astype(np.int32)
    # One more, so that an empty matrix has a buffer too.
    columns, values = np.append(column, 0).astype(np.int32), np.append(full[row, column], 0.0)
    arguments = {"start": start, "column": columns, "value": values, "x": x, "y": f"ptr:{n}xf64"}
    return Launch(
        _grid(8 * n, 64),
        arguments | {"rows": f"i32:{n}"},
        {"y": full @ x},
        block="64",
        tolerance={"y": (1e-13, 1e-14)},
    )


def _nbody(n: int, rng: np.random.Generator) -> Launch:
    body = _normal(rng, n, 4)
    wide = body.astype(np.float64)
    away = wide[None, :, :3] - wide[:, None, :3]
    strength = wide[None, :, 3] * ((away**2).sum(2) + np.float32(0.01)) ** -1.5
    force = np.concatenate([(away * strength[:, :, None]).sum(1), wide[:, 3:]], 1)
    arguments = {"body": body, "force": f"ptr:{n}x4xf32", "n": f"i32:{n}"}
    # A near pair pulls a thousandfold; its error counts beside the small sum.
    return Launch(_grid(n, 64), arguments, {"force": force}, block="64", tolerance={"force": (1e-5, 1e-3)})


def _life(n: int, rng: np.random.Generator) -> Launch:
    width, height = n, n // 2 + 3
    a = rng.integers(0, 2, (height, width), np.uint8)
    shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]
    around = sum(np.roll(a, shift, (0, 1)).astype(int) for shift in shifts)
    expected = (around == 3) | ((around == 2) & (a == 1))
    arguments = {"a": a, "b": f"ptr:{height}x{width}xu8", "w": f"i32:{width}", "h": f"i32:{height}"}
    return Launch(f"{_grid(width, 32)},{_grid(height, 8)}", arguments, {"b": expected}, block="32,8")


def _stencil(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-99, 100, n).astype(np.float32)
    padded = np.pad(x, 2)
    weights = (0.0625, 0.25, 0.375, 0.25, 0.0625)
    expected = np.sum([weight * padded[k : k + n] for k, weight in enumerate(weights)], 0)
    arguments = {"x": x, "out": f"ptr:{n}xf32", "n": f"i32:{n}"}
    return Launch(_grid(n, 128), arguments, {"out": expected}, block="128")


def _median(width: int, x: Array, kind: str) -> Launch:
    n = len(x)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, width // 2, "edge"), width)
    arguments = {"x": x, "out": f"ptr:{n}x{kind}", "n": f"i32:{n}"}
    return Launch(_grid(n, 64), arguments, {"out": np.sort(windows)[:, width // 2]}, block="64")


def _median5(n: int, rng: np.random.Generator) -> Launch:
    return _median(5, rng.integers(-(2**15), 2**15, n, np.int16), "i16")


def _median7(n: int, rng: np.random.Generator) -> Launch:
    return _median(7, rng.standard_normal(n), "f64")


def _half_atomics(n: int, rng: np.random.Generator) -> Launch:
    # Small whole numbers: no sum is rounded, so no order counts.
    x, place = rng.integers(0, 3, n).astype(np.float32), rng.integers(0, 23, n, np.int32)
    one = np.bincount(place, x, 23)
    two = np.stack([one, np.bincount(place, minlength=23)], 1)
    arguments = {"x": x, "place": place, "one": "ptr:23xf16=zeros", "two": "ptr:23x2xf16=zeros"}
    arguments |= {"b": "ptr:23xbf16=zeros", "bb": "ptr:23x2xbf16=zeros", "n": f"i32:{n}"}
    return Launch(_grid(n, 64), arguments, {"one": one, "two": two, "b": one, "bb": two}, block="64")


def _many_atomics(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-(2**31), 2**31, n, np.int32)
    slot = np.array([-(2**31), 2**31 - 1, -1, 0, 0, 7], np.int32)
    operations = (np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.subtract)
    changed = [
        operation.reduce(x, initial=start) for operation, start in zip(operations[:5], slot, strict=False)
    ]
    values = [int(v) for v in x]
    last = (int(slot[5]) - sum(values) + 2**31) % 2**32 - 2**31
    wide = [sum(values) * 1000000007 % 2**64, max(v % 2**32 for v in values) << 20]
    expected = {
        "slot": np.array([*changed, last]),
        "wide": np.array(wide, np.uint64),
        "sum": np.array([float(sum(values))]),
        "wrap": np.array([n % 100, -n % 100, 5 * pow(2, n, 1000003) % 1000003]),
    }
    arguments = {"x": x, "slot": slot, "wide": "ptr:2xu64=zeros", "sum": "ptr:1xf64=zeros"}
    return Launch(
        _grid(n, 64), arguments | {"wrap": "ptr:3xu32=0,0,5", "n": f"i32:{n}"}, expected, block="64"
    )


def _wide_loads(n: int, rng: np.random.Generator) -> Launch:
    x, y = rng.integers(0, 2**64, (n, 2), np.uint64), _normal(rng, n, 4)
    z = rng.integers(-(2**15), 2**15, (n, 4), np.int16)
    expected = {"out": x[::-1, ::-1], "half": y[:, ::-1] * np.float32(0.5), "turned": np.roll(z, 1, 1)}
    arguments = {"x": x, "out": f"ptr:{n}x2xu64", "y": y, "half": f"ptr:{n}x4xf32"}
    arguments |= {"z": z, "turned": f"ptr:{n}x4xi16", "n": f"i32:{n}"}
    return Launch(_grid(n, 64), arguments, expected, block="64")


def _signed(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _quotient(a: int, b: int) -> int:
    """C's division, towards zero."""
    return -(-a // b) if a < 0 else a // b


def _step(code: int, a: int, b: int) -> tuple[int, int]:
    """One step of the machine, in C's 64-bit arithmetic."""
    after: Any = {
        0: lambda: (a + b, b),
        1: lambda: (a, b ^ a << 3),
        2: lambda: (a * 6364136223846793005 + 1442695040888963407, b),
        3: lambda: (b, a),
        4: lambda: (_quotient(a, (b & 15) + 1), b),
        5: lambda: (a, b - (a >> 5)),
        6: lambda: (a, -b) if a & 1 else (~a, b),
        7: lambda: (a, b - _quotient(b, 1000003) * 1000003),
    }.get(code, lambda: (a ^ 0x5555, b))
    first, second = after()
    return _signed(first), _signed(second)


def _machine(n: int, rng: np.random.Generator) -> Launch:
    steps, code = 12, rng.integers(0, 10, 16, np.int32)
    expected = []
    for i in range(n):
        a, b = i, 1
        for s in range(steps):
            a, b = _step(int(code[(i + s) % 16]), a, b)
        expected.append(a ^ b)
    arguments = {"code": code, "out": f"ptr:{n}xi64", "steps": f"i32:{steps}", "n": f"i32:{n}"}
    return Launch(_grid(n, 64), arguments, {"out": np.array(expected)}, block="64")


def _message(blocks: int, _: np.random.Generator) -> Launch:
    expected = np.arange(64) * 3 + 1 + np.arange(blocks - 1)[:, None]
    arguments = {"value": "ptr:64xi32", "flag": "ptr:1xi32=zeros", "out": f"ptr:{blocks - 1}x64xi32"}
    return Launch(str(blocks), arguments, {"out": expected, "flag": np.ones(1)}, block="64")


CONTRACTED = Freedom("ptxas makes one rounding of a product and a sum", 1e-13, 1e-14)
FORCES = Freedom("rsqrt.approx, and products and sums that ptxas contracts", 1e-5, 1e-3)

# file, without the ending; kernel
PARALLEL = (
    ("parallel", Kernel("warp_scan", (1, 64, 300), _warp_scan)),
    ("parallel", Kernel("bitonic", (1, 100, 128), _bitonic)),
    ("parallel", Kernel("radix_pass", (1, 200, 256), _radix_pass)),
    ("parallel", Kernel("look_back", (1, 1024, 3000), _look_back)),
    ("parallel", Kernel("shared_histogram", (1, 1151, 5000), _shared_histogram)),
    ("parallel", Kernel("spmv", (1, 32, 77), _spmv, {"y": CONTRACTED})),
    ("parallel", Kernel("nbody", (1, 64, 150), _nbody, {"force": FORCES})),
    ("parallel", Kernel("life", (3, 64, 90), _life)),
    ("parallel", Kernel("stencil", (1, 128, 500), _stencil)),
    ("parallel", Kernel("median5", (1, 64, 300), _median5)),
    ("parallel", Kernel("median7", (1, 64, 300), _median7)),
    ("parallel", Kernel("half_atomics", (1, 64, 900), _half_atomics)),
    ("parallel", Kernel("many_atomics", (1, 64, 300), _many_atomics)),
    ("parallel", Kernel("wide_loads", (1, 64, 300), _wide_loads)),
    ("parallel", Kernel("machine", (1, 64, 200), _machine)),
    ("parallel", Kernel("message", (2, 5), _message)),
)
