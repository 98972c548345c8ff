"""Kernel time on the emulator against plain numpy doing the same, after a first run that is checked."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teenycuda_cli.driver.device import Device, Dim3, LaunchConfig, LoadedFunction
from teenycuda_cli.driver.image import read_image
from teenycuda_cli.driver.registry import open_device
from tests.benchmarks.measure import Row, cpu_milliseconds, ratio

Array = NDArray[Any]
ROOT = Path(__file__).parents[2]


MILLION = 1 << 20


@dataclass(frozen=True)
class Launch:
    """A kernel and how it is launched; shared in bytes."""

    file: str
    entry: str
    grid: Dim3
    block: Dim3
    shared: int = 0


@dataclass(frozen=True)
class Contest:
    """A kernel, the numpy that does the same, and what the argument `judged` must hold after one run.

    Arguments are buffers (arrays) or packed scalars (bytes); `astray` is how large a share may differ.
    """

    name: str
    bound: float
    launch: Launch
    arguments: Sequence[Array | bytes]
    judged: int
    expected: Array
    numpy: Callable[[], object]
    rtol: float = 0.0
    astray: float = 0.0


def integer(value: int) -> bytes:
    """A packed `.u32`."""
    return struct.pack("<i", value)


def mandelbrot(width: int, limit: int) -> NDArray[np.int32]:
    """The masked loop that numpy users write."""
    x, y = np.meshgrid(*[(3 * np.arange(width, dtype=np.float32) / width + start) for start in (-2, -1.5)])
    c = (x + 1j * y).astype(np.complex64)
    z, steps = np.zeros_like(c), np.zeros(c.shape, np.int32)
    with np.errstate(all="ignore"):
        for _ in range(limit):
            active = (z.real**2 + z.imag**2) < 4
            steps += active
            z = np.where(active, z * z + c, z)
    return steps


def _vector_add(rng: np.random.Generator, file: str, grid: int, block: int) -> Contest:
    x, y, out = (rng.random(MILLION, dtype=np.float32) for _ in range(3))
    compiler = "Triton" if "samples" in file else "nvcc"
    return Contest(
        f"vector add 1M ({compiler})",
        9,
        Launch(file, "vector_add", (grid, 1, 1), (block, 1, 1)),
        [x, y, np.zeros_like(x), integer(MILLION)],
        judged=2,
        expected=x + y,
        numpy=lambda: np.add(x, y, out=out),
    )


def _saxpy(rng: np.random.Generator) -> Contest:
    x, y = (rng.random(MILLION, dtype=np.float32) for _ in range(2))
    return Contest(
        "saxpy 1M",
        11,
        Launch("samples/saxpy.ptx", "saxpy", (256, 1, 1), (256, 1, 1)),
        [integer(MILLION), struct.pack("<f", 2.5), x, y],
        judged=3,
        expected=(2.5 * x.astype(np.float64) + y).astype(np.float32),
        numpy=lambda: np.float32(2.5) * x + y,
    )


def _reduction(rng: np.random.Generator) -> Contest:
    x = rng.random(MILLION, dtype=np.float32)
    return Contest(
        "block reduction 1M",
        16,
        Launch("samples/reduce_sum.ptx", "reduce_sum", (256, 1, 1), (256, 1, 1), shared=32),
        [x, np.zeros(1, np.float32), integer(MILLION)],
        judged=1,
        expected=x.sum(dtype=np.float64, keepdims=True),
        numpy=x.sum,
        rtol=1e-4,
    )


def _histogram(rng: np.random.Generator) -> Contest:
    x = rng.integers(0, 256, MILLION, dtype=np.uint8)
    return Contest(
        "histogram 1M",
        5,
        Launch("samples/histogram.ptx", "histogram", (256, 1, 1), (256, 1, 1)),
        [x, np.zeros(256, np.uint32), integer(MILLION)],
        judged=1,
        expected=np.bincount(x, minlength=256),
        numpy=lambda: np.bincount(x, minlength=256),
    )


def _mandelbrot(_: np.random.Generator) -> Contest:
    width, limit = 256, 256
    scalars = struct.pack("<2i3fi", width, width, -2, -1.5, 3 / width, limit)
    return Contest(
        "mandelbrot 256² × 256",
        0.9,
        Launch("samples/mandelbrot.ptx", "mandelbrot", (16, 16, 1), (16, 16, 1)),
        [*(scalars[i : i + 4] for i in range(0, 24, 4)), np.zeros((width, width), np.int32)],
        judged=6,
        expected=mandelbrot(width, limit),
        numpy=lambda: mandelbrot(width, limit),
        astray=0.01,  # points on the edge: numpy rounds each product, the kernel contracts to fma
    )


def _transpose(rng: np.random.Generator) -> Contest:
    x = rng.random((1024, 1024), dtype=np.float32)
    return Contest(
        "transpose 1024²",
        0.8,
        Launch("samples/transpose.ptx", "transpose", (32, 32, 1), (32, 8, 1)),
        [x, np.zeros_like(x), integer(1024), integer(1024)],
        judged=1,
        expected=x.T,
        numpy=lambda: np.ascontiguousarray(x.T),
    )


def _matmul(rng: np.random.Generator) -> Contest:
    a, b = (rng.random((256, 256), dtype=np.float32) for _ in range(2))
    return Contest(
        "tiled matmul 256³ (BLAS)",
        130,
        Launch("samples/matmul.ptx", "matmul", (16, 16, 1), (16, 16, 1)),
        [a, b, np.zeros_like(a), integer(256)],
        judged=2,
        expected=a.astype(np.float64) @ b,
        numpy=lambda: a @ b,
        rtol=1e-4,
    )


def contests() -> Iterator[Contest]:
    """All of them, one at a time, since each holds its data."""
    rng = np.random.default_rng(1)
    yield _vector_add(rng, "tests/benchmarks/vector_add.ptx", MILLION // 256, 256)
    yield _vector_add(rng, "samples/vector_add.ptx", MILLION // 1024, 128)
    for make in (_saxpy, _reduction, _histogram, _mandelbrot, _transpose, _matmul):
        yield make(rng)


def contest(name: str) -> Contest:
    """The one whose name begins so."""
    return next(item for item in contests() if item.name.startswith(name))


def check_result(contest: Contest, data: bytes | memoryview) -> None:
    """Whether `data`, the argument `judged` after a run, is what is expected; raises AssertionError."""
    start = contest.arguments[contest.judged]
    assert isinstance(start, np.ndarray)
    result = np.frombuffer(data, start.dtype).reshape(contest.expected.shape)
    good = np.isclose(result, contest.expected, rtol=contest.rtol, atol=0)
    assert np.mean(~good) <= contest.astray, f"{contest.name}: {np.sum(~good)} wrong elements"


@dataclass(frozen=True)
class Run:
    """A contest's kernel, ready to be launched on a device again and again."""

    contest: Contest
    device: Device
    function: LoadedFunction
    addresses: Sequence[int]  # an argument each; 0 for scalars
    config: LaunchConfig

    def restore(self) -> None:
        """Give the buffers what they held at the start."""
        for argument, address in zip(self.contest.arguments, self.addresses, strict=True):
            if not isinstance(argument, bytes):
                self.device.write(address, np.ascontiguousarray(argument).tobytes())

    def milliseconds(self) -> float:
        """Kernel time of one launch."""
        return self.function.launch(self.config).kernel_ms

    def result(self) -> memoryview:
        """What the argument `judged` holds now."""
        start = self.contest.arguments[self.contest.judged]
        assert isinstance(start, np.ndarray)
        return self.device.read(self.addresses[self.contest.judged], start.nbytes)


