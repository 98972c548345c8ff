"""What the emulator takes is what ptxas takes up to sm_89, but for `lacking.txt` and `excess.txt`."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from tests.isa import bulk, effects, values
from tests.isa.emulated import lacking
from tests.isa.judge import ACCEPTED, NEWER, NEWER_TARGETS, TARGET, read, taken
from tests.isa.lists import EXCESS, LACKING, NO_REASON
from tests.isa.lists import read as listed

PARTS = 8
STRIDE = 48
_NO_PLACE = re.compile(r"\.im2col|\.global_stride\S* \[%l1\], 4,|\.elemtype\S* \[%l1\], 13")
"""Maps for im2col, which only the driver makes; a fifth stride; and element types of sm_100."""


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
    forms = chain.from_iterable(row.forms() for row in (*values.ROWS, *effects.ROWS, *bulk.ROWS))
    refused = [form for form in dict.fromkeys(forms) if form not in legal][::STRIDE]
    assert len(refused) > 10_000
    assert set(taken(refused)) == set(refused) & listed(EXCESS).keys()


def test_the_list_of_excess_is_true() -> None:
    """The emulator takes what is listed, and ptxas does not."""
    forms = list(listed(EXCESS))
    assert taken(forms) == forms
    assert not {*accepted(), *read(NEWER)}.intersection(forms)


def test_copies_in_bulk_are_taken() -> None:
    """All that ptxas takes for sm_90a, im2col and what maps of tensors have no place for aside."""
    newer = set(read(NEWER))
    forms = [form for row in bulk.ROWS for form in row.forms() if form in newer]
    assert len(forms) > 600
    left = [form for form in lacking(forms, NEWER_TARGETS[0]) if not _NO_PLACE.search(form)]
    assert not left


def test_what_is_lacking_is_taken_by_ptxas() -> None:
    """The list names nothing that is no PTX anyway."""
    assert listed(LACKING).keys() <= set(accepted())


@pytest.mark.parametrize("file", [LACKING, EXCESS])
def test_reasons_are_given(file: Path) -> None:
    """Each form has one."""
    assert NO_REASON not in listed(file).values()
