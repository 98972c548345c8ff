"""cp.async.bulk.tensor: boxes of tensors between global memory and shared memory, as tensor maps tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from teenycuda_cli.emulator.arguments import MASK, Argument
from teenycuda_cli.emulator.effects import effect
from teenycuda_cli.emulator.emitter import Emitter
from teenycuda_cli.emulator.ir import Group, Op, Source
from teenycuda_cli.emulator.lanes import Lanes, Mask
from teenycuda_cli.emulator.opcodes.bulk_copy import (
    CHUNK,
    EVICTION,
    ISA,
    REDUCE,
    Bulk,
    address_of,
    ranks_of,
    reduced,
    targets,
)
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.emulator.spans import Actor
from teenycuda_cli.emulator.tensor_maps import SIZE, TensorMap, decoded, swizzled

_TENSOR = ISA + "-tensor"
_ALIGNMENT = 128  # of a box in shared memory


class Boxes(Bulk):
    """What copies of tensors share: maps, coordinates and rows."""

    def __init__(self, program: Program, op: Op, offset: int) -> None:
        """`offset` is that of the operand in shared memory."""
        super().__init__(program, op)
        self.offset = offset
        self.rank = int(op.operation.modifiers["dim"][0])

    def map_at(self, actor: Actor, address: int) -> TensorMap:
        """The map at a generic address."""
        actor.aligned(address, SIZE // 2, "a tensor map")
        found = decoded(actor.device(address, SIZE, writes=False).tobytes())
        if isinstance(found, str):
            raise actor.fault(f"uses a tensor map with {found}")
        if found.rank != self.rank:
            raise actor.fault(f"copies {self.rank} axes with a tensor map of {found.rank}")
        actor.aligned(found.address, CHUNK, "a tensor")
        for stride in found.strides[1:]:
            if stride % CHUNK:
                raise actor.fault(
                    f"uses a tensor map with a stride of {stride} bytes, no multiple of {CHUNK}"
                )
        return found

    def pieces(
        self, actor: Actor, tensor: TensorMap, start: tuple[int, ...]
    ) -> Iterator[tuple[int, int, Any]]:
        """Rows of a box: their number, how many elements before the first inside, and those elements."""
        step = tensor.steps[0]
        first = max(0, -(start[0] // step))
        last = min(tensor.box[0], -(-(tensor.dims[0] - start[0]) // step))
        if first >= last:
            return
        for row, outer in enumerate(np.ndindex(*tensor.box[:0:-1])):
            address = tensor.address + (start[0] + first * step) * tensor.element
            inside = True
            axes = range(1, tensor.rank)
            for axis, index in zip(axes, reversed(outer), strict=True):
                at = start[axis] + index * tensor.steps[axis]
                inside = inside and 0 <= at < tensor.dims[axis]
                address += at * tensor.strides[axis]
            if inside:
                length = ((last - first - 1) * step + 1) * tensor.element
                yield (
                    row,
                    first,
                    actor.device(address, length, writes=self.writes).view(f"u{tensor.element}")[::step],
                )

    writes = False


class LoadBox(Boxes):
    """From a tensor to shared memory, with an mbarrier."""

    def __init__(self, program: Program, op: Op, offset: int, barrier: int) -> None:
        """`barrier` is the offset of the mbarrier's operand."""
        super().__init__(program, op, offset)
        self.barrier = barrier

    def __call__(
        self, lanes: Lanes, to: Any, address: Any, barrier: Any, chosen: Any, mask: Mask, *place: Any
    ) -> None:
        """What lies outside of the tensor is filled; all bytes of the box count."""
        for actor, target, where, told, ranks, *start in self.actors(
            lanes, mask, to, address, barrier, chosen, *place
        ):
            tensor = self.map_at(actor, where)
            actor.aligned(target + self.offset, _ALIGNMENT, "a box in shared memory")
            rows = np.full((int(np.prod(tensor.box[1:])), tensor.box[0]), tensor.fill, f"u{tensor.element}")
            for row, first, elements in self.pieces(actor, tensor, tuple(start)):
                rows[row, first : first + len(elements)] = elements
            for at, counted in targets(actor, ranks, target + self.offset, told + self.barrier):
                data = actor.shared(at, tensor.size, writes=True)
                _lay(data, rows, at, tensor.swizzle)
                self.complete(actor, counted, tensor.size)


