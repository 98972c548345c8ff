"""Python source from a program: one function a basic block, made of calls on whole batches of lanes.

A function takes the lanes `S`, the mask `m` of those that are here (None: all)
and the mask `w` under which registers are written (None: no other lane lives),
and returns where lanes go: pairs of a block and a mask.

Registers that live within a block are local variables, their arrays come from
a pool by linear scan; the others are read from `S.R` at the top and written
back at the end.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from teenycuda_cli.emulator import compute
from teenycuda_cli.emulator.arguments import Argument, bits_of, fixed, floats_of
from teenycuda_cli.emulator.chains import join
from teenycuda_cli.emulator.compute import Kept
from teenycuda_cli.emulator.flow import Loop, analyse
from teenycuda_cli.emulator.ir import (
    BasicBlock,
    Constant,
    Group,
    Nowhere,
    Op,
    Register,
    Source,
    Special,
    Wide,
    elements,
)
from teenycuda_cli.emulator.keeping import choose_tags
from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.emulator.recording import HOT, StepEmitter, are_values
from teenycuda_cli.emulator.steps import Step, StraightBlock, special_register
from teenycuda_cli.emulator.tiling import plan, write
from teenycuda_cli.emulator.values import wrap

_COPYING = frozenset(("mov", "selp"))


class BlockEmitter(StepEmitter):
    """Writes the function of one block after the other."""

    def __init__(self, program: Program, loops: dict[int, Loop]) -> None:
        """`loops` are those of the program."""
        super().__init__(program)
        self.straight: dict[int, StraightBlock] = {}  # blocks that need no source
        self._alike: dict[Hashable, str] = {}  # likeness → the function of a step
        self._hot = frozenset(
            number
            for loop in loops.values()
            if sum(len(program.blocks[number].ops) for number in loop.blocks) <= HOT
            for number in loop.blocks
        )

    def emit_block(self, block: BasicBlock) -> None:
        """Append the function of a block to `source`."""
        self.block = block
        self.lines = []
        self.ending, self.following = "", None
        self._pool = {dtype: numbers.copy() for dtype, numbers in self._buffers.items()}
        self._holders, self._numbers, self._unheld = {}, {}, []
        self.steps = []
        self.is_hot = block.number in self._hot
        self.accesses = {}
        tiling = plan(block)
        self.streams = self.streams and tiling is not None
        if tiling is not None and tiling.tiled:
            block.ops = [*tiling.exact, *tiling.tiled, *tiling.ending]
        self._scan(block)
        opening = self._live_in(block)
        for self._index, op in enumerate(block.ops):
            if tiling is not None and tiling.tiled and op is tiling.tiled[0]:
                self.flush()
                exact, self.lines = self.lines, []
            self.op = op
            if op.operation.form.kind == "value":
                self._value(op)
            else:
                op.operation.form.build(self, op)
            self._release()
            if tiling is not None and tiling.tiled and op is tiling.tiled[-1]:
                self.flush()
                self.lines = [*exact, *write(self, tiling, self.accesses, self.lines)]
        if not self.ending:
            self.go_to(block.successors[0] if block.successors else -1)
        written = [r for r in self._last_def if r.home >= 0 and r in block.live_out]
        if self.following is not None and not self.is_hot and not self.lines:
            self.straight[block.number] = self._straight(written)
            return
        self._write_back(written)
        self.source.append(f"def B{block.number}(S, m, w):")
        self.source += [f"  {line}" for line in (*opening, *self.lines)]
        self.source.append(f"  return {self.ending}")

    def _scan(self, block: BasicBlock) -> None:
        last_use: dict[Register, int] = {}
        last_def: dict[Register, int] = {}
        last_read: dict[Register, int] = {}
        for index, op in enumerate(block.ops):
            for register in op.reads:
                last_use[register] = index
                if op.predicate is None or register not in op.writes:
                    last_read[register] = index
            for register in op.writes:
                last_def[register] = index
                last_use.setdefault(register, index)
                last_use[register] = max(last_use[register], index)
        self._last_use, self._last_def, self._last_read = last_use, last_def, last_read
        self._expiring = {}
        for register, index in last_use.items():
            self._expiring.setdefault(index, []).append(register)

    def _live_in(self, block: BasicBlock) -> list[str]:
        read: list[Register] = []
        seen: set[Register] = set()
        for op in block.ops:
            for register in op.reads:
                if register not in seen:
                    seen.add(register)
                    read.append(register)
            seen.update(op.writes)
        if not read:
            return []
        if len(read) == 1:
            return [f"v{read[0].number} = S.R[{read[0].home}]"]
        take = self.bind(itemgetter(*[register.home for register in read]))
        return [f"{', '.join([f'v{register.number}' for register in read])} = {take}(S.R)"]

    def _straight(self, written: list[Register]) -> StraightBlock:
        """The block as data."""
        for register in written:
            if self._may_be_old(register):
                owned = (fixed(register.home), self._registers[register])
                self.steps.append(Step(compute.keep, "", (register,), owned))
        outputs = [(self._registers[register], self.kept(register).dtype) for register in written]
        assert self.following is not None
        return StraightBlock(self.steps, outputs, self.following)

    def _write_back(self, written: list[Register]) -> None:
        self.flush()
        if not written:
            return
        homes = self.bind(tuple([(register.home, self.kept(register).dtype) for register in written]))
        self.lines.append(f"S.put({homes}, ({''.join([f'{self._owned(r)}, ' for r in written])}), w)")

    def _owned(self, register: Register) -> str:
        """The register's value; a copy where that is needed."""
        name = f"v{register.number}"
        return f"S.keep({register.home}, {name})" if self._may_be_old(register) else name

    def _may_be_old(self, register: Register) -> bool:
        """Whether a predicate may have left it an earlier value of the block, in an array of the pool."""
        last = self.block.ops[self._last_def[register]]
        return last.predicate is not None and any(
            register in op.writes for op in self.block.ops if op is not last
        )

    # ------------------------------------------------------------- value ops

    def _value(self, op: Op) -> None:
        likeness = None if self.is_hot or op.predicate is not None else self._likeness(op)
        name = None if likeness is None else self._alike.get(likeness)
        if name is not None:
            self._step_like(op, name)
            return
        before = len(self.steps)
        self._value_of(op)
        if likeness is not None and len(self.steps) == before + 1 and self.steps[-1].name:
            self._alike[likeness] = self.steps[-1].name

    def _likeness(self, op: Op) -> Hashable:
        """What instructions have in common that become steps of the same function; None where none may."""
        operation = op.operation
        register = op.operands[0]
        if op.instruction.opcode in _COPYING or type(register) is not Register:
            return None
        if operation.reads_carry or operation.writes_carry:
            return None
        lives_on = op.instruction.opcode == "cvt" and self.lives_on(register)
        found: list[Hashable] = [id(operation), self._kept[register], lives_on]
        for source in op.operands[1:]:
            if type(source) is Register:
                found.append(self._kept[source])
            elif type(source) is Constant:
                found.append(source.value)
            else:
                return None
        return tuple(found)

    def _step_like(self, op: Op, name: str) -> None:
        """A step of the function that a like instruction before had."""
        register: Any = op.operands[0]
        registers = self._registers
        arguments = [
            registers[source] if type(source) is Register else self.argument(source)
            for source in op.operands[1:]
        ]
        number = fixed(self.buffer(register, self._kept[register].dtype))
        self.steps.append(Step(self.names[name], name, (register,), (number, *arguments)))

    def _value_of(self, op: Op) -> None:
        operation = op.operation
        destinations = elements(op.operands[0])
        sources: Sequence[Source] = op.operands[1:]
        if Group in map(type, sources) or Wide in map(type, sources):
            sources = [element for operand in sources for element in elements(operand)]
        registers = self._registers
        arguments = [
            registers[source] if type(source) is Register else self.argument(source, name)
            for source, name in zip(sources, operation.sources, strict=True)
        ]
        carry = None
        if operation.reads_carry or operation.writes_carry:
            carry = next(r for r in (*op.writes, *op.reads) if r.name == "%cc")
            if operation.reads_carry:
                arguments.append(Argument(f"v{carry.number}", Kept("p", 1), carry))
        if len(destinations) > 1 or operation.writes_carry:
            if operation.writes_carry:
                assert carry is not None
                destinations = [*destinations, carry]
            self._many(op, destinations, arguments)
            return
        register = destinations[0]
        if isinstance(register, Nowhere):
            return
        assert isinstance(register, Register)
        opcode = op.instruction.opcode
        if opcode == "mov" and len(sources) == 1:
            self.move(op, register, arguments[0])
        elif opcode == "selp":
            self._select(op, register, arguments)
        else:
            self._compute(op, register, arguments)

    def _readers(self, op: Op, arguments: list[Argument]) -> list[compute.Reader]:
        types = [*op.operation.sources, *(["pred"] if op.operation.reads_carry else [])]
        return [
            self.reader(argument, type_name) for argument, type_name in zip(arguments, types, strict=True)
        ]

    def _many(self, op: Op, destinations: list[Any], arguments: list[Argument]) -> None:
        kept = [self.kept(d) if isinstance(d, Register) else None for d in destinations]
        key = (
            id(op.operation),
            tuple(kept),
            tuple((a.kept, a.constant, a.text if a.scalar is not None else 0) for a in arguments),
        )
        name = self._functions.get(key)
        if name is None:
            run = compute.compute_many(
                op.operation, self._readers(op, arguments), kept, op.operation.writes_carry
            )
            name = self._functions[key] = self.bind(run)
        targets = [f"v{d.number}" if isinstance(d, Register) else "_" for d in destinations]
        if self.step(op, destinations, name, (fixed(0), *arguments)):
            return
        call = f"{name}(S, 0, {', '.join(a.text for a in arguments)})"
        if op.predicate is None:
            self.line(f"{', '.join(targets)} = {call}")
            return
        names = [self.temporary() for _ in targets]
        self.line(f"{', '.join(names)} = {call}")
        for destination, temporary in zip(destinations, names, strict=True):
            if isinstance(destination, Register):
                self.assign(op, destination, temporary)

    def move(self, op: Op, register: Register, argument: Argument) -> None:
        """Write a register's value into another register, or a constant."""
        kept = self.kept(register)
        known = self._known(kept, argument)
        if known is not None:
            if not self.step(op, (register,), "", (known,)):
                self.assign(op, register, known.text)
            return
        run = self._conversion(kept, argument.kept, op.operation.destinations[0])
        source = argument.register
        if source is not None and not self.alias(register, source):
            text = f"{run}(S, {argument.text})" if run else argument.text
            if not run and self.lives_on(register):
                home = fixed(register.home)
                if self.step(op, (register,), self.bind(compute.keep), (home, argument)):
                    return
            if self.lives_on(register):
                text = f"S.keep({register.home}, {text})"
            else:
                text = f"{self.bind(compute.duplicate)}({text})"
        elif not run and isinstance(op.operands[1], Special):
            taken = (fixed(op.operands[1].name), fixed(self._index))
            if self.step(op, (register,), self.bind(special_register), taken):
                return
            text = argument.text
        elif self.step(op, (register,), run, (argument,)):
            return
        else:
            text = f"{run}(S, {argument.text})" if run else argument.text
        self.assign(op, register, text)

    def _conversion(self, kept: Kept, source: Kept, type_name: str) -> str:
        """The name of the function (lanes, value) that makes one kind of register of another, if any."""
        if kept.tag != source.tag:
            if source.tag == "i":
                return self.function(floats_of, kept.dtype, source.width)
            return self.function(compute.bits, np.dtype(f"i{kept.width // 8}"), source.raw_nan)
        if kept.tag == "i" and kept.width != source.width:
            return self.function(compute.resized, source, kept, type_name)
        if source.raw_nan and not kept.raw_nan:
            return self.bind(compute.settled)
        return ""

    def _known(self, kept: Kept, argument: Argument) -> Argument | None:
        """A constant as a register holds it; None for what is none."""
        scalar = argument.scalar
        if argument.constant is not None:
            value = wrap(argument.constant, kept.width)
            if kept.tag == "i":
                return Argument(str(value), kept, constant=value)
            bits: Any = np.dtype(f"i{kept.width // 8}").type(value)
            scalar = bits.view(kept.dtype)
            return Argument(self.bind_scalar(scalar), kept, scalar=scalar)
        if scalar is None or kept.tag != "i":
            return None if scalar is None else argument
        value = wrap(int(scalar.view(f"i{scalar.itemsize}")), kept.width)
        return Argument(str(value), kept, constant=value)

    def _select(self, op: Op, register: Register, arguments: list[Argument]) -> None:
        kept = self.kept(register)
        choices = [
            self._choice(kept, argument, type_name)
            for argument, type_name in zip(arguments[:2], op.operation.sources, strict=False)
        ]
        number = self.buffer(register, kept.dtype)
        run = self.function(compute.selector, kept.dtype)
        if self.step(op, (register,), run, (fixed(number), *choices, arguments[2])):
            return
        texts = ", ".join([argument.text for argument in (*choices, arguments[2])])
        self.assign(op, register, f"{run}(S, {number}, {texts})")

    def _choice(self, kept: Kept, argument: Argument, type_name: str) -> Argument:
        """What `selp` may choose, as its register keeps it."""
        if argument.constant is not None:
            if kept.tag == "i":
                return fixed(wrap(argument.constant, kept.width))
            scalar = compute.constant(argument.constant, type_name)
            return Argument(self.bind_scalar(scalar), kept, scalar=scalar)
        text = argument.text
        if kept.tag == argument.kept.tag:
            if not argument.kept.raw_nan or kept.raw_nan:
                return argument
            text = f"{self.bind(canonical)}({text})"
        elif kept.tag == "i":
            bits = np.dtype(f"i{kept.width // 8}")
            text = f"{self.function(bits_of, bits, argument.kept.raw_nan)}({text})"
        else:
            text = f"{self.function(floats_of, kept.dtype, argument.kept.width)}(S, {text})"
        return Argument(text, kept)

    def _compute(self, op: Op, register: Register, arguments: list[Argument]) -> None:
        operation = op.operation
        kept = self.kept(register)
        if kept.tag in {"f4", "f8"} and self._plain(op, kept, arguments):
            self._inline(op, register, arguments)
            return
        number = self.buffer(register, kept.dtype)
        key = (
            id(operation),
            kept,
            tuple([(a.kept, a.constant, a.text if a.scalar is not None else 0) for a in arguments]),
        )
        name = self._functions.get(key)
        if name is None:
            exact = tuple([argument.kept.tag == "i" for argument in arguments])
            run = compute.compute(operation, self._readers(op, arguments), kept, exact)
            name = self._functions[key] = self.bind(run)
        copies = kept.tag == "f4" and op.instruction.opcode == "cvt" and self.lives_on(register)
        copies = copies and operation.sources[0] == "f32"
        as_it_is = not copies and not self._settles(op, register)
        if as_it_is and self.step(op, (register,), name, (fixed(number), *arguments)):
            return
        call = f"{name}(S, {number}, {', '.join([a.text for a in arguments])})"
        if copies:
            call = f"S.keep({register.home}, {call})"
        self.assign(op, register, self._settled(op, register, call))

    def _plain(self, op: Op, kept: Kept, arguments: list[Argument]) -> bool:
        """Whether the arrays go in and come out as registers keep them."""
        operation = op.operation
        if operation.destinations[0] != compute.native(kept.tag):
            return False
        return (
            all(
                compute.native(argument.kept.tag) == type_name
                for argument, type_name in zip(arguments, operation.sources, strict=True)
            )
            and not operation.reads_carry
        )

    def _inline(self, op: Op, register: Register, arguments: list[Argument]) -> None:
        evaluate = op.operation.ufunc or op.operation.evaluate
        if not self.is_hot and op.predicate is None and are_values(arguments):
            dtype = self.kept(register).dtype
            run = self.function(compute.plain, evaluate, dtype, self._settles(op, register))
            self.step(op, (register,), run, (fixed(self.buffer(register, dtype)), *arguments))
            return
        out = self._out(register, self.kept(register).dtype)
        varying = [argument.text for argument in arguments if argument.scalar is None]
        texts = ", ".join([argument.text for argument in arguments])
        full = " or ".join([f"{text}.shape == N" for text in dict.fromkeys(varying)])
        call = (
            f"{self.bind(evaluate)}({texts}, out={out} if {full} else None)"
            if full
            else f"{self.bind(evaluate)}({texts})"
        )
        if full:
            call = call.replace("== N", "== S.shape")
        self.assign(op, register, self._settled(op, register, call))

    def _settled(self, op: Op, register: Register, text: str) -> str:
        """A result whose NaNs are PTX's own, where the register must not hold others."""
        return f"{self.bind(canonical)}({text})" if self._settles(op, register) else text

    def _settles(self, op: Op, register: Register) -> bool:
        return op.operation.raw_nan and register.tag in {"f4", "f8"} and not register.raw_nan


def generate(program: Program) -> tuple[BlockEmitter, dict[int, Loop], str]:
    """The emitter, with the objects that the source uses, the loops, and the source of all blocks."""
    loops = analyse(program)
    choose_tags(program)
    join(program)
    emitter = BlockEmitter(program, loops)
    for block in program.blocks:
        emitter.emit_block(block)
    return emitter, loops, "\n".join(emitter.source)
