"""Lanes that run through a loop by themselves, and where they leave it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.flow import Loop
from teenycuda_cli.emulator.codegen.lanewise import GONE
from teenycuda_cli.emulator.machine.lanememory import Lane
from teenycuda_cli.emulator.machine.lanes import FewLanes, Lanes, Mask
from teenycuda_cli.emulator.machine.values import Affine
from teenycuda_cli.emulator.scheduling.kernel import Kernel

COMPACT_BELOW = 0.8
"""The part of the lanes below which those in a loop are put together."""
COMPACT_WITH_FRAMES = 0.2
"""The same for a loop that uses lanes' own memory."""


class Exits:
    """Lanes that leave a compacted loop: their registers go back to where they came from."""

    def __init__(self, kernel: Kernel, loop: Loop, outer: Lanes, few: FewLanes, where: Any) -> None:
        """`where` are the positions in `outer` of the few lanes."""
        self.kernel = kernel
        self.loop = loop
        self.outer = outer
        self.few = few
        self.where = where
        self.dense: dict[int, Any] = {}
        self.masks: dict[int, Any] = {}

    def shrink(self, lanes: Lanes, mask: Any) -> bool:
        """Go on with the lanes of a mask alone, where they have become few enough; whether it was done."""
        if np.count_nonzero(mask) >= COMPACT_BELOW * lanes.count:
            return False
        keep = np.flatnonzero(mask)
        self.few.shrink(keep)
        self.where = self.where[keep]
        return True

    def finish_lanes(self, run: Callable[..., Any], tick: Callable[[int], None]) -> None:
        """Take each lane that is left through the rest of the loop, by itself."""
        few = self.few
        columns = [self._column(few.R[home]) for home in self.kernel.needs[self.loop.header]]
        turns = 0
        for position, number in enumerate(few.index.tolist()):
            lane = Lane(few.batch, number)
            target, values = run(lane, tick, *[column[position] for column in columns])
            turns = max(turns, lane.turns)
            if target != GONE:
                self._leave_one(target, int(self.where[position]), values)
        few.batch.scheduler.instructions += turns * self.kernel.length(self.loop)

    def _column(self, value: Any) -> list[Any]:
        """A register's values as Python numbers, one a lane."""
        few = self.few
        if type(value) is Affine:
            value = few.array(value, 64)
        if type(value) is np.ndarray:
            found: list[Any] = np.broadcast_to(value, few.shape).tolist()
            return found
        return [0 if value is None else value.item() if isinstance(value, np.generic) else value] * few.count

    def _leave_one(self, target: int, place: int, values: tuple[Any, ...]) -> None:
        part = self.masks.get(target)
        if part is None:
            part = self.masks[target] = np.zeros(self.outer.count, bool)
        part[place] = True
        for (home, dtype), value in zip(self.kernel.changes(self.loop.header, target), values, strict=True):
            self._dense(home, dtype)[place] = value

    def _dense(self, home: int, dtype: Any) -> Any:
        dense = self.dense.get(home)
        if dense is None:
            dense = self.dense[home] = self.outer.dense(self.outer.R[home], dtype).reshape(-1)
        return dense

    def leave(self, target: int, mask: Mask) -> None:
        """The lanes of a mask go to a block outside."""
        gone = slice(None) if mask is None else np.flatnonzero(mask)
        places = self.where[gone]
        part = self.masks.get(target)
        if part is None:
            part = self.masks[target] = np.zeros(self.outer.count, bool)
        part[places] = True
        for home, dtype in self.kernel.changes(self.loop.header, target):
            dense = self._dense(home, dtype)
            value = self.few.R[home]
            if value is None:
                continue
            if dtype.kind == "i":
                value = self.few.integers(value, 8 * dtype.itemsize)
            dense[places] = (
                value[gone] if type(value) is np.ndarray and value.shape == self.few.shape else value
            )

    def finish(self) -> list[tuple[int, Any]]:
        """Give the outer lanes their registers; where the lanes went."""
        for home, dense in self.dense.items():
            self.outer.R[home] = dense.reshape(self.outer.shape)
        return [(target, part.reshape(self.outer.shape)) for target, part in self.masks.items()]


def joined(a: Mask, b: Mask) -> Mask:
    """The lanes of either mask."""
    if a is None or b is None:
        return None
    both = a | b
    return None if both.all() else both
