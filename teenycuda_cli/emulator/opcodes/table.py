"""The one table of instructions: syntax lines in, decoded operations out.

A row is a function under `@op`, and its syntax line is the PTX ISA's own:

    @op("add{.rnd}{.ftz}{.sat}.f32 d, a, b", rnd="rn rz rm rp", isa="floating-point-instructions-add")
    def add_f32(m: Modifiers) -> Value: ...

In the modifiers `.name` must stand there and `{.name}` may. A keyword gives
the alternatives of a name, otherwise it stands for itself. Operands are `a`
(a register or constant), `{!}c` (may be negated), `p|q`, `{a, b}` (a vector)
and `[a]` (an address); `{, c}` may be missing. Each operand has the type
`m["type"]` (of literal types the first) unless `types` says otherwise: `types="d:u32 c:wide"` names a PTX
type, a slot (`dtype`), `wide` or `half` (twice or half the width of `type`), or
`bits` (`b` and its width). Behind it, `+` lets wider registers stand there, `?` lets `_`, and `=` takes a
constant alone. What is no typed value is one of `OTHER_KINDS`. Operands of the type `type` in a row with
`{.vec}` are as long as that says.

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
import itertools
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.ptx.syntax import (
    Address,
    Arguments,
    Compound,
    Instruction,
    Negated,
    Operand,
    Pair,
    Vector,
)

Modifiers: TypeAlias = Mapping[str, str]
Evaluate: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Value:
    """How a value instruction computes, for one choice of modifiers; see `Operation` for the fields."""

    evaluate: Evaluate
    lane: str | None = None
    affine: str | None = None
    raw_nan: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A row of the table: one syntax line and what stands behind it."""

    syntax: str
    opcode: str
    isa: str
    kind: str  # "value" or "effect"
    build: Callable[..., Any]
    alternatives: Mapping[str, tuple[str, ...]]
    types: Mapping[str, str]
    where: Callable[[Modifiers], bool] | None
    reads_carry: bool


OTHER_KINDS = frozenset(("address", "label", "table", "function", "arguments", "pointer"))
"""What operands may be besides values of a type; a `pointer` is an integer of 32 or 64 bits."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What may stand at one place of an operation: elements of these types, or one of `OTHER_KINDS`."""

    types: tuple[str, ...]
    widths: tuple[int, ...]  # in bits
    is_destination: bool
    is_vector: bool  # several elements or `p|q`
    wider: bool  # registers may be wider than the type
    is_sink: bool  # `_` may stand there
    is_fixed: bool  # a constant alone may stand there


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction that the table knows, ready for the code generator."""

    form: Form
    modifiers: Modifiers
    destinations: tuple[str, ...]
    sources: tuple[str, ...]
    evaluate: Evaluate | None
    ufunc: np.ufunc | None
    lane: str | None
    affine: str | None
    reads_carry: bool
    writes_carry: bool
    raw_nan: bool
    expected: tuple[Expected, ...] = ()  # an operand each


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Why an instruction is not in the table."""

    reason: str


# ----------------------------------------------------------------- patterns

_TYPE = re.compile(r"pred|[bus]\d+(x2)?|b?f\d+(x2)?|tf32|e\dm\d(x2)?|ue8m0x2")
_WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64", "b16": "b32", "b32": "b64"}
_HALF = {"b32": "b16", "b64": "b32", "b16": "b8", "b128": "b64"}
_MARKS = "+?="
_SLOT = re.compile(r"\{\.([A-Za-z0-9_:]+)\}|\.([A-Za-z0-9_:]+)")
_OPERAND = re.compile(r"\[[^\]]*\]|\{!\}\w+|\{[^}!]*\}|\w+(?:\|\w+)?")


@dataclass(frozen=True, slots=True)
class Slot:
    """One place for a modifier."""

    name: str
    choices: frozenset[str]
    ordered: tuple[str, ...]
    optional: bool
    is_type: bool
    is_literal_type: bool  # it is what `type` means


@dataclass(frozen=True, slots=True)
class Place:
    """One operand of a syntax line: the names in it and the shapes that fit."""

    names: tuple[str, ...]
    shapes: frozenset[str] | None  # None: any


