"""Operands of instructions with their names resolved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from teenycuda_cli.emulator.ir import (
    Constant,
    FloatConstant,
    Frame,
    Group,
    KernelParameter,
    Label,
    Not,
    Nowhere,
    Place,
    Register,
    Source,
    Special,
    Wide,
)
from teenycuda_cli.emulator.lowering.scopes import Scopes
from teenycuda_cli.emulator.machine.special import is_special, may_read
from teenycuda_cli.emulator.machine.values import wrap
from teenycuda_cli.emulator.opcodes.table import OTHER_KINDS, Expected, Operation
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.ptx import syntax
from teenycuda_cli.wording import counted


class OperandLowering:
    """Turns the parser's operands into the program's."""

    def __init__(self, program: Program, addresses: dict[str, Constant]) -> None:
        """`addresses` are those of the module's variables and functions."""
        self.program = program
        self.addresses = addresses

    def lower(self, operand: Any, scopes: Scopes) -> Source:  # noqa: PLR0911, PLR0912  (a case each)
        """The operand with its names resolved; UnknownOperand where it means nothing to the emulator."""
        if type(operand) is syntax.Name:
            found = scopes.known.get(operand.text)
            return self.name(operand.text, scopes) if found is None else found
        if isinstance(operand, syntax.Integer):
            return Constant(operand.value)
        if isinstance(operand, syntax.Float):
            return FloatConstant(operand.bits, operand.width)
        if isinstance(operand, syntax.Address):
            base = Constant(0) if operand.base is None else self.lower(operand.base, scopes)
            return Place(base, wrap(operand.offset, 64))
        if isinstance(operand, syntax.Vector) and len(operand.elements) == 1:
            return self.lower(operand.elements[0], scopes)
        if isinstance(operand, (syntax.Vector, syntax.Arguments, syntax.Compound)):
            return Group(tuple([self.lower(item, scopes) for item in operand.elements]))
        if isinstance(operand, syntax.Pair):
            return Group((self.lower(operand.first, scopes), self.lower(operand.second, scopes)))
        if isinstance(operand, syntax.Negated):
            return _negated(self.lower(operand.operand, scopes))
        if isinstance(operand, syntax.Selected):
            return self.name(operand.base.text, scopes)
        if isinstance(operand, syntax.Minus):
            return self.lower(operand.operand, scopes)
        if isinstance(operand, syntax.Sink):
            return Nowhere()
        if isinstance(operand, syntax.Component):
            elements = scopes.find_vector(operand.base.text)
            if elements is not None and operand.index < len(elements):
                return elements[operand.index]
        raise UnknownOperand(f"an operand that the emulator does not take ({type(operand).__name__.lower()})")

    def name(self, name: str, scopes: Scopes) -> Source:
        """What a name means."""
        found = scopes.known[name] = scopes.find_register(name) or self._no_register(name, scopes)
        return found

    def _no_register(self, name: str, scopes: Scopes) -> Source:  # noqa: PLR0911  (a case each)
        wide = scopes.find_wide(name)
        if wide is not None:
            return wide
        variable = scopes.find_variable(name)
        if variable is not None:
            return variable
        if name in self.addresses:
            return self.addresses[name]
        label = scopes.find_label(name)
        if label is not None:
            return Label(label)
        table = scopes.find_table(name)
        if table is not None:
            unique, targets = table
            self.program.tables[unique] = targets
            return Label(unique, "table")
        elements = scopes.find_vector(name)
        if elements is not None:
            return Group(elements)
        if name == "WARP_SZ":
            return Constant(32)
        if is_special(name):
            return Special(name)
        raise UnknownOperand(f"{name} is not known")


def _negated(source: Source) -> Source:
    if isinstance(source, Register):
        return Not(source)
    if isinstance(source, Constant):
        return Constant(int(not source.value))
    raise UnknownOperand("! before what is no predicate")


class UnknownOperand(Exception):
    """An operand that means nothing to the emulator."""


def folded(operation: Operation, operands: tuple[Source, ...]) -> tuple[Source, ...]:
    """Operands in which `variable+4`, where no memory is accessed, is an address, `_` in a vector 0."""
    if _FOLDED.isdisjoint(map(type, operands)):
        return operands
    pairs = zip(operands, operation.expected, strict=False)
    return tuple(
        [source if expected.types[0] == "address" else _fold(source, expected) for source, expected in pairs]
    )


_FOLDED = {Place, Group}


