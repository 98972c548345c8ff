"""Operands of instructions: registers, constants, addresses, vectors, calls' argument lists."""

from __future__ import annotations

import re
from collections.abc import Callable

from teenycuda_cli.ptx.constants import parse_constant, parse_integer, starts_constant
from teenycuda_cli.ptx.syntax import (
    Address,
    Arguments,
    Component,
    Compound,
    Indexed,
    Integer,
    Minus,
    Name,
    Negated,
    Operand,
    Pair,
    Selected,
    Sink,
    Vector,
)
from teenycuda_cli.ptx.tokens import Cursor

COMPONENTS = {".x": 0, ".y": 1, ".z": 2, ".w": 3, ".r": 0, ".g": 1, ".b": 2, ".a": 3}
# Special registers with components: `%tid.x` is one name.
VECTOR_SPECIALS = frozenset(
    (
        "%tid",
        "%ntid",
        "%ctaid",
        "%nctaid",
        "%clusterid",
        "%nclusterid",
        "%cluster_ctaid",
        "%cluster_nctaid",
    )
)
_SELECTOR = re.compile(r"\.[bh][0-7]{1,4}")
_LEADING_ZERO = re.compile(r"(.*?[^0-9])0+([0-9]+)\Z", re.DOTALL)


class OperandReader:
    """Reads operands at a cursor, knowing the names around them.

    `element_size` tells the bytes of an array's element (None: no array);
    `is_numbered(name, prefix)` whether a name is one of a `prefix<N>` in scope.
    """

    def __init__(
        self,
        element_size: Callable[[str], int | None],
        is_numbered: Callable[[str, str], bool],
    ) -> None:
        """Keep the two look-ups."""
        self.element_size = element_size
        self.is_numbered = is_numbered

    def operands(self, cursor: Cursor) -> tuple[Operand, ...]:
        """Operands with commas between, up to the semicolon, which is left."""
        if cursor.kind == "op" and cursor.value == ";":
            return ()
        found = [self.operand(cursor)]
        while cursor.kind == "op" and cursor.value == ",":
            cursor.advance()
            found.append(self.operand(cursor))
        return tuple(found)

    def call_operands(self, cursor: Cursor) -> tuple[Operand, ...]:
        """The operands of `call`: `(returns), target, (arguments), prototype`."""
        found: list[Operand] = []
        if cursor.kind == "op" and cursor.value == "(":
            found.append(self._arguments(cursor))
            cursor.expect(",")
        found.append(self.name(cursor.name("a function or a register")))
        if cursor.kind == "op" and cursor.accept(","):
            if cursor.kind == "op" and cursor.value == "(":
                found.append(self._arguments(cursor))
                if not (cursor.kind == "op" and cursor.accept(",")):
                    return tuple(found)
            found.append(self.name(cursor.name("a prototype or a table of targets")))
        return tuple(found)

    def _arguments(self, cursor: Cursor) -> Arguments:
        cursor.advance()
        found: list[Operand] = []
        while not (cursor.kind == "op" and cursor.value == ")" and not found):
            found.append(self._argument(cursor))
            if not (cursor.kind == "op" and cursor.accept(",")):
                break
        cursor.expect(")")
        return Arguments(tuple(found))

    def _argument(self, cursor: Cursor) -> Operand:
        if starts_constant(cursor):
            return parse_constant(cursor)
        if cursor.kind == "op" and cursor.accept("_"):
            return Sink()
        return self.name(cursor.name("an argument"))

    def operand(self, cursor: Cursor) -> Operand:
        """One operand, with `|` and a second destination where there is one."""
        first = self._single(cursor)
        if cursor.kind == "op" and cursor.value == "|" and not isinstance(first, Integer):
            cursor.advance()
            return Pair(first, self._single(cursor))
        return first

    def _single(self, cursor: Cursor) -> Operand:
        kind, value = cursor.kind, cursor.value
        if kind == "word" and value != "WARP_SZ":
            return self._register(cursor)
        if kind == "op":
            if value == "[":
                return self._address(cursor)
            if value == "{":
                return self._vector(cursor)
            if value == "_":
                cursor.advance()
                return Sink()
            if value in ("!", "-") and self._names_follow(cursor):
                cursor.advance()
                operand = self._signed(cursor)
                return Negated(operand) if value == "!" else Minus(operand)
        if starts_constant(cursor):
            return parse_constant(cursor)
        raise cursor.unexpected("an operand")

    @staticmethod
    def _names_follow(cursor: Cursor) -> bool:
        """Whether the sign at the cursor stands before a name."""
        following = Cursor(cursor.source, cursor.end)
        return following.kind == "word" and following.value != "WARP_SZ"

    def _register(self, cursor: Cursor) -> Operand:
        """A name, with `.x`, `[index]` or `+offset` behind it."""
        text = cursor.value
        cursor.advance()
        if cursor.kind == "dot":
            return self._component(cursor, text)
        if cursor.kind != "op" or cursor.value not in ("[", "+"):
            return self.name(text)
        base = self.name(text)
        if cursor.accept("+"):
            return Address(base, parse_integer(cursor, "an offset"))
        return self._element(cursor, base)

    def _signed(self, cursor: Cursor) -> Operand:
        """What may follow a sign: a register, or a part of one."""
        text = cursor.value
        cursor.advance()
        return self._component(cursor, text) if cursor.kind == "dot" else self.name(text)

    def _component(self, cursor: Cursor, text: str) -> Operand:
        selector = cursor.value
        if _SELECTOR.fullmatch(selector):
            cursor.advance()
            return Selected(self.name(text), selector[1:])
        if selector not in COMPONENTS:
            raise cursor.unexpected("`.x`, `.y`, `.z` or `.w`")
        cursor.advance()
        if text in VECTOR_SPECIALS:
            return Name(text + selector)
        return Component(self.name(text), COMPONENTS[selector])

    def _element(self, cursor: Cursor, base: Name) -> Operand:
        cursor.advance()
        if cursor.kind == "word" and cursor.value != "WARP_SZ":
            index = self.name(cursor.value)
            cursor.advance()
            cursor.expect("]")
            return Indexed(base, index)
        size = self.element_size(base.text)
        if size is None:
            raise cursor.error(f"`{base.text}` is no array, so it has no elements")
        offset = parse_integer(cursor, "an index") * size
        cursor.expect("]")
        return Address(base, offset)

    def _address(self, cursor: Cursor) -> Address | Compound:
        """`[base+offset]`, `[number]`, or several parts with commas between."""
        cursor.advance()
        if cursor.kind == "word" and cursor.value != "WARP_SZ":
            address = self._based_address(cursor)
        else:
            address = Address(None, parse_integer(cursor, "an address"))
        if address.base and cursor.kind == "op" and cursor.value == ",":
            return self._compound(cursor, address)
        self._close_bracket(cursor)
        return address

    def _compound(self, cursor: Cursor, first: Address) -> Compound:
        parts: list[Operand] = [first if first.offset or first.base is None else first.base]
        while cursor.kind == "op" and cursor.accept(","):
            if cursor.kind == "op" and cursor.value == "{":
                parts.append(self._vector(cursor))
            else:
                parts.append(self.name(cursor.name("a register or a vector")))
        self._close_bracket(cursor)
        return Compound(tuple(parts))

    def _based_address(self, cursor: Cursor) -> Address:
        base = self.name(cursor.value)
        cursor.advance()
        if cursor.kind == "op" and cursor.accept("+"):
            return Address(base, parse_integer(cursor, "an offset"))
        return Address(base, 0)

    @staticmethod
    def _close_bracket(cursor: Cursor) -> None:
        if not (cursor.kind == "op" and cursor.value == "]"):
            hint = "a negative offset is written [r+-4]" if cursor.value == "-" else None
            raise cursor.unexpected("`]`", hint=hint)
        cursor.advance()

    def _vector(self, cursor: Cursor) -> Vector:
        cursor.advance()
        elements = [self._vector_element(cursor)]
        while cursor.kind == "op" and cursor.accept(","):
            elements.append(self._vector_element(cursor))
        cursor.expect("}")
        return Vector(tuple(elements))

    def _vector_element(self, cursor: Cursor) -> Operand:
        if cursor.kind == "op" and cursor.value in ("{", "["):
            raise cursor.unexpected("a vector's element")
        return self._single(cursor)

    def name(self, text: str) -> Name:
        """A name; `%q01` is `%q1` where `%q<N>` is in scope."""
        match = _LEADING_ZERO.match(text)
        if match and self.is_numbered(text, match[1]):
            return Name(match[1] + match[2])
        return Name(text)
