"""Kernel time on the emulator against Oclgrind running the same algorithm in OpenCL C on the same data."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from teenycuda_cli.driver.registry import open_device
from tests.benchmarks.kernels import Array, Contest, Launch, check_result, contest, integer, start
from tests.benchmarks.measure import Row

HERE = Path(__file__).parent
ROUNDS, OURS, THEIRS = 3, 7, 2
"""How often both sides are measured in turn, and how many runs of each make a turn."""
PTX = "tests/benchmarks/sparse_sort_serial.ptx"


@dataclass(frozen=True)
class Rival:
    """A contest, and how many times faster than Oclgrind the emulator must be."""

    contest: Contest
    bound: float


def _spmv(rng: np.random.Generator) -> Contest:
    rows = 1 << 16
    begins = np.concatenate([[0], np.cumsum(rng.integers(0, 64, rows))]).astype(np.int32)
    columns = rng.integers(0, rows, begins[-1]).astype(np.int32)
    values, x = rng.random(begins[-1], dtype=np.float32), rng.random(rows, dtype=np.float32)
    products = np.append(values.astype(np.float64) * x[columns], 0)
    sums = np.where(np.diff(begins), np.add.reduceat(products, begins[:-1]), 0)
    arguments = [begins, columns, values, x, np.zeros(rows, np.float32), integer(rows)]
    launch = Launch(PTX, "spmv", (rows // 256, 1, 1), (256, 1, 1))
    return Contest("SpMV (CSR) 64K rows", 0, launch, arguments, 4, sums, lambda: None, rtol=1e-4)


def _bitonic(rng: np.random.Generator) -> Contest:
    keys = rng.integers(0, 1 << 32, (64, 512), dtype=np.uint32)
    launch = Launch(PTX, "bitonic", (64, 1, 1), (512, 1, 1))
    return Contest("bitonic sort 64 × 512", 0, launch, [keys], 0, np.sort(keys), lambda: None)


def _serial(_: np.random.Generator) -> Contest:
    turns = 100_000
    words, x = [0] * 256, 0
    for _ in range(turns):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        words[x >> 16 & 255] ^= x
    words[0] = x
    launch = Launch(PTX, "serial", (1, 1, 1), (1, 1, 1))
    arguments = [np.zeros(256, np.uint32), integer(turns)]
    expected = np.array(words, np.uint32)
    return Contest("one thread, 100,000 turns", 0, launch, arguments, 0, expected, lambda: None)


def _rivals() -> Iterator[Rival]:
    rng = np.random.default_rng(2)
    for name, bound in (
        ("vector add 1M (nvcc)", 500),
        ("saxpy 1M", 200),
        ("transpose 1024²", 400),
        ("tiled matmul 256³", 100),
        ("histogram 1M", 100),
        ("mandelbrot 256² × 256", 70),
    ):
        yield Rival(contest(name), bound)
    made: tuple[tuple[Callable[[np.random.Generator], Contest], float], ...]
    made = ((_spmv, 20), (_bitonic, 30), (_serial, 1))
    for make, least in made:
        yield Rival(make(rng), least)


def oclgrind_rows(scratch: Path) -> Iterator[Row]:
    """A row a kernel; nothing where Oclgrind, a compiler or OpenCL's headers are missing."""
    host = scratch / "oclgrind_host"
    if lacking := [name for name in ("oclgrind", "gcc") if shutil.which(name) is None]:
        print(f"oclgrind: skipped, there is no {' and no '.join(lacking)} here", file=sys.stderr)
        return
    build = ["gcc", "-O2", str(HERE / "oclgrind_host.c"), "-o", str(host), "-lOpenCL"]
    if subprocess.run(build, capture_output=True, check=False).returncode:
        print("oclgrind: skipped, the host program needs ocl-icd-opencl-dev", file=sys.stderr)
        return
    for rival in _rivals():
        yield _measure(rival, host, scratch)


def _measure(rival: Rival, host: Path, scratch: Path) -> Row:
    """Both in turn, each on the data as it was at the start."""
    contest, turns = rival.contest, []
    files = _write(contest.arguments, scratch)
    with open_device("cpu") as device, start(contest, device) as run:
        run.restore()
        run.milliseconds()
        check_result(contest, run.result())
        for _ in range(ROUNDS):
            ours = []
            for _ in range(OURS):
                run.restore()
                ours.append(run.milliseconds())
            turns.append((statistics.median(ours), _theirs(contest, host, files, scratch)))
    ours_ms, theirs_ms = (statistics.median(column) for column in zip(*turns, strict=True))
    detail = f"{ours_ms:.2f} ms against {theirs_ms:.0f} ms"
    return Row(f"{contest.name} / Oclgrind", theirs_ms / ours_ms, rival.bound, "×", detail, at_least=True)


def _write(arguments: Sequence[Array | bytes], scratch: Path) -> list[str]:
    """The arguments in files, as the host program reads them."""
    paths = []
    for number, argument in enumerate(arguments):
        path = scratch / f"argument{number}"
        path.write_bytes(b"s" + argument if isinstance(argument, bytes) else b"b" + argument.tobytes())
        paths.append(str(path))
    return paths


def _theirs(contest: Contest, host: Path, files: list[str], scratch: Path) -> float:
    """Median milliseconds of Oclgrind's kernel, whose result is checked too."""
    launch = contest.launch
    out = scratch / "result"
    items = [str(grid * block) for grid, block in zip(launch.grid[:2], launch.block[:2], strict=True)]
    sizes = [*items, *map(str, launch.block[:2])]
    words = [str(HERE / "oclgrind.cl"), launch.entry, str(THEIRS), *sizes, str(out), *files]
    done = subprocess.run(["oclgrind", str(host), *words], check=True, capture_output=True, text=True)
    check_result(replace(contest, rtol=max(contest.rtol, 1e-6)), out.read_bytes())
    return statistics.median(float(line) for line in done.stdout.split())
