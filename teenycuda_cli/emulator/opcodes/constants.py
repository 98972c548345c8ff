"""Operands that are constants of a few values."""

from __future__ import annotations

from collections.abc import Collection

from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Constant, Op, Source
from teenycuda_cli.errors import UnsupportedError


def constant(emit: Emitter, op: Op, source: Source, allowed: Collection[int]) -> int:
    """The value of a constant operand; UnsupportedError where it is none of those that are allowed."""
    assert isinstance(source, Constant)
    if source.value in allowed:
        return source.value
    wanted = " or ".join(map(str, allowed))
    if isinstance(allowed, range) and len(allowed) > 2:
        wanted = f"{allowed[0]} to {allowed[-1]}"
    raise UnsupportedError(
        f"an operand of {op.instruction.name} is {source.value}, not {wanted}",
        file=emit.program.text.name,
        line=emit.program.text.position(op.instruction.offset)[0],
    )
