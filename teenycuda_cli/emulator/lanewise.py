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

from teenycuda_cli.emulator.flow import Loop
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
    is_copy,
)
from teenycuda_cli.emulator.lanememory import LaneAccess, bits_of_float, float_of_bits
from teenycuda_cli.emulator.numerics.lane import NAMESPACE
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.operands import flat_registers
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.emulator.values import wrap

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
        }
        self.lines: list[str] = []

    def compile(self) -> Callable[..., Any]:
        """The function; raises NotLanewise."""
        blocks = sorted(self.loop.blocks, key=lambda number: (number != self.loop.header, number))
        arguments = ", ".join([f"r{self.homes[home].number}" for home in self.needs])
        self.lines = [
            f"def run(lane, tick, {arguments}):",
            "  n = 0",
            f"  pc = {self.loop.header}",
            "  while True:",
        ]
        for number in blocks:
            self.lines.append(f"    if pc == {number}:")
            self._block(self.program.blocks[number])
        exec(compile("\n".join(self.lines), f"<loop of {self.program.entry}>", "exec"), self.names)
        run: Callable[..., Any] = self.names["run"]
        return run

    def _line(self, text: str, depth: int = 3) -> None:
        self.lines.append("  " * depth + text)

    def _bind(self, thing: Any) -> str:
        name = f"K{len(self.names)}"
        self.names[name] = thing
        return name

    def _block(self, block: BasicBlock) -> None:
        if block.number == self.loop.header:
            self._line("n += 1")
            self._line("if not n & 1023: tick(n)")
        for op in block.ops:
            opcode = op.instruction.opcode
            depth = 3
            if op.predicate is not None:
                self._line(f"if {'not ' if op.negated else ''}r{op.predicate.number}:")
                depth = 4
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
            self._go(block.successors[0], 3)

    def _go(self, target: int, depth: int) -> None:
        if target in self.loop.blocks:
            self._line(f"pc = {target}", depth)
            self._line("continue", depth)
            return
        self._line("lane.turns = n", depth)
        out = "".join([f"r{self.homes[home].number}, " for home, _ in self.changes(self.loop.header, target)])
        self._line(f"return {target}, ({out})", depth)

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
        if dtype.kind == "u":
            return f"({text} & {(1 << width) - 1:#x})"
        return text if width == register.width else f"s{width}({text})"

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
        elif dtype.kind == "i" or width < register.width:
            self._line(f"{name} = {text}", depth)
        else:
            self._line(f"{name} = s{width}({text})", depth)

    def _value(self, op: Op, depth: int) -> None:
        operation = op.operation
        if operation.lane is None or len(operation.destinations) != 1:
            raise NotLanewise
        settles = operation.raw_nan or (is_copy(op) and any(register.raw_nan for register in op.reads))
        if settles and any(register.tag != "i" and not register.raw_nan for register in op.writes):
            raise NotLanewise
        if operation.reads_carry or operation.writes_carry or not isinstance(op.operands[0], Register):
            raise NotLanewise
        sources = [element for operand in op.operands[1:] for element in _elements(operand)]
        texts = [self._read(s, t) for s, t in zip(sources, operation.sources, strict=True)]
        text = operation.lane.format(*texts)
        if operation.destinations[0] == "pred":
            text = f"bool({text})"
        self._write(op.operands[0], operation.destinations[0], text, depth)

    # -------------------------------------------------------------- memory

    def _address(self, place: Place) -> str:
        if isinstance(place.base, Register) and place.base.tag == "i":
            return f"r{place.base.number}"
        if isinstance(place.base, Constant):
            return str(place.base.value)
        raise NotLanewise

    def _load(self, op: Op, depth: int) -> None:
        register, place = op.operands[0], op.operands[1]
        if not isinstance(register, Register) or not isinstance(place, Place):
            raise NotLanewise
        name = op.operation.modifiers["type"]
        dtype = dtype_of(name)
        same = 8 * dtype.itemsize == register.width
        kind = name
        if same:
            kind = {"i": f"s{register.width}", "f4": "f32", "f8": "f64"}[register.tag]
        access = self._bind(LaneAccess(self.program, op, place.offset, kind, writes=False))
        self._write(register, kind, f"{access}.load(lane, {self._address(place)})", depth)

    def _store(self, op: Op, depth: int) -> None:
        place, value = op.operands[0], op.operands[1]
        if not isinstance(place, Place) or isinstance(value, (Place, Label)) or _elements(value) != [value]:
            raise NotLanewise
        name = op.operation.modifiers["type"]
        if isinstance(value, Register) and value.tag != "i" and 8 * dtype_of(name).itemsize == value.width:
            name = {"f4": "f32", "f8": "f64"}[value.tag]
        elif name[0] == "s":
            name = f"u{name[1:]}"
        access = self._bind(LaneAccess(self.program, op, place.offset, name, writes=True))
        raw = any(register.raw_nan for register in flat_registers(value))
        call = f"{access}.store(lane, {self._address(place)}, {self._read(value, name)}, {raw})"
        self._line(call, depth)


def _elements(source: Source) -> list[Source]:
    elements = getattr(source, "elements", None)
    return [source] if elements is None else list(elements)
