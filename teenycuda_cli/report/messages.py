"""Messages on standard error: errors and notices, in which nothing from outside steers the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from teenycuda_cli.wording import visible

if TYPE_CHECKING:
    from teenycuda_cli.errors import TeenycudaError


def error_text(error: TeenycudaError) -> str:
    """An error as people see it: place and message, then its context, then what to do next."""
    return "\n".join(_error_lines(error))


def _error_lines(error: TeenycudaError) -> Iterator[str]:
    place = f"{visible(error.place)}: " if error.place else ""
    yield f"{place}error: {passage(error.message)}"
    yield from map(passage, error.context)
    if error.hint:
        yield f"hint: {passage(error.hint)}"


def tell(line: str) -> None:
    """A line for the user that is no result."""
    click.echo(passage(line), err=True)


def passage(text: str) -> str:
    """Text of one or several lines, the others indented: none looks like a message of its own."""
    return "\n    ".join(map(visible, text.split("\n")))
