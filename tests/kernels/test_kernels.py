"""Every kernel of the table, launched on the emulator; `tests/cuda` launches them on both devices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kernels.agreement import left_by
from tests.kernels.processes import Processes
from tests.kernels.table import CASES, CORPUS, PTX, Case

ENTRY = re.compile(r"\.entry\s+([\w$]+)\(")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_kernel_computes_what_numpy_says(case: Case, processes: Processes, tmp_path: Path) -> None:
    """A kernel leaves in its buffers what its source says, at every size."""
    assert not left_by(case, "cpu", tmp_path, processes).wrong


# Tested by what they print, count or end with.
ELSEWHERE = {"print_it", "oob", "prints", "asserts", "traps", "clocks", "parent", "child"}


def test_no_kernel_is_left_out() -> None:
    """Each kernel of each file, but those for sm_100, is launched against numpy."""
    files = [path for folder in (CORPUS, PTX) for path in folder.glob("*/*.ptx")]
    files = [path for path in files if path.parent.name != "grammar" and ".sm100" not in path.name]
    entries = {(path, entry) for path in files for entry in ENTRY.findall(path.read_text())}
    launched = {(case.path, case.kernel.entry or ENTRY.findall(case.path.read_text())[0]) for case in CASES}
    left_out = {(path, entry) for path, entry in entries - launched if entry not in ELSEWHERE}
    assert not left_out
