"""The emulator held to the recording: value instructions by cases, those with effects by trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from teenycuda_cli.driver.registry import open_device
from tests.hardware.bounds import judge
from tests.hardware.effects import all_trials, untried
from tests.hardware.emulated import by_lane, evaluated
from tests.hardware.forms import Case, Skipped, cases
from tests.hardware.inputs import Array, Source, digest, inputs
from tests.hardware.recording import Recording, read
from tests.hardware.running import run
from tests.hardware.trials import Trial, trial_modules


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a case: "exact", "bounded", "differs", "refused" or "unrecorded".

    `note` shows the first lanes that differ, or says why there are no outputs;
    `distances` counts, for an approximate result, lanes by their distance
    from the hardware's in units in the last place: 0, 1, 2, 3 to 9, more.
    """

    case: Case | Trial
    kind: str
    note: str = ""
    lanes: int = 0  # known to differ
    distances: tuple[int, ...] = ()


@cache
def recording() -> Recording:
    """The recording in the repository."""
    return read()


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case there is, in the order of the table."""
    return tuple(case for case in cases() if isinstance(case, Case))


@cache
def all_tried() -> tuple[Case | Trial, ...]:
    """Every case and every trial."""
    return (*all_cases(), *all_trials())


@cache
def skipped() -> tuple[Skipped, ...]:
    """What cannot be tried."""
    return (*(case for case in cases() if isinstance(case, Skipped)), *untried())


@cache
def arrays(read: tuple[Source, ...]) -> tuple[Array, ...]:
    """Inputs, made once, which nobody may write to."""
    made = inputs(read)
    for array in made:
        array.flags.writeable = False
    return made


def inputs_digest(read: tuple[Source, ...]) -> str:
    """The hash of inputs as they are made now."""
    return digest(arrays(read))


def unheld(case: Case | Trial) -> Verdict | None:
    """The verdict on what the hardware has no results for."""
    if case.text in recording().failures:
        return Verdict(case, "refused", recording().failures[case.text])
    if case.text not in recording():
        return Verdict(case, "unrecorded")
    return None


def trial_verdicts(trials: Sequence[Trial]) -> list[Verdict]:
    """Launch trials on the emulator and hold what they leave in memory to the recording."""
    found = {trial.text: unheld(trial) for trial in trials}
    with open_device("cpu") as device:
        for module in trial_modules([trial for trial in trials if found[trial.text] is None]):
            for outcome in run(device, module):
                assert isinstance(outcome.case, Trial)
                found[outcome.case.text] = _held(outcome.case, outcome.results, outcome.failure)
    return [verdict for verdict in found.values() if verdict is not None]


def _held(trial: Trial, results: Sequence[Array], failure: str) -> Verdict:
    if failure:
        return Verdict(trial, "differs", failure)
    for index, (result, kept) in enumerate(zip(results, recording().results(trial.text), strict=True)):
        difference = kept.difference(result)
        if difference:
            lanes = difference.lanes
            rows = [
                f"  number {lane}: emulator {result[lane]:#x}, hardware {theirs:#x}"
                for lane, theirs in zip(lanes[:6].tolist(), difference.hardware.tolist(), strict=False)
            ]
            note = f"result {index}, {difference.chunks or 'some'} of 16 parts differ"
            return Verdict(trial, "differs", "\n".join([note, *rows]), len(lanes))
    return Verdict(trial, "exact")


def verdict(case: Case) -> Verdict:
    """Hold one case to the recording."""
    early = unheld(case)
    if early is not None:
        return early
    own = evaluated(case, arrays(case.read))
    stored = recording().results(case.text)
    if case.approximate and case.destinations[0] != "pred":
        return _bounded(case, own[0], stored[0].values)
    for index, (result, kept) in enumerate(zip(own, stored, strict=True)):
        difference = kept.difference(result)
        if difference:
            note = f"result {index}, {difference.chunks or 'some'} of 16 parts differ"
            lanes = difference.lanes
            rows = shown(case, lanes, result, difference.hardware)
            return Verdict(case, "differs", "\n".join([note, *rows]), len(lanes))
    return Verdict(case, "exact")


def _bounded(case: Case, own: Array, hardware: Array) -> Verdict:
    found = judge(case, arrays(case.read), own, hardware)
    limits = [0, 1, 2, 3, 10, np.inf]
    counts = tuple(
        int(np.sum((found.distance >= low) & (found.distance < high))) for low, high in pairwise(limits)
    )
    lanes = np.flatnonzero(found.outside)
    if len(lanes):
        note = f"{len(lanes)} lanes outside the bound"
        rows = shown(case, lanes, own, hardware[lanes])
        return Verdict(case, "differs", "\n".join([note, *rows]), len(lanes), counts)
    return Verdict(case, "exact" if counts[0] == len(own) else "bounded", distances=counts)


def shown(case: Case, lanes: Array, own: Array, hardware: Array, most: int = 6) -> list[str]:
    """The first lanes that differ: inputs, what the emulator gave, what the hardware gave."""
    rows = []
    for lane, theirs in zip(lanes[:most], hardware, strict=False):
        given = ", ".join(bits_text(array[lane]) for array in arrays(case.read))
        rows.append(f"  {given} → emulator {own[lane]:#x}, hardware {theirs:#x}")
    return rows


def bits_text(value: np.generic) -> str:
    """A number by its bits; floats with their value."""
    if value.dtype.kind == "b":
        return str(int(value))
    bits = int(value.view(f"u{value.dtype.itemsize}"))
    text = f"{bits:#0{2 * value.dtype.itemsize + 2}x}"
    return f"{text} ({value:g})" if value.dtype.kind == "f" else text


def _is_signalling(read: Sequence[Array], lane: int) -> bool:
    """Whether a float of the lane is a signalling NaN, which no Python float can hold."""
    for array in read:
        if array.dtype.kind == "f" and np.isnan(array[lane]):
            bits = int(array[lane].view(f"u{array.dtype.itemsize}"))
            if not bits >> (np.finfo(array.dtype).nmant - 1) & 1:
                return True
    return False


def lane_difference(case: Case) -> str:
    """Where the per-lane expression is not what `evaluate` gives; empty where it is, or there is none."""
    read = arrays(case.read)
    lanes = [
        lane for lane in range(0, len(read[0]), max(len(read[0]) // 64, 1)) if not _is_signalling(read, lane)
    ]
    results = by_lane(case, read, lanes)
    if results is None:
        return ""
    for whole, own in zip(evaluated(case, read), results, strict=True):
        expected = whole[list(lanes)]
        other = np.flatnonzero(expected != own)
        if len(other):
            at = other[0]
            given = ", ".join(bits_text(array[lanes[at]]) for array in read)
            return f"{case.text}: {given} → by lane {own[at]:#x}, evaluate {expected[at]:#x}"
    return ""
