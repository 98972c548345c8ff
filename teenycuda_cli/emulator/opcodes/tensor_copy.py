"""cp.async.bulk.tensor: boxes of tensors between global memory and shared memory, as tensor maps tell."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK, Argument
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Group, Op, Source
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.spans import Actor
from teenycuda_cli.emulator.machine.tensor_maps import CHUNK, SIZE, TensorMap, decoded, swizzled
from teenycuda_cli.emulator.numerics.half import to_tf32
from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.bulk_copy import (
    EVICTION,
    ISA,
    REDUCE,
    Bulk,
    address_of,
    ranks_of,
    reduced,
    targets,
)
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.errors import UnsupportedError
from teenycuda_cli.ptx.syntax import Compound, Vector

_TENSOR = ISA + "-tensor"
_ALIGNMENT = 128  # of a box in shared memory
_WHOLE = {"u32", "s32", "u64", "s64"}
_BITWISE = {"and", "or", "xor"}
_REDUCED: dict[str, set[str]] = {
    "add": {"u32", "s32", "u64", "f16", "bf16", "f32", "f64"},
    "min": _WHOLE | {"f16", "bf16"},
    "max": _WHOLE | {"f16", "bf16"},
    "inc": {"u32"},
    "dec": {"u32"},
    **dict.fromkeys(_BITWISE, _WHOLE),
}
"""The types of elements that each operation takes."""


class Inside(NamedTuple):
    """Elements of a tensor in memory, and where in the box they are; axes from the outermost."""

    elements: Any
    box: tuple[slice, ...]


class Boxes(Bulk):
    """What copies of tensors share: maps, coordinates and rows."""

    def __init__(self, program: Program, op: Op, offset: int) -> None:
        """`offset` is that of the operand in shared memory."""
        super().__init__(program, op)
        self.offset = offset
        self.rank = int(op.operation.modifiers["dim"][0])

    def map_at(self, actor: Actor, address: int, start: list[int]) -> TensorMap:
        """The map at a generic address, for a box that begins at these coordinates."""
        actor.aligned(address, SIZE // 2, "a tensor map")
        found = decoded(actor.device(address, SIZE, writes=False).tobytes())
        if isinstance(found, str):
            raise actor.fault(f"uses a tensor map with {found}")
        if found.rank != self.rank:
            raise actor.fault(f"copies {self.rank} axes with a tensor map of {found.rank}")
        actor.aligned(found.address, CHUNK, "a tensor")
        if start[0] * found.element % CHUNK:
            raise actor.fault(
                f"copies a box from coordinate {start[0]} of the innermost axis on,"
                f" byte {start[0] * found.element} of it; it must be a multiple of {CHUNK} bytes"
            )
        return found

    def inside(self, actor: Actor, tensor: TensorMap, start: list[int]) -> Inside | None:
        """The part of a box that lies in the tensor; None where nothing does."""
        firsts, lasts = [], []
        for at, size, step, count in zip(start, tensor.dims, tensor.steps, tensor.box, strict=True):
            firsts.append(max(0, -(at // step)))
            lasts.append(min(count, -(-(size - at) // step)))
        if any(first >= last for first, last in zip(firsts, lasts, strict=True)):
            return None
        strides = [step * stride for step, stride in zip(tensor.steps, tensor.strides, strict=True)]
        address = tensor.address + sum(
            (at + first * step) * stride
            for at, first, step, stride in zip(start, firsts, tensor.steps, tensor.strides, strict=True)
        )
        counts = [last - first for first, last in zip(firsts, lasts, strict=True)]
        length = sum((count - 1) * stride for count, stride in zip(counts, strides, strict=True))
        data = actor.device(address, length + tensor.element, writes=self.writes)
        place = np.ndarray(counts[::-1], f"u{tensor.element}", data.data, 0, strides[::-1])
        box = tuple([slice(first, last) for first, last in zip(firsts, lasts, strict=True)])
        return Inside(place, box[::-1])

    def chunks(self, actor: Actor, tensor: TensorMap, at: int) -> tuple[Any, Any]:
        """Shared memory from an address on in chunks of 16 bytes, and which of them a box is, in order.

        One with rows shorter than what is swizzled may end behind its own size.
        """
        actor.aligned(at, _ALIGNMENT, "a box in shared memory")
        actor.shared(at, tensor.size, writes=not self.writes)
        order = swizzled(at, tensor.size, tensor.swizzle)
        size = (int(order.max()) + 1) * CHUNK
        return actor.shared(at, size, writes=not self.writes).view(np.complex128), order

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
            tensor = self.map_at(actor, where, start)
            self.chunks(actor, tensor, target + self.offset)
            box = np.full(tensor.box[::-1], tensor.fill, f"u{tensor.element}")
            found = self.inside(actor, tensor, start)
            if found is not None:
                box[found.box] = _converted(tensor, found.elements)
            for at, counted in targets(actor, ranks, target + self.offset, told + self.barrier):
                data, order = self.chunks(actor, tensor, at)
                data[order] = box.reshape(-1).view(np.complex128)
                self.complete(actor, counted, tensor.size)


class StoreBox(Boxes):
    """From shared memory to a tensor, or combined with what is there."""

    writes = True

    def __call__(self, lanes: Lanes, address: Any, origin: Any, mask: Mask, *place: Any) -> None:
        """What lies outside of the tensor is left out."""
        name = self.op.operation.modifiers.get("op")
        for actor, where, source, *start in self.actors(lanes, mask, address, origin, *place):
            tensor = self.map_at(actor, where, start)
            if name and tensor.kind not in _REDUCED[name]:
                wanted = ", ".join(sorted(_REDUCED[name]))
                raise actor.fault(f"reduces a tensor of {tensor.kind} by .{name}, which takes {wanted}")
            data, order = self.chunks(actor, tensor, source + self.offset)
            found = self.inside(actor, tensor, start)
            if found is None:
                continue
            given = data[order].view(f"u{tensor.element}").reshape(tensor.box[::-1])[found.box]
            if name:
                given = _combined(name, tensor, found.elements.copy(), given)
            found.elements[...] = given


def _combined(name: str, tensor: TensorMap, old: Any, new: Any) -> Any:
    """Elements of a tensor combined with those of a box."""
    if name in _BITWISE:
        return reduced(name, f"b{tensor.kind[1:]}", old, new)
    number = dtype(tensor.kind)
    sums = reduced(name, tensor.kind, old.view(number), new.view(number), flushes=tensor.flushes)
    return sums.view(new.dtype)


def _converted(tensor: TensorMap, elements: Any) -> Any:
    """Elements as they come into shared memory: f32 as tf32 where the map says so, subnormals too."""
    if not tensor.rounds:
        return elements
    return to_tf32(np.ascontiguousarray(elements).view(np.float32), "rn")


def _tensor(emit: Emitter, op: Op, source: Source) -> tuple[Argument, list[Argument]]:
    """The map's address and the coordinates; UnsupportedError where these are no vector of one an axis."""
    assert isinstance(source, Group)
    address, place = source.elements
    axes = op.operation.modifiers["dim"]
    (written,) = [operand for operand in op.instruction.operands if isinstance(operand, Compound)]
    vector = written.elements[1]
    if not isinstance(vector, Vector) or len(vector.elements) != int(axes[0]):
        raise UnsupportedError(
            f"{op.instruction.name} takes a vector of coordinates, one for each axis of {axes}",
            file=emit.program.text.name,
            line=emit.program.text.position(op.instruction.offset)[0],
        )
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
    address, place = _tensor(emit, op, tensor)
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
    address, place = _tensor(emit, op, tensor)
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
    _tensor(emit, op, op.operands[0])
