"""A kernel made ready to run: its program, and the functions generated from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.blocks import generate
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.codegen.flow import Loop
from teenycuda_cli.emulator.codegen.lanewise import LoopWriter, NotLanewise
from teenycuda_cli.emulator.codegen.polling import polling_blocks
from teenycuda_cli.emulator.ir import BasicBlock, Constant, Register, meets_elsewhere, member_mask
from teenycuda_cli.emulator.machine.lanes import POISON
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.emulator.scheduling.meetings import Meetings, kind_of


class Kernel:
    """The generated functions of a program, with what the scheduler asks about its blocks."""

    def __init__(self, program: Program) -> None:
        """Generate the functions."""
        emitter, self.loops = generate(program)
        self.program = program
        self.functions = emitter.functions
        self.specials = emitter.specials
        self.dtypes = emitter.dtypes
        self.parameters = emitter.parameters
        self.streams = emitter.streams
        self.addresses_parameters = emitter.addresses_parameters
        self.first = program.functions[program.entry].first
        self.sizes: list[int] = []
        self.ranks: list[float] = []
        self.members: dict[int, Any] = {}  # of blocks that wait for other lanes: the mask of those
        self.kinds: dict[int, Hashable] = {}  # of those where lanes meet others that are elsewhere
        self._take_in(program.blocks)
        self.spinning = {number for loop in self.loops.values() if loop.spins for number in loop.blocks}
        self.polling = polling_blocks(program, self.loops)
        self.homes = sum(1 for register in program.registers if register.home >= 0)
        self._dtypes_of = {
            register.home: emitter.kept(register).dtype
            for register in program.registers
            if register.home >= 0
        }
        # registers that live across blocks have two arrays, to be written while the old value is read
        self.lane_bytes: int = sum(dtype.itemsize for dtype in self.dtypes) + 2 * sum(
            dtype.itemsize for dtype in self._dtypes_of.values()
        )
        self.undefined = self._undefined(emitter)
        self.needs = {header: self._needs(header) for header in self.loops}
        self.meetings = Meetings(emitter)
        self._apart: dict[int, int] = {}  # block → the first part of it
        self._lanewise: dict[int, Any] = {}
        self._changes: dict[tuple[int, int], tuple[tuple[int, Any], ...]] = {}

    def _take_in(self, blocks: Iterable[BasicBlock]) -> None:
        """What the scheduler asks about blocks, which are the next by number."""
        for block in blocks:
            self.sizes.append(len(block.ops))
            self.ranks.append(block.rank)
            if block.gathers:
                mask = member_mask(block.ops[0])
                self.members[block.number] = mask.value if isinstance(mask, Constant) else mask
                if meets_elsewhere(block.ops[0].operation):
                    self.kinds[block.number] = kind_of(block.ops[0])

    def apart(self, number: int) -> int:
        """Where lanes go that meet others which are not at the instruction that the block begins with."""
        if number not in self._apart:
            program = self.program
            first, registers = self.meetings.take_apart(program.blocks[number])
            made = program.blocks[len(self.sizes) :]
            self._take_in(made)
            if number in self.spinning:
                self.spinning.update(block.number for block in made)
            for register in registers:
                dtype = self._dtypes_of[register.home] = self.meetings.emitter.kept(register).dtype
                self.undefined.append((register.home, _poison(register, dtype)))
            self.homes += len(registers)
            self._apart[number] = first
        return self._apart[number]

    def _undefined(self, emitter: Emitter) -> list[tuple[int, Any]]:
        """Registers that may be read before they are written, and the poison that they hold."""
        found = []
        program = self.program
        for function in program.functions.values():
            for register in program.blocks[function.first].live_in:
                value = _poison(register, emitter.kept(register).dtype)
                if register is program.stack_pointer:
                    value = program.stack_base
                elif register is program.dynamic_pointer:
                    value = program.local_size
                found.append((register.home, value))
        return found

    def _needs(self, header: int) -> tuple[int, ...]:
        """The registers that a loop reads or hands on."""
        found: set[Register] = set()
        for number in self.loops[header].blocks:
            found |= self.program.blocks[number].live_in
            found |= self.program.blocks[number].live_out
        return tuple(sorted(register.home for register in found))

    def changes(self, header: int, target: int) -> tuple[tuple[int, Any], ...]:
        """The registers, with dtypes, that a loop writes and a block outside reads."""
        known = self._changes.get((header, target))
        if known is None:
            written = {
                register
                for number in self.loops[header].blocks
                for op in self.program.blocks[number].ops
                for register in op.writes
            }
            live = self.program.blocks[target].live_in
            known = self._changes[header, target] = tuple(
                (register.home, self._dtypes_of[register.home]) for register in written if register in live
            )
        return known

    def length(self, loop: Loop) -> int:
        """Operations in a loop."""
        return sum(self.sizes[number] for number in loop.blocks)

    def lanewise(self, header: int) -> Callable[..., Any] | None:
        """The loop as plain Python for one lane, or None where it cannot be that."""
        if header not in self._lanewise:
            writer = LoopWriter(self.program, self.loops[header], self.needs[header], self.changes)
            try:
                self._lanewise[header] = writer.compile()
            except NotLanewise:
                self._lanewise[header] = None
        found: Callable[..., Any] | None = self._lanewise[header]
        return found

    def arguments(self, data: bytes) -> list[Any]:
        """The kernel's parameters as generated code reads them."""
        found: list[Any] = []
        for offset, dtype, kept in self.parameters:
            value = np.frombuffer(data, dtype, 1, offset)[0]
            if kept.tag == "i":
                if dtype.kind == "f":
                    value = value.view(f"i{dtype.itemsize}")
                number = int(value)
                half = 1 << (kept.width - 1)
                found.append(((number + half) & ((1 << kept.width) - 1)) - half)
            elif dtype.kind in "iu" and kept.tag != "p":
                found.append(value.view(kept.dtype))
            else:
                found.append(value)
        return found


def _poison(register: Register, dtype: Any) -> Any:
    """What a register holds that nobody has written."""
    value: Any = POISON[dtype]
    return int(value) if register.tag == "i" else False if register.tag == "p" else value
