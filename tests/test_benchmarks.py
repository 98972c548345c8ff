"""The benchmarks run, and what they measure computes the right thing; how fast is not asserted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from teenycuda_cli.cli import run
from teenycuda_cli.driver.registry import open_device
from tests.benchmarks.commands import write_large
from tests.benchmarks.kernels import contests, measure
from tests.benchmarks.matrices import matrix_contests
from tests.benchmarks.matrices import measure as measure_matrices
from tests.benchmarks.measure import Row, table


@pytest.mark.parametrize("number", range(8))
def test_a_million_elements(number: int) -> None:
    """Each kernel of the benchmarks gives numpy's result at its full size."""
    contest = list(contests())[number]
    with open_device("cpu") as device:
        row = measure(contest, device, rounds=1)
    assert row.value > 0
    assert contest.name in table([row])


@pytest.mark.parametrize("number", range(2))
def test_tensor_cores(number: int) -> None:
    """Each kernel of tensor cores gives numpy's result at its full size."""
    contest = list(matrix_contests())[number]
    assert "numpy's" in measure_matrices(contest, rounds=1).detail


def test_the_table_tells_a_missed_bound() -> None:
    """A row says whether its bound holds, in the direction that counts."""
    slow, fast = Row("slow", 3, 2, "×", ""), Row("fast", 60, 40, "MB/s", "", at_least=True)
    assert (slow.ok, fast.ok) == (False, True)
    assert [("MISSED" in line) for line in table([slow, fast]).splitlines()[1:]] == [True, False]


def test_the_large_file_is_ptx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the throughput is measured on holds many kernels, each whole."""
    path = tmp_path / "large.ptx"
    write_large(path, 10**6)
    assert run(["inspect", str(path), "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert abs(path.stat().st_size - 10**6) < 10**5
    assert len(file["kernels"]) > 50
    assert run(["load", str(path), "--arch", "sm_80"]) == 0
