"""The process's standard streams, made fit for any text and for being closed."""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper

_ESCAPED = range(0xDC80, 0xDD00)  # what Python makes of a byte of a file name that is no text
_ANY_TEXT = "teenycuda_any_text"


def prepare_streams() -> None:
    """Let any text be written, and let closed streams be open.

    A file name's bytes come out as they are, whatever else the encoding lacks
    as an escape. Nothing else can get the number of a closed stream: writing
    results to it fails as on a full disk, messages go to nowhere.
    """
    codecs.register_error(_ANY_TEXT, _encoded)
    if sys.stdout is None:
        sys.stdout = _open(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _open(2, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_ANY_TEXT)


def _open(number: int, flags: int) -> TextIOWrapper:
    descriptor = os.open(os.devnull, flags)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
    return os.fdopen(number, "w", encoding="utf-8", closefd=False)


def _encoded(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if ord(character) in _ESCAPED:
        return bytes([ord(character) - 0xDC00]), error.start + 1
    return character.encode("ascii", "backslashreplace"), error.start + 1
