"""`teenycuda inspect`: tell what a PTX file, cubin or fatbin is."""

from __future__ import annotations

import sys

import click

from teenycuda_cli.collector import without_collector
from teenycuda_cli.errors import UsageError
from teenycuda_cli.inspection import FileFacts, inspect_file
from teenycuda_cli.ptx.sidecar import read_sidecar


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(readable=False))
@click.option("--entry", metavar="NAME", help="Show this kernel only.")
@click.option(
    "--meta",
    type=click.Path(readable=False),
    metavar="FILE.json",
    help="Take metadata from this file, as Triton writes it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(files: tuple[str, ...], entry: str | None, meta: str | None, as_json: bool) -> int:
    """Tell what a PTX file, cubin or fatbin is.

    Its target and debug information, and of each kernel the parameters with
    their layout, threads a block, shared memory, and metadata with its source.

    \b
    Example:
        teenycuda inspect kernel.ptx
        teenycuda inspect --json --entry softmax *.ptx
        nvcc -ptx -o - kernel.cu | teenycuda inspect -
    """
    with without_collector():
        return _inspect(files, entry, meta, as_json)


def _inspect(files: tuple[str, ...], entry: str | None, meta: str | None, as_json: bool) -> int:
    sidecar = read_sidecar(meta) if meta is not None else None
    found = [inspect_file(path, entry=entry, sidecar=sidecar) for path in files]
    if entry is not None:
        _check_entry(entry, found)
    errors = [file.error for file in found if file.error]
    if len(found) == 1 and errors:
        raise errors[0]
    exit_code = errors[0].exit_code if errors else 0
    if as_json:
        from teenycuda_cli.report.inspect_json import json_pieces  # noqa: PLC0415  (json takes its time)

        sys.stdout.writelines(json_pieces(found, exit_code))
    else:
        from teenycuda_cli.report.inspect import show  # noqa: PLC0415  (not needed for --json)

        show(found, terminal=sys.stdout.isatty())
        if errors:
            from teenycuda_cli.report.messages import error_text  # noqa: PLC0415  (for mistakes alone)

            click.echo("\n".join(map(error_text, errors)), err=True)
    return exit_code


def _check_entry(entry: str, found: list[FileFacts]) -> None:
    """Refuse an entry that no file has, with those that there are."""
    readable = [file for file in found if file.error is None]
    if not readable or any(entry in file.entries for file in readable):
        return
    names = tuple(f"  {name}" for file in readable for name in file.entries)
    raise UsageError(
        f"no kernel is called {entry!r}" + ("; there are:" if names else ", and there is no other"),
        file=readable[0].path if len(readable) == 1 else None,
        context=names,
    )
