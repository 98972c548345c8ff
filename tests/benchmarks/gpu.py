"""On a GPU: a launch against bare C and CuPy, a load against the driver alone, `--bench` against Triton."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tests.benchmarks.measure import Row, command_milliseconds, milliseconds, ratio

HERE = Path(__file__).parent
CORPUS = HERE.parent / "corpus"
VECTOR_ADD = CORPUS / "triton" / "vector_add.sm90.ptx"
ELEMENTS = 64 << 20
CUPY = """
import sys, cupy
kernel = cupy.RawModule(path=sys.argv[1]).get_function("vector_add")
x = cupy.arange(4096, dtype="f4")
y, out = 2 * x, cupy.empty_like(x)
kernel((4,), (128,), (x, y, out, cupy.int32(4096), 0, 0))
assert bool((out == x + y).all())
"""


def gpu_rows(scratch: Path) -> Iterator[Row]:
    """The rows; nothing where there is no GPU."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        print("gpu: no driver here", file=sys.stderr)
        return
    yield from _command_rows(scratch)
    yield _load_row()
    if find_spec("torch") and find_spec("triton"):
        yield _bench_row()


def _command_rows(scratch: Path) -> Iterator[Row]:
    # Compiled Python is kept, as an installation keeps it, also where the environment says otherwise.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(scratch / "compiled")
    bare = scratch / "bare_launch"
    build = ["gcc", "-O2", "-w", str(HERE / "bare_launch.c"), "-o", str(bare), "-l:libcuda.so.1"]
    library = next((line.split()[-1] for line in _known_libraries() if "libcuda.so.1" in line), None)
    subprocess.run([*build[:-1], library or build[-1]], check=True)
    launch = [
        sys.executable,
        "-m",
        "teenycuda_cli",
        "launch",
        str(VECTOR_ADD),
        "--device",
        "cuda",
        "--grid",
        "4",
    ]
    for argument in ("x=ptr:4096xf32=arange", "y=ptr:4096xf32=arange:0:2", "out=ptr:4096xf32", "n=i32:4096"):
        launch += ["--arg", argument]
    ours = partial(command_milliseconds, launch)
    ours()
    name = "launch vector_add 4096"
    yield ratio(
        f"{name} / bare C", 1.5, ours, partial(command_milliseconds, [str(bare), str(VECTOR_ADD)]), 11
    )
    if find_spec("cupy"):
        cupy = [sys.executable, "-c", CUPY, str(VECTOR_ADD)]
        command_milliseconds(cupy)
        yield ratio(f"{name} / CuPy RawModule", 0.6, ours, partial(command_milliseconds, cupy), 7)


def _known_libraries() -> list[str]:
    return subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout.splitlines()


def _load_row() -> Row:
    """`load` of matmul_tma against the driver's call alone, in one process and with the cache off."""
    from cuda.bindings import driver

    from teenycuda_cli.driver.assembly.loading import LoadOptions
    from teenycuda_cli.driver.cuda.assembling import load_on_device
    from teenycuda_cli.driver.image import read_image
    from teenycuda_cli.driver.registry import start_device
    from teenycuda_cli.ptx.strip import strip

    path = str(CORPUS / "triton" / "matmul_tma.sm90.ptx")
    text = strip(read_image(path).source).data + b"\0"
    gpu = start_device("cuda", cache=False).open_gpu(None, "")
    assert gpu is not None

    def alone() -> None:
        status, module = driver.cuModuleLoadDataEx(text, 0, [], [])
        assert not status
        driver.cuModuleUnload(module)

    with gpu:
        ours = partial(milliseconds, lambda: load_on_device(gpu, read_image(path), LoadOptions()))
        ours()
        return ratio("load matmul_tma / cuModuleLoadDataEx", 1.1, ours, partial(milliseconds, alone), 11)


def _bench_row() -> Row:
    """`--bench` of vector_add at 64M elements against `triton.testing.do_bench` of the same function."""
    import struct

    import torch
    import triton
    from cuda.bindings import driver

    from teenycuda_cli.driver.benching.options import summarise
    from teenycuda_cli.driver.cuda.packed import pack
    from teenycuda_cli.driver.device import BenchOptions, LaunchConfig
    from teenycuda_cli.driver.image import read_image
    from teenycuda_cli.driver.registry import open_device

    x, y = (torch.randn(ELEMENTS, device="cuda") for _ in "xy")
    out = torch.empty_like(x)
    addresses = [struct.pack("<Q", tensor.data_ptr()) for tensor in (x, y, out)]
    params = (*addresses, struct.pack("<i", ELEMENTS), bytes(8), bytes(8))
    grid, block = (ELEMENTS // 1024, 1, 1), (128, 1, 1)
    with open_device("cuda") as device, device.load(read_image(str(VECTOR_ADD))) as module:
        function = module.function("vector_add")
        packed = pack(params)

        def launch() -> None:
            stream = torch.cuda.current_stream().cuda_stream
            handle = function.handle  # type: ignore[attr-defined]
            driver.cuLaunchKernel(handle, *grid, *block, 0, stream, packed.address, 0)

        theirs = 1e3 * triton.testing.do_bench(launch, return_mode="median")
        run = function.bench(LaunchConfig(grid, block, None, 0, params), BenchOptions())
        ours = summarise(run).median_us
    detail = f"{ours:.1f} µs against {theirs:.1f} µs"
    return Row("--bench vector_add 64M, off Triton's do_bench", 100 * abs(ours / theirs - 1), 3, "%", detail)
