"""Rows made ready for matching: a syntax line's slots for modifiers and places for operands."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.forms import OTHER_KINDS, Expected, Form, Operation

_TYPE = re.compile(r"pred|[bus]\d+(x2)?|b?f\d+(x2)?|tf32|e\dm\d(x2)?|ue8m0x2")
_LAYOUT = re.compile(r"row|col")
_SPACE = re.compile(r"global|shared(::cta|::cluster)?")
_ORDERED = (_TYPE, _LAYOUT, _SPACE)
"""Kinds of modifiers of which an instruction has several, told apart by their order."""
_WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64", "b16": "b32", "b32": "b64"}
_HALF = {"b32": "b16", "b64": "b32", "b16": "b8", "b128": "b64"}
_MARKS = "+?="
_VECTORS = frozenset(("r", *(f"v{length}" for length in range(1, 129))))
_PLAIN = frozenset(("r", "[", "v1"))  # also `variable+4` and `{a}`
_SPELLINGS = {", {": frozenset("c"), "[": frozenset("["), "{!}": frozenset("r!"), "|": frozenset("|")}
_SLOT = re.compile(r"\{\.([A-Za-z0-9_:]+)\}|\.([A-Za-z0-9_:]+)")
OPERAND = re.compile(r"\[[^\]]*\]|\{!\}\w+|-?\w+\{\.\w+\}|-\w+|\{[^}!]*\}|\w+(?:\|\w+)?")
"""One operand of a syntax line."""
_SELECTED = re.compile(r"(-?)(\w+)(?:\{\.(\w+)\})?")


@dataclass(frozen=True, slots=True)
class Slot:
    """One place for a modifier."""

    name: str
    choices: frozenset[str]
    ordered: tuple[str, ...]
    optional: bool
    kind: re.Pattern[str] | None  # of `_ORDERED`
    is_literal_type: bool  # it is what `type` means


@dataclass(frozen=True, slots=True)
class Place:
    """One operand of a syntax line: the names in it and the shapes that fit."""

    names: tuple[str, ...]
    shapes: frozenset[str] | None  # None: any
    selector: str = ""  # the name under which a selected part is bound
    selectors: re.Pattern[str] | None = None
    sign: str = ""  # what stands before it

    def takes(self, shape: str) -> bool:
        """Whether an operand of this shape can stand here."""
        if self.shapes is None or shape in self.shapes:
            return True
        sign, dot, selected = shape.partition(".")
        return bool(dot and sign == self.sign and self.selectors and self.selectors.fullmatch(selected))


def _choose(slot: Slot, remaining: list[str]) -> str:
    """The modifier that a slot takes, or the empty string; one for types takes the next type or nothing."""
    for text in remaining:
        if text in slot.choices:
            return text
        if slot.kind is not None and slot.kind.fullmatch(text):
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

        They may stand in any order, as ptxas has it; types, layouts and spaces keep theirs.
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
        return all(place.takes(shape) for place, shape in zip(self.places, shapes, strict=False))

    def select(self, shapes: tuple[str, ...]) -> dict[str, str]:
        """The parts of operands that instructions select, by the selectors' names."""
        places = zip(self.places, shapes, strict=False)
        return {place.selector: shape.partition(".")[2] for place, shape in places if place.selector}

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
        kinds = (kind for kind in _ORDERED if all(map(kind.fullmatch, ordered)))
        kind = next(kinds, None)
        literal = kind is _TYPE and name not in alternatives
        slots.append(Slot(name, frozenset(ordered), ordered, bool(optional), kind, literal))
    return tuple(slots)


def _place(text: str, form: Form) -> Place:
    names = tuple(re.findall(r"\w+", text))
    if form.kind == "effect":
        return Place(names, _effect_shapes(text, form))
    if text.startswith("{!}"):
        return Place(names, frozenset("r!"))
    if "{." in text or text.startswith("-"):
        return _selected(text, form)
    if text.startswith("{"):
        return Place(names, frozenset((f"v{len(names)}",)))
    if "|" in text:
        return Place(names, frozenset("|"))
    return Place(names, _PLAIN)


def _selected(text: str, form: Form) -> Place:
    """A register with a part selected, as `a{.asel}`, and a minus before it, as `-c`."""
    found = _SELECTED.fullmatch(text)
    assert found is not None, text
    sign, name, selector = found.group(1), found.group(2), found.group(3) or ""
    selectors = re.compile("|".join(form.alternatives[selector])) if selector else None
    return Place((name,), frozenset((sign or "r",)), selector, selectors, sign)


def _effect_shapes(text: str, form: Form) -> frozenset[str]:
    for spelling, shapes in _SPELLINGS.items():
        if spelling in text:
            return shapes
    if text.startswith("{"):
        return frozenset((f"v{text.count(',') + 1}",))
    named = form.types.get(text, "type").rstrip(_MARKS)
    if named == "arguments":
        return frozenset("(")
    if text in form.vectors:
        return _VECTORS
    if "vec" in form.alternatives and named == "type":
        return frozenset(("r", "[", "v1", "v2", "v4", "v8"))
    return frozenset("r[")


def compile_form(form: Form) -> Pattern:
    """A row's syntax line, read once."""
    head, _, tail = form.syntax.partition(" ")
    fixed, *optional = tail.replace("{,", "\0,").split("\0")
    places = [_place(text, form) for text in OPERAND.findall(fixed)]
    required = len(places)
    for part in optional:
        places += [_place(text, form) for text in OPERAND.findall(part.rstrip("} "))]
    return Pattern(form, _slots(head[len(form.opcode) :], form.alternatives), tuple(places), required)


def type_of(name: str, form: Form, bound: Mapping[str, str]) -> str:
    """The PTX type, or the kind, of the operand of that name, for one choice of modifiers."""
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


def types_of(place: Place, form: Form, bound: Mapping[str, str]) -> tuple[str, ...]:
    """The types of an operand's elements, for one choice of modifiers."""
    fragment = form.vectors.get(place.names[0])
    if fragment is not None:
        return fragment(bound)
    return tuple([type_of(name, form, bound) for name in place.names])


def _expected(
    place: Place, types: tuple[str, ...], form: Form, bound: Mapping[str, str], *, is_destination: bool
) -> Expected:
    if place.shapes == _SPELLINGS["["]:
        types = ("address",)
    elif place.shapes == _SPELLINGS[", {"]:
        types = ("tensor",)
    named = form.types.get(place.names[0], "type")
    vector = bound.get("vec", "") if named.rstrip(_MARKS) == "type" else ""
    is_vector = bool(vector) or len(types) > 1
    wider = "+" in named or form.opcode == "cvt"
    types *= int(vector[1:] or 1)
    widths = tuple(0 if name in OTHER_KINDS else _width(name) for name in types)
    in_vector = is_vector or place.names[0] in form.vectors
    is_sink = in_vector or form.kind == "value" or "?" in named
    return Expected(types, widths, is_destination, is_vector, wider, is_sink, "=" in named)


def _width(name: str) -> int:
    return 1 if name == "pred" else 8 * dtype(name).itemsize


def operation_of(pattern: Pattern, bound: dict[str, str], count: int) -> Operation:
    """What a row makes of one choice of modifiers and so many operands."""
    form = pattern.form
    places = pattern.places[:count]
    value = form.build(bound) if form.kind == "value" else None
    has_destination = form.kind == "value" or bool(places and places[0].names[0] in ("d", "p", "r"))
    groups = [types_of(place, form, bound) for place in places]
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
