"""Lanes that wait for others of their warps: which may go on, which meet elsewhere, and which are stuck."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.mbarriers import Parking
from teenycuda_cli.emulator.machine.warps import WARP, WARPGROUP, by_warp, from_warps, warp_count
from teenycuda_cli.emulator.opcodes.warp import bits
from teenycuda_cli.emulator.scheduling.barriers import Barriers
from teenycuda_cli.emulator.scheduling.kernel import Kernel
from teenycuda_cli.emulator.scheduling.meetings import kind_of


class Gathering:
    """Of one batch."""

    def __init__(self, kernel: Kernel, barriers: Barriers, parking: Parking) -> None:
        """Lanes also wait at `barriers`, or are parked."""
        self.kernel = kernel
        self.barriers = barriers
        self.parking = parking

    def gather(
        self, lanes: Lanes, block: int, mask: Any, pending: dict[int, Mask], deferred: set[int]
    ) -> tuple[Any, list[tuple[int, Any]] | None]:
        """The lanes of a mask whose warp has all lanes that the member mask names; the rest stay pending.

        Where there are none: those that meet others which are elsewhere, with
        the block where they do; or False, and the block is deferred. A member
        mask of more than 32 bits is one of a warpgroup, of which it names all.
        """
        if not pending and not self.barriers.waiting and not self.parking:
            return mask, None
        absent = self._alive(pending, mask) & ~mask
        if not absent.any():
            return mask, None
        member = self._member(lanes, block)
        if type(member) is int and member >> WARP:
            lacking = by_warp(lanes, absent, False, WARPGROUP).any(axis=1, keepdims=True)
            ready = mask & from_warps(lanes, ~lacking, WARPGROUP)
        else:
            named = _named(lanes, member)
            missing = bits(by_warp(lanes, absent, False)) & named
            ready = mask & _from_rows(lanes, missing == 0)
            if not ready.any() and block in self.kernel.kinds:
                parting = mask & _from_rows(lanes, self._met_elsewhere(lanes, block, named, missing, pending))
                if parting.any():
                    door = self.kernel.apart(block)
                    lanes.grow(self.kernel.undefined)
                    return _part(block, mask, parting, pending), [(door, parting)]
        if not ready.any():
            pending[block] = mask
            deferred.add(block)
            return False, None
        return _part(block, mask, ready, pending), None

    def _alive(self, pending: dict[int, Mask], mask: Any) -> Any:
        alive = mask.copy()
        for other in pending.values():
            alive |= True if other is None else other
        for arrival in self.barriers.waiting:
            alive |= arrival.mask
        for parked in self.parking.masks():
            alive |= parked
        return alive

    def _member(self, lanes: Lanes, block: int) -> Any:
        value = self.kernel.members[block]
        if type(value) is int:
            return value
        found = lanes.R[value.home]
        return found & 0xFFFFFFFF if type(found) is int else lanes.integers(found, 32)

    def _met_elsewhere(
        self, lanes: Lanes, block: int, named: Any, missing: Any, pending: dict[int, Mask]
    ) -> Any:
        """Of which lanes a missing one waits at another instruction of the kind, by the same member mask.

        None do in the function where they meet: those that have called it wait there for the rest.
        """
        found = np.zeros((1, 1), bool)
        if block in self.kernel.meetings.functions:
            return found
        kinds = self.kernel.kinds
        for other, mask in pending.items():
            there = by_warp(lanes, mask, False) if kinds.get(other) == kinds[block] else None
            if there is not None and (bits(there) & missing).any():
                theirs = _named(lanes, self._member(lanes, other))
                same = (named[:, :, None] == theirs[:, None, :]) & there[:, None, :]
                found = found | (_masks(same) & missing != 0)
        return found

    # ----------------------------------------------------------------- stuck

    def stuck(self, lanes: Lanes, pending: dict[int, Mask]) -> Exception:
        """The error of lanes that all wait for others of their warps."""
        block = min(pending)
        numbers = lanes.numbers(pending[block])
        first = int(numbers[0])
        op, member = self._waits(lanes, block, first)
        build: Any = op.operation.form.build
        who, why = "lanes that the member mask names", "do not come to this instruction"
        others = dict.fromkeys(self._waited_for(lanes, first, member, pending))
        others.pop((op, member), None)
        if build.whole_warps or build.whole_warpgroups:
            who = f"other lanes of the {'warp' if build.whole_warps else 'warpgroup'}"
        elif others:
            other, theirs = next(iter(others))
            why = "wait at an instruction of another kind"
            if kind_of(other) == kind_of(op):
                why = f"wait with another mask ({theirs:#x}, here {member:#x})"
        program = self.kernel.program
        told = []
        for other, _ in others:
            line, _, shown = faults.where(program, other)
            told.append(f"others wait in line {line}, {shown[0]}")
        return faults.fault(
            program, op, lanes, first, len(numbers), f"is stuck: {who} {why}", tuple(dict.fromkeys(told))
        )

    def _waited_for(
        self, lanes: Lanes, lane: int, member: int, pending: dict[int, Mask]
    ) -> Iterator[tuple[Op, int]]:
        """Where the lanes wait that a lane waits for, each with its member mask."""
        threads = lanes.batch.threads
        number = lane % threads % (WARPGROUP if member >> WARP else WARP)
        start = lane - number
        ends = lane - lane % threads + threads
        for block, mask in pending.items():
            here = np.broadcast_to(mask, lanes.shape).reshape(-1)
            for other in range(start, min(start + member.bit_length(), ends)):
                if here[other] and member >> (other - start) & 1:
                    yield self._waits(lanes, block, other)

    def _waits(self, lanes: Lanes, block: int, lane: int) -> tuple[Op, int]:
        """The instruction at which a lane waits that is pending at a block, and its member mask."""
        kernel = self.kernel
        function = kernel.meetings.functions.get(block)
        if function is None:
            op = kernel.program.blocks[block].ops[0]
        else:
            op = kernel.meetings.sites[_of(lanes, lanes.R[function.site.home], lane)]
        member = self._member(lanes, block)
        return op, member if type(member) is int else _of(lanes, member, lane) & 0xFFFFFFFF


def _of(lanes: Lanes, value: Any, lane: int) -> int:
    """One lane's integer of 32 bits."""
    return int(np.broadcast_to(lanes.integers(value, 32), lanes.shape).reshape(-1)[lane])


def _named(lanes: Lanes, member: Any) -> Any:
    """The member mask of each lane, by warp; of one row and lane where all have the same."""
    if type(member) is int:
        return np.full((1, 1), member, np.uint32)
    return by_warp(lanes, member, 0).astype(np.uint32)


def _masks(rows: Any) -> Any:
    """Rows of rows of 32 bools as rows of masks."""
    return bits(rows.reshape(-1, WARP)).reshape(rows.shape[:2])


def _from_rows(lanes: Lanes, rows: Any) -> Any:
    """Bools by warp, or one for all of its lanes or for all warps, in the lanes' shape."""
    return from_warps(lanes, np.broadcast_to(rows, (warp_count(lanes), WARP)))


def _part(block: int, mask: Any, going: Any, pending: dict[int, Mask]) -> Any:
    """The lanes that go on; the rest stay pending."""
    rest = mask & ~going
    if rest.any():
        pending[block] = rest
    return going
