"""Operands and statements of bodies: the part of the syntax tree that headers do without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from teenycuda_cli.ptx.signatures import Variable

# ---------------------------------------------------------------- operands


@dataclass(frozen=True, slots=True)
class Name:
    """A register, variable, parameter, label, function or special register (`%tid.x`), as written."""

    text: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant, after constant folding: a Python int, within −2⁶³ … 2⁶⁴−1."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A floating constant. `bits` are those of `0f…` (width 32) or `0d…` and decimal ones (width 64)."""

    bits: int
    width: int


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`; base None is an absolute address. `g[1]` and `g+4` as operands are Address too.

    `offset` is in bytes, also where it was written as an index.
    """

    base: Name | None
    offset: int


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, c}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`p|q`: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Negated:
    """`!p`."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Minus:
    """`-%r1`: a negated register, which few instructions take (`vmad`)."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Indexed:
    """`g[%r1]`: an array element at an index in a register; with a constant index it is an Address."""

    base: Name
    index: Operand


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: the result or argument is not wanted."""


@dataclass(frozen=True, slots=True)
class Component:
    """`%v.x`: one element of a vector register; index 0 to 3."""

    base: Name
    index: int


@dataclass(frozen=True, slots=True)
class Selected:
    """`%r1.b0`, `-%r1.h1`, `%r1.b7654`: bytes or halves of a register, in video instructions."""

    base: Name
    selector: str  # without the dot


@dataclass(frozen=True, slots=True)
class Arguments:
    """`(a, b)` of a call: return values or arguments."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Compound:
    """An address of several parts: `[tensor, {x, y}]`, `[tex, samp, {…}]`."""

    elements: tuple[Operand, ...]


Operand: TypeAlias = (
    Name
    | Integer
    | Float
    | Address
    | Vector
    | Pair
    | Negated
    | Minus
    | Indexed
    | Sink
    | Component
    | Selected
    | Arguments
    | Compound
)

# -------------------------------------------------------------- statements


class Instruction(NamedTuple):
    """`@!p ld.global.v4.f32 {…}, [a];`: opcode `ld`, modifiers `("global", "v4", "f32")`."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    offset: int
    end: int  # behind the semicolon
    predicate: str | None = None
    negated: bool = False  # @!p

    @property
    def name(self) -> str:
        """Opcode and modifiers joined by dots."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Label:
    """`name:`."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Register:
    """One declaration in a `.reg` statement; `count` is N of `%r<N>`, None for a plain name."""

    name: str
    type: str  # without the dot: "b32", "pred"
    vector: int  # 1, 2 or 4
    count: int | None
    offset: int


@dataclass(frozen=True, slots=True)
class Registers:
    """A `.reg` statement."""

    registers: tuple[Register, ...]


@dataclass(frozen=True, slots=True)
class SymbolAddress:
    """In an initialiser: `sym+addend`, `generic(sym)+addend`, `mask(sym)`."""

    name: str
    addend: int
    generic: bool
    mask: int | None  # 0xff… of mask(sym), None for the whole address


Initializer: TypeAlias = "Integer | Float | SymbolAddress | tuple[Initializer, ...]"


class Loc(NamedTuple):
    """`.loc file line column`, with `function_name L, inlined_at f l c` where given."""

    file: int
    line: int
    column: int
    offset: int
    inlined_at: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Pragma:
    """`.pragma "…"`."""

    strings: tuple[str, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class LabelTable:
    """`.branchtargets` or `.calltargets` under a label: `name: .branchtargets a, b;`."""

    name: str
    kind: str
    targets: tuple[str, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Prototype:
    """`name: .callprototype (ret) _ (params);`."""

    name: str
    returns: tuple[Variable, ...]
    params: tuple[Variable, ...]
    offset: int
    noreturn: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """`{ … }`: a scope of its own for registers, variables and labels."""

    statements: tuple[Statement, ...]
    offset: int


Statement: TypeAlias = (
    Instruction | Label | Registers | Variable | Loc | Pragma | LabelTable | Prototype | Block
)
