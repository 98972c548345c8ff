"""What kernels of several compilers print, and how the ones end that do not run to their end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.processes import Processes
from tests.kernels.table import PTX


def _command(file: str, grid: int, block: int | None, *arguments: str) -> list[str]:
    """The words that launch an entry of a file, `file:entry`."""
    path, _, entry = file.partition(":")
    words = ["launch", str(PTX / path), "--entry", entry, "--grid", str(grid)]
    if block:
        words += ["--block", str(block)]
    for argument in arguments:
        words += ["--arg", argument]
    return words


def test_all_that_printf_formats(device: str, processes: Processes) -> None:
    """Widths, flags, characters, strings, 64 bits, exponents and a percent sign come out as C has them."""
    x = [1.5, -2.0, 3e10, 0.001]
    ended = processes.run(
        _command("nvcc/calls.ptx:prints", 1, 4, "x=ptr:4xf32=1.5,-2,3e10,0.001", "n=4"), device
    )
    assert ended.code == 0, ended.errors
    lines = []
    for i, value in enumerate(x):
        number, kind = np.float32(value), ("even", "odd")[i % 2]
        whole = f"{'abcd'[i]}|{7 * i:05d}|{16 + i:#x}|{-1 - i}"
        lines.append(f"{i}: {number:8.3f} {kind:<6}|{whole}|{number:e}|%")
    assert ended.output.splitlines()[:4] == lines


def test_device_print(device: str, processes: Processes) -> None:
    """Triton's device_print gives a line an element: the program's ids, the index, the value."""
    command = _command("triton/prints.sm80.ptx:prints", 2, None, "x=ptr:40xi32=arange:5:3", "n=20")
    ended = processes.run(command, device)
    assert ended.code == 0, ended.errors
    shown = [line for line in ended.output.splitlines() if line.startswith("pid")]
    values = [5 + 3 * i if i < 20 else 0 for i in range(32)]
    lines = [f"pid ({p}, 0, 0) idx ({i:2}) value: {v}" for p in range(2) for i, v in enumerate(values)]
    assert sorted(shown) == sorted(lines)


ASSERTIONS = [
    (
        "nvcc/calls.ptx:asserts",
        64,
        ('x[i] >= 0 && "counts are not negative"', "nvcc/calls.cu:149"),
        "thread (7, 0, 0) of block (1, 0, 0)",
    ),
    (
        "triton/asserts.sm80.ptx:asserts",
        128,
        ("a count is never negative", "triton/atomics.py:60"),
        "thread (71, 0, 0) of block (0, 0, 0)",
    ),
]


@pytest.mark.parametrize(("file", "block", "parts", "thread"), ASSERTIONS)
def test_an_assertion_tells_where_it_stands(
    file: str, block: int, parts: tuple[str, ...], thread: str, device: str, processes: Processes
) -> None:
    """A failed assertion ends the launch with its text and place; the emulator tells the thread."""
    rest = ["out=ptr:128xi32=zeros", "n=100"]
    command = _command(file, 2, block, "x=ptr:128xi32=arange", *rest)
    ended = processes.run([*command, "--expect", "out=where(arange(128)<100,x+1,0)"], device)
    assert ended.code == 0, ended.errors
    ended = processes.run(_command(file, 2, block, "x=ptr:128xi32=arange:70:-1", *rest), device)
    assert ended.code == 4
    for part in (*parts, thread) if device == "cpu" else (*parts, "CUDA_ERROR_ASSERT"):
        assert part in ended.errors


TRAPS = [
    ("nvcc/calls.ptx:traps", ["x=ptr:100xi32=arange:70:-1", "out=ptr:100xi32", "n=100"], 7),
    (
        "rust/kernels.ptx:gather",
        ["x=ptr:80xf32=ones", "length=80", "index=ptr:100xu32=arange", "y=ptr:100xf32", "n=100"],
        16,
    ),
]


@pytest.mark.parametrize(("file", "arguments", "thread"), TRAPS)
def test_a_trap_ends_the_launch(
    file: str, arguments: list[str], thread: int, device: str, processes: Processes
) -> None:
    """`__trap()`, and an index beyond a slice in Rust, are faults; the emulator tells the thread."""
    ended = processes.run(_command(file, 2, 64, *arguments), device)
    assert ended.code == 4
    where = f"thread ({thread}, 0, 0) of block (1, 0, 0)"
    for part in ("trapped", where) if device == "cpu" else ("CUDA_ERROR_LAUNCH_FAILED",):
        assert part in ended.errors


def test_dynamic_parallelism_is_refused_by_name(processes: Processes) -> None:
    """A kernel that launches kernels is named as one before anything runs."""
    ended = processes.run(_command("nvcc/dynamic.ptx:parent", 1, 32, "x=ptr:32xi32=zeros"), "cpu")
    assert ended.code == 5
    assert "dynamic parallelism" in ended.errors
    assert "__cudaCDP2LaunchDeviceV2" in ended.errors


@pytest.mark.parametrize("rounds", [1, 100, 1000])
def test_clocks_run_on(rounds: int, device: str, processes: Processes) -> None:
    """%clock64 counts at least the stores between two readings, and %globaltimer never runs back."""
    buffers = ("cycles=ptr:128xi64", "ticks=ptr:128xu32", "time=ptr:128xu64")
    command = _command("nvcc/parallel.ptx:clocks", 2, 64, *buffers, f"rounds={rounds}")
    ended = processes.run([*command, "--json"], device)
    assert ended.code == 0, ended.errors
    cycles, ticks, time, _ = json.loads(ended.output)["args"]
    assert ticks["min"] >= rounds
    assert cycles["min"] >= ticks["min"]
    assert 0 <= time["min"] <= time["max"] < 10**10


def test_a_barrier_of_the_grid_needs_a_cooperative_launch(
    device: str, processes: Processes, tmp_path: Path
) -> None:
    """Cooperative groups trap in a plain launch; `--cooperative` asks for the other one."""
    alone = tmp_path / "grid.ptx"
    alone.write_bytes((PTX / "nvcc" / "grid.ptx").read_bytes())
    command = _command(
        f"{alone}:grid_steps", 3, 64, "a=ptr:100xf32=ones", "b=ptr:100xf32=ones", "n=100", "steps=2"
    )
    plain = processes.run(command, device)
    assert plain.code == 4
    assert ("trapped" if device == "cpu" else "CUDA_ERROR_LAUNCH_FAILED") in plain.errors
    ended = processes.run([*command, "--cooperative", "--expect", "a=ones"], device)
    assert ended.code == 0, ended.errors


def test_a_part_of_a_mangled_name_is_enough_to_be_told_the_whole(processes: Processes) -> None:
    """What C++ calls a kernel, and what the file calls it, are not the same."""
    corpus = Path(__file__).parents[1] / "corpus" / "nvcc" / "kernels.sm80.ptx"
    ended = processes.run(["launch", str(corpus), "--entry", "matmul_t", "--grid", "1"], "cpu")
    assert ended.code == 2
    assert "did you mean _Z8matmul_tILi16EEvPKfS1_Pfi?" in ended.errors
