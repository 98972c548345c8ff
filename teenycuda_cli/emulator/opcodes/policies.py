"""createpolicy: cache policies as 64-bit words, of which loads and stores take no notice here.

The words are an sm_90's own, as its instructions put them together: the
priorities in bits 56 to 60, in bit 59 whether they are of a range of
addresses, in bits 52 to 55 the fraction in sixteenths or the size of the range's units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen import compute
from teenycuda_cli.emulator.codegen.arguments import Argument
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Op, Place
from teenycuda_cli.emulator.opcodes.effects import effect

_ISA = "data-movement-and-conversion-instructions-createpolicy"
_PRIMARY = {
    "L2::evict_last": 0x140,
    "L2::evict_normal": 0x160,
    "L2::evict_first": 0x120,
    "L2::evict_unchanged": 0x100,
}
_SECONDARY = {"L2::evict_first": 0x10, "L2::evict_unchanged": 0, "": 0}
_SIXTEENTHS = np.float32(15.99)
_RANGED = 0x80
_LEAST_UNIT = 12
_UNITS = 7  # bits that number them


def _result(found: Any) -> Any:
    return int(found) if not found.shape else found


def fractional(priorities: int) -> Any:
    """A function from fractions to words."""

    def word(lanes: Any, fraction: Any) -> Any:
        part = np.trunc(np.asarray(fraction, np.float32) * _SIXTEENTHS).astype(np.int64) & 15
        return _result((priorities | part) << 52)

    return word


def ranged(priorities: int, offset: int) -> Any:
    """A function from addresses and sizes, of the primary range and in all, to words."""

    def word(lanes: Any, address: Any, primary: Any, total: Any) -> Any:
        start = np.asarray(lanes.integers(address, 64), np.int64) + offset
        first = np.asarray(lanes.integers(primary, 32)).astype(np.int64) & 0xFFFFFFFF
        whole = np.asarray(lanes.integers(total, 32)).astype(np.int64) & 0xFFFFFFFF
        unit = np.ceil(np.log2(np.maximum(whole, 1))).astype(np.int64) - _UNITS
        unit = np.maximum(unit, _LEAST_UNIT)
        count = ((start + first - 1 + (np.int64(1) << unit)) >> unit) - (start >> unit)
        count = np.minimum(count, 127) & 127
        high = priorities | _RANGED | ((unit - _LEAST_UNIT) & 15)
        high = (((high << 8) | ((start >> unit) & 127)) << 7) | count
        return _result(high << 37)

    return word


def _read(emit: Emitter, argument: Argument, type_name: str) -> str:
    known = argument.constant if argument.constant is not None else argument.scalar
    if known is not None:
        return emit.bind_scalar(compute.constant(known, type_name))
    return f"{emit.function(compute.reader, argument.kept, type_name)}(S, {argument.text})"


@effect(
    "createpolicy.fractional.primary{.secondary}.b64 d{, f}",
    primary=" ".join(_PRIMARY),
    secondary="L2::evict_first L2::evict_unchanged",
    types="d:b64 f:f32",
    isa=_ISA,
    keeps_memory=True,
)
def create_fractional(emit: Emitter, op: Op) -> None:
    """A policy for a fraction of the accesses, all if none is given."""
    modifiers = op.operation.modifiers
    run = emit.function(fractional, _PRIMARY[modifiers["primary"]] | _SECONDARY[modifiers["secondary"]])
    fraction = "1.0"
    if len(op.operands) > 1:
        fraction = _read(emit, emit.argument(op.operands[1], "f32"), "f32")
    _store(emit, op, f"{run}(S, {fraction})")


@effect(
    "createpolicy.range{.global}.primary{.secondary}.b64 d, [a], first, whole",
    primary=" ".join(_PRIMARY),
    secondary="L2::evict_first L2::evict_unchanged",
    types="d:b64 first:u32 whole:u32",
    isa=_ISA,
    keeps_memory=True,
)
def create_ranged(emit: Emitter, op: Op) -> None:
    """A policy for addresses in a range, and another for those behind."""
    modifiers = op.operation.modifiers
    place = op.operands[1]
    assert isinstance(place, Place)
    priorities = _PRIMARY[modifiers["primary"]] | _SECONDARY[modifiers["secondary"]]
    run = emit.function(ranged, priorities, place.offset)
    sizes = ", ".join([emit.integer(source, 32) for source in op.operands[2:]])
    base = "0" if isinstance(place.base, Constant) and not place.base.value else emit.integer(place.base, 64)
    _store(emit, op, f"{run}(S, {base}, {sizes})")


@effect("createpolicy.cvt.L2.b64 d, a", types="d:b64 a:b64", isa=_ISA, keeps_memory=True)
def convert(emit: Emitter, op: Op) -> None:
    """A policy that the host put together, as it is."""
    text = emit.integer(op.operands[1], 64)
    _store(emit, op, f"{emit.bind(compute.duplicate)}({text})")


def _store(emit: Emitter, op: Op, call: str) -> None:
    emit.store_results(op, [op.operands[0]], call, emit.mask(op), [np.dtype(np.int64)])
