"""Operands of instructions with their names resolved."""

from __future__ import annotations

from typing import Any

from teenycuda_cli.emulator.ir import (
    Constant,
    FloatConstant,
    Group,
    Label,
    Not,
    Nowhere,
    Place,
    Register,
    Source,
    Special,
)
from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.table import Operation
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.emulator.scopes import Scopes
from teenycuda_cli.emulator.special import is_special
from teenycuda_cli.ptx import syntax


class OperandLowering:
    """Turns the parser's operands into the program's."""

    def __init__(
        self, program: Program, addresses: dict[str, int], functions: frozenset[str] | set[str]
    ) -> None:
        """`addresses` are those of the module's variables, `functions` the names that are functions."""
        self.program = program
        self.addresses = addresses
        self.functions = functions

    def lower(self, operand: Any, scopes: Scopes) -> Source:  # noqa: PLR0911  (a case each)
        """The operand with its names resolved; UnknownOperand where it means nothing to the emulator."""
        if isinstance(operand, syntax.Name):
            return self._name(operand.text, scopes)
        if isinstance(operand, syntax.Integer):
            return Constant(operand.value)
        if isinstance(operand, syntax.Float):
            return FloatConstant(operand.bits, operand.width)
        if isinstance(operand, syntax.Address):
            base = Constant(0) if operand.base is None else self._name(operand.base.text, scopes)
            return Place(base, operand.offset)
        if isinstance(operand, syntax.Vector) and len(operand.elements) == 1:
            return self.lower(operand.elements[0], scopes)
        if isinstance(operand, (syntax.Vector, syntax.Arguments)):
            return Group(tuple([self.lower(item, scopes) for item in operand.elements]))
        if isinstance(operand, syntax.Pair):
            return Group((self.lower(operand.first, scopes), self.lower(operand.second, scopes)))
        if isinstance(operand, syntax.Negated):
            inner = self.lower(operand.operand, scopes)
            if isinstance(inner, Register):
                return Not(inner)
        if isinstance(operand, syntax.Sink):
            return Nowhere()
        if isinstance(operand, syntax.Component):
            elements = scopes.find_vector(operand.base.text)
            if elements is not None and operand.index < len(elements):
                return elements[operand.index]
        raise UnknownOperand(f"an operand that the emulator does not take ({type(operand).__name__.lower()})")

    def _name(self, name: str, scopes: Scopes) -> Source:  # noqa: PLR0911  (a case each)
        register = scopes.find_register(name)
        if register is not None:
            return register
        variable = scopes.find_variable(name)
        if variable is not None:
            return variable
        if name in self.addresses:
            return Constant(self.addresses[name])
        label = scopes.find_label(name)
        if label is not None:
            return Label(label)
        table = scopes.find_table(name)
        if table is not None:
            unique, targets = table
            self.program.tables[unique] = targets
            return Label(unique)
        elements = scopes.find_vector(name)
        if elements is not None:
            return Group(elements)
        if name in self.functions:
            return Label(name)
        if name == "WARP_SZ":
            return Constant(32)
        if is_special(name):
            return Special(name)
        raise UnknownOperand(f"{name} is not known")


class UnknownOperand(Exception):
    """An operand that means nothing to the emulator."""


def flat_registers(source: Source) -> list[Register]:
    """The registers that an operand names."""
    if isinstance(source, Register):
        return [source]
    if isinstance(source, Not):
        return [source.register]
    if isinstance(source, Place):
        return flat_registers(source.base)
    if isinstance(source, Group):
        return [register for element in source.elements for register in flat_registers(element)]
    return []


def misfit(operation: Operation, operands: tuple[Source, ...]) -> str:
    """Which register of a value instruction cannot hold the type that stands there; nothing where all can.

    As ptxas has it: sizes are equal, but for `cvt`, which takes wider registers too.
    """
    if operation.form.kind != "value":
        return ""
    elements = [
        e for operand in operands for e in (operand.elements if isinstance(operand, Group) else (operand,))
    ]
    types = (*operation.destinations, *operation.sources)
    for index, (source, name) in enumerate(zip(elements, types, strict=False)):
        if index < len(operation.destinations) and not isinstance(source, (Register, Nowhere)):
            return "the destination is no register"
        register = source.register if isinstance(source, Not) else source
        if not isinstance(register, Register):
            continue
        width = 1 if name == "pred" else 8 * dtype(name).itemsize
        wider = operation.form.opcode == "cvt" and name != "pred" and register.width > width
        if register.width != width and not wider:
            return f"{register.name} is .{register.type}, which holds no .{name}"
    return ""
