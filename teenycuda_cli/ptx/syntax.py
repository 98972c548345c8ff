"""What a PTX module is made of, as frozen data.

The parser builds these, everything else reads them. Offsets are byte offsets
into the source text (decoded as Latin-1, one character a byte), so that a
place in a message is found with `Source.position(offset)` only when it is
needed. Names are kept as written, with one exception: a number in a
parametrised register name is normalised (`%q01` is `%q1`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in `.global`, `.const`, `.shared`, `.local`, `.param`, `.tex` … space.

    `shape` is () for a scalar; an extent left open (`[]`) is None unless the
    initialiser tells it. `size` is in bytes, None where it is not known
    (`.extern .shared a[]`).
    """

    name: str
    space: str
    type: str
    vector: int
    align: int  # as declared, else natural
    shape: tuple[int | None, ...]
    size: int | None
    linkage: str  # "none", "visible", "extern", "weak", "common"
    managed: bool
    initializer: Initializer | None
    offset: int
    pointer: Pointer | None = None


@dataclass(frozen=True, slots=True)
class Pointer:
    """`.ptr{.space}{.align N}` of a parameter; space "generic" where none is given."""

    space: str
    align: int


@dataclass(frozen=True, slots=True)
class Loc:
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

# ------------------------------------------------------------------ module


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an entry, with its place in the parameter space.

    `size`, `align` and `offset` are bytes, in `cuFuncGetParamInfo`'s sense.
    """

    index: int
    name: str
    type: str  # as declared: "u64", "b8"
    size: int
    align: int
    offset: int
    pointer: Pointer | None
    text_offset: int
    array: bool = False


@dataclass(frozen=True, slots=True)
class Directives:
    """Performance directives of an entry or function; triples where PTX has up to three numbers."""

    reqntid: tuple[int, ...] | None = None
    maxntid: tuple[int, ...] | None = None
    minnctapersm: int | None = None
    maxnreg: int | None = None
    reqnctapercluster: tuple[int, ...] | None = None
    explicitcluster: bool = False
    maxclusterrank: int | None = None
    blocksareclusters: bool = False
    noreturn: bool = False
    pragmas: tuple[str, ...] = ()
    other: tuple[tuple[str, tuple[str, ...]], ...] = ()  # directives newer than this parser


@dataclass(frozen=True, slots=True)
class Function:
    """An `.entry` (is_entry) or `.func`; `body` is None for a declaration, or where bodies were skipped.

    `defined` says whether the text has a body, `body_span` where (offsets of
    the braces, both included).
    """

    name: str
    is_entry: bool
    linkage: str  # "none", "visible", "extern", "weak"
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    directives: Directives
    offset: int
    defined: bool
    body_span: tuple[int, int] | None
    body: tuple[Statement, ...] | None
    parameters: tuple[Parameter, ...] = ()  # of an entry: the launch layout


@dataclass(frozen=True, slots=True)
class Section:
    """A `.section name { … }` by its name and span."""

    name: str
    offset: int
    end: int


@dataclass(frozen=True, slots=True)
class FileEntry:
    """`.file index "name"`."""

    index: int
    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that ptxas refuses and a reader can live with, found by a tolerant parse."""

    offset: int
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """A whole PTX module. `functions` hold entries too, in order; a forward declaration is merged."""

    version: tuple[int, int]
    version_text: str  # "8.7"
    target: tuple[str, ...]
    address_size: int
    functions: tuple[Function, ...]
    variables: tuple[Variable, ...]
    files: tuple[FileEntry, ...]
    sections: tuple[Section, ...]
    aliases: tuple[tuple[str, str], ...]
    pragmas: tuple[str, ...]
    loc_count: int
    comments: tuple[tuple[int, str], ...] = field(
        default=(), repr=False
    )  # (offset, text) of metadata comments
    faults: tuple[Fault, ...] = ()  # of a tolerant parse

    @property
    def entries(self) -> tuple[Function, ...]:
        """The kernels, in order."""
        return tuple(function for function in self.functions if function.is_entry)