def _fold(source: Source, expected: Expected) -> Source:
    if type(source) is Group and not expected.is_destination and expected.types[0] not in OTHER_KINDS:
        read = [Constant(0) if isinstance(element, Nowhere) else element for element in source.elements]
        return Group(tuple(read))
    if isinstance(source, Place):
        base = source.base
        if isinstance(base, Constant):
            return Constant(base.value + source.offset, base.space)
        if isinstance(base, (Frame, KernelParameter)):
            return replace(base, offset=base.offset + source.offset)
    return source


def misfit(operation: Operation, operands: tuple[Source, ...]) -> str:
    """Which operand cannot stand where it does, and what can; nothing where all are right.

    Registers and constants are told apart by their types alone, as `repeats` relies on.
    As ptxas has it: a register's size is that of the operand's type, unless
    the row lets wider ones in, and integers are in no float's register.
    """
    is_effect = operation.form.kind == "effect"
    opcode = operation.form.opcode
    for number, (source, expected) in enumerate(zip(operands, operation.expected, strict=False), 1):
        wrong = _misplaced(source, expected, is_effect=is_effect)
        if not wrong and not _reads_well(opcode, source, expected):
            wrong = f"a special register, which {opcode} does not read as .{expected.types[0]}"
        if not wrong and (expected.types[0] == "address" or opcode == "cvta"):
            wrong = _elsewhere(operation, source)
        if wrong:
            return f"operand {number} is {wrong}"
    return ""


def _elsewhere(operation: Operation, source: Source) -> str:
    """A variable of another state space than that of the only address of an instruction."""
    modifiers = operation.modifiers
    places = [expected for expected in operation.expected if expected.types[0] == "address"]
    if "space" not in modifiers or len(places) > 1 or modifiers.get("to"):
        return ""
    space = modifiers["space"].partition("::")[0]
    spaces = _spaces(source.base if isinstance(source, Place) else source)
    if not spaces or (space in spaces if space else spaces[0] not in ("const", "param")):
        return ""
    return f"a variable in .{spaces[0]}; one in {f'.{space}' if space else 'generic memory'} is expected"


def _spaces(base: Source) -> tuple[str, ...]:
    """The state spaces that an address may be of, as far as it is a variable's."""
    if isinstance(base, Constant):
        return (base.space,) if base.space else ()
    if isinstance(base, KernelParameter):
        return ("param",)
    return ("local", "param") if isinstance(base, Frame) else ()


def _reads_well(opcode: str, source: Source, expected: Expected) -> bool:
    """Whether special registers stand only where they can be read."""
    elements = source.elements if isinstance(source, Group) else (source,)
    return all(
        may_read(element.name, opcode, name)
        for element, name in zip(elements, expected.types, strict=False)
        if isinstance(element, Special)
    )


def _misplaced(source: Source, expected: Expected, *, is_effect: bool) -> str:
    types = expected.types
    kind = types[0]
    if kind in OTHER_KINDS:
        return "" if _IS_KIND[kind](source) else f"{_described(source)}; {_KINDS[kind]} is expected"
    is_group = isinstance(source, Group) and not isinstance(source, Wide)
    elements = source.elements if isinstance(source, Group) and is_group else (source,)
    if is_effect and expected.is_vector and expected.is_destination and isinstance(source, Nowhere):
        return ""
    if len(elements) != len(types) or is_group != expected.is_vector:
        wanted = counted(len(types), "element") if expected.is_vector else "a single value"
        return f"{_described(source)}; {wanted} of .{kind} {'are' if expected.is_vector else 'is'} expected"
    for element, name, width in zip(elements, types, expected.widths, strict=True):
        fits = _holds if isinstance(element, Register) else _stands
        if not fits(element, name, width, expected, is_effect=is_effect):
            what = "a register" if expected.is_destination else "a register or constant"
            if expected.is_fixed:
                what = "a constant"
            return f"{_described(element)}; {what} for .{name} is expected"
    return ""


def _holds(register: Any, name: str, width: int, expected: Expected, *, is_effect: bool) -> bool:
    """Whether a register takes values of a type."""
    if expected.is_fixed:
        return False
    if register.width != width:
        is_bits = register.type not in ("f32", "f64") or (is_effect and name[0] == "b")
        if not expected.wider or not is_bits or name == "pred" or not width < register.width <= _LONGEST:
            return False
    return _same_class(register.type, name)


