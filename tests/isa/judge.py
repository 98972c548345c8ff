"""Asks ptxas which forms of the rows are PTX: `python -m tests.isa.judge`, with CUDA's ptxas on the PATH.

Writes `accepted.xz`, the forms that it takes for sm_89. A few minutes.
"""

from __future__ import annotations

import lzma
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.isa import effects, matrices, values
from tests.isa.grammar import first_line, module

FILE = Path(__file__).with_name("accepted.xz")
TARGET = "sm_89"
_BATCH = 2000
_LINE = re.compile(r"line (\d+); (?:error|fatal)")


def candidates() -> Iterator[str]:
    """Every form of every row, each once."""
    rows = (*values.ROWS, *effects.ROWS, *matrices.ROWS)
    yield from dict.fromkeys(form for row in rows for form in row.forms())


def accepted(forms: list[str], target: str = TARGET) -> list[str]:
    """Those that ptxas takes; one that it takes and then crashes on is one of them."""
    left = forms
    while left:
        crashed, errors = _errors(left, target)
        if errors is None:
            return left
        refused = {int(number) - first_line() for number in _LINE.findall(errors)} & set(range(len(left)))
        if not refused:  # it ended without a line
            half = len(left) // 2
            if not half:
                return left if crashed else []
            return accepted(left[:half], target) + accepted(left[half:], target)
        left = [form for index, form in enumerate(left) if index not in refused]
    return left


def _errors(forms: list[str], target: str) -> tuple[bool, str | None]:
    """Whether ptxas crashes on a module of these forms, and what it has against them; None: nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forms.ptx"
        path.write_text(module(forms, target))
        command = ["ptxas", f"-arch={target}", "-O0", str(path), "-o", os.devnull]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode < 0, None if done.returncode == 0 else done.stderr


def read() -> list[str]:
    """The forms that ptxas took."""
    return lzma.decompress(FILE.read_bytes()).decode().splitlines()


def main() -> None:
    """Judge all and write the file."""
    forms = list(candidates())
    batches = [forms[start : start + _BATCH] for start in range(0, len(forms), _BATCH)]
    with ThreadPoolExecutor() as pool:
        taken = [form for some in pool.map(accepted, batches) for form in some]
    FILE.write_bytes(lzma.compress("\n".join(taken).encode(), preset=9))
    print(f"{len(taken)} of {len(forms)} forms", file=sys.stderr)


if __name__ == "__main__":
    main()
