"""The command that runs a launch on the emulator, which names the thread and the line of a fault."""

from __future__ import annotations

import shlex

from teenycuda_cli.driver.plan import LaunchRequest
from teenycuda_cli.errors import LaunchError


def emulator_command(request: LaunchRequest) -> str:
    """The same launch with `--device cpu`, for a shell; what comes after the launch is left out."""
    words = ["teenycuda", "launch", request.path]
    options = (
        ("--entry", request.entry),
        ("--grid", request.grid),
        ("--block", request.block),
        ("--cluster", request.cluster),
        ("--shared", request.shared),
        ("--meta", request.meta),
        ("--seed", request.seed or None),
    )
    for option, value in options:
        if value is not None:
            words += [option, str(value)]
    if request.cooperative:
        words.append("--cooperative")
    for argument in request.arguments:
        words += ["--arg", argument]
    return shlex.join([*words, "--device", "cpu"])


def explained(error: LaunchError, request: LaunchRequest, *, emulated: bool) -> LaunchError:
    """A fault on a GPU with its arguments, and how to find its place, for which there must be PTX."""
    arguments = f"arguments: {shlex.join(request.arguments)}"
    way = emulator_command(request) if emulated else "launch the PTX of this code with --device cpu"
    hint = f"the emulator names the thread and the line: {way}"
    return LaunchError(error.message, context=(*error.context, arguments), hint=hint)
