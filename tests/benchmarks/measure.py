"""Measuring: two things in turn, several times, and the ratio of their medians."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A line of the table: what was measured, and the bound that it must keep."""

    name: str
    value: float
    bound: float
    unit: str
    detail: str
    at_least: bool = False

    @property
    def ok(self) -> bool:
        """Whether the bound holds."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def milliseconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3


def cpu_milliseconds(action: Callable[[], object]) -> float:
    """How long one call computes: what else the machine does meanwhile does not count."""
    start = time.thread_time()
    action()
    return (time.thread_time() - start) * 1e3


def ratio(
    name: str,
    bound: float,
    subject: Callable[[], float],
    yardstick: Callable[[], float],
    rounds: int,
    tries: int = 1,
) -> Row:
    """Median milliseconds of the subject over those of the yardstick, measured in turn.

    Each time is itself the median of `tries` in a row, so that both sides are warm.
    """
    pairs = [(_median(subject, tries), _median(yardstick, tries)) for _ in range(rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Row(name, ours / theirs, bound, "×", f"{ours:.2f} ms against {theirs:.2f} ms")


def _median(measure: Callable[[], float], tries: int) -> float:
    return statistics.median(measure() for _ in range(tries))


def command_milliseconds(command: Sequence[str]) -> float:
    """Wall time of a command that must succeed."""
    return milliseconds(lambda: subprocess.run(command, check=True, capture_output=True))


def command_seconds_and_memory(command: Sequence[str]) -> tuple[float, int]:
    """Wall seconds and peak resident bytes of a command that must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def table(rows: Sequence[Row]) -> str:
    """The rows as text, one a line."""
    width = max((len(row.name) for row in rows), default=0)
    lines = [f"{'':{width}}  measured      bound"]
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        verdict = "ok" if row.ok else "MISSED"
        values = f"{row.value:8.2f} {row.unit:4}  {sign} {row.bound:g} {row.unit:4}"
        lines.append(f"{row.name:{width}}  {values}  {verdict:6}  {row.detail}")
    return "\n".join(lines)
