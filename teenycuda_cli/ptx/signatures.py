"""Modules, functions, parameters and variables: what a file's headers tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from teenycuda_cli.ptx.statements import Initializer, Statement


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
