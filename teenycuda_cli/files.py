"""Reading a file that the user named, and writing one whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress

from teenycuda_cli.errors import FileError
from teenycuda_cli.wording import STDIN_NAME

_STDOUT_PATHS = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")  # where a shell's >> must not be undone


def is_stdout(path: str) -> bool:
    """Whether an output's name is standard output."""
    return path in _STDOUT_PATHS


def read_input(path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`.

    Raises FileError for a file that is missing, may not be read, is a
    directory or a device. Pipes are read to their end.
    """
    if path == "-":
        if sys.stdin is None:
            raise FileError(
                "standard input is closed, or was read already",
                file=STDIN_NAME,
                hint="name a file; only one thing can be read from standard input",
            )
        source, sys.stdin = sys.stdin, None  # what reads it a second time would find nothing
        try:
            return source.buffer.read()
        except OSError as error:
            raise FileError(f"cannot read: {_reason(error)}", file=STDIN_NAME) from error
    if not path:
        raise FileError("the name of the file to read is empty", hint="- is standard input")
    try:
        with open(path, "rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not stream.isatty():
                raise FileError("is a device, not a file", file=path)
            return stream.read()
    except ValueError as error:  # a NUL in the path
        raise FileError("no such file", file=path) from error
    except OSError as error:
        hint = "name a file in it" if isinstance(error, IsADirectoryError) else None
        raise FileError(f"cannot read: {_reason(error)}", file=path, hint=hint) from error


def write_whole(path: str, data: bytes) -> None:
    """Write a file so that it is there whole or not at all; standard output for `-`.

    The bytes go into a temporary file beside the target, which then takes the
    target's place and keeps its permissions; a symbolic link stays one. A pipe
    or device is written directly. Raises FileError; the old file is then as it
    was.
    """
    if is_stdout(path):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if not path:
        raise FileError("the name of the file to write is empty")
    try:
        target = os.path.realpath(path)
        mode = _mode_of(path)  # not of `target`: what a link in /dev/fd says need not be a path
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if mode is not None and not stat.S_ISREG(mode):
            with open(path, "wb") as stream:
                stream.write(data)
            return
        if mode is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _replace(target, data, mode)
    except ValueError as error:
        raise FileError("cannot write: no such directory", file=path) from error
    except OSError as error:
        raise FileError(f"cannot write: {_reason(error)}", file=path) from error


def _replace(target: str, data: bytes, mode: int | None) -> None:
    directory, name = os.path.split(target)
    temporary = os.path.join(directory, f".{name[:200]}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _reason(error: OSError) -> str:
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
