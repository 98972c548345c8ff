"""Declarations: variables with their initialisers, registers, parameters."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from teenycuda_cli.ptx.layout import INSTRUCTION_TYPES, SIZES, product
from teenycuda_cli.ptx.literals import WARP_SIZE, integer_value
from teenycuda_cli.ptx.signatures import Pointer, Variable
from teenycuda_cli.ptx.tokens import WORD, Cursor

if TYPE_CHECKING:
    from teenycuda_cli.ptx.statements import Initializer

SPACES = frozenset((".global", ".const", ".shared", ".local", ".param", ".reg", ".tex"))
VARIABLE_SPACES = SPACES - {".reg"}
VECTORS = {".v2": 2, ".v4": 4}
LINKAGES = {".visible": "visible", ".extern": "extern", ".weak": "weak", ".common": "common"}
POINTER_SPACES = frozenset((".global", ".const", ".shared", ".local"))
INITIALIZED_SPACES = ("global", "const")
# `.param .u64 .ptr .global .align 1 name` and `.param .align 8 .b8 name[16]`, as compilers write them.
_USUAL = re.compile(
    r"[ \t\r\n]*+(\.param[ \t]++(?:\.align[ \t]++[0-9]++[ \t]++)?+\.[a-z][0-9a-z]*+"
    r"(?:[ \t]++\.ptr(?:[ \t]++\.[a-z]++(?<!\.align))?+(?:[ \t]++\.align[ \t]++[0-9]++)?+)?+)"
    rf"[ \t]++({WORD})(?:\[([1-9][0-9]{{0,8}})\])?+[ \t\r\n]*+([,)])"
)
LARGEST_FAMILY = 1 << 16  # variables that one `name<N>` may declare


class Declared(NamedTuple):
    """What stands in front of the names of a declaration."""

    space: str
    type: str
    vector: int
    align: int | None
    linkage: str
    managed: bool
    pointer: Pointer | None = None


def plain_integer(cursor: Cursor, expected: str, bits: int = 64) -> int:
    """An integer literal where PTX takes no expression, of at most so many bits."""
    if cursor.kind != "int":
        raise cursor.unexpected(expected)
    value = integer_value(cursor.value)
    if value >= 1 << bits:
        raise cursor.error(f"this number does not fit into {bits} bits")
    cursor.advance()
    return value


def alignment(cursor: Cursor) -> int:
    """The number behind `.align`, a power of two."""
    at = cursor.at
    value = plain_integer(cursor, "an alignment", bits=32)
    if value <= 0 or value & (value - 1):
        raise cursor.error(f"an alignment must be a power of two, got {value}", at=at)
    return value


def attributes(cursor: Cursor) -> tuple[str, ...]:
    """`.attribute(.managed, .unified(1, 2))` at the cursor: the attributes' names."""
    cursor.advance()
    cursor.expect("(")
    names = []
    while True:
        names.append(cursor.take("dot", "an attribute")[1:])
        if cursor.kind == "op" and cursor.accept("("):
            plain_integer(cursor, "a number")
            while cursor.accept(","):
                plain_integer(cursor, "a number")
            cursor.expect(")")
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(names)


def parse_variables(cursor: Cursor, linkage: str, managed: bool = False) -> tuple[Variable, ...]:
    """A variable declaration from its state space to the semicolon, included."""
    declared = parse_declared(cursor, linkage, managed)
    variables: list[Variable] = []
    while True:
        variables.extend(_declarator(cursor, declared))
        if not cursor.accept(","):
            break
    cursor.expect(";")
    return tuple(variables)


