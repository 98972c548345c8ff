"""How each corpus kernel is launched at a given size, and what it must leave in its buffers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.kernels import formats, references

Array = NDArray[Any]


@dataclass(frozen=True)
class Launch:
    """A command line's parts, and what its buffers must hold: the same values, or within (rtol, atol).

    An array as argument is saved and handed over as a buffer. What is filled in any order is compared sorted.
    """

    grid: str
    arguments: Mapping[str, str | Array]
    expected: Mapping[str, Array] = field(default_factory=dict)
    block: str | None = None
    cluster: str | None = None
    shared: int | None = None
    tolerance: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    any_order: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Freedom:
    """Why a GPU may leave other bytes in a buffer than the emulator does, and how far off they may be.

    A `share` of the elements may be farther off.
    """

    reason: str
    rtol: float
    atol: float = 0.0
    share: float = 0.0


@dataclass(frozen=True)
class Kernel:
    """A kernel, its sizes, its launch at one of them, and the buffers that are free to differ on a GPU.

    A file of one kernel may leave its name out.
    """

    entry: str
    sizes: tuple[int, ...]
    launch: Callable[[int, np.random.Generator], Launch]
    free: Mapping[str, Freedom] = field(default_factory=dict)


def _normal(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return rng.standard_normal(shape, dtype=np.float32)


def _saxpy(n: int, rng: np.random.Generator) -> Launch:
    x, y = _normal(rng, n), _normal(rng, n)
    expected = references.fma(np.float32(1.7), x, y)
    # Fewer threads than elements: each strides over the grid.
    return Launch("4", {"n": f"i32:{n}", "a": "f32:1.7", "x": x, "y": y}, {"y": expected}, block="128")


def _saxpy_apart(n: int, rng: np.random.Generator) -> Launch:
    launch = _saxpy(n, rng)
    x, y = np.asarray(launch.arguments["x"]), np.asarray(launch.arguments["y"])
    return replace(launch, expected={"y": np.float32(1.7) * x + y})


def _matmul(n: int, rng: np.random.Generator) -> Launch:
    a, b = _normal(rng, n, n), _normal(rng, n, n)
    arguments = {"a": a, "b": b, "c": f"ptr:{n}x{n}xf32", "n": f"i32:{n}"}
    return Launch(f"{n // 16},{n // 16}", arguments, {"c": references.matmul(a, b)}, block="16,16")


def _matmul_apart(n: int, rng: np.random.Generator) -> Launch:
    launch = _matmul(n, rng)
    a, b = np.asarray(launch.arguments["a"]), np.asarray(launch.arguments["b"])
    return replace(launch, expected={"c": references.matmul_apart(a, b)})


def _reduce_sum(n: int, rng: np.random.Generator) -> Launch:
    x = rng.random(n, dtype=np.float32)
    arguments = {"x": x, "out": "ptr:1xf32=zeros", "n": f"i32:{n}"}
    expected = np.array([x.sum(dtype=np.float64)])
    return Launch("5", arguments, {"out": expected}, block="128", shared=16, tolerance={"out": (1e-5, 0)})


def _histogram_bytes(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 256, n, dtype=np.uint8)
    arguments = {"x": x, "h": "ptr:256xu32=zeros", "n": f"i32:{n}"}
    return Launch("3", arguments, {"h": np.bincount(x, minlength=256)}, block="192")


def _mandelbrot(n: int, _: np.random.Generator) -> Launch:
    width, height, step = n, max(1, n // 2 + 3), np.float32(3.0 / n)
    picture = (width, height, -2.0, -1.5, float(step), 60)
    texts = ("i32:%d", "i32:%d", "f32:%r", "f32:%r", "f32:%r", "i32:%d")
    names = ("w", "h", "x0", "y0", "dx", "maxit")
    arguments = {name: text % value for name, text, value in zip(names, texts, picture, strict=True)}
    arguments["out"] = f"ptr:{height}x{width}xi32"
    grid = f"{-(-width // 16)},{-(-height // 8)}"
    return Launch(grid, arguments, {"out": references.mandelbrot(*picture)}, block="16,8")


def _transpose(n: int, rng: np.random.Generator) -> Launch:
    width, height = n, n // 3 + 1
    x = _normal(rng, height, width)
    arguments = {"in": x, "out": f"ptr:{width}x{height}xf32", "w": f"i32:{width}", "h": f"i32:{height}"}
    return Launch(f"{-(-width // 32)},{-(-height // 32)}", arguments, {"out": x.T}, block="32,8")


def _by_value(n: int, rng: np.random.Generator) -> Launch:
    x = _normal(rng, n)
    packed = struct.pack("<fid3B5x", 1.25, n, -0.1, 1, 2, 200)
    arguments = {"p": f"bytes:{packed.hex()}", "x": x, "y": f"ptr:{n}xf64"}
    expected = (x * np.float32(1.25)).astype(np.float64) + -0.1 + 200
    return Launch(str(-(-n // 64)), arguments, {"y": expected}, block="64")


def _call_func(n: int, _: np.random.Generator) -> Launch:
    expected = np.array([references.collatz(i + 1) for i in range(n)], np.float32)
    return Launch(str(-(-n // 64)), {"out": f"ptr:{n}xf32", "n": f"i32:{n}"}, {"out": expected}, block="64")


def _consts(n: int, _: np.random.Generator) -> Launch:
    index = np.arange(n)
    expected = np.arange(1, 9)[index & 7] * np.array([0.5, 1.5, 2.5, 3.5])[index & 3]
    return Launch("1", {"out": f"ptr:{n}xf32"}, {"out": expected}, block=str(n))


def _math(n: int, rng: np.random.Generator) -> Launch:
    # A few huge ones take the slow paths that reduce an angle to a quarter turn.
    x = np.where(np.arange(n) % 97 == 96, -1e10 * rng.random(n), 3 * _normal(rng, n)).astype(np.float32)
    wide = np.float64(x)
    size = np.abs(wide)
    y = np.sin(wide) + np.exp(wide) + np.log(size + 1) + np.sqrt(size) + size**1.5 + np.tanh(wide)
    arguments = {"x": x, "y": f"ptr:{n}xf32", "z": f"ptr:{n}xf64", "n": f"i32:{n}"}
    expected = {"y": y, "z": np.sin(wide) / (1 + wide * wide)}
    tolerance = {"y": (2e-6, 5e-7), "z": (2e-15, 0.0)}
    return Launch(str(-(-n // 128)), arguments, expected, block="128", tolerance=tolerance)


def _switcher(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(-2, 9, n, dtype=np.int32)
    arguments = {"x": x, "y": f"ptr:{n}xi32", "n": f"i32:{n}"}
    return Launch(str(-(-n // 96)), arguments, {"y": references.switcher(x)}, block="96")


def _half_ops(n: int, rng: np.random.Generator) -> Launch:
    a, b = (rng.standard_normal(n).astype(np.float16) for _ in range(2))
    d = formats.to_bf16(_normal(rng, n))
    expected = {"c": (np.float64(a) * b + a).astype(np.float16), "e": formats.bits_of_bf16(np.float64(d) * d)}
    arguments = {"a": a, "b": b, "c": np.zeros(n, np.float16), "d": formats.bits_of_bf16(d)}
    arguments |= {"e": np.zeros(n, np.uint16), "n": f"i32:{n}"}
    return Launch(str(-(-n // 64)), arguments, expected, block="64")


def _vector_add(n: int, rng: np.random.Generator) -> Launch:
    x, y = _normal(rng, n), _normal(rng, n)
    arguments = {"x": x, "y": y, "out": f"ptr:{n}xf32", "n": f"i32:{n}"}
    return Launch(str(-(-n // 1024)), arguments, {"out": x + y})


def _softmax(columns: int, rng: np.random.Generator) -> Launch:
    rows, stride = 3, columns - columns % -16 + 16  # compiled for strides that 16 divides
    x = 4 * _normal(rng, rows, stride)
    expected = np.full((rows, stride), 7.0)
    expected[:, :columns] = references.softmax(x[:, :columns].astype(np.float64))
    arguments = {
        "x": x,
        "out": np.full((rows, stride), 7, np.float32),
        "row_stride": f"i32:{stride}",
        "n_cols": f"i32:{columns}",
    }
    return Launch(str(rows), arguments, {"out": expected}, tolerance={"out": (2e-6, 1e-9)})


def _layernorm(columns: int, rng: np.random.Generator) -> Launch:
    # Compiled for rows whose length 16 divides.
    rows = 3
    x, weight, bias = 2 * _normal(rng, rows, columns) + 1, _normal(rng, columns), _normal(rng, columns)
    wide = [array.astype(np.float64) for array in (x, weight, bias)]
    arguments = {
        "x": x,
        "w": weight,
        "b": bias,
        "y": f"ptr:{rows}x{columns}xf32",
        "N": f"i32:{columns}",
        "eps": "f32:0.00001",
    }
    expected = references.layernorm(*wide, 1e-5)
    return Launch(str(rows), arguments, {"y": expected}, tolerance={"y": (1e-5, 5e-6)})


def _histogram_ints(n: int, rng: np.random.Generator) -> Launch:
    x = rng.integers(0, 256, n, dtype=np.int32)
    arguments = {"x": x, "h": "ptr:256xi32=zeros", "n": f"i32:{n}"}
    return Launch(str(-(-n // 1024)), arguments, {"h": np.bincount(x, minlength=256)})


def _dropout(n: int, rng: np.random.Generator) -> Launch:
    x = _normal(rng, n)
    arguments = {"x": x, "o": f"ptr:{n}xf32", "n": f"i32:{n}", "p": "f32:0.3", "seed": "i32:20240229"}
    expected = references.dropout(x, 0.3, 20240229)
    return Launch(str(-(-n // 1024)), arguments, {"o": expected}, tolerance={"o": (3e-7, 0)})


def _axpy(n: int, rng: np.random.Generator) -> Launch:
    x, y = _normal(rng, n), _normal(rng, n)
    # rustc does not contract: the product is rounded before the sum.
    arguments = {"n": f"u32:{n}", "a": "f32:2.5", "x": x, "y": y}
    return Launch(str(-(-n // 256)), arguments, {"y": np.float32(2.5) * x + y}, block="256")


def _vector_add_cluster(n: int, rng: np.random.Generator) -> Launch:
    launch = _vector_add(n, rng)
    return replace(launch, grid=str(2 * -(-n // 1024)), cluster="2")


BLOCKS_ORDER = Freedom("atomic sums of floats come in the order of the blocks", 2e-5)
APPROXIMATE = Freedom("approximate functions; products and sums that ptxas contracts", 1e-5, 1e-6)
DOUBLES = Freedom("products and sums that ptxas contracts", 1e-13, 1e-15)
CONTRACTED = Freedom("ptxas may make one rounding of a product and a sum", 1e-6, 1e-5)
ORBITS = Freedom("ptxas may contract the test against the circle: a step more or less", 0.0, share=0.02)

NVCC = (
    Kernel("saxpy", (1, 512, 1000, 4096), _saxpy),
    Kernel("_Z8matmul_tILi16EEvPKfS1_Pfi", (16, 48, 80), _matmul),
    Kernel("reduce_sum", (1, 640, 1000, 4096), _reduce_sum, {"out": BLOCKS_ORDER}),
    Kernel("histogram", (1, 576, 1000, 5000), _histogram_bytes),
    Kernel("mandelbrot", (1, 32, 53, 64), _mandelbrot, {"out": ORBITS}),
    Kernel("transpose", (1, 64, 90, 123), _transpose),
    Kernel("by_value", (1, 64, 100, 640), _by_value),
    Kernel("call_func", (1, 64, 100, 640), _call_func),
    Kernel("consts", (1, 32, 100, 1024), _consts),
    Kernel("half_ops", (1, 64, 100, 640), _half_ops),
    Kernel("math", (1, 128, 500, 1024), _math, {"y": APPROXIMATE, "z": DOUBLES}),
    Kernel("switcher", (1, 96, 100, 960), _switcher),
)

# Compiled with -G: products and sums are rounded each.
NVCC_DEBUG = (
    Kernel("saxpy", (4096,), _saxpy_apart, {"y": CONTRACTED}),
    Kernel("_Z8matmul_tILi16EEvPKfS1_Pfi", (80,), _matmul_apart, {"c": CONTRACTED}),
    *(replace(kernel, sizes=kernel.sizes[-1:]) for kernel in NVCC[2:]),
)

TRITON = (
    Kernel("vector_add", (1, 1000, 1024, 4096), _vector_add),
    Kernel("softmax", (1, 781, 1000, 1024), _softmax),
    Kernel("layernorm", (16, 784, 1008, 1024), _layernorm, {"y": APPROXIMATE}),
    Kernel("histogram", (1, 1000, 1024, 4096), _histogram_ints),
    Kernel("dropout", (1, 1000, 1024, 4096), _dropout),
)

TRITON_CLUSTERS = (Kernel("vector_add", (1, 2048, 5000), _vector_add_cluster),)

RUST = (Kernel("axpy", (1, 256, 1000, 4096), _axpy),)
