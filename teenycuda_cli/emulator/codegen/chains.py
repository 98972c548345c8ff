"""Multiply-adds that feed one another, as in a dot product, made into one operation.

The sum in between stays where the arithmetic leaves it, which saves two of
five passes over memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from teenycuda_cli.emulator.ir import BasicBlock, Op, Register
from teenycuda_cli.emulator.numerics.fused import FusedMultiplyAdd
from teenycuda_cli.emulator.program import Program

LONGEST = 32


def join(program: Program) -> None:
    """Replace chains of multiply-adds in every block by one operation at the place of the last."""
    for block in program.blocks:
        if sum(isinstance(op.operation.evaluate, FusedMultiplyAdd) for op in block.ops) > 1:
            block.ops = _joined(block)


def _joined(block: BasicBlock) -> list[Op]:
    ops = block.ops
    readers: dict[Register, list[int]] = {}
    for index, op in enumerate(ops):
        for register in op.reads:
            readers.setdefault(register, []).append(index)
    gone: set[int] = set()
    made: dict[int, Op] = {}
    for start, op in enumerate(ops):
        if start in gone or not _is_link(op):
            continue
        chain = [start]
        while len(chain) < LONGEST:
            following = _next(block, chain, readers)
            if following is None:
                break
            chain.append(following)
        if len(chain) > 1:
            gone.update(chain[:-1])
            made[chain[-1]] = _one([ops[index] for index in chain])
            gone.add(chain[-1])
    return [made.get(index, op) for index, op in enumerate(ops) if index in made or index not in gone]


def _is_link(op: Op) -> bool:
    return (
        isinstance(op.operation.evaluate, FusedMultiplyAdd)
        and op.predicate is None
        and len(op.operands) == 4
        and isinstance(op.operands[0], Register)
    )


def _next(  # noqa: PLR0911  (a reason each)
    block: BasicBlock, chain: list[int], readers: dict[Register, list[int]]
) -> int | None:
    """The one multiply-add that takes the chain's result as its addend, if the chain may wait until there."""
    ops = block.ops
    last = ops[chain[-1]]
    result = last.operands[0]
    if not isinstance(result, Register) or result in block.live_out:
        return None
    uses = readers.get(result, [])
    if len(uses) != 1 or uses[0] <= chain[-1]:
        return None
    following = ops[uses[0]]
    if not _is_link(following) or following.operation is not last.operation:
        return None
    if following.operands[3] is not result or result in following.operands[1:3]:
        return None
    for between in ops[chain[0] + 1 : uses[0]]:
        keeps = between.operation.form.kind == "value"
        if not keeps and not getattr(between.operation.form.build, "keeps_memory", False):
            return None
    for index in chain:
        for between in ops[index + 1 : uses[0]]:
            if not set(ops[index].reads).isdisjoint(between.writes):
                return None
    if sum(result in op.writes for op in ops) > 1:
        return None
    return uses[0]


def _one(chain: list[Op]) -> Op:
    first, last = chain[0], chain[-1]
    operation = last.operation
    fused: Any = operation.evaluate
    kind = operation.sources[0]
    operands = [last.operands[0], *first.operands[1:4]]
    lane = operation.lane
    number = 3
    for op in chain[1:]:
        operands += op.operands[1:3]
        if lane is not None and operation.lane is not None:
            factors = operation.lane.replace("{0}", f"{{{number}}}").replace("{1}", f"{{{number + 1}}}")
            lane = factors.replace("{2}", lane)
        number += 2
    joined = replace(
        operation, evaluate=fused.chain, sources=(kind,) * (len(operands) - 1), ufunc=None, lane=lane
    )
    inner = {op.operands[0] for op in chain[:-1]}
    reads = tuple([register for op in chain for register in op.reads if register not in inner])
    return replace(last, operation=joined, operands=tuple(operands), reads=reads)