def _choose(slot: Slot, remaining: list[str]) -> str:
    """The modifier that a slot takes, or the empty string; a type slot takes the next type or nothing."""
    for text in remaining:
        if text in slot.choices:
            return text
        if slot.is_type and _TYPE.fullmatch(text):
            break
    return ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A form made ready for matching."""

    form: Form
    slots: tuple[Slot, ...]
    places: tuple[Place, ...]
    required: int

    def bind(self, modifiers: tuple[str, ...]) -> dict[str, str] | None:
        """Modifiers by slot name, or None where they do not fit.

        They may stand in any order, as ptxas has it; types keep theirs.
        """
        bound: dict[str, str] = {}
        remaining = list(modifiers)
        for slot in self.slots:
            text = _choose(slot, remaining)
            if text:
                remaining.remove(text)
                if slot.is_literal_type:
                    bound.setdefault("type", text)
            elif not slot.optional:
                return None
            bound[slot.name] = text
        if remaining or (self.form.where is not None and not self.form.where(bound)):
            return None
        return bound

    def fits(self, shapes: tuple[str, ...]) -> bool:
        """Whether operands of these shapes can stand here."""
        if not self.required <= len(shapes) <= len(self.places):
            return False
        return all(
            place.shapes is None or shape in place.shapes
            for place, shape in zip(self.places, shapes, strict=False)
        )

    def spell(self) -> Iterator[tuple[str, ...]]:
        """Every legal sequence of modifiers."""
        choices = [(("", *slot.ordered) if slot.optional else slot.ordered) for slot in self.slots]
        for combination in itertools.product(*choices):
            modifiers = tuple(text for text in combination if text)
            if self.bind(modifiers) is not None:
                yield modifiers


def _slots(text: str, alternatives: Mapping[str, tuple[str, ...]]) -> tuple[Slot, ...]:
    slots = []
    for optional, required in _SLOT.findall(text):
        name = optional or required
        ordered = alternatives.get(name, (name,))
        is_type = all(_TYPE.fullmatch(choice) for choice in ordered)
        literal = is_type and name not in alternatives
        slots.append(Slot(name, frozenset(ordered), ordered, bool(optional), is_type, literal))
    return tuple(slots)


def _place(text: str, form: Form) -> Place:
    names = tuple(re.findall(r"\w+", text))
    if form.kind == "effect":
        return Place(names, _effect_shapes(text, form))
    if text.startswith("{!}"):
        return Place(names, frozenset("r!"))
    if text.startswith("{"):
        return Place(names, frozenset((f"v{len(names)}",)))
    if "|" in text:
        return Place(names, frozenset("|"))
    return Place(names, frozenset("r[" if form.opcode == "mov" else "r"))


def _effect_shapes(text: str, form: Form) -> frozenset[str]:
    if text.startswith("["):
        return frozenset(("[", "c"))
    if text.startswith("{!}"):
        return frozenset("r!")
    if "|" in text:
        return frozenset("|")
    named = form.types.get(text, "type").rstrip(_MARKS)
    if named == "arguments":
        return frozenset("(")
    if "{.vec}" in form.syntax and named == "type":
        return frozenset(("r", "v1", "v2", "v4", "v8"))
    return frozenset("r[") if form.opcode == "cvta" else frozenset("r")


def _compile(form: Form) -> Pattern:
    head, _, tail = form.syntax.partition(" ")
    fixed, *optional = tail.replace("{,", "\0,").split("\0")
    places = [_place(text, form) for text in _OPERAND.findall(fixed)]
    required = len(places)
    for part in optional:
        places += [_place(text, form) for text in _OPERAND.findall(part.rstrip("} "))]
    return Pattern(form, _slots(head[len(form.opcode) :], form.alternatives), tuple(places), required)


def _type_of(name: str, form: Form, bound: Mapping[str, str]) -> str:
    base = bound.get("type", "")
    named = form.types.get(name, "type").rstrip(_MARKS)
    if named == "wide":
        return _WIDE[base]
    if named == "half":
        return _HALF[base]
    if named == "bits":
        return f"b{base[1:]}"
    if named == "type":
        return base
    return bound.get(named, named)


# -------------------------------------------------------------------- table

_SHAPES: dict[type, str] = {Address: "[", Pair: "|", Negated: "!", Arguments: "(", Compound: "c"}


def _shape(operand: Operand) -> str:
    if type(operand) is Vector:
        return f"v{len(operand.elements)}"
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
            patterns = self.patterns[opcode] = tuple(_compile(form) for form in self.rows.get(opcode, ()))
        return patterns

    def decode(self, instruction: Instruction) -> Operation | Unsupported:
        """The operation that an instruction stands for, or why there is none."""
        shapes = tuple([_shape(operand) for operand in instruction.operands])
        key = (instruction.opcode, instruction.modifiers, shapes)
        found = self.decoded.get(key)
        if found is None:
            self.load()
            found = self.decoded[key] = self._find(*key)
        return found

    def _find(
        self, opcode: str, modifiers: tuple[str, ...], shapes: tuple[str, ...]
    ) -> Operation | Unsupported:
        patterns = self.compiled(opcode)
        if not patterns:
            return Unsupported(f"the emulator has no instruction {opcode}")
        named = []
        for pattern in patterns:
            bound = pattern.bind(modifiers)
            if bound is None:
                continue
            if pattern.fits(shapes):
                return _operation(pattern, bound, len(shapes))
            named.append(pattern.form.syntax)
        name = ".".join((opcode, *modifiers))
        if named:
            return Unsupported(f"{name} does not take these operands; it is written {' or '.join(named)}")
        return Unsupported(f"the emulator has {opcode}, but not in the form {name}")


def _expected(
    place: Place, types: tuple[str, ...], form: Form, bound: Mapping[str, str], *, is_destination: bool
) -> Expected:
    if place.shapes is not None and "[" in place.shapes and form.kind == "effect" and form.opcode != "cvta":
        types = ("address",)
    named = form.types.get(place.names[0], "type")
    vector = bound.get("vec", "") if named.rstrip(_MARKS) == "type" else ""
    is_vector = bool(vector) or len(types) > 1
    wider = "+" in named or form.opcode == "cvt"
    types *= int(vector[1:] or 1)
    widths = tuple(0 if name in OTHER_KINDS else _width(name) for name in types)
    is_sink = is_vector or form.kind == "value" or "?" in named
    return Expected(types, widths, is_destination, is_vector, wider, is_sink, "=" in named)


def _width(name: str) -> int:
    return 1 if name == "pred" else 8 * dtype(name).itemsize


def _operation(pattern: Pattern, bound: dict[str, str], count: int) -> Operation:
    form = pattern.form
    places = pattern.places[:count]
    value = form.build(bound) if form.kind == "value" else None
    has_destination = form.kind == "value" or bool(places and places[0].names[0] in ("d", "p", "r"))
    groups = [tuple(_type_of(name, form, bound) for name in place.names) for place in places]
    destinations = groups[0] if has_destination else ()
    sources = tuple(itertools.chain.from_iterable(groups[1:] if has_destination else groups))
    expected = [
        _expected(place, group, form, bound, is_destination=has_destination and number == 0)
        for number, (place, group) in enumerate(zip(places, groups, strict=True))
    ]
    evaluate = value.evaluate if value else None
    return Operation(
        form=form,
        modifiers=bound,
        destinations=destinations,
        sources=sources,
        evaluate=evaluate,
        ufunc=evaluate if isinstance(evaluate, np.ufunc) else None,
        lane=value.lane if value else None,
        affine=value.affine if value else None,
        reads_carry=form.reads_carry,
        writes_carry=bool(bound.get("cc")),
        raw_nan=value.raw_nan if value else False,
        expected=tuple(expected),
    )


TABLE = Table()


def op(
    *lines: str,
    isa: str,
    types: str = "",
    where: Callable[[Modifiers], bool] | None = None,
    effect: bool = False,
    reads_carry: bool = False,
    **alternatives: str,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function under one or several syntax lines (see the module's text)."""
    choices = {name: tuple(text.split()) for name, text in alternatives.items()}
    named = dict(pair.split(":") for pair in types.split())

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        for line in lines:
            opcode = re.split(r"[.{ ]", line, maxsplit=1)[0]
            kind = "effect" if effect else "value"
            TABLE.add(Form(line, opcode, isa, kind, build, choices, named, where, reads_carry))
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
    for modifiers in _compile(form).spell():
        yield ".".join((form.opcode, *modifiers))


def operand_types(form: Form, name: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each operand of one spelling of a row, the names in it and their types."""
    pattern = _compile(form)
    bound = pattern.bind(tuple(name.split(".")[1:])) or {}
    for place in pattern.places:
        yield place.names, tuple(_type_of(part, form, bound) for part in place.names)
