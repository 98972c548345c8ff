"""Assembling PTX through nvJitLink, with no GPU and no driver, in a process that may crash or hang."""

from __future__ import annotations

import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from teenycuda_cli.driver.assembly.architectures import normal_arch
from teenycuda_cli.driver.assembly.usage import EntryUsage, entry_usage
from teenycuda_cli.errors import FileError, PtxSyntaxError, TeenycudaError, TimeoutExpired, UsageError
from teenycuda_cli.ptx.source import Source

INSTALL_COMMAND = "pip install 'nvidia-nvjitlink>=13' 'cuda-python>=13'"
MAX_LEVEL = 3
_CHILD = Path(__file__).with_name("assembler_child.py")
_LENGTH = struct.Struct("<Q")
_NOISE_SHOWN = 2000
_SECONDS_TO_END = 10  # for a process that has answered


class AssemblerMissing(TeenycudaError):
    """nvJitLink is not installed, or does not load."""

    kind = "assembler"


@dataclass(frozen=True, slots=True)
class Assembly:
    """What came of assembling: the cubin if `ok`, both logs whole, and what each entry uses.

    `failure` says in one line why it failed where the log says nothing: an
    architecture that the assembler does not know, a crash. `ms` is the
    assembler's own time.
    """

    ok: bool
    arch: str
    assembler: str  # "nvjitlink" or "driver"
    version: str | None  # of the assembler, "13.5"
    cubin: bytes | None
    error_log: str
    info_log: str
    truncated: bool
    ms: float
    entries: tuple[EntryUsage, ...]
    failure: str | None = None
    failure_hint: str | None = None
    cached: bool = False


class _Answer(NamedTuple):
    """The fields of the child's answer, in their order."""

    outcome: str
    explanation: str
    version: str
    ms: float
    error_log: str
    info_log: str
    cubin: bytes


class _Ended(NamedTuple):
    """How the child ended, and what it wrote."""

    status: int
    answer: bytes
    noise: str


def assemble(
    data: bytes,
    *,
    arch: str,
    opt_level: int | None = None,
    max_registers: int | None = None,
    lineinfo: bool = False,
    timeout: float | None = None,
    name: str = "<input>",
) -> Assembly:
    """Assemble PTX for an architecture, and say what its entries use.

    PTX that the assembler refuses, and a crash of the assembler, give an
    Assembly that is not ok. Raises AssemblerMissing, TimeoutExpired after
    `timeout` seconds, UsageError for an option it does not take, and
    PtxSyntaxError for a NUL inside the text, where assemblers stop reading.
    """
    arch = normal_arch(arch)
    options = [f"-arch={arch}", "-verbose"]
    if opt_level is not None:
        if not 0 <= opt_level <= MAX_LEVEL:
            raise UsageError(f"optimization level {opt_level}", hint=f"nvJitLink takes 0 to {MAX_LEVEL}")
        options.append(f"-O{opt_level}")
    if max_registers is not None:
        options.append(f"-maxrregcount={max_registers}")
    if lineinfo:
        options.append("-lineinfo")
    ended = _run_child(options, _terminated(data, name), timeout, name)
    answer = _parse_answer(ended.answer)
    if answer is None:
        return _crashed(ended, arch)
    if answer.outcome == "missing":
        raise _missing(answer.explanation)
    failure, hint = _explain(answer, arch)
    return Assembly(
        ok=answer.outcome == "ok",
        arch=arch,
        assembler="nvjitlink",
        version=answer.version,
        cubin=answer.cubin if answer.outcome == "ok" else None,
        error_log=answer.error_log,
        info_log=answer.info_log,
        truncated=False,
        ms=answer.ms,
        entries=entry_usage(answer.cubin, answer.info_log) if answer.outcome == "ok" else (),
        failure=failure,
        failure_hint=hint,
    )


def _terminated(data: bytes, name: str) -> bytes:
    """The text with exactly one NUL behind it; PtxSyntaxError for a NUL inside."""
    text = data.rstrip(b"\0")
    inside = text.find(b"\0")
    if inside >= 0:
        line, column = Source(text, name).position(inside)
        raise PtxSyntaxError(
            "a NUL byte inside the text: assemblers stop reading there",
            file=name,
            line=line,
            column=column,
            hint="remove it; is this one file, or two with padding between them?",
        )
    return text + b"\0"


