"""tensormap.replace and tensormap.cp_fenceproxy: kernels that make tensor maps of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.access import Site, positions
from teenycuda_cli.emulator.arguments import MASK
from teenycuda_cli.emulator.effects import effect
from teenycuda_cli.emulator.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Op, Place
from teenycuda_cli.emulator.lanes import Lanes, Mask
from teenycuda_cli.emulator.opcodes.memory import space_of
from teenycuda_cli.emulator.spans import Actor, blocks_of, values
from teenycuda_cli.emulator.tensor_maps import AXES, BY_AXIS, FIELDS, SIZE
from teenycuda_cli.errors import UnsupportedError

_ISA = "data-movement-and-conversion-instructions-tensormap-"
_ADDRESS = 64
_SINGLE = "rank elemtype interleave_layout swizzle_mode swizzle_atomicity fill_mode"


class Replace:
    """One field of a map: lanes, address, value and mask in."""

    def __init__(self, site: Site) -> None:
        """The access to the field."""
        self.site = site

    def __call__(self, lanes: Lanes, address: Any, value: Any, mask: Mask) -> None:
        """Raises LaunchError where no map can be."""
        given = np.broadcast_to(lanes.integers(value, 8 * self.site.size), lanes.shape)
        for found in positions(self.site, lanes, address, mask):
            data, index = found.elements(self.site.dtype)
            if found.mask is None:
                data[np.broadcast_to(index, lanes.shape)] = given.astype(data.dtype)
            else:
                data[index] = given[found.mask].astype(data.dtype)


@effect(
    "tensormap.replace.tile.field{.space}.b1024.b64 [a], value",
    field="global_address",
    space="global shared::cta",
    types="value:b64",
    isa=_ISA + "replace",
)
@effect(
    "tensormap.replace.tile.field{.space}.b1024.b32 [a], value",
    field=_SINGLE,
    space="global shared::cta",
    types="value:b32",
    isa=_ISA + "replace",
)
@effect(
    "tensormap.replace.tile.field{.space}.b1024.b32 [a], axis, value",
    field="global_dim box_dim element_stride",
    space="global shared::cta",
    types="axis:u32= value:b32",
    isa=_ISA + "replace",
)
@effect(
    "tensormap.replace.tile.field{.space}.b1024.b64 [a], axis, value",
    field="global_stride",
    space="global shared::cta",
    types="axis:u32= value:b64",
    isa=_ISA + "replace",
)
def replace(emit: Emitter, op: Op) -> None:
    """Write a field."""
    place, *axis, value = op.operands
    assert isinstance(place, Place)
    modifiers = op.operation.modifiers
    field = modifiers["field"]
    offset, size = FIELDS[field]
    if field in BY_AXIS:
        assert isinstance(axis[0], Constant)
        if not 0 <= axis[0].value < AXES - (field == "global_stride"):
            raise UnsupportedError(
                f"{op.instruction.name} has no axis {axis[0].value}",
                file=emit.program.text.name,
                line=emit.program.text.position(op.instruction.offset)[0],
            )
        offset += axis[0].value * size
    argument = emit.argument(place.base, "b64")
    width = 64 if argument.constant is not None else argument.kept.width
    space = space_of(modifiers["space"])
    site = Site(
        emit.program, op, space, place.offset + offset, size, 1, np.dtype(f"u{size}"), width, writes=True
    )
    run = emit.bind(Replace(site))
    emit.call(op, [], run, (argument, emit.integer_argument(value, 8 * size), MASK))


class CopyMap:
    """`tensormap.cp_fenceproxy`: 128 bytes from shared to global memory."""

    def __init__(self, op: Op, program: Any, to: int, origin: int) -> None:
        """Both are offsets of the operands."""
        self.op, self.program, self.to, self.origin = op, program, to, origin

    def __call__(self, lanes: Lanes, to: Any, origin: Any, mask: Mask) -> None:
        """All lanes of a warp copy the same, so each different copy is made once."""
        targets = values(lanes, to, mask, _ADDRESS) + self.to
        sources = values(lanes, origin, mask, _ADDRESS) + self.origin
        rows = zip(targets.tolist(), sources.tolist(), blocks_of(lanes, mask).tolist(), strict=True)
        numbers = lanes.numbers(mask).tolist()
        for (target, source, block), number in dict(zip(rows, numbers, strict=True)).items():
            actor = Actor(self.program, self.op, lanes, number, block)
            actor.aligned(target, SIZE, "a tensor map")
            data = actor.shared(source, SIZE, writes=False)
            actor.device(target, SIZE, writes=True)[:] = data


@effect(
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [a], [b], size",
    scope="cta cluster gpu sys",
    types="size:u32=",
    isa=_ISA + "cp-fenceproxy",
    whole_warps=True,
)
def cp_fenceproxy(emit: Emitter, op: Op) -> None:
    """Copy a map that was made in shared memory to where it is used."""
    to, origin, _ = op.operands
    assert isinstance(to, Place)
    assert isinstance(origin, Place)
    run = emit.bind(CopyMap(op, emit.program, to.offset, origin.offset))
    emit.call(op, [], run, (emit.argument(to.base, "b64"), emit.argument(origin.base, "b64"), MASK))
