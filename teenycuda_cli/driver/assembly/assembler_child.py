"""The process that runs nvJitLink, so that its crash is not ours.

Run as a script: a file descriptor with the PTX, and the options of nvJitLink
as arguments. Standard input carries nothing: when it closes, the parent is
gone, and this process ends too. The answer goes to standard output, as fields
of a 64-bit length and that many bytes: outcome (`ok`, `failed` or `missing`),
explanation, version, milliseconds, error log, info log, cubin.
Whatever the library prints stays out of it. Imports nothing of the project,
and of CUDA nvJitLink only.
"""

from __future__ import annotations

import _thread
import os
import resource
import struct
import sys
import time
from typing import Any

INPUT_NAME = "input.ptx"


def main() -> None:
    """Assemble the text and answer."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash must leave no core file behind
    _thread.start_new_thread(_end_with_parent, ())
    answer = os.dup(1)
    os.dup2(2, 1)  # what the library prints is no part of the answer
    with os.fdopen(int(sys.argv[1]), "rb") as text:
        data = text.read()
    with os.fdopen(answer, "wb") as out:
        for part in _assemble(sys.argv[2:], data):
            out.write(struct.pack("<Q", len(part)) + part)
    os._exit(0)  # the library has nothing to tidy up that the kernel does not


def _end_with_parent() -> None:
    """End this process when its standard input closes, which is when the parent ends, however it does."""
    os.read(0, 1)
    os._exit(1)


def _assemble(options: list[str], data: bytes) -> tuple[bytes, ...]:
    try:
        from cuda.bindings import nvjitlink  # noqa: PLC0415  (missing is an answer, not a crash)

        version = "{}.{}".format(*nvjitlink.version()).encode()
    except Exception as error:  # (each release of cuda-python has its own class for it)
        return b"missing", f"{type(error).__name__}: {error}".encode(), b"", b"0", b"", b"", b""
    started = time.perf_counter()
    try:
        link = nvjitlink.create(len(options), options)
    except nvjitlink.nvJitLinkError as error:
        return b"failed", str(error).encode(), version, b"0", b"", b"", b""
    try:
        nvjitlink.add_data(link, nvjitlink.InputType.PTX, data, len(data), INPUT_NAME)
        nvjitlink.complete(link)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(link))
        nvjitlink.get_linked_cubin(link, cubin)
        outcome, explanation = b"ok", b""
    except nvjitlink.nvJitLinkError as error:
        outcome, explanation, cubin = b"failed", str(error).encode(), bytearray()
    elapsed = f"{(time.perf_counter() - started) * 1e3:.3f}".encode()
    errors = _log(nvjitlink.get_error_log_size, nvjitlink.get_error_log, link)
    infos = _log(nvjitlink.get_info_log_size, nvjitlink.get_info_log, link)
    return outcome, explanation, version, elapsed, errors, infos, bytes(cubin)


def _log(size_of: Any, fetch: Any, link: Any) -> bytes:
    log = bytearray(size_of(link))
    if log:
        fetch(link, log)
    return bytes(log).rstrip(b"\0")


if __name__ == "__main__":
    main()
