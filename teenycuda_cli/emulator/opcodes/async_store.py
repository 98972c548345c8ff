"""st.async and red.async: stores and reductions in a cluster's shared memory, which an mbarrier counts.

Like copies in bulk, they are made at once.
"""

from __future__ import annotations

from typing import Any

from teenycuda_cli.emulator.codegen.arguments import MASK
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op
from teenycuda_cli.emulator.machine import mbarriers as objects
from teenycuda_cli.emulator.machine.lanes import Lanes, Mask
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.opcodes.atomics import Atomic
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.forms import Modifiers
from teenycuda_cli.emulator.opcodes.mbarrier import Arrive, shared_site
from teenycuda_cli.emulator.opcodes.memory import Store, elements, stored_reader

_DATA = "data-movement-and-conversion-instructions-st-async"
_REDUCE = "parallel-synchronization-and-communication-instructions-red-async"
_MOST_BYTES = 16
_CLUSTER = "shared::cluster"


class Counted:
    """What lanes do to memory, and the bytes that are complete at an mbarrier then."""

    def __init__(self, access: Store | Atomic, barrier: Arrive) -> None:
        """The access itself, and the count."""
        self.access = access
        self.barrier = barrier
        self.size = access.site.size * access.site.count

    def __call__(self, lanes: Lanes, address: Any, told: Any, mask: Mask, *values: Any) -> None:
        """Lanes of several blocks may count at the same mbarrier."""
        self.access(lanes, address, mask, *values)
        self.barrier(lanes, told, mask, self.size)


def _is_short(m: Modifiers) -> bool:
    return dtype_of(m["type"]).itemsize * int((m["vec"] or "v1")[1:]) <= _MOST_BYTES


@effect(
    "st.async{.weak}{.space}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar]",
    space=f"{_CLUSTER} shared::cta",
    vec="v2 v4",
    type="b32 b64 u32 u64 s32 s64 f32 f64",
    types="b:type",
    where=_is_short,
    isa=_DATA,
)
@effect(
    "red.async.relaxed.cluster{.space}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]",
    op="inc dec",
    type="u32",
    space=_CLUSTER,
    isa=_REDUCE,
)
@effect(
    "red.async.relaxed.cluster{.space}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]",
    op="min max",
    type="u32 s32",
    space=_CLUSTER,
    isa=_REDUCE,
)
@effect(
    "red.async.relaxed.cluster{.space}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]",
    op="add",
    type="u32 s32 u64 s64",
    space=_CLUSTER,
    isa=_REDUCE,
)
@effect(
    "red.async.relaxed.cluster{.space}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]",
    op="and or xor",
    type="b32",
    space=_CLUSTER,
    isa=_REDUCE,
)
def async_store(emit: Emitter, op: Op) -> None:
    """Registers into the shared memory of a block of the cluster, or combined with what is there."""
    target, value, barrier = op.operands
    kind, name = op.operation.modifiers["type"], op.operation.modifiers.get("op")
    arguments = [emit.argument(source, kind) for source in elements(value)]
    readers = tuple([stored_reader(emit, argument, kind) for argument in arguments])
    site, address = shared_site(emit, op, target, dtype_of(kind), len(arguments))
    access = Atomic(site, name, kind, readers, []) if name else Store(site, readers)
    counted, told = shared_site(emit, op, barrier, objects.WORD)
    run = Counted(access, Arrive(counted, objects.Arrival(arrives=False), -1))
    emit.call(op, [], emit.bind(run), (address, told, MASK, *arguments))
