"""The emulator takes every form that ptxas takes up to sm_89, but for those in `lacking.txt`."""

from __future__ import annotations

from functools import cache

import pytest

from tests.isa.emulated import lacking
from tests.isa.judge import read
from tests.isa.lacking import listed

PARTS = 8


@cache
def accepted() -> tuple[str, ...]:
    """What ptxas took."""
    return tuple(read())


@pytest.mark.parametrize("part", range(PARTS))
def test_forms_are_taken_or_listed(part: int) -> None:
    """What the emulator lacks of what ptxas takes is what the list says, no more and no less."""
    forms = list(accepted()[part::PARTS])
    missing = set(lacking(forms))
    assert missing == set(forms) & listed().keys()


def test_what_is_listed_is_taken_by_ptxas() -> None:
    """The list names nothing that is no PTX anyway."""
    assert listed().keys() <= set(accepted())
