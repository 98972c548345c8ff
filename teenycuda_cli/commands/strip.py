"""`teenycuda strip`: emit PTX without debug information, which the driver takes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from teenycuda_cli.driver.image import read_image
from teenycuda_cli.errors import CheckFailed, FileError, UsageError
from teenycuda_cli.files import is_stdout, write_whole
from teenycuda_cli.ptx.strip import strip
from teenycuda_cli.report.messages import tell

if TYPE_CHECKING:
    from teenycuda_cli.ptx.source import Source
    from teenycuda_cli.ptx.strip import Stripped
    from teenycuda_cli.verification import Verification


@click.command()
@click.argument("file", type=click.Path(readable=False))
@click.option(
    "-o",
    "out",
    type=click.Path(readable=False),
    metavar="OUT",
    help="Write here; by default to standard output.",
)
@click.option("--keep-lineinfo", is_flag=True, help="Keep .file and .loc, for profilers.")
@click.option("--verify", "wanted", is_flag=True, help="Assemble both and compare the machine code.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document; the text goes to OUT alone.")
def command(file: str, out: str | None, keep_lineinfo: bool, wanted: bool, as_json: bool) -> None:
    """Emit PTX without debug information, which the driver takes.

    Debug sections, .loc, .file and `debug` in .target go together; every other
    byte stays. A line that held nothing else goes whole. What went is said on
    standard error.

    \b
    Example:
        teenycuda strip kernel.ptx -o kernel.stripped.ptx
        teenycuda strip --keep-lineinfo --verify kernel.ptx -o profiled.ptx
        rustc … --emit asm=/dev/stdout | teenycuda strip - | teenycuda load -
    """
    if as_json and out is not None and is_stdout(out):
        raise UsageError(f"--json and -o {out} both want standard output", hint="name a file with -o")
    image = read_image(file)
    if image.kind != "ptx":
        hint = "machine code is loaded as it is"
        raise FileError("holds machine code; strip takes PTX text", file=image.name, hint=hint)
    source = image.source
    stripped = strip(source, keep_lineinfo=keep_lineinfo)
    verification = _verified(source, stripped) if wanted else None
    if out is not None or not as_json:
        write_whole("-" if out is None else out, stripped.data)
    if as_json:
        from teenycuda_cli.report.strip import document  # noqa: PLC0415  (json takes its time)

        click.echo(document(source.name, out, stripped, verification))
    else:
        from teenycuda_cli.report.strip import summary  # noqa: PLC0415  (with the document's module)

        sys.stdout.flush()
        for line in summary(source.name, stripped, verification):
            tell(line)


def _verified(source: Source, stripped: Stripped) -> Verification:
    """Compare both sides; raises CheckFailed, before anything is written, where they differ."""
    from teenycuda_cli.verification import verify  # noqa: PLC0415  (the assembler, for --verify only)

    verification = verify(source, stripped)
    if not verification.ok:
        raise CheckFailed(
            "the machine code differs from the original's; nothing was written",
            file=source.name,
            context=tuple(f"  {name}" for name in verification.differences),
        )
    return verification
