"""The one table of instructions: syntax lines in, decoded operations out.

A row is a function under `@op`, and its syntax line is the PTX ISA's own:

    @op("add{.rnd}{.ftz}{.sat}.f32 d, a, b", rnd="rn rz rm rp", isa="floating-point-instructions-add")
    def add_f32(m: Modifiers) -> Value: ...

In the modifiers `.name` must stand there and `{.name}` may. A keyword gives
the alternatives of a name, otherwise it stands for itself. Operands are `a`
(a register or constant), `{!}c` (may be negated), `p|q`, `{a, b}` (a vector)
and `[a]` (an address). Of `a{.asel}` a part may be selected, by one of the
alternatives of that name, which are regular expressions; `-a` has a minus
before it. `{, c}` may be missing. Each operand has the type
`m["type"]` (of literal types the first) unless `types` says otherwise: `types="d:u32 c:wide"` names a PTX
type, a slot (`dtype`), `wide` or `half` (twice or half the width of `type`), or
`bits` (`b` and its width). Behind it, `+` lets wider registers stand there, `?` lets `_`, and `=` takes a
constant alone. What is no typed value is one of `OTHER_KINDS`. Operands of the type `type` in a row with
`{.vec}` are as long as that says; `vectors` gives, by name, the types of the elements of an operand that is
written as a vector of them.

A value row returns its `Value` for one choice of modifiers, an effect row
(`effect=True`) is kept as `form.build` for the engine, which calls it as it
needs. Rows are parsed when their opcode is first asked for, and decoded
operations are kept by full name and operand shape: decoding is on the way of
every launch.

`affine` names integer algebra that the engine may do on exact values instead
of arrays: add sub mul mad neg not and or xor shl shr min max mov are the
operation itself in the type `m["type"]`; `wide` and `madwide` are mul.wide and
mad.wide, `cvt` goes from `m["atype"]` to `m["dtype"]`.

NaN. PTX gives the one NaN 0x7fffffff where x86 hands payloads on. Testing
every result would cost as much as the addition itself, so arithmetic leaves
its NaNs as they come and says so by `raw_nan`: whoever looks at the bits of
such a value (a store, a bit operation, a move into a `.b` register, a
shuffle) first calls `numerics.floating.canonical(array)`; arithmetic and
comparisons read it as it is.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from teenycuda_cli.emulator.opcodes.absent import ABSENT
from teenycuda_cli.emulator.opcodes.forms import (
    OTHER_KINDS,
    Evaluate,
    Expected,
    Form,
    Fragment,
    Modifiers,
    Operation,
    Unsupported,
    Value,
)
from teenycuda_cli.emulator.opcodes.patterns import Pattern, compile_form, operation_of, types_of
from teenycuda_cli.ptx.syntax import (
    Address,
    Arguments,
    Compound,
    Instruction,
    Minus,
    Negated,
    Operand,
    Pair,
    Selected,
    Vector,
)

__all__ = [
    "OTHER_KINDS",
    "Evaluate",
    "Expected",
    "Form",
    "Modifiers",
    "Operation",
    "Unsupported",
    "Value",
    "decode",
    "op",
    "operand_types",
    "spellings",
    "supported",
]

_SHAPES: dict[type, str] = {Address: "[", Pair: "|", Negated: "!", Arguments: "(", Compound: "c"}

_DETAILED = frozenset((Vector, Selected, Minus))
"""Operands of which more than the kind counts: how long, or which part."""


def _shape(operand: Operand) -> str:
    if type(operand) is Vector:
        return f"v{len(operand.elements)}"
    if type(operand) is Selected:
        return f".{operand.selector}"
    if type(operand) is Minus:
        return f"-{_shape(operand.operand).lstrip('r')}"
    return _SHAPES.get(type(operand), "r")


@dataclass(slots=True)
class Table:
    """Rows by opcode; the modules beside this one bring them in when first needed."""

    loaded: bool = False
    rows: dict[str, list[Form]] = field(default_factory=dict)
    patterns: dict[str, tuple[Pattern, ...]] = field(default_factory=dict)
    decoded: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Operation | Unsupported] = field(
        default_factory=dict
    )
    by_kinds: dict[tuple[str, tuple[str, ...], tuple[type, ...]], Operation | Unsupported] = field(
        default_factory=dict
    )

    def load(self) -> None:
        """Import every module of this package, whose rows then stand in the table."""
        if self.loaded:
            return
        package = importlib.import_module(__package__)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{__package__}.{module.name}")
        self.loaded = True

    def add(self, form: Form) -> None:
        """Append a row."""
        self.rows.setdefault(form.opcode, []).append(form)

    def compiled(self, opcode: str) -> tuple[Pattern, ...]:
        """The rows of an opcode, made ready for matching."""
        patterns = self.patterns.get(opcode)
        if patterns is None:
            patterns = self.patterns[opcode] = tuple(compile_form(form) for form in self.rows.get(opcode, ()))
        return patterns

    def decode(self, instruction: Instruction) -> Operation | Unsupported:
        """The operation that an instruction stands for, or why there is none."""
        kinds = tuple(map(type, instruction.operands))
        quick = (instruction.opcode, instruction.modifiers, kinds)
        found = self.by_kinds.get(quick)
        if found is not None:
            return found
        shapes = tuple([_shape(operand) for operand in instruction.operands])
        key = (instruction.opcode, instruction.modifiers, shapes)
        found = self.decoded.get(key)
        if found is None:
            self.load()
            found = self.decoded[key] = self._find(*key)
        if _DETAILED.isdisjoint(kinds):
            self.by_kinds[quick] = found
        return found

    def _find(
        self, opcode: str, modifiers: tuple[str, ...], shapes: tuple[str, ...]
    ) -> Operation | Unsupported:
        patterns = self.compiled(opcode)
        if not patterns:
            return Unsupported(ABSENT.get(opcode, f"the emulator has no instruction {opcode}"))
        named = []
        for pattern in patterns:
            bound = pattern.bind(modifiers)
            if bound is None:
                continue
            if pattern.fits(shapes):
                return operation_of(pattern, bound | pattern.select(shapes), len(shapes))
            named.append(pattern.form.syntax)
        name = ".".join((opcode, *modifiers))
        if named:
            return Unsupported(f"{name} does not take these operands; it is written {' or '.join(named)}")
        return Unsupported(f"the emulator has {opcode}, but not in the form {name}")


TABLE = Table()


def op(
    *lines: str,
    isa: str,
    types: str = "",
    where: Callable[[Modifiers], bool] | None = None,
    effect: bool = False,
    reads_carry: bool = False,
    vectors: Mapping[str, Fragment] | None = None,
    **alternatives: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function under one or several syntax lines (see the module's text)."""
    choices = {name: tuple(text.split()) for name, text in alternatives.items()}
    named = dict(pair.split(":") for pair in types.split())

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        for line in lines:
            opcode = re.split(r"[.{ ]", line, maxsplit=1)[0]
            kind = "effect" if effect else "value"
            TABLE.add(Form(line, opcode, isa, kind, build, choices, named, where, reads_carry, vectors or {}))
        return build

    return register


def decode(instruction: Instruction) -> Operation | Unsupported:
    """The operation that an instruction stands for, or why there is none."""
    return TABLE.decode(instruction)


def supported() -> Iterator[Form]:
    """Every row, by opcode, then in the order of registration."""
    TABLE.load()
    for opcode in sorted(TABLE.rows):
        yield from TABLE.rows[opcode]


def spellings(form: Form) -> Iterator[str]:
    """Every full instruction name that a row stands for: `add.rn.ftz.f32`."""
    for modifiers in compile_form(form).spell():
        yield ".".join((form.opcode, *modifiers))


def operand_types(form: Form, name: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each operand of one spelling of a row, the names in it and their types."""
    pattern = compile_form(form)
    bound = pattern.bind(tuple(name.split(".")[1:])) or {}
    for place in pattern.places:
        yield place.names, types_of(place, form, bound)