class StoreBox(Boxes):
    """From shared memory to a tensor, or combined with what is there."""

    writes = True

    def __call__(self, lanes: Lanes, address: Any, origin: Any, mask: Mask, *place: Any) -> None:
        """What lies outside of the tensor is left out."""
        modifiers = self.op.operation.modifiers
        for actor, where, source, *start in self.actors(lanes, mask, address, origin, *place):
            tensor = self.map_at(actor, where)
            at = source + self.offset
            actor.aligned(at, _ALIGNMENT, "a box in shared memory")
            data = actor.shared(at, tensor.size, writes=False)
            rows = _gathered(data, at, tensor)
            for row, first, elements in self.pieces(actor, tensor, tuple(start)):
                given = rows[row, first : first + len(elements)]
                if "op" in modifiers:
                    given = reduced(modifiers["op"], tensor.kind, elements.copy(), given.copy())
                    given = given.view(elements.dtype)
                elements[:] = given


def _lay(data: Any, rows: Any, start: int, swizzle: int) -> None:
    order = swizzled(start, len(data), swizzle)
    flat = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
    if order is None:
        data[:] = flat
    else:
        data.view(np.complex128)[order] = flat.view(np.complex128)


def _gathered(data: Any, start: int, tensor: TensorMap) -> Any:
    order = swizzled(start, len(data), tensor.swizzle)
    flat = data if order is None else data.view(np.complex128)[order].view(np.uint8)
    return flat.view(f"u{tensor.element}").reshape(-1, tensor.box[0])


def _tensor(emit: Emitter, source: Source) -> tuple[Argument, list[Argument]]:
    """The map's address and the coordinates."""
    assert isinstance(source, Group)
    address, place = source.elements
    parts = place.elements if isinstance(place, Group) else (place,)
    return emit.integer_argument(address, 64), [emit.integer_argument(part, 32) for part in parts]


_DIMS = "1d 2d 3d 4d 5d"


@effect(
    "cp.async.bulk.tensor.dim.dst.global{.tile}.mbarrier::complete_tx::bytes [a], [map, {c}], [mbar]",
    "cp.async.bulk.tensor.dim.dst.global{.tile}.mbarrier::complete_tx::bytes.hint"
    " [a], [map, {c}], [mbar], policy",
    dim=_DIMS,
    dst="shared::cluster shared::cta",
    types="policy:b64",
    isa=_TENSOR,
    **EVICTION,
)
@effect(
    "cp.async.bulk.tensor.dim.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes.multicast"
    " [a], [map, {c}], [mbar], mask",
    "cp.async.bulk.tensor.dim.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes.multicast.hint"
    " [a], [map, {c}], [mbar], mask, policy",
    dim=_DIMS,
    multicast="multicast::cluster",
    types="mask:b16 policy:b64",
    isa=_TENSOR,
    **EVICTION,
)
def load_box(emit: Emitter, op: Op) -> None:
    """A box of a tensor into shared memory."""
    to, tensor, barrier, *rest = op.operands
    (target, to_at), (told, barrier_at) = address_of(emit, to), address_of(emit, barrier)
    address, place = _tensor(emit, tensor)
    run = emit.bind(LoadBox(emit.program, op, to_at, barrier_at))
    emit.call(op, [], run, (target, address, told, ranks_of(emit, op, rest), MASK, *place))


@effect(
    "cp.async.bulk.tensor.dim.global.shared::cta{.tile}.bulk_group [map, {c}], [b]",
    "cp.async.bulk.tensor.dim.global.shared::cta{.tile}.bulk_group.hint [map, {c}], [b], policy",
    dim=_DIMS,
    types="policy:b64",
    isa=_TENSOR,
    **EVICTION,
)
@effect(
    "cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.tile}.bulk_group [map, {c}], [b]",
    "cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.tile}.bulk_group.hint [map, {c}], [b], policy",
    dim=_DIMS,
    op="add min max inc dec and or xor",
    types="policy:b64",
    isa=REDUCE + "-tensor",
    **EVICTION,
)
def store_box(emit: Emitter, op: Op) -> None:
    """A box of shared memory into a tensor."""
    tensor, origin, *_ = op.operands
    source, from_at = address_of(emit, origin)
    address, place = _tensor(emit, tensor)
    run = emit.bind(StoreBox(emit.program, op, from_at))
    emit.call(op, [], run, (address, source, MASK, *place))


@effect(
    "cp.async.bulk.prefetch.tensor.dim.L2.global{.tile} [map, {c}]",
    "cp.async.bulk.prefetch.tensor.dim.L2.global{.tile}.hint [map, {c}], policy",
    dim=_DIMS,
    types="policy:b64",
    isa=ISA + "-prefetch-tensor",
    keeps_memory=True,
    **EVICTION,
)
def prefetch(emit: Emitter, op: Op) -> None:
    """Nothing: there is no cache."""
