"""The emulator's value instructions give what an H200 gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from teenycuda_cli.driver.registry import open_device
from tests.hardware.conformance import (
    all_cases,
    arrays,
    inputs_digest,
    lane_difference,
    recording,
    verdict,
)
from tests.hardware.emulated import evaluated
from tests.hardware.forms import Case
from tests.hardware.kernels import modules
from tests.hardware.recording import FILE
from tests.hardware.running import run

LAUNCHED_ONE_IN = 2
WAITING = FILE.with_name("unrecorded.txt")


def by_row() -> list[Any]:
    """The cases of each row of the table."""
    rows: dict[str, list[Case]] = {}
    for case in all_cases():
        rows.setdefault(f"{case.form.syntax} {sorted(case.form.alternatives.items())}", []).append(case)
    return [pytest.param(cases, id=cases[0].form.syntax) for cases in rows.values()]


def test_inputs() -> None:
    """Inputs are, bit for bit, those that the hardware was given."""
    for read in {case.read for case in all_cases() if case.text in recording()}:
        signature = ",".join(source.text for source in read)
        assert inputs_digest(read) == recording().inputs[signature], signature


def test_all_are_recorded() -> None:
    """Every instruction has its outputs, was refused by the assembler, or is known to wait for them."""
    lines = WAITING.read_text().splitlines()
    waiting = {line for line in lines if line and not line.startswith("#")}
    missing = {case.text for case in all_cases() if verdict(case).kind == "unrecorded"}
    assert missing == waiting


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
                own = evaluated(outcome.case, arrays(outcome.case.read))
                for result, expected in zip(outcome.results, own, strict=True):
                    assert np.array_equal(result, expected), outcome.case.text
