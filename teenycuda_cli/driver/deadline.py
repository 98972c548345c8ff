"""`--timeout`: what is left of it, and running what cannot be interrupted under it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from teenycuda_cli.errors import TimeoutExpired

Result = TypeVar("Result")


def within(timeout: float | None, what: str, work: Callable[[], Result]) -> Result:
    """What `work` returns or raises; TimeoutExpired, with `work` left running, after `timeout` seconds."""
    if timeout is None:
        return work()
    results: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run, name="deadline", daemon=True)
    thread.start()
    thread.join(min(timeout, threading.TIMEOUT_MAX))
    if failures:
        raise failures[0]
    if results:
        return results[0]
    raise TimeoutExpired(f"{what} took longer than {timeout:.3g} s")


def remaining(deadline: float | None, before: str) -> float | None:
    """Seconds until a deadline (of `time.monotonic`), None where there is none; TimeoutExpired behind it."""
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutExpired(f"--timeout passed before {before}")
    return left