def _run_child(options: list[str], data: bytes, timeout: float | None, name: str) -> _Ended:
    """Run nvJitLink in a process of its own, and collect what it leaves, however it ends."""
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        with tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as noise:
            text.write(data)
            text.seek(0)
            with subprocess.Popen(
                [sys.executable, "-P", str(_CHILD), str(text.fileno()), *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=noise,
                pass_fds=(text.fileno(),),
            ) as process:
                answer = _collect(process, deadline)
            if answer is None:
                raise TimeoutExpired(f"assembling took longer than {timeout:g} s", file=name)
            noise.seek(0)
            return _Ended(process.returncode, answer, noise.read(_NOISE_SHOWN).decode("utf-8", "replace"))
    except OSError as error:
        raise FileError(f"cannot run the assembler's process: {error}") from error


def _collect(process: subprocess.Popen[bytes], deadline: float | None) -> bytes | None:
    """Everything that the child answers, once it has ended; None when the deadline passes first."""
    assert process.stdout is not None
    answers = process.stdout.fileno()
    parts = []
    try:
        while True:
            if not select.select([answers], [], [], _remaining(deadline))[0]:
                return None
            part = os.read(answers, 1 << 20)
            if not part:
                break
            parts.append(part)
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            return None
        return b"".join(parts)
    finally:
        process.kill()  # does nothing to one that has ended
        process.wait()


def _remaining(deadline: float | None) -> float | None:
    """Seconds until the deadline, as many as the system can wait for."""
    return None if deadline is None else min(max(deadline - time.monotonic(), 0), threading.TIMEOUT_MAX)


def _parse_answer(data: bytes) -> _Answer | None:
    """The fields of an answer; None where it is not whole."""
    fields: list[bytes] = []
    offset = 0
    while len(fields) < len(_Answer._fields):
        if offset + _LENGTH.size > len(data):
            return None
        (length,) = _LENGTH.unpack_from(data, offset)
        offset += _LENGTH.size
        if offset + length > len(data):
            return None
        fields.append(data[offset : offset + length])
        offset += length
    outcome, explanation, version, ms, errors, infos = (
        part.decode("utf-8", "replace") for part in fields[:-1]
    )
    return _Answer(outcome, explanation, version, float(ms), errors, infos, fields[-1])


def _missing(explanation: str) -> AssemblerMissing:
    """One line that says what to install; with the loader's words if it is there and fails."""
    absent = re.match(r"(?:DynamicLibNotFoundError|ModuleNotFoundError|ImportError)\b", explanation)
    state = "is not installed" if absent else "does not load"
    context = () if absent else (f"  ({' '.join(explanation.split())})",)
    return AssemblerMissing(f"nvJitLink, the assembler, {state}: {INSTALL_COMMAND}", context=context)


def _crashed(ended: _Ended, arch: str) -> Assembly:
    if ended.status < 0:
        try:
            what = f"crashed ({signal.Signals(-ended.status).name})"
        except ValueError:
            what = f"was killed by signal {-ended.status}"
    else:
        what = f"ended with status {ended.status} and no answer"
    return Assembly(
        ok=False,
        arch=arch,
        assembler="nvjitlink",
        version=None,
        cubin=None,
        error_log=ended.noise,
        info_log="",
        truncated=False,
        ms=0.0,
        entries=(),
        failure=f"the assembler itself {what}: a fault in nvJitLink, brought about by this file",
        failure_hint="another version of nvidia-nvjitlink may take it",
    )


def _explain(answer: _Answer, arch: str) -> tuple[str | None, str | None]:
    """In one line, and with a hint, what nvJitLink says by its status only; None where the log tells it."""
    status = answer.explanation
    supported = "nvJitLink 13 assembles for sm_75, 80, 86 to 90, 100, 103, 110, 120 and 121"
    if "UNSUPPORTED_ARCH" in status:
        return f"nvJitLink {answer.version} no longer assembles for {arch}", supported
    if "UNRECOGNIZED_ARCH" in status or "UNRECOGNIZED_OPTION" in status:
        return f"nvJitLink {answer.version} does not know the architecture {arch}", supported
    if "INCORRECT_INPUT_TYPE" in status:
        hint = "PTX begins with .version, after comments at most; a byte-order mark does not belong there"
        return "nvJitLink does not take this for PTX", hint
    if answer.outcome == "failed" and not answer.error_log:
        return f"nvJitLink {answer.version} fails: {status}", None
    return None, None
