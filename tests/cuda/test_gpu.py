"""What only a GPU does: its faults, its assembler, graphs, timing, memory given back."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from teenycuda_cli.driver.device import BenchOptions, LaunchConfig
from teenycuda_cli.driver.image import Image, read_image
from teenycuda_cli.driver.registry import open_device
from teenycuda_cli.errors import TeenycudaError
from tests.cuda import kernels

pytestmark = pytest.mark.cuda

CORPUS = Path(__file__).parents[1] / "corpus"
POINTER = ("--arg", "p=ptr:4xi32=zeros")


def teenycuda(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own, since a fault is for the whole process."""
    command = [sys.executable, "-m", "teenycuda_cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def launched(folder: Path, text: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Launch a small kernel with one thread."""
    path = folder / "kernel.ptx"
    path.write_text(text)
    return teenycuda("launch", path, "--device", "cuda", "--grid", 1, "--block", 1, *POINTER, *arguments)


def document(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON document on standard output."""
    loaded: dict[str, Any] = json.loads(result.stdout)
    return loaded


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (kernels.NULL_STORE, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        (kernels.MISALIGNED_STORE, "CUDA_ERROR_MISALIGNED_ADDRESS"),
        (kernels.TRAP, "CUDA_ERROR_LAUNCH_FAILED"),
    ],
)
def test_fault(tmp_path: Path, text: str, error: str) -> None:
    """A fault of the kernel ends the program with 4, names the error and points to the emulator."""
    result = launched(tmp_path, text)
    assert result.returncode == 4
    assert error in result.stderr
    assert "--device cpu" in result.stderr
    assert "could not be given back" not in result.stderr


def test_overrun_is_seen(tmp_path: Path) -> None:
    """A store past a buffer's end, which the GPU lets pass, is found in the guard zone."""
    result = launched(tmp_path, kernels.OVERRUN)
    assert result.returncode == 1


def test_spinning_kernel_times_out(tmp_path: Path) -> None:
    """A kernel that spins ends the program with 6, soon after the timeout."""
    start = time.monotonic()
    result = launched(tmp_path, kernels.SPIN, "--timeout", 1)
    assert result.returncode == 6
    assert time.monotonic() - start < 15


@pytest.mark.parametrize("words", [("load",), ("launch", "--grid", 1, "--block", 1, *POINTER)])
def test_assembling_times_out(tmp_path: Path, words: tuple[str, ...]) -> None:
    """An assembler that takes longer than the timeout ends the program with 6, soon after it."""
    path = tmp_path / "large.ptx"
    path.write_text(kernels.long_to_assemble(300_000))
    command, *options = words
    start = time.monotonic()
    result = teenycuda(command, path, "--device", "cuda", "--timeout", 4, *options)
    assert result.returncode == 6, result.stderr
    assert "took longer than" in result.stderr
    assert time.monotonic() - start < 12


def test_graph(tmp_path: Path) -> None:
    """A launch captured into a graph runs once when replayed once."""
    result = launched(tmp_path, kernels.INCREMENT, "--graph", "--expect", "p=1,0,0,0")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("graph", [False, True])
def test_bench_restores_what_the_kernel_changes(tmp_path: Path, graph: bool) -> None:
    """Benching leaves a buffer that the kernel changes as one launch would."""
    options = ["--graph"] if graph else []
    result = launched(
        tmp_path,
        kernels.INCREMENT,
        "--bench",
        "--bench-seconds",
        0.05,
        *options,
        "--expect",
        "p=1,0,0,0",
        "--json",
    )
    assert result.returncode == 0, result.stderr
    bench = document(result)["bench"]
    assert bench["samples"] >= 10
    assert 0 < bench["min_us"] <= bench["median_us"] <= bench["p95_us"]
    assert bench["cold"] is True


def test_kernel_prints() -> None:
    """What a kernel prints goes to standard output, and with `--json` into the document."""
    launch = ("launch", CORPUS / "nvcc" / "kernels.sm90.ptx", "--entry", "print_it", "--device", "cuda")
    shape = ("--grid", 1, "--block", 2, "--arg", "n=i32:5")
    assert "hello 5 from 0\nhello 5 from 1\n" in teenycuda(*launch, *shape).stdout
    assert document(teenycuda(*launch, *shape, "--json"))["printf"] == "hello 5 from 0\nhello 5 from 1\n"


def test_load_tells_what_the_driver_says() -> None:
    """`load` on a GPU assembles anew and tells registers, spills, parameters and occupancy of every entry."""
    result = document(teenycuda("load", CORPUS / "nvcc" / "kernels.sm80.ptx", "--device", "cuda", "--json"))
    assert result["assembler"] == "driver"
    assert not result["cached"]
    assert result["jit_ms"] > 0
    named = {kernel["name"]: kernel for kernel in result["kernels"]}
    assert named["saxpy"]["registers"] > 0
    assert named["saxpy"]["spill_store_bytes"] == 0
    assert named["saxpy"]["params"] == [
        {"offset": 0, "size": 4},
        {"offset": 4, "size": 4},
        {"offset": 8, "size": 8},
        {"offset": 16, "size": 8},
    ]


def test_load_places_errors_in_the_file() -> None:
    """What the driver's assembler refuses is told with the file's own line."""
    path = CORPUS / "grammar" / "28_many_errors.ptx"
    result = teenycuda("load", path, "--device", "cuda", "--json")
    assert result.returncode == 3
    assert document(result)["diagnostics"][0]["line"] == 7


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("triton/vector_add.sm100.ptx", "sm_100a"),
        ("grammar/12_version_9_9.ptx", "9.9"),
        ("grammar/13c_sm100f_on_103.ptx", "sm_100f"),
    ],
)
def test_refusal_names_the_rule(name: str, words: str) -> None:
    """PTX that this GPU or its driver cannot take is refused by the rule that it breaks."""
    result = teenycuda("load", CORPUS / name, "--device", "cuda")
    assert result.returncode == 3
    assert words in result.stderr


