"""What the corpus kernels do at their edges: huge angles, printing, stores up to the end and past it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.kernels import references
from tests.kernels.commands import command
from tests.kernels.launches import Launch
from tests.kernels.processes import Processes
from tests.kernels.table import CORPUS

NVCC_FILES = [CORPUS / "nvcc" / f"kernels.{arch}.ptx" for arch in ("sm75", "sm80", "sm90")]


def test_the_philox_reference() -> None:
    """The judge of dropout gives the words that Philox-4x32-10's authors published for zeros."""
    words = references.philox(np.zeros(1, np.uint32), 0)
    assert [int(word[0]) for word in words] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("path", NVCC_FILES, ids=lambda path: path.stem)
def test_math_at_the_edges(path: Path, device: str, processes: Processes, tmp_path: Path) -> None:
    """`math` is accurate for tiny and huge angles too, and gives infinities and NaN where C does."""
    x = np.array([0, -0.0, 1e-3, 30, 1e5, -3e9, 7e18, -3e38, np.inf, -np.inf, np.nan], np.float32)
    arguments = {"x": x, "y": f"ptr:{len(x)}xf32", "z": f"ptr:{len(x)}xf64", "n": f"i32:{len(x)}"}
    with np.errstate(all="ignore"):
        expected = {"z": np.sin(np.float64(x)) / (1 + np.float64(x) ** 2)}
    launch = Launch("1", arguments, expected, block="32")
    ended = processes.run(command(path, "math", launch, tmp_path), device)
    assert ended.code == 0, ended.errors
    np.testing.assert_allclose(np.load(tmp_path / "z.result.npy"), expected["z"], 2e-15, 0)


@pytest.mark.parametrize("path", NVCC_FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("threads", [1, 3, 40])
def test_what_a_kernel_prints(path: Path, threads: int, device: str, processes: Processes) -> None:
    """`printf` on the device comes out as C formats it, a line a thread, in the document's `printf`."""
    words = ["launch", str(path), "--entry", "print_it", "--grid", "1", "--block", str(threads)]
    ended = processes.run([*words, "--arg", "i32:-42", "--json"], device)
    assert ended.code == 0
    assert json.loads(ended.output)["printf"] == "".join(
        f"hello -42 from {thread}\n" for thread in range(threads)
    )


def test_printf_goes_to_standard_output(device: str, processes: Processes) -> None:
    """Without `--json`, what a kernel prints stands on standard output."""
    words = ["launch", str(NVCC_FILES[1]), "--entry", "print_it", "--grid", "2", "--block", "2"]
    ended = processes.run([*words, "--arg", "n=i32:7"], device)
    assert ended.code == 0
    printed = [line for line in ended.output.splitlines() if line.startswith("hello")]
    assert sorted(printed) == ["hello 7 from 0", "hello 7 from 0", "hello 7 from 1", "hello 7 from 1"]


def _line_of(path: Path, entry: str, text: str) -> int:
    """The number of the first line with `text` behind the entry's head."""
    lines = path.read_text().splitlines()
    head = next(number for number, line in enumerate(lines) if f".entry {entry}(" in line)
    return next(number for number, line in enumerate(lines[head:], head + 1) if text in line)


@pytest.mark.parametrize("path", NVCC_FILES, ids=lambda path: path.stem)
def test_a_store_past_the_end_is_a_fault(path: Path, processes: Processes) -> None:
    """The emulator stops at a store outside every buffer, and names line, thread, buffer and distance."""
    words = ["launch", str(path), "--entry", "oob", "--grid", "1", "--block", "32"]
    ended = processes.run([*words, "--arg", "x=ptr:64xf32=zeros", "--arg", "n=i32:43"], "cpu")
    assert ended.code == 4
    for part in (
        "oob",
        f"{path}:{_line_of(path, 'oob', 'st.global')}",
        "(21,0,0)",
        "x",
        "0 bytes",
        "st.global",
    ):
        assert part in ended.errors.replace(", ", ",")


@pytest.mark.parametrize("path", NVCC_FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("threads", [1, 24, 32])
def test_a_store_up_to_the_end_is_none(
    path: Path, threads: int, device: str, processes: Processes, tmp_path: Path
) -> None:
    """The same kernel within its buffer writes its part of it, and nothing else."""
    expected = np.zeros(72, np.float32)
    expected[40 : 40 + threads] = 1
    launch = Launch("1", {"x": "ptr:72xf32=zeros", "n": "i32:40"}, {"x": expected}, block=str(threads))
    ended = processes.run(command(path, "oob", launch, tmp_path), device)
    assert ended.code == 0, ended.errors
    np.testing.assert_array_equal(np.load(tmp_path / "x.result.npy"), expected)
