"""Prints the table of ratios: `python -m tests.benchmarks [PART]...`.

PARTS are all there are; all but `oclgrind` and `gpu` run without a name. Exits with 1 if a bound is missed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.commands import start_up_rows, throughput_rows
from tests.benchmarks.gpu import gpu_rows
from tests.benchmarks.kernels import kernel_rows
from tests.benchmarks.measure import table
from tests.benchmarks.oclgrind import oclgrind_rows

PARTS = ("kernels", "start-up", "large", "oclgrind", "gpu")


def main(chosen: list[str]) -> int:
    """Measure the chosen parts, by default those that need nothing special, and print the table."""
    unknown = set(chosen) - set(PARTS)
    if unknown:
        print(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    parts = chosen or PARTS[:-2]
    if slow := [name for name in os.environ if name.startswith("OPENBLAS_")]:
        print(f"note: {', '.join(slow)} may slow numpy down; unset for a fair matmul", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        rows = list(kernel_rows()) if "kernels" in parts else []
        rows += start_up_rows(scratch) if "start-up" in parts else []
        rows += throughput_rows(scratch) if "large" in parts else []
        rows += oclgrind_rows(scratch) if "oclgrind" in parts else []
        rows += gpu_rows(scratch) if "gpu" in parts else []
    print(table(rows))
    return 0 if all(row.ok for row in rows) else 1


sys.exit(main(sys.argv[1:]))
