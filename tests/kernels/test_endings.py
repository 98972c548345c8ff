"""What kernels of several compilers print, and how the ones end that do not run to their end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from teenycuda_cli.cli import run

PTX = Path(__file__).parent / "ptx"
CALLS = str(PTX / "nvcc" / "calls.ptx")


def test_all_that_printf_formats(device: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Widths, flags, characters, strings, 64 bits, exponents and a percent sign come out as C has them."""
    x = [1.5, -2.0, 3e10, 0.001]
    words = ["launch", CALLS, "--entry", "prints", "--grid", "1", "--block", "4"]
    words += ["--arg", "x=ptr:4xf32=1.5,-2,3e10,0.001", "--arg", "n=4", "--device", device]
    assert run(words) == 0
    lines = []
    for i, value in enumerate(x):
        number, kind = np.float32(value), ("even", "odd")[i % 2]
        whole = f"{'abcd'[i]}|{7 * i:05d}|{16 + i:#x}|{-1 - i}"
        lines.append(f"{i}: {number:8.3f} {kind:<6}|{whole}|{number:e}|%")
    assert capfd.readouterr().out.splitlines()[:4] == lines


def test_device_print(device: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Triton's device_print gives a line an element: the program's ids, the index, the value."""
    words = ["launch", str(PTX / "triton" / "prints.sm80.ptx"), "--grid", "2", "--device", device]
    assert run([*words, "--arg", "x=ptr:40xi32=arange:5:3", "--arg", "n=20"]) == 0
    shown = [line for line in capfd.readouterr().out.splitlines() if line.startswith("pid")]
    values = [5 + 3 * i if i < 20 else 0 for i in range(32)]
    lines = [f"pid ({p}, 0, 0) idx ({i:2}) value: {v}" for p in range(2) for i, v in enumerate(values)]
    assert sorted(shown) == sorted(lines)


def _command(file: str, grid: int, block: int, arguments: list[str]) -> list[str]:
    """The words that launch an entry of a file, `file:entry`, on the emulator."""
    path, _, entry = file.partition(":")
    words = ["launch", str(PTX / path), "--entry", entry, "--grid", str(grid), "--block", str(block)]
    for argument in arguments:
        words += ["--arg", argument]
    return [*words, "--device", "cpu"]


ASSERTIONS = [
    (
        "nvcc/calls.ptx:asserts",
        64,
        (
            'x[i] >= 0 && "counts are not negative"',
            "nvcc/calls.cu:149",
            "thread (7, 0, 0) of block (1, 0, 0)",
        ),
    ),
    (
        "triton/asserts.sm80.ptx:asserts",
        128,
        ("a count is never negative", "triton/atomics.py:60", "thread (71, 0, 0) of block (0, 0, 0)"),
    ),
]


@pytest.mark.parametrize(("file", "block", "parts"), ASSERTIONS)
def test_an_assertion_tells_where_it_stands(
    file: str, block: int, parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A failed assertion ends the launch with its text, its place in the source, and the thread."""
    rest = ["out=ptr:128xi32=zeros", "n=100"]
    command = _command(file, 2, block, ["x=ptr:128xi32=arange", *rest])
    assert run([*command, "--expect", "out=where(arange(128)<100,x+1,0)"]) == 0, capsys.readouterr().err
    assert run(_command(file, 2, block, ["x=ptr:128xi32=arange:70:-1", *rest])) == 4
    shown = capsys.readouterr().err
    for part in parts:
        assert part in shown


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
    file: str, arguments: list[str], thread: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """`__trap()`, and an index beyond a slice in Rust, are faults of the first thread that gets there."""
    assert run(_command(file, 2, 64, arguments)) == 4
    shown = capsys.readouterr().err
    assert "trapped" in shown
    assert f"thread ({thread}, 0, 0) of block (1, 0, 0)" in shown


def test_dynamic_parallelism_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that launches kernels is named as one before anything runs."""
    words = ["launch", str(PTX / "nvcc" / "dynamic.ptx"), "--entry", "parent", "--grid", "1", "--block", "32"]
    assert run([*words, "--arg", "x=ptr:32xi32=zeros", "--device", "cpu"]) == 5
    shown = capsys.readouterr().err
    assert "dynamic parallelism" in shown
    assert "__cudaCDP2LaunchDeviceV2" in shown


@pytest.mark.parametrize("rounds", [1, 100, 1000])
def test_clocks_run_on(rounds: int, device: str, capsys: pytest.CaptureFixture[str]) -> None:
    """%clock64 counts at least the stores between two readings, and %globaltimer never runs back."""
    words = [
        "launch",
        str(PTX / "nvcc" / "parallel.ptx"),
        "--entry",
        "clocks",
        "--grid",
        "2",
        "--block",
        "64",
    ]
    buffers = {"cycles": "128xi64", "ticks": "128xu32", "time": "128xu64"}
    for name, buffer in buffers.items():
        words += ["--arg", f"{name}=ptr:{buffer}"]
    assert run([*words, "--arg", f"rounds={rounds}", "--device", device, "--json"]) == 0
    cycles, ticks, time, _ = json.loads(capsys.readouterr().out)["args"]
    assert ticks["min"] >= rounds
    assert cycles["min"] >= ticks["min"]
    assert 0 <= time["min"] <= time["max"] < 10**10


def test_a_barrier_of_the_grid_needs_a_cooperative_launch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cooperative groups trap in a plain launch; `--cooperative` asks for the other one."""
    alone = tmp_path / "grid.ptx"
    alone.write_bytes((PTX / "nvcc" / "grid.ptx").read_bytes())
    words = ["launch", str(alone), "--entry", "grid_steps", "--grid", "3", "--block", "64", "--device", "cpu"]
    for argument in ("a=ptr:100xf32=ones", "b=ptr:100xf32=ones", "n=100", "steps=2"):
        words += ["--arg", argument]
    assert run(words) == 4
    assert "trapped" in capsys.readouterr().err
    assert run([*words, "--cooperative", "--expect", "a=ones"]) == 0, capsys.readouterr().err
