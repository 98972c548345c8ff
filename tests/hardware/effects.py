"""Every instruction of the opcode table with an effect, as trials: which spellings, in which situations.

A row's modifiers that say what is done (operation, type, space, vector) are all
crossed. Those that only order, cache or hint (`NEUTRAL`) are tried in each
space, one at a time or as `TOGETHER` says, with one type.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache

from teenycuda_cli.emulator.opcodes.patterns import Pattern, compile_form
from teenycuda_cli.emulator.opcodes.table import Form, supported
from tests.hardware import (
    effects_async_store,
    effects_atomics,
    effects_barriers,
    effects_bulk,
    effects_clusters,
    effects_control,
    effects_mbarrier,
    effects_memory,
    effects_mma,
    effects_order,
    effects_others,
    effects_parameters,
    effects_special,
    effects_tensor,
    effects_warp,
    effects_wgmma,
    effects_wmma,
)
from tests.hardware.forms import Skipped
from tests.hardware.trials import Trial

NEUTRAL = frozenset(
    ("mmio", "sem", "scope", "cop", "nc", "evict", "level", "hint", "prefetch", "aligned", "cache")
)
TOGETHER = (("sem", "scope"), ("mmio", "sem", "scope"), ("nc", "cop"), ("nc", "evict"), ("nc", "prefetch"))
ALONE = frozenset(("fence", "membar", "prefetch"))
"""Opcodes of which such modifiers are all that there is: they are crossed."""
SPACES = frozenset(("", "global", "shared"))
"""Where neutral modifiers are tried."""

Recipe = Callable[[Form, str, dict[str, str], bool], Iterator[Trial | Skipped] | Iterator[Trial]]
"""(row, full name, modifiers by slot, whether only neutral modifiers are new) → trials."""

RECIPES: dict[str, Recipe] = {
    **effects_warp.RECIPES,
    **effects_atomics.RECIPES,
    **effects_memory.RECIPES,
    **effects_others.RECIPES,
    **effects_wmma.RECIPES,
    **effects_mma.RECIPES,
    **effects_wgmma.RECIPES,
    **effects_mbarrier.RECIPES,
    **effects_barriers.RECIPES,
    **effects_bulk.RECIPES,
    **effects_tensor.RECIPES,
    **effects_control.RECIPES,
    **effects_parameters.RECIPES,
    **effects_clusters.RECIPES,
    **effects_order.RECIPES,
    **effects_async_store.RECIPES,
}
"""By the beginning of a name: the longest one counts."""

REASONS = {
    "wgmma": "another n stands for it, or nothing that can be seen",
    "brkpt": "stops the launch",
    "trap": "stops the launch",
}
"""Why there is no trial of an instruction."""


def trials() -> Iterator[Trial | Skipped]:
    """The trials of every effect form; what there is none of, by name and with the reason."""
    seen = set()
    for form in supported():
        if form.kind != "effect":
            continue
        for name, bound, plain in representatives(form):
            recipe = _recipe(name)
            found = recipe(form, name, bound, plain) if recipe else iter(())
            made = False
            for trial in found:
                made = True
                if trial.text not in seen:
                    seen.add(trial.text)
                    yield trial
            if not made:
                yield Skipped(name, REASONS.get(form.opcode, "held by tests of its own"))
    yield from effects_special.special_registers()


def _recipe(name: str) -> Recipe | None:
    """The recipe of the longest beginning of a name that has one."""
    parts = name.split(".")
    beginnings = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((RECIPES[text] for text in beginnings if text in RECIPES), None)


def representatives(form: Form) -> Iterator[tuple[str, dict[str, str], bool]]:
    """Spellings of a row that stand for all: name, modifiers, and whether none of those is neutral."""
    pattern = compile_form(form)
    seen = set()
    for modifiers, plain in _modifiers(pattern):
        bound = pattern.bind(modifiers)
        if bound is not None and modifiers not in seen:
            seen.add(modifiers)
            yield ".".join((form.opcode, *modifiers)), bound, plain


def _modifiers(pattern: Pattern) -> Iterator[tuple[tuple[str, ...], bool]]:
    choices = [(("", *slot.ordered) if slot.optional else slot.ordered) for slot in pattern.slots]
    if pattern.form.opcode in ALONE:
        yield from ((tuple(filter(None, texts)), True) for texts in itertools.product(*choices))
        return
    neutral = [index for index, slot in enumerate(pattern.slots) if slot.name in NEUTRAL and slot.optional]
    crossed = [("",) if index in neutral else texts for index, texts in enumerate(choices)]
    if any(slot.name in NEUTRAL and not slot.optional and len(slot.ordered) > 1 for slot in pattern.slots):
        for combination in _first_of_each_space(pattern, crossed):
            yield tuple(text for text in combination if text), False
        return
    for combination in itertools.product(*crossed):
        yield tuple(text for text in combination if text), True
    names = {slot.name: index for index, slot in enumerate(pattern.slots) if index in neutral}
    first = _first_of_each_space(pattern, crossed)
    for subset in _subsets(names):
        for texts in itertools.product(*[choices[index][1:] for index in subset]):
            chosen = dict(zip(subset, texts, strict=True))
            for combination in first:
                full = [chosen.get(index, text) for index, text in enumerate(combination)]
                yield tuple(text for text in full if text), False


def _first_of_each_space(pattern: Pattern, crossed: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """For each space, the first combination of the other modifiers that is legal."""
    spaces = [index for index, slot in enumerate(pattern.slots) if slot.name == "space"]
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for combination in itertools.product(*crossed):
        space = tuple(combination[index] for index in spaces)
        if (
            {*space} <= SPACES
            and space not in found
            and pattern.bind(tuple(text for text in combination if text)) is not None
        ):
            found[space] = combination
    return list(found.values())


def _subsets(names: dict[str, int]) -> Iterator[tuple[int, ...]]:
    """Neutral modifiers that go together: each alone, and those that need another."""
    yield from ((index,) for index in names.values())
    for together in TOGETHER:
        if all(name in names for name in together):
            yield tuple(names[name] for name in together)


@cache
def all_trials() -> tuple[Trial, ...]:
    """Every trial there is, in the order of the table."""
    return tuple(trial for trial in trials() if isinstance(trial, Trial))


@cache
def untried() -> tuple[Skipped, ...]:
    """What there is no trial of."""
    return tuple(trial for trial in trials() if isinstance(trial, Skipped))