def _stands(  # noqa: PLR0911  (a case each)
    source: Source, name: str, width: int, expected: Expected, *, is_effect: bool
) -> bool:
    """Whether what is no register can stand for a value of a type."""
    if expected.is_destination and not isinstance(source, Wide):
        return expected.is_sink and isinstance(source, Nowhere)
    if isinstance(source, Wide) or name == "b128":
        wide = (Wide,) if expected.is_destination else (Wide, Constant)
        return isinstance(source, wide) and name == "b128"
    if isinstance(source, Not):
        return name == "pred" and source.register.type == "pred"
    if isinstance(source, Constant):
        return not _is_float(name) and not (source.space and name == "pred")
    if expected.is_fixed:
        return False
    if isinstance(source, FloatConstant):
        return name in ("f32", "f64") or (name[0] == "b" and source.width == width)
    if isinstance(source, (Frame, KernelParameter)):
        return width == _LONGEST if is_effect else name != "pred" and not _is_float(name)
    return not is_effect and not isinstance(source, (Nowhere, Group, Place, Label))


_POINTER = 32
_LONGEST = 64


def _is_float(name: str) -> bool:
    """Whether a type is one of floats or of several numbers, which no integer constant stands for."""
    return name[0] in "ft" or name.startswith("bf") or name.endswith("x2")


def _same_class(held: str, name: str) -> bool:
    """Whether a register's type and an operand's are both integers, the same floats, or one of them bits."""
    if "b" in (held[0], name[0]) or "f" not in (held[0], name[0]):
        return True
    return held == name or (held == "f16x2" and name[0] in "us")


def _is_address(source: Source) -> bool:
    if not isinstance(source, Place):
        return False
    base = source.base
    if isinstance(base, Register):
        return base.type[0] in "bus" and base.width <= _LONGEST
    return isinstance(base, (Constant, Frame, KernelParameter))


def is_pointer(source: Source) -> bool:
    """Whether an address can stand there: a register of 32 or 64 bits, or a constant."""
    if isinstance(source, Register):
        return source.type[0] in "bus" and _POINTER <= source.width <= _LONGEST
    return isinstance(source, Constant)


def _is_amount(source: Source) -> bool:
    if isinstance(source, Register):
        return source.type == "pred" or (source.type[0] in "bus" and source.width == _POINTER)
    return isinstance(source, (Constant, Not))


def _is_tensor(source: Source) -> bool:
    """Whether it is the address of a tensor map, and one to five coordinates."""
    if not isinstance(source, Group) or len(source.elements) != _PARTS_OF_A_TENSOR:
        return False
    address, place = source.elements
    coordinates = place.elements if isinstance(place, Group) else (place,)
    return (
        is_pointer(address)
        and len(coordinates) <= _MOST_COORDINATES
        and all(isinstance(each, Constant) or _is_coordinate(each) for each in coordinates)
    )


def _is_coordinate(source: Source) -> bool:
    return isinstance(source, Register) and source.type[0] in "bus" and source.width == _POINTER


_PARTS_OF_A_TENSOR = 2
_MOST_COORDINATES = 5


def _is_label(kind: str) -> Callable[[Source], bool]:
    return lambda source: isinstance(source, Label) and source.kind == kind


_IS_KIND: dict[str, Callable[[Source], bool]] = {
    "address": _is_address,
    "pointer": is_pointer,
    "amount": _is_amount,
    "nothing": lambda source: isinstance(source, Nowhere),
    "tensor": _is_tensor,
    "arguments": lambda source: isinstance(source, Group),
    "label": _is_label("label"),
    "table": _is_label("table"),
    "function": _is_label("function"),
    "prototype": _is_label("prototype"),
}
_KINDS = {
    "address": "an address with an integer base",
    "pointer": "a register of 32 or 64 bits",
    "amount": "a size or a predicate",
    "nothing": "_",
    "tensor": "the address of a tensor map with coordinates of 32 bits",
    "arguments": "a list in parentheses",
    "label": "a label",
    "table": "a .branchtargets table",
    "function": "a function",
    "prototype": "a .callprototype, a .calltargets list or a table of functions",
}


def _described(source: Source) -> str:  # noqa: PLR0911  (a case each)
    if isinstance(source, Register):
        return f"{source.name} (.{source.type})"
    if isinstance(source, Not):
        return f"!{_described(source.register)}"
    if isinstance(source, Constant):
        return f"the constant {source.value}"
    if isinstance(source, FloatConstant):
        return "a floating constant"
    if isinstance(source, Wide):
        return f"{_described(source.elements[0]).rpartition('.low')[0]} (.b128)"
    if isinstance(source, Place):
        return f"an address of {_described(source.base)}"
    if isinstance(source, Group):
        return f"a group of {len(source.elements)}"
    if isinstance(source, Special):
        return f"the special register {source.name}"
    if isinstance(source, Label):
        return f"the {source.kind} {source.name.rpartition(':')[2]}"
    if isinstance(source, Nowhere):
        return "_"
    return "the address of a variable"
