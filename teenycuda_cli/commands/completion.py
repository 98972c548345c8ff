"""What shells offer for an option's value."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

DEVICES = {
    "auto": "the first GPU, else the emulator",
    "cpu": "the embedded emulator",
    "cuda": "a GPU; cuda:N is number N",
}


def devices(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The names that `--device` takes, with what each is."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415  (only when a shell asks)

    return [CompletionItem(name, help=what) for name, what in DEVICES.items() if name.startswith(begun)]