@contextmanager
def start(contest: Contest, device: Device) -> Iterator[Run]:
    """The contest's kernel loaded, and its buffers on the device."""
    launch = contest.launch
    addresses, packed = [], []
    for index, argument in enumerate(contest.arguments):
        address = 0
        if not isinstance(argument, bytes):
            address = device.allocate(argument.nbytes, f"arg{index}").address
        addresses.append(address)
        packed.append(argument if isinstance(argument, bytes) else struct.pack("<Q", address))
    with device.load(read_image(str(ROOT / launch.file))) as module:
        function = module.function(launch.entry)
        # Triton's hidden scratch pointers are null here.
        packed += [bytes(8)] * (len(function.info.parameters) - len(packed))
        config = LaunchConfig(launch.grid, launch.block, None, launch.shared, tuple(packed))
        run = Run(contest, device, function, addresses, config)
        run.restore()
        yield run


def measure(contest: Contest, device: Device, rounds: int = 9) -> Row:
    """Run once and check, then the emulator and numpy in turn."""
    with start(contest, device) as run:
        run.milliseconds()
        check_result(contest, run.result())
        return ratio(
            contest.name,
            contest.bound,
            lambda: cpu_milliseconds(run.milliseconds),
            lambda: cpu_milliseconds(contest.numpy),
            rounds=rounds,
            tries=5,
        )


def kernel_rows() -> Iterator[Row]:
    """A row a contest."""
    for contest in contests():
        with open_device("cpu") as device:
            yield measure(contest, device)
