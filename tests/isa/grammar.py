"""How instructions are written down for the sweep: rows of modifiers and operands, spread into forms."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_SLOT = re.compile(r"\{\.([a-z0-9_]+)\}|\.([A-Za-z0-9_:]+)")
_OPERAND = re.compile(r"\$(%?[\w.]+(?:\+\d)?)|(?<![\w$%.])([a-z]\w*)([+-](?![\d-]))?")
_WIDE = {"8": "16", "16": "32", "32": "64", "64": "128"}
_NARROW = {wide: narrow for narrow, wide in _WIDE.items()}
_LETTERS = {1: "%p", 8: "%h", 16: "%h", 32: "%r", 64: "%l", 128: "%q"}
_PACKED = {"f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "f32x2": 64, "tf32": 32, "bf16": 16}
_SMALL = {"e4m3x2": 16, "e5m2x2": 16, "e2m1x2": 8, "e2m3x2": 16, "e3m2x2": 16, "ue8m0x2": 16, "pred": 1}
_SMALL |= {"u8x4": 32, "s8x4": 32, "e4m3x4": 32, "e5m2x4": 32}


@dataclass(frozen=True, slots=True)
class Row:
    """Some opcodes with the same slots for modifiers and the same operands."""

    opcodes: tuple[str, ...]
    modifiers: str
    operands: tuple[str, ...]
    choices: dict[str, tuple[str, ...]]

    def forms(self) -> Iterator[str]:
        """Every instruction that the row stands for: `add.rn.f32 %f1, %f2, %f3`."""
        slots = []
        for optional, required in _SLOT.findall(self.modifiers):
            name = optional or required
            some = self.choices.get(name, (name,))
            slots.append([(name, text) for text in (("", *some) if optional else some)])
        for opcode, taken in itertools.product(self.opcodes, itertools.product(*slots)):
            bound = dict(taken)
            name = ".".join((opcode, *(text for _, text in taken if text)))
            for operands in self.operands:
                yield f"{name} {_written(operands, bound)}".rstrip()


def row(opcodes: str, modifiers: str, *operands: str, **choices: str) -> Row:
    """A row.

    In `modifiers`, `.name` stands there and `{.name}` may; a keyword gives the
    alternatives of a name, each of which may be several modifiers
    (`relaxed.gpu`). In `operands`, a type or the name of a slot stands for a
    register of that type (`type+` and `type-`: twice and half as wide),
    `$name` for a name, the rest for itself.
    """
    return Row(
        tuple(opcodes.split()),
        modifiers,
        operands or ("",),
        {name: tuple(text.split()) for name, text in choices.items()},
    )


def _written(operands: str, bound: dict[str, str]) -> str:
    numbers = itertools.count(1)

    def register(found: re.Match[str]) -> str:
        name, kind, scale = found.groups()
        if name:
            return name
        return f"{_letter(bound.get(kind, kind), scale)}{next(numbers)}"

    return _OPERAND.sub(register, operands)


def _letter(kind: str, scale: str | None) -> str:
    size = _PACKED.get(kind) or _SMALL.get(kind)
    if size is None:
        digits = re.sub(r"\D", "", kind) or "32"
        if scale:
            digits = (_WIDE if scale == "+" else _NARROW).get(digits, digits)
        if kind[0] == "f" and digits in ("32", "64"):
            return "%f" if digits == "32" else "%d"
        size = int(digits) if int(digits) in _LETTERS else 32
    return _LETTERS[size]


HEADER = """\
.version 9.0
.target {target}
.address_size 64
.global .align 16 .b8 global_array[256];
.const .align 16 .b8 constant_array[256];
.shared .align 16 .b8 shared_array[256];
.func (.reg .b32 %result) called (.reg .b32 %argument) {{ mov.b32 %result, %argument; ret; }}
.visible .func plain () {{ ret; }}
.visible .entry k(.param .b64 parameter) {{
.reg .pred %p<40>; .reg .b16 %h<40>; .reg .b32 %r<40>; .reg .f32 %f<40>;
.reg .f64 %d<40>; .reg .b64 %l<40>; .reg .b128 %q<40>;
.local .align 16 .b8 local_array[256];
PROTOTYPE: .callprototype (.param .b32 _) _ (.param .b32 _);
TABLE: .branchtargets LABEL, OTHER;
"""
FOOTER = "LABEL: OTHER: ret;\n}\n"
"""What stands around forms to make them a module."""


def module(forms: list[str], target: str = "sm_89") -> str:
    """The forms as the body of a kernel, the first on line `first_line()`."""
    return HEADER.format(target=target) + "".join(f"{form};\n" for form in forms) + FOOTER


def first_line() -> int:
    """The line on which the first form of a module stands."""
    return HEADER.count("\n") + 1
