"""tensormap.replace and tensormap.cp_fenceproxy: kernels that make tensor maps of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.arguments import MASK, fixed
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op, Place
from teenycuda_cli.emulator.machine import faults
from teenycuda_cli.emulator.machine.access import Site, positions
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.machine.spans import Actor, blocks_of, values
from teenycuda_cli.emulator.machine.tensor_maps import FIELDS, SIZE, TF32, TF32_KINDS, Part
from teenycuda_cli.emulator.opcodes.constants import constant
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.memory import space_of

_ISA = "data-movement-and-conversion-instructions-tensormap-"
_ADDRESS = 64
_WORD = np.dtype(np.uint32)
_SINGLE = "elemtype interleave_layout swizzle_mode fill_mode"
_CHOICES = {"elemtype": 13, "interleave_layout": 3, "swizzle_mode": 4, "fill_mode": 2}
"""How many values there are of a field that takes constants alone."""
_RANGES = {
    "rank": "0 to 7",
    "global_stride": "multiples of 16 below 2^40",
    "global_dim": "1 to 2^32 - 1",
    "element_stride": "1 to 8",
    "box_dim": "1 to 256",
}
"""What fields that take registers can hold."""


class Replace:
    """One field of a map: lanes, address, value and mask in."""

    def __init__(self, site: Site, field: str, parts: tuple[Part, ...], width: int) -> None:
        """The access to the map's first word, where the value's bits go, and how many those are."""
        self.site = site
        self.field = field
        self.parts = parts
        self.width = width

    def __call__(self, lanes: Lanes, address: Any, value: Any, mask: Mask) -> None:
        """Raises LaunchError where no map can be, and for a value that the field cannot hold."""
        given = values(lanes, value, mask, self.width)
        if self.width < _ADDRESS:
            given &= (1 << self.width) - 1
        held = np.zeros_like(given)
        for part in self.parts:
            bits = (given - part.less) >> part.low & (1 << part.bits) - 1
            held |= bits << part.low
            self._write(lanes, address, mask, part, bits << part.shift)
        wrong = np.flatnonzero(held + self.parts[0].less != given)
        if len(wrong):
            told = f"sets {self.field} of a tensor map to {given[wrong[0]]}, not to {_RANGES[self.field]}"
            lane = int(lanes.numbers(mask)[wrong[0]])
            raise faults.fault(self.site.program, self.site.op, lanes, lane, len(wrong), told)

    def _write(self, lanes: Lanes, address: Any, mask: Mask, part: Part, bits: Any) -> None:
        site = replace(self.site, offset=self.site.offset + part.word)
        for found in positions(site, lanes, address, mask):
            data, index = found.elements(_WORD)
            here = bits
            if found.mask is None:
                index = np.broadcast_to(index, lanes.shape).reshape(-1)
            elif len(index) != len(bits):
                here = bits[found.mask.reshape(-1) if mask is None else found.mask[mask]]
            data[index] = (data[index] & np.uint32(~part.mask & 0xFFFFFFFF)) | here.astype(_WORD)


@effect(
    "tensormap.replace.tile.field{.space}.b1024.b64 [a], value",
    field="global_address",
    space="global shared::cta",
    types="value:b64",
    isa=_ISA + "replace",
)
@effect(
    "tensormap.replace.tile.field{.space}.b1024.b32 [a], value",
    field="rank",
    space="global shared::cta",
    types="value:b32",
    isa=_ISA + "replace",
)
@effect(
    "tensormap.replace.tile.field{.space}.b1024.b32 [a], value",
    field=_SINGLE,
    space="global shared::cta",
    types="value:b32=",
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
def replace_field(emit: Emitter, op: Op) -> None:
    """Write a field."""
    place, *axis, value = op.operands
    assert isinstance(place, Place)
    modifiers = op.operation.modifiers
    field = modifiers["field"]
    parts = FIELDS[field][constant(emit, op, axis[0], range(len(FIELDS[field]))) if axis else 0]
    argument = emit.argument(place.base, "b64")
    space, width = space_of(modifiers["space"]), argument.address_width
    site = Site(emit.program, op, space, place.offset, 4, 1, _WORD, width, writes=True)
    bits = 64 if op.instruction.modifiers[-1] == "b64" else 32
    written = [(parts, emit.integer_argument(value, bits))]
    if field in _CHOICES:
        number = constant(emit, op, value, range(_CHOICES[field]))
        written = [(parts, fixed(TF32_KINDS.get(number, number)))]
        if field == "elemtype" and number in TF32_KINDS:
            written.append(((TF32,), fixed(1)))
    for some, given in written:
        emit.call(op, [], emit.bind(Replace(site, field, some, bits)), (argument, given, MASK))


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
    to, origin, size = op.operands
    assert isinstance(to, Place)
    assert isinstance(origin, Place)
    constant(emit, op, size, (SIZE,))
    run = emit.bind(CopyMap(op, emit.program, to.offset, origin.offset))
    emit.call(op, [], run, (emit.argument(to.base, "b64"), emit.argument(origin.base, "b64"), MASK))
