"""Lanes that change the same place of memory at once: they take their turns in the order of the lanes.

Places that one lane changes are done at once. Where several meet, the first
lanes of all places go together, then the second ones, and so on; what is left
of a few places with many lanes is done place by place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
SHORT = 64
"""Steps that are done in Python before it is tried again how many change nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What an atomic makes of an old value and its operands.

    `function` works on arrays. `ufunc` is the same where numpy's own steps give
    its results, for operands and old values without an `odd` one; `halves` tells
    that these are f16, one or two in an element, which it is only used for where
    lanes go one by one. `scalar` is the same on Python numbers.
    """

    function: Function
    ufunc: np.ufunc | None = None
    odd: Callable[[Any], bool] | None = None
    scalar: Function | None = None
    adds_integers: bool = False
    replaces: bool = False
    halves: bool = False

    def is_plain(self, *arrays: Any) -> bool:
        """Whether the ufunc may be used for these values."""
        return self.ufunc is not None and (self.odd is None or not any(map(self.odd, arrays)))


def change(what: Change, data: Any, index: Any, values: list[Any]) -> None:
    """Change the elements of `data` at `index`, an operand each or one for all."""
    if what.replaces:
        data[index] = values[0]
        return
    value = values[0]
    if what.adds_integers and type(value) is not np.ndarray:
        low, high = int(index.min()), int(index.max())
        if high - low <= 4 * len(index):
            counts = np.bincount(index - low)
            data[low : high + 1] += counts.astype(data.dtype) * value
            return
    if len(index) == 1:
        data[index] = what.function(data[index], *values)
        return
    if what.ufunc is None or what.halves:
        exchange(what, data, index, values)
        return
    if what.odd is None:
        what.ufunc.at(data, index, value)
        return
    before = data[index]
    if what.is_plain(before, value):
        what.ufunc.at(data, index, value)
        if what.is_plain(data[index]):
            return
        data[index] = before
    exchange(what, data, index, values)


def exchange(what: Change, data: Any, index: Any, values: list[Any]) -> Any:
    """Change the elements and give what each lane found there."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    if starts.all():
        old = data[index]
        data[index] = what.function(old, *values)
        return old
    spread = [np.broadcast_to(np.asarray(value), index.shape)[order] for value in values]
    firsts = np.flatnonzero(starts)
    places = ordered[firsts]
    if what.adds_integers:
        old_ordered, last = _running_sums(data[places], spread[0], firsts, starts)
    elif what.replaces:
        old_ordered, last = _replaced(data[places], spread[0], firsts)
    else:
        old_ordered, last = _in_turns(what, data[places], spread, firsts)
    data[places] = last
    old = np.empty_like(old_ordered)
    old[order] = old_ordered
    return old


def _running_sums(current: Any, added: Any, firsts: Any, starts: Any) -> tuple[Any, Any]:
    added = added.astype(current.dtype, copy=False)
    total = np.cumsum(added, dtype=current.dtype)
    before = total - added
    group = np.cumsum(starts) - 1
    old = current[group] + (before - before[firsts][group])
    lasts = np.append(firsts[1:], len(added)) - 1
    return old, old[lasts] + added[lasts]


def _replaced(current: Any, values: Any, firsts: Any) -> tuple[Any, Any]:
    old = np.empty_like(values)
    old[1:] = values[:-1]
    old[firsts] = current
    return old, values[np.append(firsts[1:], len(values)) - 1]


def _in_turns(what: Change, current: Any, values: list[Any], firsts: Any) -> tuple[Any, Any]:
    """The old values in the order of `values`, and what each place holds in the end."""
    sizes = np.diff(np.append(firsts, len(values[0])))
    old = np.empty(len(values[0]), current.dtype)
    live = np.arange(len(firsts))
    turn = 0
    longest = int(sizes.max())
    while len(live):
        if len(live) < longest - turn:
            for place in live.tolist():
                begin, end = firsts[place] + turn, firsts[place] + sizes[place]
                steps = [value[begin:end] for value in values]
                old[begin:end], current[place] = _one_by_one(what, current[place], steps)
            break
        at = firsts[live] + turn
        old[at] = current[live]
        current[live] = what.function(old[at], *[value[at] for value in values])
        turn += 1
        live = live[sizes[live] > turn]
    return old, current


def _one_by_one(what: Change, first: Any, values: list[Any]) -> tuple[Any, Any]:
    """What each step finds, and the last result."""
    if what.ufunc is not None:
        steps = np.concatenate(([first], values[0])).astype(first.dtype, copy=False)
        numbers = steps.view(np.float16).reshape(len(steps), -1) if what.halves else steps
        results = what.ufunc.accumulate(numbers)
        if what.is_plain(results, numbers):
            found = np.ascontiguousarray(results).view(first.dtype).reshape(-1)
            return found[:-1], found[-1]
    if what.scalar is not None:
        return _by_numbers(what.function, what.scalar, first, values)
    old = np.empty(len(values[0]), first.dtype)
    last = np.array([first])
    for number in range(len(old)):
        old[number] = last[0]
        last = what.function(last, *[value[number : number + 1] for value in values])
    return old, last[0]


def _by_numbers(function: Function, scalar: Function, first: Any, values: list[Any]) -> tuple[Any, Any]:
    """The same in Python numbers, and at once where steps change nothing: of many, one gets a lock."""
    count, at, run = len(values[0]), 0, SHORT
    old = np.empty(count, first.dtype)
    now = np.array(first)
    while at < count:
        results = function(now, *[value[at:] for value in values])
        changes = np.flatnonzero(results != now)
        idle = int(changes[0]) if len(changes) else count - at
        old[at : at + idle + 1] = now
        now = np.array(results[idle]) if len(changes) else now
        at += idle + 1
        if idle >= SHORT or at >= count:
            continue
        number, olds = now.item(), []
        for step in zip(*[value[at : at + run].tolist() for value in values], strict=True):
            olds.append(number)
            number = scalar(number, *step)
        old[at : at + run] = olds
        now = np.array(number, first.dtype)
        at, run = at + run, 2 * run
    return old, now
