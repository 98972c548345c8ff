"""From the text of a PTX file to kernels that are ready to run, in the time of so many lines."""

from __future__ import annotations

import gc
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

from teenycuda_cli.driver.image import read_image
from teenycuda_cli.driver.registry import open_device
from teenycuda_cli.errors import UnsupportedError
from tests.benchmarks.measure import Row, cpu_milliseconds

TESTS = Path(__file__).parents[1]
LARGE = 300
"""Lines of code from which a file's rate means something."""
DEBUG_SECTION = re.compile(r"^\s*\.section\s+\.debug", re.M)
ROUNDS = 5


def compile_rows() -> Iterator[Row]:
    """All kernels of each of the larger files, once each is known: the median file, and the worst one."""
    before = gc.get_threshold()
    gc.set_threshold(100_000)  # as the command line does
    rates = {}
    for path in sorted([*TESTS.glob("corpus/*/*.ptx"), *TESTS.glob("kernels/ptx/*/*.ptx")]):
        if (lines := _lines(path)) < LARGE:
            continue
        try:
            _compile(path)
        except UnsupportedError:
            continue
        rates[path] = 1000 * statistics.median(_milliseconds(path) for _ in range(ROUNDS)) / lines
    gc.set_threshold(*before)
    worst = max(rates, key=rates.__getitem__)
    detail = f"{len(rates)} files; the worst is {worst.relative_to(TESTS)} with {rates[worst]:.1f}"
    yield Row("compiling 1000 lines of PTX", statistics.median(rates.values()), 15, "ms", detail)


def _lines(path: Path) -> int:
    """Those before the debug sections, which are skipped as a whole."""
    text = path.read_text("latin-1")
    found = DEBUG_SECTION.search(text)
    return text.count("\n", 0, found.start() if found else len(text))


def _milliseconds(path: Path) -> float:
    gc.collect()  # what the run before has left
    return cpu_milliseconds(lambda: _compile(path))


def _compile(path: Path) -> None:
    with open_device("cpu") as device:
        image = read_image(str(path))
        with device.load(image) as module:
            for entry in image.readable_module.entries:
                if entry.body is not None:
                    module.function(entry.name)
