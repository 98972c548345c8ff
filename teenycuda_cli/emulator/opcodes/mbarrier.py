"""mbarrier: objects in shared memory at which threads arrive, and whose phases they wait for."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import Argument
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Nowhere, Op, Place, Register, Source
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine import mbarriers as objects
from teenycuda_cli.emulator.machine.access import Site, positions
from teenycuda_cli.emulator.machine.memory import SHARED_WINDOW
from teenycuda_cli.emulator.machine.warps import warp_numbers
from teenycuda_cli.emulator.opcodes.control import predicate_text, remaining
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.forms import Modifiers

_ISA = "parallel-synchronization-and-communication-instructions-mbarrier-"
_LOCAL = "shared shared::cta"
_SPACES = "shared shared::cta shared::cluster"
_SCOPES = "cta cluster"


def shared_site(emit: Emitter, op: Op, place: Source, dtype: Any, count: int = 1) -> tuple[Site, Argument]:
    """The access to elements in shared memory, and its address; one without a space is generic."""
    assert isinstance(place, Place)
    argument = emit.argument(place.base, "b64")
    offset = place.offset if op.operation.modifiers["space"] else place.offset - SHARED_WINDOW
    width = argument.address_width
    return Site(emit.program, op, "shared", offset, dtype.itemsize, count, dtype, width, True), argument


def _site(emit: Emitter, op: Op, place: Source) -> tuple[Site, str]:
    """The access to an object, and its address."""
    site, address = shared_site(emit, op, place, objects.WORD)
    return site, address.text


def _places(site: Site, lanes: Any, address: Any, mask: Any) -> tuple[Any, Any]:
    """Memory as words, and the index of the object of each lane of a mask."""
    (spot,) = positions(site, lanes, address, mask)
    data, index = spot.elements(objects.WORD)
    if mask is None:
        index = np.broadcast_to(index, lanes.shape).reshape(-1)
    return data, index


def _given(lanes: Any, value: Any, mask: Any, width: int) -> Any:
    """An operand's values for the lanes of a mask, in order; one for all where they are the same."""
    if type(value) is int:
        return value
    values = np.broadcast_to(lanes.integers(value, width), lanes.shape)
    return values.reshape(-1) if mask is None else values[mask]


def _refuse(site: Site, lanes: Any, mask: Any, misuse: objects.Misuse) -> Exception:
    lane = int(lanes.numbers(mask)[misuse.at])
    return faults.fault(site.program, site.op, lanes, lane, 1, misuse.what)


class Initialise:
    """`mbarrier.init` and `inval`."""

    def __init__(self, site: Site) -> None:
        """The access to the object."""
        self.site = site

    def __call__(self, lanes: Any, address: Any, mask: Any, count: Any = None) -> None:
        """A new object expects `count` arrivals; without one it is none any more."""
        data, index = _places(self.site, lanes, address, mask)
        if count is None:
            data[index] = objects.INVALID
            return
        counts = np.asarray(_given(lanes, count, mask, 32), np.int64) & 0xFFFFFFFF
        wrong = (counts < 1) | (counts > objects.MOST)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            what = f"makes an mbarrier for {counts.reshape(-1)[at]} arrivals; they are 1 to {objects.MOST}"
            raise _refuse(self.site, lanes, mask, objects.Misuse(what, at))
        data[index] = objects.initial(counts)


@effect("mbarrier.init{.space}.b64 [a], count", space=_LOCAL, types="count:u32", isa=_ISA + "init")
@effect("mbarrier.inval{.space}.b64 [a]", space=_LOCAL, isa=_ISA + "inval")
def init(emit: Emitter, op: Op) -> None:
    """An object begins its first phase, or ends to be one."""
    site, address = _site(emit, op, op.operands[0])
    count = f", {emit.integer(op.operands[1], 32)}" if len(op.operands) > 1 else ""
    mask = emit.mask(op)
    guard = f"if {mask} is not False: " if mask != "m" else ""
    emit.line(f"{guard}{emit.bind(Initialise(site))}(S, {address}, {mask}{count})")


