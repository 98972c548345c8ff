"""Waiting for the device without giving up the process: by polling, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import check

SPIN_SECONDS = 0.001
"""How long to poll without a pause: most kernels end within it, and a pause costs 60 µs at least."""

LONGEST_PAUSE = 0.002


def wait_for(event: Any, timeout: float | None) -> bool:
    """Wait until the device has passed `event`; False when `timeout` seconds have passed before that.

    Polls, since a blocking wait could be neither timed out nor interrupted
    from the keyboard. Raises DriverError for a fault of the device.
    """

    def passed() -> bool:
        status = driver.cuEventQuery(event)[0]
        if status == driver.CUresult.CUDA_ERROR_NOT_READY:
            return False
        check(driver.cuEventQuery, event)
        return True

    return poll(passed, timeout)


def poll(done: Callable[[], bool], timeout: float | None) -> bool:
    """Call `done` until it is true, ever more rarely; False when `timeout` seconds have passed before."""
    start = time.monotonic()
    pause = 0.00005
    while not done():
        elapsed = time.monotonic() - start
        if timeout is not None and elapsed >= timeout:
            return False
        if elapsed > SPIN_SECONDS:
            remaining = LONGEST_PAUSE if timeout is None else max(timeout - elapsed, 0.0)
            time.sleep(min(pause, remaining))
            pause = min(pause * 1.5, LONGEST_PAUSE)
    return True
