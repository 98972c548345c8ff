"""The errors that teenycuda raises on purpose, each with its exit code.

The library raises nothing else for bad input; `cli.py` alone turns an error
into a message (or, with `--json`, a document) and an exit code. The codes are
those of the command line's contract.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from teenycuda_cli.wording import display_name


class TeenycudaError(Exception):
    """Base of every error a user can meet: what happened, where, and what to do next.

    `line` and `column` count from 1 and refer to `file` as the user has it,
    which is `<stdin>` for the input that a command line calls `-`;
    `context` holds further lines to print under the message (a snippet with a
    caret, a list of instructions), `hint` the next step.
    """

    exit_code: ClassVar[int] = 3
    kind: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
        context: tuple[str, ...] = (),
    ) -> None:
        """Keep the parts; they are put together only when printed."""
        super().__init__(message)
        self.message = message
        self.file = None if file is None else display_name(file)
        self.line = line
        self.column = column
        self.hint = hint
        self.context = context

    @property
    def document(self) -> dict[str, Any]:
        """The parts as `--json` prints them, under the same keys for every error."""
        return {
            "kind": self.kind,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "hint": self.hint,
            "context": list(self.context),
            "unsupported": [],
        }

    @property
    def place(self) -> str:
        """`file:line:column`, as far as known, or the empty string."""
        parts = [self.file or ("<input>" if self.line is not None else "")]
        parts += [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join(part for part in parts if part)

    def __str__(self) -> str:
        """The message with its place in front, without context and hint."""
        return f"{self.place}: {self.message}" if self.place else self.message


class CheckFailed(TeenycudaError):
    """An `--expect` did not hold, a guard zone was overwritten, or the kernel has a fault."""

    exit_code = 1
    kind = "check"


class UsageError(TeenycudaError):
    """A command line that does not make sense, or an argument that does not fit the kernel."""

    exit_code = 2
    kind = "usage"


class FileError(TeenycudaError):
    """A file that cannot be read or written, or that is neither PTX, cubin nor fatbin."""

    kind = "file"


class PtxSyntaxError(TeenycudaError):
    """Text that is no PTX; carries file, line and column."""

    kind = "syntax"


class AssembleError(TeenycudaError):
    """PTX that the assembler or the driver refuses; the log is in `context`."""

    kind = "assemble"


class LaunchError(TeenycudaError):
    """A launch that failed, or a fault of the device while the kernel ran."""

    exit_code = 4
    kind = "launch"


class DeviceFault(LaunchError):
    """A fault that a GPU tells without its place: the emulator can find that."""


@dataclass(frozen=True, slots=True)
class UnsupportedInstruction:
    """An instruction that the emulator lacks, every line of the file where it stands, and why."""

    instruction: str
    lines: tuple[int, ...]
    reason: str


class UnsupportedError(TeenycudaError):
    """Something that the emulator lacks; all of it is named at once, before anything runs."""

    exit_code = 5
    kind = "unsupported"

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
        context: tuple[str, ...] = (),
        instructions: tuple[UnsupportedInstruction, ...] = (),
    ) -> None:
        """The place is that of the first use."""
        super().__init__(message, file=file, line=line, column=column, hint=hint, context=context)
        self.instructions = instructions

    @property
    def document(self) -> dict[str, Any]:
        """With the instructions under `unsupported`."""
        return super().document | {"unsupported": [asdict(each) for each in self.instructions]}


class TimeoutExpired(TeenycudaError):
    """`--timeout` passed.

    `abandon` says that what took too long is still running and cannot be
    stopped (a kernel on a GPU): then the process ends without waiting for it.
    """

    exit_code = 6
    kind = "timeout"

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
        context: tuple[str, ...] = (),
        abandon: bool = False,
    ) -> None:
        """The line is the one that was being run, where the device can tell."""
        super().__init__(message, file=file, line=line, column=column, hint=hint, context=context)
        self.abandon = abandon


class DeviceNotFound(TeenycudaError):
    """The device asked for by name is not there."""

    exit_code = 77
    kind = "device"


class OutOfMemory(LaunchError):
    """The machine has not the memory that the command needs."""

    kind = "memory"


class Interrupted(TeenycudaError):
    """The user pressed Ctrl-C: what a shell takes for the end by that signal."""

    exit_code = 130
    kind = "interrupted"


class InternalError(TeenycudaError):
    """A mistake in teenycuda itself: EX_SOFTWARE of sysexits.h, which no documented outcome uses."""

    exit_code = 70
    kind = "internal"
