"""Asks ptxas which forms of the rows are PTX: `python -m tests.isa.judge`, with CUDA's ptxas on the PATH.

Writes `accepted.xz`, the forms that it takes for sm_89, and `newer.xz`, those that it takes for newer
targets alone, and renews the lists of where the emulator differs. Ten minutes on two cores.
"""

from __future__ import annotations

import lzma
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

from tests.isa import bulk, effects, matrices, values
from tests.isa.emulated import lacking
from tests.isa.grammar import first_line, module
from tests.isa.lists import EXCESS, LACKING, renew

ACCEPTED = Path(__file__).with_name("accepted.xz")
NEWER = Path(__file__).with_name("newer.xz")
TARGET = "sm_89"
NEWER_TARGETS = ("sm_90a", "sm_100a")
_BATCH = 2000
_LINE = re.compile(r"forms\.ptx, line (\d+); (?:error|fatal)")


def candidates() -> Iterator[str]:
    """Every form of every row, each once."""
    rows = (*values.ROWS, *effects.ROWS, *bulk.ROWS, *matrices.ROWS)
    yield from dict.fromkeys(form for row in rows for form in row.forms())


def accepted(forms: list[str], target: str) -> list[str]:
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


def read(file: Path) -> list[str]:
    """The forms that ptxas took."""
    return lzma.decompress(file.read_bytes()).decode().splitlines()


def _write(file: Path, forms: Iterable[str]) -> None:
    file.write_bytes(lzma.compress("\n".join(forms).encode(), preset=9))


def _spread(judge: Callable[[list[str]], Iterable[str]], forms: list[str]) -> list[str]:
    """What a judge says of all forms, which it is given in parts."""
    parts = [forms[start : start + _BATCH] for start in range(0, len(forms), _BATCH)]
    with ProcessPoolExecutor() as pool:
        return list(chain.from_iterable(pool.map(judge, parts)))


def _without(forms: Iterable[str], some: Collection[str]) -> list[str]:
    left = set(some)
    return [form for form in forms if form not in left]


def taken(forms: list[str]) -> list[str]:
    """Those that the emulator takes."""
    return _without(forms, lacking(forms, NEWER_TARGETS[-1]))


def main() -> None:
    """Judge all and write the files."""
    forms = list(candidates())
    old = _spread(partial(accepted, target=TARGET), forms)
    rest = _without(forms, old)
    newer: list[str] = []
    for target in NEWER_TARGETS:
        newer += _spread(partial(accepted, target=target), _without(rest, newer))
    _write(ACCEPTED, old)
    _write(NEWER, newer)
    excess = _spread(taken, _without(rest, newer))
    renew(LACKING, _spread(partial(lacking, target=TARGET), old))
    renew(EXCESS, excess)
    print(
        f"{len(old)} of {len(forms)} forms, {len(newer)} of newer targets, excess {len(excess)}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
