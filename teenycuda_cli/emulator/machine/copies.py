"""Asynchronous copies under way: made when a wait covers them, not before.

A kernel that reads what it copied without having waited for it finds what was
there before, as it may on hardware. Sources are read at that time too: they
must not change in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator.machine.lanes import FullLanes, Lanes, Mask


@dataclass(slots=True, eq=False)
class Copy:
    """What some lanes copy: elements of `data` at `index` from a view, from (data, index), or zeros."""

    lanes: Any  # their numbers in the batch, ascending; None: all
    shape: tuple[int, ...]  # of the lanes
    group: Any  # how many groups a lane had committed before: of all, or of each
    data: Any
    index: Any
    source: Any

    def run(self) -> None:
        """Make it."""
        source = self.source
        if source is None:
            self.data[self.index] = 0
        elif type(source) is tuple:
            self._put(source[0].take(source[1], mode="clip"))
        else:
            self._put(source)

    def _put(self, values: Any) -> None:
        """Where all lanes have one place, what the last one brings stays."""
        index = self.index
        if type(index) is np.ndarray and index.shape != values.shape:
            values, index = np.broadcast_arrays(values, index)
        self.data[index] = values

    def part(self, chosen: Any) -> Copy:
        """The copies of the chosen lanes, a flat array of bools."""
        lanes = np.flatnonzero(chosen) if self.lanes is None else self.lanes[chosen]
        source = self.source
        if type(source) is tuple:
            source = source[0], self._taken(source[1], chosen)
        elif source is not None:
            source = self._taken(source, chosen)
        group = self.group[chosen] if type(self.group) is np.ndarray else self.group
        return Copy(lanes, (len(lanes),), group, self.data, self._taken(self.index, chosen), source)

    def _taken(self, values: Any, chosen: Any) -> Any:
        return np.broadcast_to(values, self.shape).reshape(-1)[chosen]


class Copies:
    """All copies of a batch that no wait has covered yet, in order."""

    def __init__(self) -> None:
        """Nothing is under way, no group committed."""
        self.pending: list[Copy] = []
        self.committed: Any = 0  # groups of all lanes, or of each lane of the batch

    def add(self, lanes: Lanes, mask: Mask, data: Any, index: Any, source: Any) -> None:
        """The lanes of a mask copy."""
        if mask is None and isinstance(lanes, FullLanes):
            self.pending.append(Copy(None, lanes.shape, self._group(None), data, index, source))
            return
        numbers = lanes.numbers(mask)
        if mask is None:
            index = np.broadcast_to(index, lanes.shape)
        self.pending.append(Copy(numbers, (len(numbers),), self._group(numbers), data, index, source))

    def _group(self, numbers: Any) -> Any:
        committed = self.committed
        if type(committed) is int:
            return committed
        return committed.copy() if numbers is None else committed[numbers]

    def commit(self, lanes: Lanes, mask: Mask) -> None:
        """What the lanes of a mask have begun to copy becomes a group."""
        if mask is None and isinstance(lanes, FullLanes):
            self.committed = self.committed + 1
            return
        if type(self.committed) is int:
            self.committed = np.full(lanes.batch.full.count, self.committed)
        self.committed[lanes.numbers(mask)] += 1

    def wait(self, lanes: Lanes, mask: Mask, left: int) -> None:
        """Make the copies of the lanes of a mask, but those of their last `left` groups; -1: all."""
        if not self.pending:
            return
        here: Any = None
        if mask is not None or not isinstance(lanes, FullLanes):
            here = np.zeros(lanes.batch.full.count, bool)
            here[lanes.numbers(mask)] = True
        limit = self.committed - left
        remaining = []
        for copy in self.pending:
            chosen = _due(copy, limit, here)
            if chosen is True:
                copy.run()
            elif chosen is False:
                remaining.append(copy)
            else:
                copy.part(chosen).run()
                remaining.append(copy.part(~chosen))
        self.pending = remaining


def _due(copy: Copy, limit: Any, here: Any) -> Any:
    """Which copies are to be made now: of all lanes, of none, or of those of a flat array of bools."""
    numbers = copy.lanes
    if type(limit) is np.ndarray and numbers is not None:
        limit = limit[numbers]
    due = copy.group < limit
    if here is not None:
        due = due & (here if numbers is None else here[numbers])
    if type(due) is np.ndarray:
        return True if due.all() else due if due.any() else False
    return bool(due)
