"""The process's standard streams, made fit for any text and for being closed."""

from __future__ import annotations

import codecs
import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_ESCAPED = range(0xDC80, 0xDD00)  # what Python makes of a byte of a file name that is no text
_ANY_TEXT = "teenycuda_any_text"


def prepare_streams() -> None:
    """Let any text be written, and let closed streams be open.

    A file name's bytes come out as they are, whatever else the encoding lacks
    as an escape. Nothing else can get the number of a closed stream: writing
    results to it fails as on a full disk, messages go to nowhere, as they do
    where standard error takes none: the exit code still tells.
    """
    codecs.register_error(_ANY_TEXT, _encoded)
    if sys.stdin is None:
        _occupy(0, os.O_WRONLY)  # `sys.stdin` stays None: reading it is told as closed
    if sys.stdout is None:
        sys.stdout = _open(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _open(2, os.O_WRONLY)
    elif isinstance(sys.stderr, TextIOWrapper):
        messages = BufferedWriter(_Messages(2, "w", closefd=False))
        sys.stderr = TextIOWrapper(messages, sys.stderr.encoding, _ANY_TEXT, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_ANY_TEXT)


class _Messages(FileIO):
    """Standard error, where what cannot be written is dropped."""

    def write(self, data: Buffer, /) -> int:
        """Count as written what a full disk or a closed pipe does not take."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _open(number: int, flags: int) -> TextIOWrapper:
    _occupy(number, flags)
    return os.fdopen(number, "w", encoding="utf-8", closefd=False)


def _occupy(number: int, flags: int) -> None:
    descriptor = os.open(os.devnull, flags)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)


def _encoded(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if ord(character) in _ESCAPED:
        return bytes([ord(character) - 0xDC00]), error.start + 1
    return character.encode("ascii", "backslashreplace"), error.start + 1