def test_cubin_made_here_launches(tmp_path: Path) -> None:
    """The cubin that `load --cubin` writes can be launched."""
    source, cubin = tmp_path / "store.ptx", tmp_path / "store.cubin"
    source.write_text(kernels.STORE)
    assert teenycuda("load", source, "--device", "cuda", "--cubin", cubin).returncode == 0
    shape = ("--grid", 1, "--block", 1, "--entry", "k")
    result = teenycuda("launch", cubin, "--device", "cuda", *shape, *POINTER, "--expect", "p=7,0,0,0")
    assert result.returncode == 0, result.stderr


def test_no_memory_is_lost(tmp_path: Path) -> None:
    """After 200 launches in one process as much device memory is free as after the first few."""
    assert difference(tmp_path, "free_after_launches") == 0


def test_no_memory_is_lost_by_failures(tmp_path: Path) -> None:
    """Nor is it after 50 launches that fail in each of several places."""
    assert difference(tmp_path, "free_after_failures") == 0


def difference(folder: Path, function: str) -> int:
    """Bytes of device memory that a process of its own loses between few rounds of a function and many."""
    path = folder / "store.ptx"
    path.write_text(kernels.STORE)
    script = (
        f"from tests.cuda.test_gpu import {function} as free;"
        f"print(free({str(path)!r}, 5) - free({str(path)!r}, {50 if 'failures' in function else 200}))"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    return int(result.stdout)


def free_after_launches(path: str, count: int) -> int:
    """Bytes of device memory free after launching a file so many times, each on a device opened for it."""
    for _ in range(count):
        with open_device("cuda") as device:
            buffer = device.allocate(1 << 20, "p")
            with device.load(read_image(path)) as module:
                pointer = buffer.address.to_bytes(8, "little")
                module.function("k").launch(LaunchConfig((1, 1, 1), (1, 1, 1), None, 0, (pointer,)))
    return free_memory()


def free_after_failures(path: str, count: int) -> int:
    """The same after launches that fail: refused PTX, no such kernel, no memory, shapes that do not fit."""
    good = LaunchConfig((1, 1, 1), (1, 1, 1), None, 0, (bytes(8),))
    refused = Image(kernels.STORE.replace("st.global", "st.nowhere").encode(), "refused.ptx", "ptx")
    for _ in range(count):
        with open_device("cuda") as device:
            device.allocate(1 << 20, "left to the device")
            failing: list[Callable[[], object]] = [
                partial(device.load, refused),
                partial(device.allocate, 1 << 44, "too large"),
            ]
            with device.load(read_image(path)) as module:
                function = module.function("k")
                failing += [
                    partial(module.function, "nowhere"),
                    partial(function.launch, replace(good, block=(2048, 1, 1))),
                    partial(function.launch, replace(good, shared_bytes=1 << 20)),
                    partial(function.launch, replace(good, cluster=(32, 1, 1), graph=True)),
                    partial(function.launch, replace(good, grid=(1 << 20, 1, 1), cooperative=True)),
                    partial(function.bench, replace(good, grid=(0, 1, 1)), BenchOptions()),
                ]
                for call in failing:
                    with pytest.raises(TeenycudaError):
                        call()
    return free_memory()


def free_memory() -> int:
    """Bytes of device memory that are free."""
    from cuda.bindings import driver

    with open_device("cuda"):
        return int(driver.cuMemGetInfo()[1])


def test_a_damaged_cubin_is_refused_before_the_driver_sees_it(tmp_path: Path) -> None:
    """The driver crashes on machine code that is cut short; `load` and `launch` say what is damaged."""
    whole = next((Path(__file__).parents[1] / "binary").rglob("*.cubin")).read_bytes()
    for size in (64, len(whole) // 4, len(whole) // 2):
        cut = tmp_path / f"{size}.cubin"
        cut.write_bytes(whole[:size])
        for command in (["load", cut], ["launch", cut, "--grid", 1, "--block", 1]):
            result = teenycuda(*command, "--device", "cuda")
            assert (result.returncode, "damaged" in result.stderr) == (3, True), result.stderr
