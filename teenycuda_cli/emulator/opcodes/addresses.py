"""What concerns addresses: cvta and isspacep."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op, Register
from teenycuda_cli.emulator.machine import clusters
from teenycuda_cli.emulator.machine.access import shifted
from teenycuda_cli.emulator.machine.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.memory import space_of
from teenycuda_cli.emulator.opcodes.table import Modifiers

_SPACES = "global shared shared::cta shared::cluster local const param param::entry"
_WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


def _holds_window(m: Modifiers) -> bool:
    """Generic addresses of shared and local memory have more than 32 bits."""
    return m["type"] == "u64" or space_of(m["space"]) not in _WINDOWS


@effect(
    "cvta{.to}.space.type d, a",
    to="to",
    space=_SPACES,
    type="u32 u64",
    where=_holds_window,
    isa="data-movement-and-conversion-instructions-cvta",
    keeps_memory=True,
)
def cvta(emit: Emitter, op: Op) -> None:
    """An address in a space as a generic one, or back."""
    modifiers = op.operation.modifiers
    register = op.operands[0]
    assert isinstance(register, Register)
    delta = _WINDOWS.get(space_of(modifiers["space"]), 0)
    argument = emit.integer_argument(op.operands[1], register.width)
    if not delta:
        emit.move(op, register, argument)
        return
    run = emit.function(shifted, -delta if modifiers["to"] else delta)
    if not emit.step(op, (register,), run, (argument,)):
        emit.assign(op, register, f"{run}(S, {argument.text})")


@effect(
    "isspacep.space p, a",
    space=_SPACES,
    types="p:pred a:pointer",
    isa="data-movement-and-conversion-instructions-isspacep",
    keeps_memory=True,
)
def isspacep(emit: Emitter, op: Op) -> None:
    """Whether a generic address lies in a space."""
    register = op.operands[0]
    assert isinstance(register, Register)
    run = emit.function(_in_space, op.operation.modifiers["space"])
    emit.assign(op, register, f"{run}(S, {emit.integer(op.operands[1], 64)})")


def _in_space(space: str) -> Any:
    """What tests addresses: (lanes, generic address) → whether it lies in the space."""
    name = space_of(space)
    own = name == "shared" and space != "shared::cluster"

    def test(lanes: Any, address: Any) -> Any:
        at = lanes.integers(address, 64)
        launch = lanes.batch.launch
        kept = [region for region in launch.arena.allocations.values() if not region.writable]
        spaces = {
            "shared": [(SHARED_WINDOW, SHARED_WINDOW + WINDOW_SIZE)],
            "local": [(LOCAL_WINDOW, LOCAL_WINDOW + WINDOW_SIZE)],
            "const": [(each.start, each.end) for each in kept if each.start != launch.parameter_address],
            "param": [(each.start, each.end) for each in kept if each.start == launch.parameter_address],
        }
        chosen = [pair for pairs in spaces.values() for pair in pairs] if name == "global" else spaces[name]
        inside: Any = False
        for start, end in chosen:
            inside = inside | ((at >= start) & (at < end))
        if own and launch.cluster is not None:
            blocks = lanes.blocks()
            mine = clusters.ranks_of(lanes.batch, blocks, at) == clusters.ranks(lanes.batch, blocks)
            inside = np.broadcast_to(inside & mine, lanes.shape)
        if type(inside) is np.ndarray:
            return ~inside if name == "global" else inside
        return bool(inside) != (name == "global")

    return test
