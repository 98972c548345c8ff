"""What a PTX module is made of, as frozen data.

The parser builds these, everything else reads them. Offsets are byte offsets
into the source text (decoded as Latin-1, one character a byte), so that a
place in a message is found with `Source.position(offset)` only when it is
needed. Names are kept as written, with one exception: a number in a
parametrised register name is normalised (`%q01` is `%q1`).
"""

from __future__ import annotations

from teenycuda_cli.ptx.signatures import (
    Directives,
    Fault,
    FileEntry,
    Function,
    Module,
    Parameter,
    Pointer,
    Section,
    Variable,
)
from teenycuda_cli.ptx.statements import (
    Address,
    Arguments,
    Block,
    Component,
    Compound,
    Float,
    Indexed,
    Initializer,
    Instruction,
    Integer,
    Label,
    LabelTable,
    Loc,
    Minus,
    Name,
    Negated,
    Operand,
    Pair,
    Pragma,
    Prototype,
    Register,
    Registers,
    Selected,
    Sink,
    Statement,
    SymbolAddress,
    Vector,
)

__all__ = [
    "Address",
    "Arguments",
    "Block",
    "Component",
    "Compound",
    "Directives",
    "Fault",
    "FileEntry",
    "Float",
    "Function",
    "Indexed",
    "Initializer",
    "Instruction",
    "Integer",
    "Label",
    "LabelTable",
    "Loc",
    "Minus",
    "Module",
    "Name",
    "Negated",
    "Operand",
    "Pair",
    "Parameter",
    "Pointer",
    "Pragma",
    "Prototype",
    "Register",
    "Registers",
    "Section",
    "Selected",
    "Sink",
    "Statement",
    "SymbolAddress",
    "Variable",
    "Vector",
]
