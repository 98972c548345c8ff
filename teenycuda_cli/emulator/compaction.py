"""Lanes that run through a loop by themselves, and where they leave it."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.flow import Loop
from teenycuda_cli.emulator.kernel import Kernel
from teenycuda_cli.emulator.lanes import FewLanes, Lanes, Mask

COMPACT_BELOW = 0.8
"""The part of the lanes below which those in a loop are put together."""


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

    def leave(self, target: int, mask: Mask) -> None:
        """The lanes of a mask go to a block outside."""
        gone = slice(None) if mask is None else np.flatnonzero(mask)
        places = self.where[gone]
        part = self.masks.get(target)
        if part is None:
            part = self.masks[target] = np.zeros(self.outer.count, bool)
        part[places] = True
        for home, dtype in self.kernel.changes(self.loop.header, target):
            dense = self.dense.get(home)
            if dense is None:
                dense = self.dense[home] = self.outer.dense(self.outer.R[home], dtype).reshape(-1)
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