def parse_declared(cursor: Cursor, linkage: str, managed: bool, *, is_parameter: bool = False) -> Declared:
    """`.space {.attribute(…)} {.align N} {.vN} .type`, and of a parameter `.align` or `.ptr` behind it."""
    space = cursor.value[1:]
    cursor.advance()
    align, vector = None, 1
    while cursor.value in (".align", ".attribute"):
        if cursor.value == ".attribute":
            managed = "managed" in attributes(cursor) or managed
        else:
            cursor.advance()
            align = alignment(cursor)
    if cursor.value in VECTORS:
        vector = VECTORS[cursor.value]
        cursor.advance()
    type_name = _type(cursor, space)
    pointer = None
    if is_parameter and cursor.value == ".align":
        cursor.advance()
        align = alignment(cursor)
    elif is_parameter and cursor.value == ".ptr":
        pointer = _pointer(cursor)
    return Declared(space, type_name, vector, align, linkage, managed, pointer)


def _type(cursor: Cursor, space: str) -> str:
    """A fundamental or opaque type, of those that a declaration may have."""
    name = cursor.value[1:]
    if cursor.kind == "dot" and (name in SIZES or (name == "pred" and space == "reg")):
        cursor.advance()
        return name
    if name == "pred":
        raise cursor.error("`.pred` lives in registers only", hint="pass a flag as .u8")
    if cursor.kind == "dot" and name in INSTRUCTION_TYPES:
        wide = {4: "b8", 2: "b16"}.get(2 if name == "bf16" else 4 if "x" not in name else 2, "b32")
        raise cursor.error(
            f"`.{name}` is a type of instructions, not of declarations",
            hint=f"declare the bits, for example .{'b16' if name == 'bf16' else wide}",
        )
    raise cursor.unexpected("a type such as `.b32`")


def _pointer(cursor: Cursor) -> Pointer:
    cursor.advance()
    space, align = "generic", 1
    if cursor.value in POINTER_SPACES:
        space = cursor.value[1:]
        cursor.advance()
    if cursor.value == ".align":
        cursor.advance()
        align = alignment(cursor)
    if cursor.kind == "dot":
        hint = ".ptr takes the space first, then .align" if cursor.value in POINTER_SPACES else None
        raise cursor.unexpected("the parameter's name", hint=hint)
    return Pointer(space, align)


def _declarator(cursor: Cursor, declared: Declared) -> list[Variable]:
    """One name with its shape and initialiser, or the N names of `name<N>`."""
    at = cursor.at
    name = cursor.name("a variable's name")
    if cursor.kind == "op" and cursor.value == "<":
        count = parse_family(cursor)
        if count > LARGEST_FAMILY:
            raise cursor.error(f"`{name}<{count}>` declares too many variables", at=at)
        variable = _variable(declared, name, (), None, at)
        return [replace(variable, name=f"{name}{index}") for index in range(count)]
    shape = _shape(cursor)
    initializer: Initializer | None = None
    if cursor.kind == "op" and cursor.value == "=":
        from teenycuda_cli.ptx.initializers import parse_initializer  # noqa: PLC0415  (few headers need it)

        if declared.linkage == "extern" or declared.space not in INITIALIZED_SPACES:
            what = "an .extern variable" if declared.linkage == "extern" else f"a .{declared.space} variable"
            raise cursor.error(f"`{name}` is {what}, which takes no initial value")
        extents = shape if declared.vector == 1 else (*shape, declared.vector)
        initializer = parse_initializer(cursor, declared.type, extents)
        if shape and shape[0] is None and isinstance(initializer, tuple):
            shape = (len(initializer), *shape[1:])
    if shape and shape[0] is None and declared.linkage != "extern":
        raise cursor.error(f"`{name}` is an array of no known size", at=at, hint="give its extent")
    return [_variable(declared, name, shape, initializer, at)]


def _variable(
    declared: Declared,
    name: str,
    shape: tuple[int | None, ...],
    initializer: Initializer | None,
    at: int,
) -> Variable:
    element = SIZES.get(declared.type, 1) * declared.vector  # a predicate register counts as a byte
    elements = product(shape)
    return Variable(
        name,
        declared.space,
        declared.type,
        declared.vector,
        declared.align or element,
        shape,
        None if elements is None else elements * element,
        declared.linkage,
        declared.managed,
        initializer,
        at,
        declared.pointer,
    )


