"""Every value instruction of the opcode table as cases: one way of writing it, with operands."""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from teenycuda_cli.emulator.numerics.types import DTYPES
from teenycuda_cli.emulator.opcodes.patterns import OPERAND
from teenycuda_cli.emulator.opcodes.table import Form, Operation, Unsupported, decode, spellings, supported
from teenycuda_cli.ptx.syntax import (
    Instruction,
    Integer,
    Minus,
    Name,
    Negated,
    Operand,
    Pair,
    Selected,
    Vector,
)
from tests.hardware.inputs import Source

LUTS: tuple[int, ...] = (
    0x00,
    0x01,
    0x0F,
    0x17,
    0x1B,
    0x27,
    0x33,
    0x3C,
    0x55,
    0x5A,
    0x66,
    0x69,
    0x6A,
    0x78,
    0x7E,
    0x7F,
)
LUTS += (0x80, 0x8E, 0x96, 0x9C, 0xAA, 0xAC, 0xB8, 0xC0, 0xCA, 0xCC, 0xD8, 0xE8, 0xF0, 0xF8, 0xFE, 0xFF)
CONSTANTS: dict[tuple[str, int], tuple[int, ...]] = {("lop3", 3): LUTS}
"""Operands that must be constants, by opcode and index of the source, and what to try there."""

ROLES: dict[tuple[str, int], str] = {
    ("shl", 1): "amount",
    ("shr", 1): "amount",
    ("shf", 2): "amount",
    ("bfe", 1): "amount",
    ("bfe", 2): "amount",
    ("bfi", 2): "amount",
    ("bfi", 3): "amount",
    ("bmsk", 0): "amount",
    ("bmsk", 1): "amount",
    ("szext", 1): "amount",
    ("vshl", 1): "amount",
    ("vshr", 1): "amount",
    ("fns", 1): "place",
    ("fns", 2): "offset",
    ("sin", 0): "angle",
    ("cos", 0): "angle",
    ("ex2", 0): "power",
    ("tanh", 0): "power",
    ("lg2", 0): "unit",
    ("rcp", 0): "unit",
    ("rsqrt", 0): "unit",
    ("sqrt", 0): "unit",
}
"""Sources that ask for values of their own, see `inputs.ROLES`; the last ones for f32 alone."""

_SELECTABLE = re.compile(r"(-?\w+)\{\.(\w+)\}")
_RANGE = re.compile(r"\[(\d)-(\d)\]")


@dataclass(frozen=True)
class Case:
    """An instruction with its operands: `text` as it stands in the kernel, and how the emulator has it."""

    text: str  # "setp.lt.and.f32 d0|d1, a0, a1, !a2"
    form: Form
    operation: Operation
    sources: tuple[Source, ...]
    constants: tuple[tuple[int, int], ...]  # (index among the sources, value)
    negated: tuple[int, ...]

    @property
    def destinations(self) -> tuple[str, ...]:
        """PTX types of the results."""
        return self.operation.destinations

    @cached_property
    def read(self) -> tuple[Source, ...]:
        """What is read from memory: the sources that are no constants, then the carry."""
        fixed = dict(self.constants)
        found = [source for index, source in enumerate(self.sources) if index not in fixed]
        if self.operation.reads_carry:
            found.append(Source("pred", ""))
        return tuple(found)

    @property
    def approximate(self) -> bool:
        """Whether the ISA gives a bound on the error and no exact result."""
        return any(text in ("approx", "full") for text in self.operation.modifiers.values())


@dataclass(frozen=True, slots=True)
class Skipped:
    """A way of writing an instruction that cannot be tried, and why."""

    text: str
    reason: str


def cases() -> Iterator[Case | Skipped]:
    """A case for every spelling of every value form, with and without what may be missing."""
    seen = set()
    for form in supported():
        if form.kind != "value":
            continue
        for name in spellings(form):
            for case in _cases(form, name):
                if case.text not in seen:
                    seen.add(case.text)
                    yield case


def _cases(form: Form, name: str) -> Iterator[Case | Skipped]:
    tail = form.syntax.partition(" ")[2]
    fixed, *optional = tail.replace("{,", "\0,").split("\0")
    places = OPERAND.findall(fixed)
    yield from _written(form, name, places)
    for part in optional:
        places = [*places, *OPERAND.findall(part.rstrip("} "))]
        yield from _written(form, name, places)


def _written(form: Form, name: str, places: list[str]) -> Iterator[Case | Skipped]:
    """The cases of one list of operands: each constant, each operand negated and not."""
    negatable = [index for index, place in enumerate(places) if place.startswith("{!}")]
    constant_at = [index for (opcode, index) in CONSTANTS if opcode == form.opcode]
    choices = [CONSTANTS[form.opcode, index] for index in constant_at]
    for values in itertools.product(*choices):
        constants = tuple(zip(constant_at, values, strict=True))
        for flags in itertools.product((False, True), repeat=len(negatable)):
            negated = {index for index, flag in zip(negatable, flags, strict=True) if flag}
            for chosen in _selected(form, name, places):
                yield _case(form, name, chosen, constants, negated)


