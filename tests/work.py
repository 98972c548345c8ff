"""How much work something is, by a measure that is the same on every machine, however busy."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, of Python's and of C's."""
    count = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def peak_bytes(work: Callable[[], object]) -> int:
    """How many bytes are allocated at most at once, numpy's arrays included."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
