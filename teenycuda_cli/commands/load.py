"""`teenycuda load`: assemble a file and show what the assembler said."""

from __future__ import annotations

import json
import os
import sys
import time

import click

from teenycuda_cli.commands.completion import devices
from teenycuda_cli.commands.option_types import SECONDS, Whole
from teenycuda_cli.driver.assembly.load_where import load
from teenycuda_cli.driver.assembly.loading import LoadOptions, LoadResult
from teenycuda_cli.driver.deadline import remaining, within
from teenycuda_cli.driver.image import read_image
from teenycuda_cli.driver.registry import start_device
from teenycuda_cli.errors import TeenycudaError, UsageError
from teenycuda_cli.files import is_stdout, write_whole
from teenycuda_cli.report import load as report
from teenycuda_cli.report.messages import tell
from teenycuda_cli.wording import display_name

EXIT_REFUSED = 3


@click.command()
@click.argument("file", type=click.Path(readable=False))
@click.option(
    "--device",
    metavar="D",
    shell_complete=devices,
    help="auto, cuda, cuda:N or cpu; by default the first GPU, if there is one.",
)
@click.option("--arch", metavar="ARCH", help="Assemble for this architecture (sm_90a), with no GPU.")
@click.option("--entry", metavar="NAME", help="Show this entry only.")
@click.option("--cubin", type=click.Path(readable=False), metavar="OUT", help="Write the machine code here.")
@click.option(
    "-O",
    "opt_level",
    type=Whole(0, 4),
    metavar="N",
    help="Optimization level: 0 to 3, or on a GPU 0 to 4; by default the highest.",
)
@click.option(
    "--max-registers", type=Whole(1, 255), metavar="N", help="At most this many registers a thread."
)
@click.option("--lineinfo", is_flag=True, help="Keep line numbers for profilers.")
@click.option("--no-strip", is_flag=True, help="Assemble the file as it is, debug information and all.")
@click.option("--cache", is_flag=True, help="Let the GPU's driver use its cache; a cached load has no log.")
@click.option("--timeout", type=SECONDS, metavar="S", help="Give up after so many seconds (exit 6).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    file: str,
    device: str | None,
    arch: str | None,
    entry: str | None,
    cubin: str | None,
    opt_level: int | None,
    max_registers: int | None,
    lineinfo: bool,
    no_strip: bool,
    cache: bool,
    timeout: float | None,
    as_json: bool,
) -> int:
    """Assemble FILE and show what the assembler said.

    FILE is PTX, a cubin or a fatbin, or - for standard input. With --arch,
    nvJitLink assembles it, and no GPU is needed; else the GPU's driver does,
    or, where there is none, nvJitLink for the file's own .target. Registers,
    stack, spills (bytes stored/loaded), shared and constant memory are shown
    for each entry; errors with the line of the file.

    \b
    Example:
        teenycuda load kernel.ptx
        teenycuda load kernel.ptx --arch sm_90a --cubin kernel.cubin
        teenycuda load kernel.ptx --arch sm_80 --max-registers 32 --json
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        _check_output(file, cubin, as_json)
        image = within(timeout, f"reading {display_name(file)}", lambda: read_image(file))
    except TeenycudaError:
        if device is not None and arch is None:
            start_device(device).check()
        raise
    options = LoadOptions(
        entry, opt_level, max_registers, lineinfo, not no_strip, remaining(deadline, "loading")
    )
    result = load(
        image,
        options,
        device=device,
        arch=arch,
        cache=cache,
        cubin=cubin is not None,
        notice=tell,
    )
    if cubin is not None and result.cubin is not None:
        write_whole(cubin, result.cubin)
    beside_cubin = cubin is not None and is_stdout(cubin)
    return _show(result, as_json, beside_cubin=beside_cubin)


def _check_output(file: str, cubin: str | None, as_json: bool) -> None:
    if cubin is None:
        return
    if is_stdout(cubin) and as_json:
        hint = "write the cubin to a file"
        raise UsageError(f"--cubin {cubin} and --json both take standard output", hint=hint)
    if file == "-" or is_stdout(cubin):
        return
    if os.path.exists(cubin) and os.path.exists(file) and os.path.samefile(cubin, file):
        raise UsageError(f"--cubin {cubin} is the input itself", hint="write the cubin to another file")


def _show(result: LoadResult, as_json: bool, *, beside_cubin: bool) -> int:
    exit_code = 0 if result.ok else EXIT_REFUSED
    if as_json:
        click.echo(json.dumps(report.document(result, exit_code), indent=2))
        return exit_code
    for line in report.messages(result):
        tell(line)
    if not result.ok:
        return exit_code
    click.echo(report.headline(result), err=beside_cubin)
    if result.kernels and sys.stdout is not None and sys.stdout.isatty() and not beside_cubin:
        report.print_rich_table(result)
    elif result.kernels:
        click.echo("\n".join(report.plain_table(result)), err=beside_cubin)
    return exit_code
