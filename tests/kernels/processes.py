"""Commands run so that what goes wrong in one harms no other."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import TextIO

from teenycuda_cli.cli import run

PATIENCE = 120  # seconds for a command


@dataclass(frozen=True)
class Ended:
    """A command's exit code, and what it wrote; -1 for one that came to no end."""

    code: int
    output: str
    errors: str


@contextmanager
def _written(descriptor: int) -> Iterator[TextIO]:
    """A file that takes what the process writes to the descriptor, the driver's own text too."""
    with tempfile.TemporaryFile("w+") as file:
        own = os.dup(descriptor)
        os.dup2(file.fileno(), descriptor)
        try:
            yield file
        finally:
            os.dup2(own, descriptor)
            os.close(own)


def _run(words: Sequence[str]) -> Ended:
    with _written(1) as output, _written(2) as errors:
        with redirect_stdout(output), redirect_stderr(errors):
            code = run(words)
        texts = []
        for file in (output, errors):
            file.flush()
            file.seek(0)
            texts.append(file.read())
    return Ended(code, *texts)


def _serve(connection: Connection) -> None:
    while True:
        connection.send(_run(connection.recv()))


class Processes:
    """The process that runs commands on a GPU, another one after each that failed.

    A fault takes the GPU away from the process whose kernel it is, for as long as that lives.
    """

    def __init__(self) -> None:
        self._process: SpawnProcess | None = None

    def run(self, words: Sequence[str], device: str) -> Ended:
        """Run a command on a device; on the emulator in this process."""
        words = [*words, "--device", device]
        if device == "cpu":
            return _run(words)
        if self._process is None:
            self._start()
        ended = Ended(-1, "", f"no end within {PATIENCE} s")
        try:
            self._connection.send(words)
            if self._connection.poll(PATIENCE):
                ended = self._connection.recv()
        except (EOFError, ConnectionError):
            ended = Ended(-1, "", "the process died of it")
        if ended.code:
            self.close()
        return ended

    def _start(self) -> None:
        context = get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None
