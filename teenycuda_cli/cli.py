"""The command group, and the one place where an error becomes a message and an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from teenycuda_cli import __version__
from teenycuda_cli.errors import (
    FileError,
    InternalError,
    Interrupted,
    OutOfMemory,
    TeenycudaError,
    TimeoutExpired,
    UsageError,
)

if TYPE_CHECKING:
    from teenycuda_cli.driver.registry import DeviceStart

COMMANDS = {
    "inspect": "Tell what a PTX file, cubin or fatbin is.",
    "strip": "Emit PTX without debug information, which the driver takes.",
    "load": "Assemble a file and show what the assembler said.",
    "launch": "Run a kernel with arguments from the command line and check what it computed.",
    "devices": "List the devices that kernels can be launched on.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run; listing them imports none."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without any word, show the help as the mistake's way out."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(UsageError.exit_code)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order of a day's work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import `commands/<name>.py` and hand out its `command`."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"teenycuda_cli.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="teenycuda")
def group() -> None:
    """Inspect, strip, assemble and launch PTX, on a GPU or on the embedded emulator.

    Exit codes: 0 all well, 1 a check failed, 2 usage, 3 the file, 4 a fault, 5 missing in the emulator,
    6 --timeout passed, 70 a defect of teenycuda, 77 no such device, 130 interrupted by Ctrl-C.

    With --json, every command prints one document, with the exit_code and, of a failure, an error:
    kind, message, file, line, column, hint, context (lines under the message) and unsupported (what the
    emulator lacks: instruction, lines, reason).

    \b
    Example:
        teenycuda inspect kernel.ptx
        teenycuda launch kernel.ptx --grid 4 --arg x=ptr:4096xf32=randn --arg 4096
    """


def run(arguments: Sequence[str], foreseen: DeviceStart | None = None) -> int:
    """Run a command line; returns the exit code, and lets no traceback out.

    `foreseen` is a device already on its way, for a launch that asks for it.
    """
    as_json = "--json" in arguments
    command = next((word for word in arguments if word in COMMANDS), "teenycuda")
    try:
        code = _run(arguments, command, as_json, foreseen)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _give_up_output()
        return 0
    except OSError as error:
        _give_up_output()
        return _report(
            command, FileError(f"cannot write the output: {error.strerror or error}"), as_json=False
        )


def _run(arguments: Sequence[str], command: str, as_json: bool, foreseen: DeviceStart | None) -> int:
    if "_TEENYCUDA_COMPLETE" in os.environ:
        group.main(prog_name="teenycuda")  # a shell asks for completions; this ends the process
    try:
        # Not `group.main`, which answers a closed pipe with the code of a failed check.
        with group.make_context("teenycuda", list(arguments), obj=foreseen) as context:
            result = group.invoke(context)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except TeenycudaError as error:
        code = _report(command, error, as_json)
        if isinstance(error, TimeoutExpired) and error.abandon:
            _leave(code)
        return code
    except click.ClickException as error:
        return _report_click(command, error, as_json)
    except (click.Abort, KeyboardInterrupt):
        return _report(command, Interrupted("interrupted"), as_json)
    except OSError:
        raise
    except Exception as error:
        if os.environ.get("TEENYCUDA_TRACEBACK"):
            raise
        return _report(command, _defect(error), as_json)


def _give_up_output() -> None:
    """Send what is still to come to nowhere: nobody reads it, or it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _defect(error: Exception) -> TeenycudaError:
    """What a user is told of a mistake in teenycuda itself; a file too large for the memory is none."""
    if isinstance(error, MemoryError):
        return OutOfMemory("there is not enough memory on this machine", hint="use smaller buffers or files")
    return InternalError(
        f"a defect of teenycuda: {type(error).__name__}: {error}",
        hint="please report it with the file; TEENYCUDA_TRACEBACK=1 shows where it happened",
    )


def _leave(code: int) -> NoReturn:
    """End the process now: an orderly end would wait for what is still running on the device."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _report(command: str, error: TeenycudaError, as_json: bool) -> int:
    if as_json:
        _print_error_document(command, error)
        return error.exit_code
    from teenycuda_cli.report.messages import error_text  # noqa: PLC0415  (for mistakes alone)

    click.echo(error_text(error), err=True)
    return error.exit_code


def _report_click(command: str, error: click.ClickException, as_json: bool) -> int:
    from teenycuda_cli.usage_hints import way_out  # noqa: PLC0415  (for mistakes alone)

    message = error.format_message().rstrip(".")
    told = UsageError(message[:1].lower() + message[1:], hint=way_out(error, COMMANDS))
    return _report(command, told, as_json)


def _print_error_document(command: str, error: TeenycudaError, exit_code: int | None = None) -> None:
    document = {
        "schema": f"teenycuda.{command}/1",
        "error": error.document,
        "exit_code": error.exit_code if exit_code is None else exit_code,
    }
    try:
        click.echo(json.dumps(document, indent=2))
    except BrokenPipeError:  # nobody reads it, but the exit code still tells
        _give_up_output()
