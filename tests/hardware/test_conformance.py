"""The emulator gives what an H200 gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from teenycuda_cli.driver.registry import open_device
from tests.hardware.conformance import (
    all_cases,
    all_tried,
    arrays,
    inputs_digest,
    lane_difference,
    recording,
    trial_verdicts,
    unheld,
    verdict,
)
from tests.hardware.effects import all_trials
from tests.hardware.emulated import evaluated
from tests.hardware.forms import Case
from tests.hardware.kernels import modules
from tests.hardware.record import legal
from tests.hardware.recording import FILE
from tests.hardware.running import run
from tests.hardware.trials import Trial, input_digest, trial_modules

LAUNCHED_ONE_IN = 2
WAITING = FILE.with_name("unrecorded.txt")


def by_row() -> list[Any]:
    """The cases of each row of the table."""
    rows: dict[str, list[Case]] = {}
    for case in all_cases():
        rows.setdefault(f"{case.form.syntax} {sorted(case.form.alternatives.items())}", []).append(case)
    return [pytest.param(cases, id=cases[0].form.syntax) for cases in rows.values()]


def trials_by_row() -> list[Any]:
    """The trials of each row of the table."""
    rows: dict[str, list[Trial]] = {}
    for trial in all_trials():
        rows.setdefault(f"{trial.form.syntax} {sorted(trial.form.alternatives.items())}", []).append(trial)
    return [pytest.param(trials, id=trials[0].form.syntax) for trials in rows.values()]


def test_inputs() -> None:
    """Inputs are, bit for bit, those that the hardware was given."""
    for read in {case.read for case in all_cases() if case.text in recording()}:
        signature = ",".join(source.text for source in read)
        assert inputs_digest(read) == recording().inputs[signature], signature


def test_all_are_recorded() -> None:
    """Every instruction has its outputs, was refused by the assembler, or is known to wait for them."""
    lines = WAITING.read_text().splitlines()
    waiting = {line for line in lines if line and not line.startswith("#")}
    held = [unheld(case) for case in all_tried()]
    missing = {each.case.text for each in held if each is not None and each.kind == "unrecorded"}
    assert missing == waiting


def test_trials_are_those_recorded() -> None:
    """A trial gives its instruction what the hardware was given, and does with it what was done there."""
    recorded = [trial for trial in all_trials() if trial.text in recording()]
    changed = [trial.text for trial in recorded if input_digest(trial) != recording().inputs[trial.text]]
    assert not changed


def test_those_that_wait() -> None:
    """A trial that waits for its outputs assembles, and ends on the emulator."""
    held = [unheld(trial) for trial in all_trials()]
    waiting = [each.case for each in held if each is not None and each.kind == "unrecorded"]
    with open_device("cpu") as device:
        for module in trial_modules([case for case in waiting if isinstance(case, Trial)]):
            kept, refused = legal(module)
            failed = [
                (outcome.case.text, outcome.failure) for outcome in run(device, kept) if outcome.failure
            ]
            wrong = [
                f"{text}: {reason}" for text, reason in (*((c.text, why) for c, why in refused), *failed)
            ]
            assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("trials", trials_by_row())
def test_effects(trials: list[Trial]) -> None:
    """Every spelling of an instruction leaves in registers and memory what the hardware leaves there."""
    wrong = [f"{each.case.text}: {each.note}" for each in trial_verdicts(trials) if each.kind == "differs"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("cases", by_row())
def test_evaluate(cases: list[Case]) -> None:
    """Every spelling of an instruction gives the hardware's bits, also where the ISA allows an error."""
    found = [verdict(case) for case in cases]
    wrong = [f"{each.case.text}: {each.note}" for each in found if each.kind in ("differs", "bounded")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("cases", by_row())
def test_lanes(cases: list[Case]) -> None:
    """The per-lane tier computes what the vector tier computes."""
    wrong = [text for case in cases if (text := lane_difference(case))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("cases", by_row())
def test_out(cases: list[Case]) -> None:
    """Results are the same in an array that was given, and for single numbers."""
    for case in cases:
        read = arrays(case.read)
        expected = evaluated(case, read)
        given = evaluated(case, read, out=True)
        lane = len(read[0]) // 3
        single = evaluated(case, [array[lane] for array in read])
        for whole, same, one in zip(expected, given, single, strict=True):
            assert np.array_equal(whole, same), case.text
            assert whole[lane] == one[()], case.text


def test_launches() -> None:
    """Launched on the embedded device, the kernels that were recorded give what `evaluate` gives."""
    chosen = [case for case in all_cases() if case.text in recording()][::LAUNCHED_ONE_IN]
    with open_device("cpu") as device:
        for module in modules(chosen):
            for outcome in run(device, module):
                assert not outcome.failure, f"{outcome.case.text}: {outcome.failure}"
                assert isinstance(outcome.case, Case)
                own = evaluated(outcome.case, arrays(outcome.case.read))
                for result, expected in zip(outcome.results, own, strict=True):
                    assert np.array_equal(result, expected), outcome.case.text
