"""Prints the table of ratios: `python -m tests.benchmarks [PART]...`.

PARTS are all there are; all but `oclgrind` and `gpu` run without a name. Exits with 1 if a bound is missed.
Numpy multiplies on one core, as the emulator does; compiled Python is kept, as an installation keeps it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.commands import memory_rows, start_up_rows, throughput_rows
from tests.benchmarks.compiling import compile_rows
from tests.benchmarks.gpu import gpu_rows
from tests.benchmarks.kernels import kernel_rows
from tests.benchmarks.locks import lock_rows
from tests.benchmarks.matrices import matrix_rows
from tests.benchmarks.measure import table
from tests.benchmarks.oclgrind import oclgrind_rows

PARTS = ("kernels", "matrices", "locks", "compile", "memory", "start-up", "large", "oclgrind", "gpu")
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("OPENBLAS_") and name != "PYTHONDONTWRITEBYTECODE"
} | {"OPENBLAS_NUM_THREADS": "1"}


def main(chosen: list[str]) -> int:
    """Measure the chosen parts, by default those that need nothing special, and print the table."""
    unknown = set(chosen) - set(PARTS)
    if unknown:
        print(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    parts = chosen or PARTS[:-2]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        rows = list(kernel_rows()) if "kernels" in parts else []
        rows += matrix_rows() if "matrices" in parts else []
        rows += lock_rows() if "locks" in parts else []
        rows += compile_rows() if "compile" in parts else []
        rows += memory_rows() if "memory" in parts else []
        rows += start_up_rows(scratch) if "start-up" in parts else []
        rows += throughput_rows(scratch) if "large" in parts else []
        rows += oclgrind_rows(scratch) if "oclgrind" in parts else []
        rows += gpu_rows(scratch) if "gpu" in parts else []
    print(table(rows))
    return 0 if all(row.ok for row in rows) else 1


if os.environ != ENVIRONMENT:
    os.execve(sys.executable, [sys.executable, "-m", "tests.benchmarks", *sys.argv[1:]], ENVIRONMENT)
sys.exit(main(sys.argv[1:]))
