"""Whole commands: start-up against an import, memory of a launch, and throughput on a large file."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

from tests.benchmarks.measure import Row, command_milliseconds, command_seconds_and_memory, ratio

ROOT = Path(__file__).parents[2]
PROGRAM = str(Path(sys.executable).with_name("teenycuda"))
MEGABYTE = 10**6
ENTRY = re.compile(r"^\.visible \.entry .*?^}\n", re.M | re.S)
# Entries that call a function, use a variable beside them, or hold a brace at the start of a line.
NOT_ALONE = re.compile(r"\.entry (call_func|consts|math|print_it|reduce_sum|half_ops)\(")


def start_up_rows(scratch: Path) -> Iterator[Row]:
    """Small jobs against importing what they cannot do without."""
    import_click = partial(command_milliseconds, [sys.executable, "-c", "import click"])
    import_numpy = partial(command_milliseconds, [sys.executable, "-c", "import numpy"])
    small = str(ROOT / "samples" / "vector_add.ptx")
    out = str(scratch / "small.ptx")
    x, n = "ptr:4096xf32=randn", "n=4096"
    launch = [
        PROGRAM,
        "launch",
        small,
        "--device",
        "cpu",
        "--grid",
        "4",
        "--arg",
        f"x={x}",
        "--arg",
        f"y={x}",
    ]
    launch += ["--arg", "out=ptr:4096xf32", "--arg", n]
    for name, command, bound, yardstick in (
        ("launch vector_add 4096 / import numpy", launch, 3.5, import_numpy),
        ("inspect --json, small / import click", [PROGRAM, "inspect", "--json", small], 2, import_click),
        ("strip, small / import click", [PROGRAM, "strip", small, "-o", out], 2, import_click),
    ):
        yield ratio(name, bound, partial(command_milliseconds, command), yardstick, rounds=11)


def write_large(path: Path, size: int) -> None:
    """A PTX of that many bytes: entries of real files over and over, renamed, then their debug sections."""
    corpus = ROOT / "tests" / "corpus"
    texts = [path.read_text() for path in sorted(corpus.glob("triton/*.sm80.ptx"))]
    debug = texts[0][texts[0].index("\t.file\t1") :]
    texts.append((corpus / "nvcc" / "kernels.lineinfo.ptx").read_text())
    entries = [entry for text in texts for entry in ENTRY.findall(text) if not NOT_ALONE.search(entry)]
    with path.open("w") as file:
        file.write(".version 8.7\n.target sm_80\n.address_size 64\n")
        file.write(".extern .shared .align 16 .b8 global_smem[];\n")
        for number, entry in enumerate(cycle(entries)):
            if file.tell() > size - len(debug):
                break
            file.write(entry.replace("(", f"_{number}(", 1))
        file.write(debug)


def throughput_rows(scratch: Path, size: int = 100 * MEGABYTE) -> Iterator[Row]:
    """`inspect` and `strip` of a large file: MB/s, and peak memory over the file's size."""
    path = scratch / "large.ptx"
    write_large(path, size)
    megabytes = path.stat().st_size / MEGABYTE
    for name, command in (
        ("inspect", [PROGRAM, "inspect", "--json", str(path)]),
        ("strip", [PROGRAM, "strip", str(path), "-o", str(scratch / "stripped.ptx")]),
    ):
        runs = sorted(command_seconds_and_memory(command) for _ in range(3))
        seconds, memory = runs[1][0], max(run[1] for run in runs)
        title = f"{name} of {megabytes:.0f} MB"
        yield Row(f"{title}, speed", megabytes / seconds, 40, "MB/s", f"{seconds:.2f} s", at_least=True)
        peak = memory / MEGABYTE / megabytes
        yield Row(f"{title}, memory", peak, 4, "×", f"{memory / MEGABYTE:.0f} MB at its peak")


def memory_rows() -> Iterator[Row]:
    """Launches of large buffers and of much local memory: their peak without a start's 300 MB, over that."""
    elements, threads, local = 1 << 26, 256, 500_000
    start = [PROGRAM, "launch", "--device", "cpu"]
    add = [*start, str(ROOT / "samples" / "vector_add.ptx"), "--grid", str(elements // 1024)]
    for argument in (f"x=ptr:{elements}xf32=arange", f"y=ptr:{elements}xf32=1", f"out=ptr:{elements}xf32"):
        add += ["--arg", argument]
    deep = [*start, str(Path(__file__).with_name("deep_local.ptx")), "--grid", "64", "--block", str(threads)]
    for name, command, size in (
        ("vector add 64M", [*add, "--arg", f"n={elements}"], 3 * 4 * elements),
        ("500 KB of local memory a thread", [*deep, "--arg", f"out=ptr:{64 * threads}xu32"], threads * local),
    ):
        _, peak = command_seconds_and_memory(command)
        share = max(0, peak - 300 * MEGABYTE) / size
        detail = f"{peak / MEGABYTE:.0f} MB at its peak, {size / MEGABYTE:.0f} MB of its own"
        yield Row(f"{name}, memory", share, 3, "×", detail)
