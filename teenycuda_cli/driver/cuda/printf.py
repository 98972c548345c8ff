"""What a kernel prints: the driver writes it to the process's standard output, from where it is fetched."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

STDOUT, STDERR = 1, 2


@dataclass(slots=True)
class Printed:
    """The text, there once the block that captures is left."""

    text: str = ""


@contextmanager
def captured_output(wanted: bool) -> Iterator[Printed]:
    """Catch what the driver writes to standard output meanwhile; unless `wanted`, catch nothing.

    When the block fails, what was printed until then goes to standard error.
    """
    printed = Printed()
    if not wanted:
        yield printed
        return
    import tempfile  # noqa: PLC0415  (few kernels print)

    sys.stdout.flush()
    own = os.dup(STDOUT)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), STDOUT)
        try:
            yield printed
        except BaseException:
            _restore(own)
            os.write(STDERR, _content(file.fileno()))
            raise
        _restore(own)
        printed.text = _content(file.fileno()).decode(errors="replace")


def _restore(own: int) -> None:
    ctypes.CDLL(None).fflush(None)  # the driver writes through the C library, which keeps the text back
    os.dup2(own, STDOUT)
    os.close(own)


def _content(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0) if size else b""