def _case(
    form: Form, name: str, places: list[str], constants: tuple[tuple[int, int], ...], negated: set[int]
) -> Case | Skipped:
    writer = _Writer(dict(constants))
    operands = [writer.operand(place, index == 0, index in negated) for index, place in enumerate(places)]
    text = f"{name} {', '.join(text for text, _ in operands)}"
    opcode, *modifiers = name.split(".")
    instruction = Instruction(opcode, tuple(modifiers), tuple(operand for _, operand in operands), 0, 0)
    operation = decode(instruction)
    if isinstance(operation, Unsupported):
        return Skipped(text, f"not decoded: {operation.reason}")
    missing = [kind for kind in (*operation.destinations, *operation.sources) if kind not in DTYPES]
    if missing:
        return Skipped(text, f"no array holds .{missing[0]}")
    sources = tuple(
        Source(_meant(name, kind), _role(form.opcode, index, kind))
        for index, kind in enumerate(operation.sources)
    )
    return Case(text, operation.form, operation, sources, constants, tuple(writer.negated))


def _selected(form: Form, name: str, places: list[str]) -> Iterator[list[str]]:
    """Places without the braces of `a{.asel}`: whole operands, and parts of them, others in each spelling."""
    yield [_SELECTABLE.sub(r"\1", place) for place in places]
    if any(map(_SELECTABLE.fullmatch, places)):
        yield [_part(form, name, place) for place in places]


def _part(form: Form, name: str, place: str) -> str:
    found = _SELECTABLE.fullmatch(place)
    if found is None:
        return place
    choices = ["", *itertools.chain.from_iterable(map(_expanded, form.alternatives[found[2]]))]
    choices = [choice for choice in choices if choice != ".b1024"]  # which ptxas takes for a type
    return found[1] + choices[zlib.crc32(f"{name} {place}".encode()) % len(choices)]


def _expanded(text: str) -> list[str]:
    """The selectors that an expression of digits' ranges stands for: `b[0-3]` for .b0 .b1 .b2 .b3."""
    ranges = [map(str, range(int(low), int(high) + 1)) for low, high in _RANGE.findall(text)]
    pieces = _RANGE.sub("\0", text).split("\0")
    return [
        "." + "".join(itertools.chain(*itertools.zip_longest(pieces, digits, fillvalue="")))
        for digits in itertools.product(*ranges)
    ]


def _meant(name: str, kind: str) -> str:
    """The type of a source that the emulator takes as bare bits: `cvt.f64.f32` reads an f32."""
    return "f32" if name.startswith("cvt.") and name.endswith(".f32") and kind == "b32" else kind


def _role(opcode: str, index: int, kind: str) -> str:
    role = ROLES.get((opcode, index), "")
    return "" if role in ("angle", "power", "unit") and kind != "f32" else role


class _Writer:
    """Names operands in order: destinations d0, d1, sources that are no constants a0, a1."""

    def __init__(self, constants: dict[int, int]) -> None:
        self._constants = constants
        self._destinations = 0
        self._sources = 0
        self._registers = 0
        self.negated: list[int] = []

    def operand(self, place: str, is_destination: bool, is_negated: bool) -> tuple[str, Operand]:
        """An operand as text and as syntax."""
        place, _, selector = place.partition(".")
        count = len(re.findall(r"\w+", place))
        names = [self._name(is_destination, is_negated) for _ in range(count)]
        texts = [text for text, _ in names]
        operands = tuple(operand for _, operand in names)
        if place.startswith("{!}"):
            return texts[0], operands[0]
        if place.startswith("{"):
            return f"{{{', '.join(texts)}}}", Vector(operands)
        if "|" in place:
            return "|".join(texts), Pair(operands[0], operands[1])
        text, operand = texts[0], operands[0]
        if selector:
            assert isinstance(operand, Name)
            text, operand = f"{text}.{selector}", Selected(operand, selector)
        return (f"-{text}", Minus(operand)) if place.startswith("-") else (text, operand)

    def _name(self, is_destination: bool, is_negated: bool) -> tuple[str, Operand]:
        if is_destination:
            name = f"d{self._destinations}"
            self._destinations += 1
            return name, Name(name)
        index = self._sources
        self._sources += 1
        if index in self._constants:
            return f"{self._constants[index]:#x}", Integer(self._constants[index])
        name = f"a{self._registers}"
        self._registers += 1
        if is_negated:
            self.negated.append(index)
            return f"!{name}", Negated(Name(name))
        return name, Name(name)
