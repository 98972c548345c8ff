"""Ways out of a command line that Click does not take."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

import click

_OTHER_NAMES = {
    "--kernel": "--entry",
    "--function": "--entry",
    "--name": "--entry",
    "--blocks": "--grid",
    "--threads": "--block",
    "--smem": "--shared",
    "--args": "--arg",
    "--output": "-o",
    "--gpu": "--device",
}
"""What other tools call our options."""


def way_out(error: click.ClickException, commands: Collection[str]) -> str:
    """What to do about a command line that Click does not take."""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption):
        known = _OTHER_NAMES.get(error.option_name)
        taken = {name for each in context.command.params for name in each.opts} if context else set()
        if known in taken:
            return f"it is called {known} here"
    extra = re.search(r"unexpected extra arguments? \((\S*[=:]\S*)", error.format_message())
    if extra and context and context.info_name == "launch":
        return f"what a kernel is given goes by --arg: --arg {extra[1].rstrip(')')}"
    if re.match("No such command", error.format_message()):
        word = re.findall(r"'(.*?)'", error.format_message())[-1]
        near = difflib.get_close_matches(word, commands, 1)
        return f"did you mean {near[0]}?" if near else f"commands are {', '.join(commands)}"
    return f"{context.command_path} --help tells what there is" if context else "teenycuda --help"