def parse_family(cursor: Cursor) -> int:
    """N of `<N>`."""
    cursor.advance()
    count = plain_integer(cursor, "a number of names", bits=32)
    cursor.expect(">")
    return count


def _shape(cursor: Cursor, most: int = 1 << 30, bits: int = 64) -> tuple[int | None, ...]:
    """`[4][2]`; an empty or zero first extent is open."""
    shape: list[int | None] = []
    while cursor.kind == "op" and cursor.value == "[" and len(shape) < most:
        cursor.advance()
        if cursor.value == "]" and not shape:
            shape.append(None)
        else:
            at = cursor.at
            is_warp = cursor.accept("WARP_SZ")
            extent = WARP_SIZE if is_warp else plain_integer(cursor, "an extent", bits)
            if not extent and shape:
                raise cursor.error("an extent must be positive", at=at)
            shape.append(extent or None)
        cursor.expect("]")
    return tuple(shape)


def parse_parameters(
    cursor: Cursor,
    *,
    of_entry: bool = False,
    prototype: bool = False,
    known: dict[str, Declared] | None = None,
) -> tuple[Variable, ...]:
    """`(.param .u64 a, .reg .b32 b)`, parentheses included; a prototype may have `_` for names.

    `known` keeps what declarations mean by their text, from one list to the next.
    """
    cursor.expect("(")
    found: list[Variable] = []
    names: set[str] = set()
    if known is not None and _usual_parameters(cursor, known, found, names):
        return tuple(found)
    while not (cursor.value == ")" and not found):
        variable = _parameter(cursor, of_entry, prototype)
        _add_parameter(cursor, variable, found, names)
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(found)


def _add_parameter(cursor: Cursor, variable: Variable, found: list[Variable], names: set[str]) -> None:
    if variable.name in names:
        raise cursor.error(f"there is a parameter `{variable.name}` already", at=variable.offset)
    if variable.name != "_":
        names.add(variable.name)
    found.append(variable)


def _usual_parameters(
    cursor: Cursor, known: dict[str, Declared], found: list[Variable], names: set[str]
) -> bool:
    """Take an entry's parameters as long as they are written as compilers do; whether those were all."""
    position = cursor.at
    while match := _USUAL.match(cursor.text, position):
        text, name, extent, separator = match.groups()
        declared = known.get(text)
        if declared is None:
            at = Cursor(cursor.source, match.start(1))
            declared = parse_declared(at, "none", False, is_parameter=True)
            if declared.type == "f16x2":
                break
            known[text] = declared
        shape = (int(extent),) if extent else ()
        _add_parameter(cursor, _variable(declared, name, shape, None, match.start(2)), found, names)
        position = match.end()
        if separator == ")":
            cursor.jump(position)
            return True
    cursor.jump(position)
    return False


def _parameter(cursor: Cursor, of_entry: bool, prototype: bool) -> Variable:
    if cursor.value not in (".param", ".reg") or (of_entry and cursor.value == ".reg"):
        raise cursor.unexpected("`.param`" if of_entry else "`.param` or `.reg`")
    type_at = cursor.end
    declared = parse_declared(cursor, "none", False, is_parameter=True)
    at = cursor.at
    unnamed = prototype and cursor.kind == "op" and cursor.accept("_")
    name = "_" if unnamed else cursor.name("the parameter's name")
    shape = _shape(cursor, most=1, bits=32)
    if declared.pointer and not of_entry:
        raise cursor.error("`.ptr` is for parameters of entries", at=type_at)
    if declared.space == "param" and (declared.type == "f16x2" or (declared.vector > 1 and not shape)):
        hint = "pass the bits, for example as .b32 or an array of .b8"
        raise cursor.error(f"`{name}` has a type that no .param can have", at=at, hint=hint)
    if of_entry and None in shape:
        raise cursor.error(f"the parameter `{name}` is an array of no known size", at=at)
    return _variable(declared, name, shape, None, at)
