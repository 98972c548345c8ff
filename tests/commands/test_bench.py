"""`launch --bench` and `--graph`, on each device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from teenycuda_cli.cli import run

COUNT = """.version 8.0
.target sm_75
.address_size 64
.visible .entry count(.param .u64 p, .param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %d<5>;
    ld.param.u64 %d1, [p];
    ld.param.u64 %d2, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d3, %r1, 4;
    add.u64 %d1, %d1, %d3;
    add.u64 %d2, %d2, %d3;
    ld.global.u32 %r2, [%d1];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%d1], %r2;
    st.global.u32 [%d2], %r2;
    ret;
}
"""


@pytest.fixture
def command(tmp_path: Path, device: str) -> list[str]:
    """A launch of a kernel that adds one to what it is given, and copies it."""
    path = tmp_path / "count.ptx"
    path.write_text(COUNT)
    arguments = ["--arg", "p=ptr:32xi32=5", "--arg", "out=ptr:32xi32", "--expect", "p=6", "--expect", "out=6"]
    return ["launch", str(path), "--device", device, "--grid", "1", "--block", "32", *arguments]


@pytest.mark.parametrize("options", [(), ("--hot",), ("--graph",)], ids=["cold", "hot", "graph"])
def test_bench(
    command: list[str], options: tuple[str, ...], device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Timing gives at least ten samples, and leaves the buffers as one launch would."""
    code = run([*command, "--bench-seconds", "0.02", *options, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 0, document
    bench = document["bench"]
    assert bench["samples"] >= 10
    assert 0 < bench["min_us"] <= bench["median_us"] <= bench["p95_us"]
    assert bench["cold"] is (device == "cuda" and "--hot" not in options)
    assert bench["graph"] is (device == "cuda" and "--graph" in options)
    moved = 32 * 4 * 3  # p is read and written, out is written
    assert bench["gbytes_per_s"] == pytest.approx(moved / bench["median_us"] / 1e3)


def test_bench_for_people(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The median comes first, then the spread and the noise."""
    assert run([*command, "--bench", "--bench-seconds", "0.02"]) == 0
    out = capsys.readouterr().out
    assert "median of" in out
    assert "noise" in out


def test_graph_says_what_was_measured(
    command: list[str], device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A GPU replays a graph; the emulator launches, and says so."""
    assert run([*command, "--graph", "--bench-seconds", "0.02"]) == 0
    captured = capsys.readouterr()
    assert ("replays of a graph" in captured.out) is (device == "cuda")
    assert ("the emulator has no graphs" in captured.err) is (device == "cpu")


def test_graph_launches_once(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--bench`, a graph is replayed once."""
    assert run([*command, "--graph"]) == 0, capsys.readouterr()


def test_bench_holds_expectations_to_every_launch(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """An expectation that does not hold fails a benched launch like any other."""
    assert run([*command, "--bench-seconds", "0.02", "--expect", "p=7"]) == 1
    assert "32 of 32 elements differ" in capsys.readouterr().out


def test_the_timeout_ends_a_measurement_of_short_launches(
    command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """`--timeout` counts for the measurement as a whole, however short each launch is."""
    assert run([*command, "--bench-seconds", "1e300", "--timeout", "2"]) == 6
    assert "timed launches" in capfd.readouterr().err
