"""A line on standard error while a kernel runs longer than a second; on a terminal only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from teenycuda_cli.wording import visible

PATIENCE = 1.0  # seconds before anything shows
STEP = 0.2
WIDTH = 24
ERASE = "\r\x1b[2K"


@contextmanager
def progress(name: str) -> Iterator[None]:
    """Show that `name` is running, and for how long; nothing is left of it at the end."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(name, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(name: str, done: threading.Event) -> None:
    began = time.monotonic()
    if done.wait(PATIENCE):
        return
    step = 0
    while True:
        at = step % (2 * WIDTH - 2)
        at = at if at < WIDTH else 2 * WIDTH - 2 - at
        bar = "─" * at + "━━━" + "─" * (WIDTH - 1 - at)
        sys.stderr.write(f"{ERASE}running {visible(name)}  {bar}  {time.monotonic() - began:.1f} s")
        sys.stderr.flush()
        step += 1
        if done.wait(STEP):
            break
    sys.stderr.write(ERASE)
    sys.stderr.flush()
