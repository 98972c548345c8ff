"""Threads that wait for one lock: what each of many costs over what each of a few does."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

from teenycuda_cli.driver.registry import open_device
from tests.benchmarks.kernels import Contest, Launch, check_result, start
from tests.benchmarks.measure import Row, cpu_milliseconds

FEW, MANY = 256, 2048
ROUNDS = 3


def lock_rows() -> Iterator[Row]:
    """Nothing that grows with the square of the threads: a thread's share stays about the same."""
    few, many = (_microseconds_a_thread(threads) for threads in (FEW, MANY))
    detail = f"{many:.0f} µs a thread, of {FEW} {few:.0f} µs"
    yield Row(f"one lock for {MANY} threads", many / few, 2, "×", detail)


def _microseconds_a_thread(threads: int) -> float:
    launch = Launch("tests/benchmarks/one_lock.ptx", "one_lock", (threads // 256, 1, 1), (256, 1, 1))
    words = [np.zeros(1, np.uint32), np.zeros(1, np.uint32)]
    expected = np.array([threads], np.uint32)
    contest = Contest(f"lock {threads}", 0, launch, words, 1, expected, lambda: None)
    times = []
    with open_device("cpu") as device, start(contest, device) as run:
        for _ in range(ROUNDS):
            run.restore()
            times.append(1000 * cpu_milliseconds(run.milliseconds) / threads)
            check_result(contest, run.result())
    return statistics.median(times)