class Arrive:
    """Arrivals and transactions at objects; lanes with the same object take their turns in order."""

    def __init__(
        self, site: Site, how: objects.Arrival, transactions: int, *, together: bool = False
    ) -> None:
        """`transactions` is 1 where the operand's are expected, -1 where they are complete, else 0.

        Lanes of a warp that arrive `together` find one word.
        """
        self.together = together
        self.site = site
        self.how = how
        self.transactions = transactions

    def __call__(self, lanes: Any, address: Any, mask: Any, amount: Any) -> Any:
        """`amount` is the count, or the transactions; the words that the lanes found come back."""
        data, index = _places(self.site, lanes, address, mask)
        given = np.asarray(_given(lanes, amount, mask, 32), np.int64) & 0xFFFFFFFF
        counts: Any = given
        changes: Any = 0
        if self.transactions:
            counts, changes = int(self.how.arrives), given * self.transactions
        try:
            found, ended = objects.arrive(data, index, counts, changes, self.how)
        except objects.Misuse as misuse:
            raise _refuse(self.site, lanes, mask, misuse) from None
        if ended:
            lanes.batch.scheduler.parking.settle()
        if self.together:
            found = objects.found_by_warps(found, index, warp_numbers(lanes, mask))
        if mask is None:
            return found.view(np.int64).reshape(lanes.shape)
        result = np.zeros(lanes.shape, np.int64)
        result[mask] = found.view(np.int64)
        return result


def begin_arrival(emit: Emitter, op: Op, mask: str, *, counted: bool) -> None:
    """The arrival of `cp.async.mbarrier.arrive`; one that is not counted was expected just before."""
    site, address = _site(emit, op, op.operands[0])
    run = emit.bind(Arrive(site, objects.Arrival(), 0))
    guard = f"if {mask} is not False: " if mask != "m" else ""
    emit.line(f"{guard}{run}(S, {address}, {mask}, {int(counted)})")


def _is_ordered(m: Modifiers) -> bool:
    """Whether semantics, scope and space go together."""
    return bool(m["sem"]) == bool(m["scope"])


_ARRIVE: dict[str, Any] = {
    "how": "arrive arrive_drop",
    "sem": "release relaxed",
    "scope": _SCOPES,
    "types": "d:b64? count:u32",
    "where": _is_ordered,
    "isa": _ISA + "arrive",
}


@effect("mbarrier.how{.sem}{.scope}{.space}.b64 d, [a]{, count}", space=_LOCAL, **_ARRIVE)
@effect("mbarrier.how.expect_tx{.sem}{.scope}{.space}.b64 d, [a], count", space=_LOCAL, **_ARRIVE)
@effect(
    "mbarrier.how.noComplete{.sem}{.scope}{.space}.b64 d, [a], count",
    space=_LOCAL,
    **(_ARRIVE | {"sem": "release", "scope": "cta"}),
)
def arrive(emit: Emitter, op: Op) -> None:
    """Count down what is pending, and give the object as it was."""
    _arrive(emit, op, op.operands[0], op.operands[1:])


@effect(
    "mbarrier.how{.sem}{.scope}.space.b64 d, [a]{, count}",
    "mbarrier.how.expect_tx{.sem}{.scope}.space.b64 d, [a], count",
    space="shared::cluster",
    **(_ARRIVE | {"types": "d:nothing count:u32"}),
)
def arrive_remote(emit: Emitter, op: Op) -> None:
    """The same at an object that may be another block's: nothing comes back."""
    _arrive(emit, op, op.operands[0], op.operands[1:])


@effect(
    "mbarrier.what{.sem}{.scope}{.space}.b64 [a], count",
    what="expect_tx complete_tx",
    sem="relaxed",
    scope=_SCOPES,
    space=_SPACES,
    types="count:u32",
    where=_is_ordered,
    isa=_ISA + "expect-tx",
)
def transactions(emit: Emitter, op: Op) -> None:
    """More transactions are expected, or complete."""
    _arrive(emit, op, Nowhere(), op.operands)


def _arrive(emit: Emitter, op: Op, destination: Source, operands: tuple[Source, ...]) -> None:
    modifiers = op.instruction.modifiers
    site, address = _site(emit, op, operands[0])
    amount = emit.integer(operands[1], 32) if len(operands) > 1 else "1"
    sign = 1 if "expect_tx" in modifiers else -1 if "complete_tx" in modifiers else 0
    drops = "arrive_drop" in modifiers
    how = objects.Arrival("arrive" in modifiers or drops, drops, "noComplete" not in modifiers)
    wanted = isinstance(destination, Register)
    run = emit.bind(Arrive(site, how, sign, together=wanted and len(operands) == 1))
    mask = emit.mask(op)
    call = f"{run}(S, {address}, {mask}, {amount})"
    if isinstance(destination, Register):
        emit.store_results(op, [destination], call, mask, [np.dtype(np.int64)])
    else:
        emit.line(call if mask == "m" else f"if {mask} is not False: {call}")


