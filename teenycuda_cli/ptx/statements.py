"""Operands and statements of bodies: the part of the syntax tree that headers do without."""

from __future__ import annotations

from typing import TypeAlias

from teenycuda_cli.ptx.signatures import Variable
from teenycuda_cli.records import record

# ---------------------------------------------------------------- operands


@record
class Name:
    """A register, variable, parameter, label, function or special register (`%tid.x`), as written."""

    text: str


@record
class Integer:
    """An integer constant, after constant folding: a Python int, within −2⁶³ … 2⁶⁴−1."""

    value: int


@record
class Float:
    """A floating constant. `bits` are those of `0f…` (width 32) or `0d…` and decimal ones (width 64)."""

    bits: int
    width: int


@record
class Address:
    """`[base+offset]`; base None is an absolute address. `g[1]` and `g+4` as operands are Address too.

    `offset` is in bytes, also where it was written as an index.
    """

    base: Name | None
    offset: int


@record
class Vector:
    """`{a, b, c}`."""

    elements: tuple[Operand, ...]


@record
class Pair:
    """`p|q`: two destinations."""

    first: Operand
    second: Operand


@record
class Negated:
    """`!p`."""

    operand: Operand


@record
class Minus:
    """`-%r1`: a negated register, which few instructions take (`vmad`)."""

    operand: Operand


@record
class Indexed:
    """`g[%r1]`: an array element at an index in a register; with a constant index it is an Address."""

    base: Name
    index: Operand


@record
class Sink:
    """`_`: the result or argument is not wanted."""


@record
class Component:
    """`%v.x`: one element of a vector register; index 0 to 3."""

    base: Name
    index: int


@record
class Selected:
    """`%r1.b0`, `-%r1.h1`, `%r1.b7654`: bytes or halves of a register, in video instructions."""

    base: Name
    selector: str  # without the dot


@record
class Arguments:
    """`(a, b)` of a call: return values or arguments."""

    elements: tuple[Operand, ...]


@record
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


@record
class Instruction:
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


@record
class Label:
    """`name:`."""

    name: str
    offset: int


@record
class Register:
    """One declaration in a `.reg` statement; `count` is N of `%r<N>`, None for a plain name."""

    name: str
    type: str  # without the dot: "b32", "pred"
    vector: int  # 1, 2 or 4
    count: int | None
    offset: int


@record
class Registers:
    """A `.reg` statement."""

    registers: tuple[Register, ...]


@record
class SymbolAddress:
    """In an initialiser: `sym+addend`, `generic(sym)+addend`, `mask(sym)`."""

    name: str
    addend: int
    generic: bool
    mask: int | None  # 0xff… of mask(sym), None for the whole address


Initializer: TypeAlias = "Integer | Float | SymbolAddress | tuple[Initializer, ...]"


@record
class Loc:
    """`.loc file line column`, with `function_name L, inlined_at f l c` where given."""

    file: int
    line: int
    column: int
    offset: int
    inlined_at: tuple[int, int, int] | None = None


@record
class Pragma:
    """`.pragma "…"`."""

    strings: tuple[str, ...]
    offset: int


@record
class LabelTable:
    """`.branchtargets` or `.calltargets` under a label: `name: .branchtargets a, b;`."""

    name: str
    kind: str
    targets: tuple[str, ...]
    offset: int


@record
class Prototype:
    """`name: .callprototype (ret) _ (params);`."""

    name: str
    returns: tuple[Variable, ...]
    params: tuple[Variable, ...]
    offset: int
    noreturn: bool = False


@record
class Block:
    """`{ … }`: a scope of its own for registers, variables and labels."""

    statements: tuple[Statement, ...]
    offset: int


Statement: TypeAlias = (
    Instruction | Label | Registers | Variable | Loc | Pragma | LabelTable | Prototype | Block
)
