"""`teenycuda launch`: run a kernel with arguments from the command line and check what it computed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from teenycuda_cli.commands.completion import devices
from teenycuda_cli.commands.option_types import SECONDS, Whole
from teenycuda_cli.report.messages import tell

if TYPE_CHECKING:
    from teenycuda_cli.driver.registry import DeviceStart
    from teenycuda_cli.driver.results import LaunchReport


@click.command()
@click.argument("file", type=click.Path(readable=False))
@click.option("--grid", metavar="X[,Y[,Z]]", help="Blocks to launch.")
@click.option(
    "--block", metavar="X[,Y[,Z]]", help="Threads a block; by default what the kernel was made for."
)
@click.option("--cluster", metavar="X[,Y[,Z]]", help="Blocks a cluster.")
@click.option("--cooperative", is_flag=True, help="All blocks at once, for a barrier of the whole grid.")
@click.option(
    "--shared",
    type=Whole(0, 2**31 - 1),
    metavar="BYTES",
    help="Dynamic shared memory a block; by default what metadata tells, else 0.",
)
@click.option("--entry", metavar="NAME", help="The kernel, where the file has several.")
@click.option(
    "--meta",
    type=click.Path(readable=False),
    metavar="FILE.json",
    help="Triton's metadata; by default the .json beside FILE.",
)
@click.option(
    "--device",
    default="auto",
    metavar="D",
    shell_complete=devices,
    help="auto, cuda, cuda:N, or cpu for the emulator.",
)
@click.option("--arg", "arguments", multiple=True, metavar="ARG", help="[NAME=]VALUE, in the kernel's order.")
@click.option("--seed", type=Whole(0), default=0, metavar="N", help="Seed of the random fills.")
@click.option(
    "--save", multiple=True, metavar="NAME=PATH", help="Save a buffer: .npy, .csv, .png, else raw bytes."
)
@click.option(
    "--show", multiple=True, metavar="NAME", help="Show a buffer's values; a matrix as a picture, too."
)
@click.option(
    "--expect", multiple=True, metavar="NAME=WHAT", help="Check a buffer: @FILE, a fill, or an expression."
)
@click.option(
    "--tol", "tolerance", multiple=True, metavar="TOL", help="How close: [NAME:]rtol=R,atol=A,ulp=U."
)
@click.option("--bench", is_flag=True, help="Measure the kernel's time, caches flushed before each launch.")
@click.option("--bench-seconds", type=SECONDS, metavar="S", help="As --bench, for that long (0.5).")
@click.option("--hot", is_flag=True, help="As --bench, with the caches as the launch before left them.")
@click.option("--graph", is_flag=True, help="On a GPU, launch by replaying a CUDA graph.")
@click.option(
    "--guard",
    type=Whole(0, 2**30),
    metavar="BYTES",
    help="Guard zone on either side of a buffer (256).",
)
@click.option("--timeout", type=SECONDS, metavar="S", help="Give up after so many seconds (exit 6).")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be launched, to the packed byte; launch nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_obj
def command(
    foreseen: DeviceStart | None,
    file: str,
    grid: str | None,
    block: str | None,
    cluster: str | None,
    cooperative: bool,
    shared: int | None,
    entry: str | None,
    meta: str | None,
    device: str,
    arguments: tuple[str, ...],
    seed: int,
    save: tuple[str, ...],
    show: tuple[str, ...],
    expect: tuple[str, ...],
    tolerance: tuple[str, ...],
    bench: bool,
    bench_seconds: float | None,
    hot: bool,
    graph: bool,
    guard: int | None,
    timeout: float | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run a kernel of FILE with arguments from the command line, and check what it computed.

    FILE is PTX, a cubin or a fatbin, or - for standard input. Without --arg,
    the kernel's signature is shown, and a command line to start from.

    \b
    An ARG is [NAME=]VALUE, and VALUE one of
        4096                               a number, of the parameter's type
        i32:4096  f32:-1.5e-3  bool:true   a number of a type: f16 f32 i8 … u64
        ptr:4096xf32  ptr:64x64xf16=randn  a buffer: shape, type, contents
        ptr:@x.npy  ptr:64xf32@x.bin       a buffer from a file
        ptr:x  ptr:x+256  ptr:null         an earlier buffer again; none
        bytes:0000803f  bytes:@FILE        a struct passed by value

    Contents are zeros, ones, arange[:START[:STEP]], rand[:LO:HI], randn[:MEAN:STD], randint:LO:HI, eye, nan,
    a number, or numbers with commas; without, a poison pattern shows what the kernel leaves unwritten.

    NAME is yours to choose; other options and expressions know the argument by it. An expression is numpy
    over the arguments as they were before the launch: x+y, a@b, 'where(x>0,x,0)', 'x.sum()'. Its integers are
    exact, and wrap by .astype(uint32). --expect 'NAME[INDEX]=WHAT' checks a part of a buffer.

    Exit codes: 0 all well, 1 a check failed, 2 usage, 3 the file, 4 a fault, 5 missing in the emulator,
    6 --timeout passed, 70 a defect of teenycuda, 77 no such device, 130 interrupted.

    \b
    Example:
        teenycuda launch vector_add.ptx
        teenycuda launch vector_add.ptx --grid 4 --arg x=ptr:4000xf32=randn \\
            --arg y=ptr:4000xf32=randn --arg out=ptr:4000xf32 --arg n=i32:4000 \\
            --expect out=x+y
        teenycuda launch softmax.ptx --grid 64 --arg x=ptr:64x781xf32=randn \\
            --arg out=ptr:64x781xf32 --arg 781 --arg 781 --tol rtol=1e-4 \\
            --expect 'out=exp(x)/exp(x).sum(axis=1,keepdims=True)'
        teenycuda launch mandelbrot.ptx --grid 9,6 --block 8,8 --arg 72 \\
            --arg 48 --arg -2.25 --arg -1.08 --arg 0.045 --arg 50 \\
            --arg out=ptr:48x72xi32 --show out --save out=picture.png
    """
    from teenycuda_cli.driver.registry import start_device  # noqa: PLC0415  (as below)

    # A GPU's driver takes a quarter of a second, and numpy as long: they start side by side.
    started = None
    if not dry_run:
        started = foreseen if foreseen and foreseen.spec == device else start_device(device)
    from teenycuda_cli.driver.device import BenchOptions  # noqa: PLC0415  (as below)
    from teenycuda_cli.driver.launching import launch  # noqa: PLC0415  (numpy: not for --help)
    from teenycuda_cli.driver.plan import LaunchRequest  # noqa: PLC0415  (as above)
    from teenycuda_cli.report.progress import progress  # noqa: PLC0415  (as above)

    if bench or bench_seconds is not None or hot:
        measured = BenchOptions(bench_seconds or BenchOptions().seconds, hot=hot)
    else:
        measured = None
    request = LaunchRequest(
        path=file,
        grid=grid,
        block=block,
        cluster=cluster,
        cooperative=cooperative,
        shared=shared,
        entry=entry,
        meta=meta,
        device=device,
        arguments=arguments,
        seed=seed,
        save=save,
        show=show,
        expect=expect,
        tolerance=tolerance,
        guard=guard,
        timeout=timeout,
        dry_run=dry_run,
        bench=measured,
        graph=graph,
    )
    report = launch(request, tell, progress, started)
    _show(report, as_json)
    return report.exit_code


def _show(report: LaunchReport, as_json: bool) -> None:
    from teenycuda_cli.report.launch import document, lines  # noqa: PLC0415  (not for --help)

    if as_json:
        click.echo(json.dumps(document(report), indent=2, allow_nan=False))
        return
    from teenycuda_cli.report.paint import Paint  # noqa: PLC0415  (as above)

    if report.printf:
        click.echo(report.printf, nl=not report.printf.endswith("\n"))
    paint = Paint.for_stream(sys.stdout)
    for line in lines(report, paint):
        click.echo(line)
    if report.shown:
        from teenycuda_cli.report.shown_buffers import print_shown  # noqa: PLC0415  (as above)

        print_shown(report.shown, paint)
