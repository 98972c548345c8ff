"""Loops for a few lanes as plain Python, one lane after the other.

Below some thirty lanes a numpy call costs more than the same work in Python.
A loop that can be written so is compiled when it is first needed: registers
are local variables (integers in the signed range of their width, as
everywhere), the table's lane expressions do the work, and memory is read and
written through memoryviews after the same checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen.flow import Loop
from teenycuda_cli.emulator.codegen.laneranges import Ranges
from teenycuda_cli.emulator.ir import (
    BasicBlock,
    Constant,
    FloatConstant,
    Label,
    Not,
    Op,
    Place,
    Register,
    Source,
    elements,
    flat_registers,
    is_copy,
)
from teenycuda_cli.emulator.machine.lanememory import LaneAccess, bits_of_float, float_of_bits, settled
from teenycuda_cli.emulator.machine.values import wrap
from teenycuda_cli.emulator.numerics.lane import NAMESPACE
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.program import Program

GONE = -1
"""Where a lane goes that ends."""


class NotLanewise(Exception):
    """The loop has an instruction that is only there for many lanes."""


class LoopWriter:
    """Writes the function of one loop: (lane, tick, *registers) → (block, changed registers)."""

    def __init__(
        self, program: Program, loop: Loop, needs: tuple[int, ...], changes: Callable[[int, int], Any]
    ) -> None:
        """`needs` are the homes of the registers that come in, `changes` those that go out to a block."""
        self.program = program
        self.loop = loop
        self.changes = changes
        self.homes = {register.home: register for register in program.registers if register.home >= 0}
        self.needs = needs
        self.names: dict[str, Any] = {
            **NAMESPACE,
            "bits_of_float": bits_of_float,
            "float_of_bits": float_of_bits,
            "settled": settled,
        }
        self.lines: list[str] = []
        blocks = [program.blocks[number] for number in loop.blocks]
        self.ranges = Ranges([op for block in blocks for op in block.ops])
        self._deep = 3 if len(blocks) > 1 else 2
        self._places: dict[tuple[Register, int, str], str] = {}  # places in the block that are known
        self._accesses = 0

    def compile(self) -> Callable[..., Any]:
        """The function; raises NotLanewise."""
        blocks = sorted(self.loop.blocks, key=lambda number: (number != self.loop.header, number))
        needs = [self.homes[home] for home in self.needs]
        arguments = ", ".join([f"r{register.number}" for register in needs])
        self.lines = [f"def run(lane, tick, {arguments}):", "  n = 0"]
        for register in needs:
            if register in self.ranges.unsigned:
                self._line(f"r{register.number} &= {(1 << register.width) - 1:#x}", 1)
        before = len(self.lines)
        self.lines += [f"  pc = {self.loop.header}", "  while True:"]
        for number in blocks:
            if len(blocks) > 1:
                self.lines.append(f"    if pc == {number}:")
            self._places = {}
            self._block(self.program.blocks[number])
        self.lines[before:before] = [f"  b{number}, e{number} = 1, 0" for number in range(self._accesses)]
        exec(compile("\n".join(self.lines), f"<loop of {self.program.entry}>", "exec"), self.names)
        run: Callable[..., Any] = self.names["run"]
        return run

    def _line(self, text: str, depth: int = 0) -> None:
        self.lines.append("  " * (depth or self._deep) + text)

    def _bind(self, thing: Any) -> str:
        name = f"K{len(self.names)}"
        self.names[name] = thing
        return name

    def _block(self, block: BasicBlock) -> None:
        if block.number == self.loop.header:
            self._line("n += 1")
            self._line("if not n & 1023: tick(n)")
        for op in block.ops:
            for known in [item for item in self._places if item[0] in op.writes]:
                del self._places[known]
            opcode = op.instruction.opcode
            depth = self._deep
            if op.predicate is not None:
                self._line(f"if {'not ' if op.negated else ''}r{op.predicate.number}:")
                depth += 1
            if op.operation.form.kind == "value":
                self._value(op, depth)
            elif opcode == "ld":
                self._load(op, depth)
            elif opcode == "st":
                self._store(op, depth)
            elif opcode == "bra":
                label = op.operands[0]
                assert isinstance(label, Label)
                self._go(self.program.labels[label.name], depth)
            elif opcode == "exit" or (opcode == "ret" and block.function.is_entry):
                self._line("lane.turns = n", depth)
                self._line(f"return {GONE}, ()", depth)
            else:
                raise NotLanewise
        last = block.ops[-1] if block.ops else None
        if (
            last is None
            or last.predicate is not None
            or last.instruction.opcode not in {"bra", "exit", "ret"}
        ):
            self._go(block.successors[0], self._deep)

    def _go(self, target: int, depth: int) -> None:
        if target in self.loop.blocks:
            if len(self.loop.blocks) > 1:
                self._line(f"pc = {target}", depth)
            self._line("continue", depth)
            return
        self._line("lane.turns = n", depth)
        changed = [self.homes[home] for home, _ in self.changes(self.loop.header, target)]
        out = "".join([f"{self._outside(register)}, " for register in changed])
        self._line(f"return {target}, ({out})", depth)

    def _outside(self, register: Register) -> str:
        """A register as it is kept elsewhere."""
        if register.tag != "i":
            return f"r{register.number}"
        return self.ranges.read(register, register.width, unsigned=False)

    # ------------------------------------------------------------ operands

    def _read(self, source: Source, type_name: str) -> str:  # noqa: PLR0911  (a case each)
        """A source as the Python number that a lane expression takes for a PTX type."""
        dtype = dtype_of(type_name)
        width = 8 * dtype.itemsize
        if isinstance(source, Register):
            return self._register(source, type_name)
        if isinstance(source, Not):
            return f"(not r{source.register.number})"
        if isinstance(source, Constant):
            if dtype.kind == "f":
                return self._bind(float(source.value))
            if dtype.kind == "b":
                return str(bool(source.value))
            value = wrap(source.value, width)
            return f"({value if dtype.kind == 'i' else value & ((1 << width) - 1)})"
        if isinstance(source, FloatConstant):
            if dtype.kind == "f":
                number = float_of_bits(source.bits, source.width)
                return self._bind(float(np.float32(number)) if width == 32 else number)
            return f"({wrap(source.bits, width) if dtype.kind == 'i' else source.bits & ((1 << width) - 1)})"
        raise NotLanewise

    def _register(self, register: Register, type_name: str) -> str:
        dtype = dtype_of(type_name)
        width = 8 * dtype.itemsize
        text = f"r{register.number}"
        if register.tag == "p":
            return text
        if register.tag != "i":
            if dtype.kind == "f" and width == register.width:
                return text
            if register.raw_nan or width != register.width:
                raise NotLanewise
            bits = f"bits_of_float({text}, {register.width})"
            return f"s{width}({bits})" if dtype.kind == "i" else bits
        if dtype.kind == "f":
            return f"float_of_bits({text} & {(1 << width) - 1:#x}, {width})"
        return self.ranges.read(register, width, unsigned=dtype.kind == "u")

    def _write(self, register: Register, type_name: str, text: str, depth: int) -> None:
        """A result of a PTX type into a register, as registers keep it."""
        dtype = dtype_of(type_name)
        width = 8 * dtype.itemsize
        name = f"r{register.number}"
        if register.tag == "p" or (register.tag != "i" and dtype.kind == "f"):
            self._line(f"{name} = {text}", depth)
        elif register.tag != "i":
            self._line(f"{name} = float_of_bits({text} & {(1 << width) - 1:#x}, {width})", depth)
        elif dtype.kind == "f":
            raise NotLanewise
        else:
            kept = self.ranges.written(register, width, text, unsigned=dtype.kind != "i")
            self._line(f"{name} = {kept}", depth)

    def _value(self, op: Op, depth: int) -> None:
        operation = op.operation
        if operation.lane is None or len(operation.destinations) != 1:
            raise NotLanewise
        settles = operation.raw_nan or (is_copy(op) and any(register.raw_nan for register in op.reads))
        if settles and any(register.tag != "i" and not register.raw_nan for register in op.writes):
            raise NotLanewise
        if operation.reads_carry or operation.writes_carry or not isinstance(op.operands[0], Register):
            raise NotLanewise
        direct = self.ranges.same_low_bits(op)
        if direct is not None:
            self._line(f"r{op.operands[0].number} = {direct}", depth)
            return
        sources = [element for operand in op.operands[1:] for element in elements(operand)]
        texts = [self._read(s, t) for s, t in zip(sources, operation.sources, strict=True)]
        text = operation.lane.format(*texts)
        if operation.destinations[0] == "pred":
            text = f"bool({text})"
        self._write(op.operands[0], operation.destinations[0], text, depth)

    # -------------------------------------------------------------- memory

    def _place(self, access: str, place: Place, size: int, depth: int) -> str:
        """Make sure that a place may be accessed; the expression of its element."""
        number = self._accesses
        self._accesses += 1
        base, outside = str(getattr(place.base, "value", "")), ""
        if isinstance(place.base, Register) and place.base.tag == "i":
            base, outside = f"r{place.base.number}", self._outside(place.base)
        elif not isinstance(place.base, Constant):
            raise NotLanewise
        at = base
        if place.offset:
            at = f"a{number}"
            self._line(f"{at} = {base} + {place.offset}", depth)
        misaligned = f" or {at} & {size - 1}" if size > 1 else ""
        self._line(f"if not b{number} <= {at} <= e{number}{misaligned}:", depth)
        self._line(
            f"m{number}, b{number}, e{number}, o{number} = {access}.window(lane, {outside or base})",
            depth + 1,
        )
        shift = f" >> {size.bit_length() - 1}" if size > 1 else ""
        self._line(f"i{number} = ({at} - b{number}){shift}", depth)
        return f"{number}"

    def _load(self, op: Op, depth: int) -> None:
        register, place = op.operands[0], op.operands[1]
        if not isinstance(register, Register) or not isinstance(place, Place):
            raise NotLanewise
        name = op.operation.modifiers["type"]
        dtype = dtype_of(name)
        same = 8 * dtype.itemsize == register.width
        kind = name
        if same:
            kind = {"f4": "f32", "f8": "f64"}.get(register.tag) or self.ranges.kind(register)
        access = self._bind(LaneAccess(self.program, op, place.offset, kind, writes=False))
        number = self._place(access, place, dtype.itemsize, depth)
        if op.predicate is None and isinstance(place.base, Register):
            self._places[place.base, place.offset, kind] = number
        self._write(register, kind, f"m{number}[i{number}]", depth)

    def _store(self, op: Op, depth: int) -> None:
        place, value = op.operands[0], op.operands[1]
        if not isinstance(place, Place) or isinstance(value, (Place, Label)) or elements(value) != [value]:
            raise NotLanewise
        name = op.operation.modifiers["type"]
        size = dtype_of(name).itemsize
        if isinstance(value, Register) and value.tag != "i" and 8 * size == value.width:
            name = {"f4": "f32", "f8": "f64"}[value.tag]
        elif isinstance(value, Register) and value.tag == "i" and 8 * size == value.width:
            name = self.ranges.kind(value)
        elif name[0] == "s":
            name = f"u{name[1:]}"
        text = self._read(value, name)
        access = self._bind(LaneAccess(self.program, op, place.offset, name, writes=True))
        base = place.base
        known = self._places.get((base, place.offset, name)) if isinstance(base, Register) else None
        if known is not None and isinstance(base, Register):
            self._line(f"if not o{known}: {access}.window(lane, {self._outside(base)})", depth)
        else:
            known = self._place(access, place, size, depth)
        if any(register.raw_nan for register in flat_registers(value)):
            text = f"settled({text}, {8 * size})"
        self._line(f"m{known}[i{known}] = {text}", depth)
