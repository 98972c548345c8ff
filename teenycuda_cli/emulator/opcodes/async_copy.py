"""cp.async: copies from global to shared memory that a later wait covers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK, Argument, fixed
from teenycuda_cli.emulator.codegen.compute import both
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Not, Op, Place, Register, Source
from teenycuda_cli.emulator.machine.access import Site, positions, view
from teenycuda_cli.emulator.machine.values import Affine
from teenycuda_cli.emulator.opcodes.constants import constant
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.mbarrier import begin_arrival

_ISA = "data-movement-and-conversion-instructions-cp-async"
_DTYPES: dict[int, Any] = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64), 16: np.dtype(np.complex128)}
"""Elements that are copied bit by bit."""
_BYTE = np.dtype(np.uint8)


class AsyncCopy:
    """`cp.async`: lanes, two addresses, mask and the bytes to read in."""

    def __init__(self, target: Site, source: Site) -> None:
        """Both are accesses of the same size."""
        self.target = target
        self.source = source

    def __call__(self, lanes: Any, to: Any, origin: Any, mask: Any, amount: Any = None) -> None:
        """Bytes behind the first `amount` become zero; a predicate is whether to read none."""
        size = self.target.size
        amount = _bytes(lanes, amount, size)
        if type(amount) is not np.ndarray:
            self._copy(lanes, to, origin, mask, amount)
            return
        for count in np.unique(amount if mask is None else amount[mask]).tolist():
            part = both(amount == count, mask, lanes)
            if part is not False:
                self._copy(lanes, to, origin, part, count)

    def _copy(self, lanes: Any, to: Any, origin: Any, mask: Any, amount: int) -> None:
        copies = lanes.batch.scheduler.copies
        if 0 < amount < self.target.size:
            for at in range(self.target.size):
                data, index = _elements(_byte(self.target, at), lanes, to, mask)
                read = _elements(_byte(self.source, at), lanes, origin, mask) if at < amount else None
                copies.add(lanes, mask, data, index, read)
            return
        data, index = _elements(self.target, lanes, to, mask)
        source: Any = None
        if amount:
            if mask is None and type(origin) in (int, Affine):
                source = view(self.source, lanes, origin)
            if source is None:
                source = _elements(self.source, lanes, origin, mask)
        copies.add(lanes, mask, data, index, source)


def _bytes(lanes: Any, amount: Any, size: int) -> Any:
    """How many bytes each lane reads: one number, or an array of the lanes' shape."""
    if amount is None:
        return size
    if type(amount) is bool or isinstance(amount, np.bool_):
        return 0 if amount else size
    if type(amount) is int:
        return min(amount & 0xFFFFFFFF, size)
    if type(amount) is np.ndarray and amount.dtype == np.bool_:
        found = np.where(amount, 0, size)
    else:
        found = np.minimum(lanes.integers(amount, 32).view(np.uint32), size)
    return np.broadcast_to(found, lanes.shape)


def _byte(site: Site, at: int) -> Site:
    return replace(site, offset=site.offset + at, size=1, dtype=_BYTE)


def _elements(site: Site, lanes: Any, address: Any, mask: Any) -> tuple[Any, Any]:
    """Memory and where in it each lane's element lies; both addresses are in one known space."""
    (spot,) = positions(site, lanes, address, mask)
    return spot.elements(site.dtype)


def _site(emit: Emitter, op: Op, place: Source, space: str, size: int) -> tuple[Site, Argument]:
    assert isinstance(place, Place)
    argument = emit.argument(place.base, "b64")
    width, writes = argument.address_width, space == "shared"
    site = Site(emit.program, op, space, place.offset, size, 1, _DTYPES[size], width, writes)
    return site, argument


@effect(
    "cp.async.cop.space.global{.prefetch} [a], [b], size{, n}",
    "cp.async.cop.space.global.hint{.prefetch} [a], [b], size, policy",
    "cp.async.cop.space.global.hint{.prefetch} [a], [b], size, {!}n, policy",
    cop="ca cg",
    space="shared shared::cta",
    hint="L2::cache_hint",
    prefetch="L2::64B L2::128B L2::256B",
    types="size:u32= n:amount policy:b64",
    isa=_ISA,
)
@effect(
    "cp.async.cop.space.global{.prefetch} [a], [b], size, {!}n",
    cop="ca cg",
    space="shared shared::cta",
    prefetch="L2::64B L2::128B L2::256B",
    types="size:u32= n:amount",
    isa=_ISA,
)
def cp_async(emit: Emitter, op: Op) -> None:
    """Begin to copy 4, 8 or 16 bytes a lane."""
    to, origin, sized, *rest = op.operands
    size = constant(emit, op, sized, (16,) if op.operation.modifiers["cop"] == "cg" else (4, 8, 16))
    target, to_argument = _site(emit, op, to, "shared", size)
    source, from_argument = _site(emit, op, origin, "global", size)
    amounts = rest[: len(rest) - ("hint" in op.operation.modifiers)]
    run = emit.bind(AsyncCopy(target, source))
    amount = [_amount(emit, source) for source in amounts]
    emit.call(op, [], run, (to_argument, from_argument, MASK, *amount))


def _amount(emit: Emitter, source: Source) -> Argument:
    if isinstance(source, Not) or (isinstance(source, Register) and source.type == "pred"):
        return emit.argument(source, "pred")
    return emit.integer_argument(source, 32)


@effect("cp.async.commit_group ", isa="data-movement-and-conversion-instructions-cp-async-commit-group")
def commit_group(emit: Emitter, op: Op) -> None:
    """The copies that a lane has begun become a group."""
    emit.call(op, [], emit.bind(_commit), (MASK,))


def _commit(lanes: Any, mask: Any) -> None:
    lanes.batch.scheduler.copies.commit(lanes, mask)


_WAIT = "data-movement-and-conversion-instructions-cp-async-wait-group-cp-async-wait-all"


@effect("cp.async.wait_group n", types="n:u32=", isa=_WAIT)
@effect("cp.async.wait_all ", isa=_WAIT)
def wait_group(emit: Emitter, op: Op) -> None:
    """A lane's copies are made, but for those of its last `n` groups."""
    left = op.operands[0].value if op.operands and isinstance(op.operands[0], Constant) else -1
    emit.call(op, [], emit.bind(_wait), (MASK, fixed(left)))


def _wait(lanes: Any, mask: Any, left: int) -> None:
    lanes.batch.scheduler.copies.wait(lanes, mask, left)


@effect(
    "cp.async.mbarrier.arrive{.noinc}{.space}.b64 [a]",
    space="shared shared::cta",
    isa="parallel-synchronization-and-communication-instructions-cp-async-mbarrier-arrive",
)
def mbarrier_arrive(emit: Emitter, op: Op) -> None:
    """A lane's copies are made, then it arrives; without `.noinc` the arrival is one more than expected."""
    mask = emit.mask(op)
    emit.line_for(mask, f"S.batch.scheduler.copies.wait(S, {mask}, -1)")
    begin_arrival(emit, op, mask, counted=op.operation.modifiers["noinc"] != "")
