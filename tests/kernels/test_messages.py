"""What a launch says of a corpus kernel, in a file of many kernels and variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from teenycuda_cli.cli import run

KERNELS = str(Path(__file__).parents[1] / "corpus" / "nvcc" / "kernels.sm80.ptx")
LAUNCH = ["launch", KERNELS, "--device", "cpu", "--grid", "1", "--block", "32"]
X = ["--arg", "x=ptr:32xf32=ones"]


@pytest.mark.parametrize(
    ("entry", "arguments", "uses"),
    [
        ("reduce_sum", [*X, "--arg", "out=ptr:1xf32=zeros", "--arg", "n=4", "--dry-run"], True),
        ("saxpy", ["--arg", "n=4", "--arg", "a=2", *X, "--arg", "y=ptr:32xf32=ones"], False),
    ],
)
def test_only_users_of_dynamic_shared_memory_are_asked_for_it(
    entry: str, arguments: list[str], uses: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kernel is not taken to use an array of unknown size because another of its file does."""
    assert run([*LAUNCH, "--entry", entry, *arguments]) == 0
    assert ("dynamic shared memory" in capsys.readouterr().err) == uses


@pytest.mark.parametrize("elements", [32, 1 << 28, -(1 << 28)])
def test_a_stray_access_is_told_from_an_argument(elements: int, capsys: pytest.CaptureFixture[str]) -> None:
    """However far off the address, the message measures from the user's buffer, not from a variable."""
    assert run([*LAUNCH, "--entry", "oob", *X, "--arg", f"n={elements}"]) == 4
    assert " of x (128 bytes at " in capsys.readouterr().err
