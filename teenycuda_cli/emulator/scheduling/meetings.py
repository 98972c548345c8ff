"""Where lanes of a warp meet that are at different instructions of the same kind: a function for each kind.

Lanes that come together need none of this. Where some of those that a member
mask names wait at one `vote.sync`, and the others at another, both call one
function, as the code that ptxas makes does: a single `vote.sync` of the
function's own registers, from which each lane goes back behind its own. For
that a block is taken apart at the instructions that wait for other lanes,
when lanes of it first meet others so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace

from teenycuda_cli.emulator.codegen.blocks import BlockEmitter
from teenycuda_cli.emulator.ir import (
    BasicBlock,
    Constant,
    FunctionBody,
    Group,
    Op,
    Register,
    Source,
    elements,
    gathers,
    meets_elsewhere,
    width_of,
)
from teenycuda_cli.emulator.lowering.repeats import reads_and_writes
from teenycuda_cli.emulator.opcodes.table import Operation, decode
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.ptx.syntax import Instruction, Name, Pair

_GAP = 0.0005
"""Between the rank of a block and that of its last part; ranks of different blocks lie further apart."""


def kind_of(op: Op) -> Hashable:
    """What instructions have in common at which lanes meet: the opcode with all that qualifies it."""
    return op.instruction.opcode, op.instruction.modifiers


@dataclass(frozen=True, slots=True)
class Together:
    """The function in which the lanes meet that come to instructions of one kind."""

    block: BasicBlock
    arguments: tuple[Register, ...]  # in the order of the sources
    results: tuple[Register, ...]
    site: Register  # where each lane goes back to


@dataclass(slots=True)
class Meetings:
    """Takes blocks apart, and writes the functions that their parts call."""

    emitter: BlockEmitter
    program: Program = field(init=False)
    sites: dict[int, Op] = field(default_factory=dict)  # of calls of those functions: the instruction
    functions: dict[int, Together] = field(default_factory=dict)  # by the number of their block
    _of_kind: dict[Hashable, Together] = field(default_factory=dict)
    _homes: int = 0

    def __post_init__(self) -> None:
        """No block is apart yet."""
        self.program = self.emitter.program
        self._homes = 1 + max((register.home for register in self.program.registers), default=-1)

    def take_apart(self, block: BasicBlock) -> tuple[int, list[Register]]:
        """The first part of a block, all of which are made; and registers that now live across blocks too."""
        first = len(self.program.blocks)
        parts = self._parts(block)
        self._connect(block, parts)
        made = self.program.blocks[first:]
        found = {r for part in made for r in (*part.live_in, *part.live_out) if r.home < 0}
        registers = sorted(found, key=lambda register: register.number)
        for register in registers:
            register.home = self._homes
            self._homes += 1
        for part in made:
            self.emitter.emit_block(part)
        return parts[0].number, registers

    # ----------------------------------------------------------------- parts

    def _parts(self, block: BasicBlock) -> list[BasicBlock]:
        """One part behind the other: what is before a meeting, and what is behind it, up to the next."""
        parts: list[BasicBlock] = []
        for op, rest in _cut(block.ops):
            if not meets_elsewhere(op.operation):
                parts.append(self._new(block.function, [op, *rest]))
                parts[-1].gathers = True
                continue
            together = self._together(op, block)
            behind = self._new(block.function, [*_leaving(op, together), *rest])
            site = self.emitter.return_site(behind.number)
            self.sites[site] = op
            before = self._new(block.function, _entering(op, together, site))
            before.successors = [together.block.number]
            parts += [before, behind]
        for number, part in enumerate(parts):
            part.rank = block.rank + _GAP * (number + 1) / len(parts)
        return parts

    def _connect(self, block: BasicBlock, parts: list[BasicBlock]) -> None:
        """Each part goes on at the next, the last where the block does; what lives in between."""
        live, following = block.live_out, block.successors
        for part in reversed(parts):
            together = self.functions.get(part.successors[0]) if part.successors else None
            if together is not None:
                live |= {*together.arguments, together.site}
            elif not part.successors:
                part.successors = list(following)
            part.live_out = live
            live = part.live_in = _before(part)
            following = [part.number]

    def _new(self, function: FunctionBody, ops: list[Op]) -> BasicBlock:
        block = BasicBlock(len(self.program.blocks), function, ops)
        self.program.blocks.append(block)
        return block

    # ------------------------------------------------------------- functions

    def _together(self, op: Op, block: BasicBlock) -> Together:
        kind = kind_of(op)
        if kind not in self._of_kind:
            made = self._of_kind[kind] = self._made(op, block)
            self.functions[made.block.number] = made
        return self._of_kind[kind]

    def _made(self, op: Op, block: BasicBlock) -> Together:
        """The function of instructions like `op`: it does what they do, on registers of its own."""
        operation = _widest(op)
        site = self._register("u32")
        arguments = tuple([self._register(kind) for kind in operation.sources])
        results = tuple([self._register(kind) for kind in operation.destinations])
        function = FunctionBody(op.function.name, True, (), (), return_to=site)
        operands: tuple[Source, ...] = arguments
        if results:
            operands = (results[0] if len(results) == 1 else Group(results), *arguments)
        inner = replace(
            op, operation=operation, operands=operands, predicate=None, reads=arguments, writes=results
        )
        made = self._new(function, [inner, _like(op, "ret", (), ())])
        made.gathers = True
        made.rank = block.rank + 2 * _GAP
        made.live_in = frozenset((*arguments, site))
        made.live_out = frozenset(results)
        return Together(made, arguments, results, site)

    def _register(self, kind: str) -> Register:
        number = len(self.program.registers)
        register = Register(number, f"%meeting{number}", kind, width_of(kind), "p" if kind == "pred" else "i")
        self.program.registers.append(register)
        self.emitter.know(register)
        return register


def _cut(ops: list[Op]) -> Iterator[tuple[Op, list[Op]]]:
    """Each instruction that waits for other lanes, with those up to the next; the first one is such."""
    starts = [number for number, op in enumerate(ops) if gathers(op.operation)]
    for start, end in zip(starts, [*starts[1:], len(ops)], strict=True):
        yield ops[start], ops[start + 1 : end]


def _entering(op: Op, together: Together, site: int) -> list[Op]:
    """Each source into the function's register, and where to come back."""
    sources = op.operands[1:] if op.operation.destinations else op.operands
    pairs = zip((*together.arguments, together.site), (*sources, Constant(site)), strict=True)
    return [_move(op, register, source) for register, source in pairs]


