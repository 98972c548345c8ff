"""How a GPU, the emulator and numpy agree on each kernel: `python -m tests.kernels.agreement [PATTERN]`."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from tests.gpus import gpu_count
from tests.kernels.commands import command, results
from tests.kernels.launches import Array, Freedom
from tests.kernels.processes import Processes
from tests.kernels.table import CASES, Case

NONE = Freedom("", 0.0)


@dataclass(frozen=True)
class Left:
    """What a launch left in its buffers, and what in them is not as numpy has it."""

    buffers: Mapping[str, Array]
    wrong: str


@dataclass(frozen=True)
class Compared:
    """Why buffers of two devices may hold other bytes and do, and what differs beyond that."""

    reasons: frozenset[str]
    wrong: str


def _beyond(got: Array, expected: Array, rtol: float, atol: float, share: float = 0.0) -> str:
    """What to say of elements farther off than that, where they are more than the share."""
    if got.shape != expected.shape:
        return f"the shape is {got.shape}, not {expected.shape}"
    near = (got == expected) | (np.isnan(got) & np.isnan(expected))
    if rtol or atol:  # of integers too, this makes floats
        near |= np.isclose(got, expected, rtol, atol, equal_nan=True)
    far = np.argwhere(~near)
    if len(far) <= share * near.size:
        return ""
    place = tuple(map(int, far[0]))
    return f"{len(far)} of {near.size} elements, {place} first: {got[place]}, not {expected[place]}"


def left_by(case: Case, device: str, folder: Path, processes: Processes) -> Left:
    """Launch on a device and hold to numpy what that leaves; a GPU has the freedom that the table gives."""
    launch = case.kernel.launch(case.size, np.random.default_rng(case.size))
    ended = processes.run(command(case.path, case.kernel.entry, launch, folder), device)
    if ended.code:
        return Left({}, "\n".join((f"exit code {ended.code}", *ended.errors.splitlines()[:4])))
    buffers, wrong = {}, []
    for name, (got, expected) in results(launch, folder).items():
        rtol, atol = launch.tolerance.get(name, (0.0, 0.0))
        free = NONE if device == "cpu" else case.kernel.free.get(name, NONE)
        if text := _beyond(got, np.asarray(expected), rtol + free.rtol, atol + free.atol, free.share):
            wrong.append(f"{name}: {text}")
        buffers[name] = got
    return Left(buffers, "; ".join(wrong))


def compared(case: Case, ours: Left, theirs: Left) -> Compared:
    """Hold both devices to the same bytes, but for what the table sets free."""
    reasons, wrong = set(), []
    for name, one in ours.buffers.items():
        other, free = theirs.buffers[name], case.kernel.free.get(name)
        if one.tobytes() == other.tobytes():
            continue
        if free is None:
            wrong.append(f"{name}: {np.sum(one != other)} of {one.size} elements")
        elif text := _beyond(one, other, free.rtol, free.atol, free.share):
            wrong.append(f"{name}: {text}")
        else:
            reasons.add(free.reason)
    return Compared(frozenset(reasons), "; ".join(wrong))


@dataclass(frozen=True)
class Row:
    """What is wrong with a case on the emulator, on a GPU, and between both; None where it did not run."""

    case: Case
    cpu: str | None
    cuda: str | None
    both: Compared | None


def agreement(case: Case, processes: Processes, devices: Sequence[str]) -> Row:
    """Launch a case on the devices."""
    left = {}
    for device in devices:
        with tempfile.TemporaryDirectory() as folder:
            left[device] = left_by(case, device, Path(folder), processes)
    both = [each for each in left.values() if each.buffers]
    wrong = {device: each.wrong for device, each in left.items()}
    return Row(case, wrong.get("cpu"), wrong.get("cuda"), compared(case, *both) if len(both) == 2 else None)


def _word(wrong: Sequence[str | None], good: str, bad: str) -> str:
    if None in wrong:
        return "-"
    return bad if any(wrong) else good


def _line(rows: list[Row]) -> str:
    """A kernel at all its sizes: numpy's word on each device, and whether they leave the same bytes."""
    case = rows[0].case
    reasons = sorted({reason for row in rows if row.both for reason in row.both.reasons})
    same = "same bytes, though free to differ" if case.kernel.free else "same bytes"
    cpu = _word([row.cpu for row in rows], "as numpy", "differs")
    cuda = _word([row.cuda for row in rows], "as numpy", "differs")
    both = _word(
        [row.both.wrong if row.both else None for row in rows], "; ".join(reasons) or same, "other bytes"
    )
    sizes = ",".join(str(row.case.size) for row in rows)
    return f"{case.compiler:7} {case.name:40} {sizes:18} {cpu:9} {cuda:9} {both}"


def _rows(cases: list[Case], devices: Sequence[str]) -> list[Row]:
    processes = Processes()
    rows = [agreement(case, processes, devices) for case in cases]
    processes.close()
    return rows


def main(pattern: str = "") -> int:
    """Print a line a kernel, what is wrong, and counts by compiler; 1 if anything is wrong."""
    devices = ("cpu", "cuda") if gpu_count() else ("cpu",)
    cases = [case for case in CASES if re.search(pattern, str(case))]
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        shares = pool.map(partial(_rows, devices=devices), (cases[n::workers] for n in range(workers)))
        found = {str(row.case): row for share in shares for row in share}
    counts: Counter[str] = Counter()
    wrong = []
    print(f"{'':7} {'kernel':40} {'sizes':18} {'cpu':9} {'cuda':9} bytes")
    for _, group in groupby(cases, lambda case: (case.path, case.kernel.entry)):
        rows = [found[str(case)] for case in group]
        print(_line(rows))
        counts[rows[0].case.compiler] += 1
        for row in rows:
            texts = {"cpu": row.cpu, "cuda": row.cuda, "both": row.both.wrong if row.both else ""}
            wrong += [f"{row.case} on {device}: {text}" for device, text in texts.items() if text]
    print(f"\n{sum(counts.values())} kernels:", ", ".join(f"{n} by {name}" for name, n in counts.items()))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