def pending(lanes: Any, state: Any) -> Any:
    """The pending count in a word that an arrival gave."""
    words = np.asarray(lanes.integers(state, 64)).view(np.uint64)
    found = objects.pending_counts(words).astype(np.int32)
    return int(found) if not found.shape else found


@effect(
    "mbarrier.pending_count.b64 d, a",
    types="d:u32 a:b64",
    isa=_ISA + "pending-count",
    keeps_memory=True,
)
def pending_count(emit: Emitter, op: Op) -> None:
    """The count in the word that an arrival gave."""
    mask = emit.mask(op)
    call = f"{emit.bind(pending)}(S, {emit.integer(op.operands[1], 64)})"
    emit.store_results(op, [op.operands[0]], call, mask, [np.dtype(np.int32)])


class Wait:
    """`mbarrier.test_wait` and `try_wait`: lanes go on when the phase is over, or nothing else can run."""

    def __init__(self, site: Site, home: int, following: int, shift: int) -> None:
        """`home` is the register of the result, `shift` where in the operand the phase's parity is."""
        self.site = site
        self.home = home
        self.following = following
        self.shift = shift

    def __call__(self, lanes: Any, address: Any, state: Any, mask: Any) -> Any:
        """Pairs of block and mask."""
        data, index = _places(self.site, lanes, address, mask)
        wrong = ~objects.are_valid(data[index])
        if wrong.any():
            what = "waits for an mbarrier that is not initialised"
            raise _refuse(self.site, lanes, mask, objects.Misuse(what, int(np.flatnonzero(wrong)[0])))
        given = _given(lanes, state, mask, 64 if self.shift else 32)
        parity = np.broadcast_to((np.asarray(given).astype(np.int64) >> self.shift) & 1, index.shape)
        here = np.ones(lanes.shape, bool) if mask is None else mask
        parked = objects.Parked(self.site.op, self.home, self.following, here, data, index, parity)
        if parked.done().all():
            if self.home >= 0:
                lanes.assign(self.home, True, mask, True, np.dtype(np.bool_))
            return ((self.following, mask),)
        lanes.batch.scheduler.parking.add(parked)
        return ()


_WAIT: dict[str, Any] = {
    "sem": "acquire relaxed",
    "scope": _SCOPES,
    "space": _LOCAL,
    "where": _is_ordered,
    "ends_block": True,
}


@effect(
    "mbarrier.test_wait{.sem}{.scope}{.space}.b64 p, [a], state",
    types="p:pred state:b64",
    isa=_ISA + "test-wait",
    **_WAIT,
)
@effect(
    "mbarrier.test_wait.parity{.sem}{.scope}{.space}.b64 p, [a], state",
    types="p:pred state:u32",
    isa=_ISA + "test-wait",
    **_WAIT,
)
@effect(
    "mbarrier.try_wait{.sem}{.scope}{.space}.b64 p, [a], state{, hint}",
    types="p:pred state:b64 hint:u32",
    isa=_ISA + "test-wait",
    **_WAIT,
)
@effect(
    "mbarrier.try_wait.parity{.sem}{.scope}{.space}.b64 p, [a], state{, hint}",
    types="p:pred state:u32 hint:u32",
    isa=_ISA + "test-wait",
    **_WAIT,
)
def wait(emit: Emitter, op: Op) -> None:
    """Whether a phase is over; lanes are told that it is not only when all others wait too."""
    destination = op.operands[0]
    home = destination.home if isinstance(destination, Register) else -1
    shift = 0 if "parity" in op.instruction.modifiers else 63
    site, address = _site(emit, op, op.operands[1])
    state = emit.integer(op.operands[2], 64 if shift else 32)
    following = emit.next_block
    run = emit.bind(Wait(site, home, following, shift))
    mask = emit.mask(op)
    ending = f"{run}(S, {address}, {state}, {mask})"
    if op.predicate is not None:
        rest = f"{emit.bind(remaining)}(S, {predicate_text(op)}, m, {following})"
        ending = f"(() if {mask} is False else {ending}) + {rest}"
    emit.leave(ending)
    if isinstance(destination, Register):
        emit.forget(destination)
