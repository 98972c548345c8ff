"""Initial values of variables."""

from __future__ import annotations

from teenycuda_cli.ptx.constants import parse_constant
from teenycuda_cli.ptx.layout import OPAQUE
from teenycuda_cli.ptx.syntax import Float, Initializer, Integer, SymbolAddress
from teenycuda_cli.ptx.tokens import Cursor

_ADDRESS_TYPES = ("u32", "u64")
_MASKED_TYPES = ("u8",)
_FLOAT_TYPES = ("f32", "f64")
_NO_VALUE = ("f16", "f16x2")


def parse_initializer(cursor: Cursor, type_name: str, extents: tuple[int | None, ...]) -> Initializer:
    """`= value` or `= {…}` for a type and the extents around it; what is left out is zero.

    Nesting as deep as it may be costs no recursion. Raises where braces and
    extents do not fit, or a value does not fit the type.
    """
    cursor.advance()
    if type_name in OPAQUE:
        return _opaque(cursor)
    if type_name in _NO_VALUE:
        raise cursor.error(f"a variable of type .{type_name} takes no initial value")
    stack: list[list[Initializer]] = []
    while True:
        if cursor.kind == "op" and cursor.value == "{":
            if len(stack) == len(extents):
                raise cursor.error("there are more braces than the variable has dimensions")
            stack.append([])
            cursor.advance()
            if cursor.value != "}":
                continue
        else:
            if len(stack) != len(extents):
                raise cursor.unexpected("`{`", hint="an array's initial value stands in braces")
            value = _value(cursor, type_name)
            if not stack:
                return value
            _add(cursor, stack, extents, value)
            if cursor.accept(","):
                continue
        whole = _close(cursor, stack, extents)
        if whole is not None:
            return whole


def _close(
    cursor: Cursor, stack: list[list[Initializer]], extents: tuple[int | None, ...]
) -> Initializer | None:
    """Close braces up to the next comma; the whole initialiser once none is open."""
    while True:
        if cursor.value != "}":
            raise cursor.unexpected("`,` or `}`")
        cursor.advance()
        value = tuple(stack.pop())
        if not stack:
            return value
        _add(cursor, stack, extents, value)
        if cursor.accept(","):
            return None


def _add(
    cursor: Cursor,
    stack: list[list[Initializer]],
    extents: tuple[int | None, ...],
    value: Initializer,
) -> None:
    most = extents[len(stack) - 1]
    if most is not None and len(stack[-1]) == most:
        raise cursor.error(f"there are more initial values than the {most} that fit")
    stack[-1].append(value)


def _opaque(cursor: Cursor) -> Initializer:
    """`{ addr_mode_0 = wrap, … }` of a sampler; kept out of the tree, as nothing reads it."""
    cursor.expect("{")
    while not (cursor.kind == "op" and cursor.value == "}"):
        cursor.name("a field of the initialiser")
        cursor.expect("=")
        if cursor.kind == "word":
            cursor.advance()
        else:
            parse_constant(cursor)
        if not cursor.accept(","):
            break
    cursor.expect("}")
    return ()


def _value(cursor: Cursor, type_name: str) -> Initializer:
    at = cursor.at
    value: Initializer
    if cursor.kind == "word" and cursor.value != "WARP_SZ":
        value = _symbol_address(cursor, None)
        fits = type_name in _ADDRESS_TYPES
    else:
        value = parse_constant(cursor)
        if isinstance(value, Integer) and cursor.kind == "op" and cursor.value == "(":
            cursor.advance()
            value = _symbol_address(cursor, value.value)
            cursor.expect(")")
            fits = type_name in _MASKED_TYPES
        elif isinstance(value, Integer):
            fits = type_name not in _FLOAT_TYPES
        else:
            fits = type_name[0] not in "us"
    if not fits:
        what = {Integer: "an integer", Float: "a floating-point value"}.get(type(value), "an address")
        raise cursor.error(f"the initial value is {what}, which does not fit type .{type_name}", at=at)
    return value


def _symbol_address(cursor: Cursor, mask: int | None) -> SymbolAddress:
    """`symbol`, `symbol+8` or `generic(symbol)+8`."""
    name = cursor.name("a symbol")
    generic = name == "generic" and cursor.kind == "op" and cursor.value == "("
    if generic:
        cursor.advance()
        name = cursor.name("a symbol")
        cursor.expect(")")
    addend = 0
    if cursor.kind == "op" and cursor.value == "+":
        at = cursor.at
        constant = parse_constant(cursor)
        if not isinstance(constant, Integer):
            raise cursor.error("expected an integer behind `+`", at=at)
        addend = constant.value
    return SymbolAddress(name, addend, generic, mask)
