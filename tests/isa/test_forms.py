"""What the emulator takes is what ptxas takes up to sm_89, but for `lacking.txt` and `excess.txt`."""

from __future__ import annotations

from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from tests.isa import effects, values
from tests.isa.emulated import lacking
from tests.isa.judge import ACCEPTED, NEWER, TARGET, read, taken
from tests.isa.lists import EXCESS, LACKING, NO_REASON
from tests.isa.lists import read as listed

PARTS = 8
STRIDE = 48


@cache
def accepted() -> tuple[str, ...]:
    """What ptxas takes for sm_89."""
    return tuple(read(ACCEPTED))


@pytest.mark.parametrize("part", range(PARTS))
def test_forms_are_taken_or_listed(part: int) -> None:
    """What the emulator lacks of what ptxas takes is what the list says, no more and no less."""
    forms = list(accepted()[part::PARTS])
    assert lacking(forms, TARGET).keys() == set(forms) & listed(LACKING).keys()


def test_other_forms_are_refused_or_listed() -> None:
    """The emulator takes of what ptxas refuses for all targets what the list says; matrices left out."""
    legal = {*accepted(), *read(NEWER)}
    forms = chain.from_iterable(row.forms() for row in (*values.ROWS, *effects.ROWS))
    refused = [form for form in dict.fromkeys(forms) if form not in legal][::STRIDE]
    assert len(refused) > 10_000
    assert set(taken(refused)) == set(refused) & listed(EXCESS).keys()


def test_the_list_of_excess_is_true() -> None:
    """The emulator takes what is listed, and ptxas does not."""
    forms = list(listed(EXCESS))
    assert taken(forms) == forms
    assert not {*accepted(), *read(NEWER)}.intersection(forms)


def test_what_is_lacking_is_taken_by_ptxas() -> None:
    """The list names nothing that is no PTX anyway."""
    assert listed(LACKING).keys() <= set(accepted())


@pytest.mark.parametrize("file", [LACKING, EXCESS])
def test_reasons_are_given(file: Path) -> None:
    """Each form has one."""
    assert NO_REASON not in listed(file).values()