def _leaving(op: Op, together: Together) -> list[Op]:
    """The function's results to where the instruction wants them."""
    wanted = elements(op.operands[0]) if op.operation.destinations else []
    pairs = zip(wanted, together.results, strict=False)
    return [_move(op, register, result) for register, result in pairs if isinstance(register, Register)]


def _widest(op: Op) -> Operation:
    """The operation with all results that instructions of its kind may have: `d|p`, where there is that."""
    if len(op.operation.destinations) != 1:
        return op.operation
    pair = Pair(Name("d"), Name("p"))
    found = decode(replace(op.instruction, operands=(pair, *op.instruction.operands[1:])))
    return found if isinstance(found, Operation) else op.operation


def _move(op: Op, destination: Register, source: Source) -> Op:
    kind = "pred" if destination.type == "pred" else f"b{destination.width}"
    return _like(op, "mov", (kind,), (destination, source))


def _like(op: Op, opcode: str, modifiers: tuple[str, ...], operands: tuple[Source, ...]) -> Op:
    """Another instruction in the place of one."""
    at = op.instruction.offset
    names = tuple([Name("") for _ in operands])
    operation = decode(Instruction(opcode, modifiers, names, at, at))
    assert isinstance(operation, Operation)
    instruction = replace(op.instruction, opcode=opcode, modifiers=modifiers)
    reads, writes = reads_and_writes(operation, operands)
    return Op(instruction, operation, op.function, operands, None, False, op.loc, tuple(reads), tuple(writes))


def _before(block: BasicBlock) -> frozenset[Register]:
    """The registers that live where a block begins."""
    live = set(block.live_out)
    for op in reversed(block.ops):
        live.difference_update(op.writes)
        live.update(op.reads)
    return frozenset(live)
