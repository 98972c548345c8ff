"""How registers keep their values: as floats or integers, with PTX's own NaN or any."""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import cycle

import numpy as np

from teenycuda_cli.emulator.ir import FloatConstant, Group, Op, Register, Source, elements, is_copy
from teenycuda_cli.emulator.program import Program

_FLOATS = {"f32": 32, "f64": 64}
_TAGS = frozenset(("f4", "f8"))


def choose_tags(program: Program) -> None:
    """How each register is kept: as floats where every instruction that writes it makes floats."""
    floats: dict[Register, None] = {}
    others: set[Register] = set()
    for block in program.blocks:
        for op in block.ops:
            names = op.operation.destinations
            if not names or not op.operands:
                continue
            first = op.operands[0]
            written = (first,) if type(first) is Register else elements(first)
            for register, name in zip(written, cycle(names), strict=False):
                if type(register) is not Register or register.tag != "i":
                    continue
                if _FLOATS.get(name) == register.width:
                    floats[register] = None
                else:
                    others.add(register)
    for register in floats:
        if register not in others:
            register.tag = f"f{register.width // 8}"
    _mark_nans(program)


def _mark_nans(program: Program) -> None:
    """Which registers may hold NaNs that are not yet PTX's own.

    None that may also hold a NaN whose payload counts (loaded, or made of
    bits): what arithmetic writes there becomes PTX's own at once.
    """
    floats = {register for register in program.registers if register.tag in _TAGS}
    ops = [op for block in program.blocks for op in block.ops if not floats.isdisjoint(op.writes)]
    payloads: set[Register] = set()
    raw: set[Register] = set()
    _spread(ops, payloads, _brings_payload)
    _spread(ops, raw, lambda op: op.operation.raw_nan, payloads)
    for register in raw:
        register.raw_nan = True


def _brings_payload(op: Op) -> bool:
    if op.operation.raw_nan:
        return False
    if not is_copy(op):
        return True
    return any(
        (isinstance(source, Register) and source.tag == "i") or isinstance(source, Group) or _is_nan(source)
        for source in op.operands[1:]
    )


def _is_nan(source: Source) -> bool:
    return isinstance(source, FloatConstant) and bool(
        np.isnan(np.array(source.bits, f"u{source.width // 8}").view(f"f{source.width // 8}"))
    )


def _spread(
    ops: list[Op], found: set[Register], begins: Callable[[Op], bool], without: Set[Register] = frozenset()
) -> None:
    """Add the floats that some operations write, and all that get them by copies."""
    for op in ops:
        if begins(op):
            found.update(r for r in op.writes if r.tag in _TAGS and r not in without)
    copies = [op for op in ops if is_copy(op)]
    before = -1
    while len(found) > before:
        before = len(found)
        for op in copies:
            if any(register in found for register in op.operands[1:]):
                found.update(r for r in op.writes if r.tag in _TAGS and r not in without)
