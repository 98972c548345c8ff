"""Bodies of functions: statements into the syntax tree.

Most statements of real code are one line of opcode, operands and semicolon.
`_FAST` takes such a line whole, and a table of operands already seen turns its
operands into nodes; whatever it does not take goes the long way, token by
token, and so do all errors. Both ways give the same tree.
"""

from __future__ import annotations

import re

from teenycuda_cli.errors import PtxSyntaxError
from teenycuda_cli.ptx.declarations import (
    VARIABLE_SPACES,
    attributes,
    parse_variables,
)
from teenycuda_cli.ptx.directives import parse_strings
from teenycuda_cli.ptx.layout import element_size
from teenycuda_cli.ptx.locations import parse_loc
from teenycuda_cli.ptx.operands import OperandReader
from teenycuda_cli.ptx.registers import parse_registers
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.syntax import (
    Address,
    Block,
    Float,
    Instruction,
    Integer,
    Label,
    LabelTable,
    Loc,
    Name,
    Operand,
    Pragma,
    Prototype,
    Registers,
    Statement,
    Variable,
    Vector,
)
from teenycuda_cli.ptx.tables import parse_table
from teenycuda_cli.ptx.tokens import BLANK, DOT, WORD, Cursor

_DECIMAL = r"(?:0|[1-9][0-9]{0,8})"
_FAST = re.compile(
    rf"""(?:[ \t\r\n]++|//[^\n]*+)*+(?:
      (?:(?P<guard>@)[ \t]*+(?P<not>!?)[ \t]*+(?P<predicate>{WORD})[ \t]++)?+
      (?P<opcode>[a-z][a-z0-9_]*+(?:{DOT})*+)(?:[ \t\r\n]++(?P<operands>[^;"/:@\#()]*+))?+;
    | (?P<label>{WORD}):(?!{BLANK}\.(?:branchtargets|calltargets|callprototype))
    | (?P<loc>\.loc)[ \t]++(?P<file>{_DECIMAL})[ \t]++(?P<line>{_DECIMAL})[ \t]++(?P<column>{_DECIMAL})
      (?=[ \t]*+(?://[^\n]*+)?+\n[ \t]*+[^,\s/\#])
    )""",
    re.VERBOSE,
)
_OPCODE = re.compile(
    r"[a-z][a-z0-9_]*+(?:\.[A-Za-z_$][A-Za-z0-9_$]*+(?:::[A-Za-z0-9_$]++)*+|\.[0-9]++[A-Za-df-z_]\w*+)*+"
)
_SPLIT = re.compile(r",[ \t\r\n]*+(?![^{}\[\]]*[}\]])")
# A name, an address by a name, a decimal integer, an f32 by its bits.
_SIMPLE = re.compile(
    rf"""[ \t\r\n]*+(?:
      (\[[ \t]*+)?(?!WARP_SZ)({WORD})(?(1)[ \t]*+(?:\+[ \t]*+(-?[1-9][0-9]{{0,9}}|0)[ \t]*+)?+\])
    | (-?[1-9][0-9]{{0,17}}|0)
    | 0[fF]([0-9A-Fa-f]{{8}})
    )[ \t\r\n]*+""",
    re.VERBOSE,
)
# What makes an operand's meaning depend on the scope: a number with a leading zero, an index.
_BY_SCOPE = re.compile(r"[^0-9]0[0-9]|[A-Za-z0-9_$][ \t\r\n]*\[")
_LONGEST_FAST_OPERANDS = 1000
_ELEMENTS = frozenset((Name, Integer, Float))


class _LongWay(Exception):
    """A statement that is to be read token by token."""


class _Scope:
    """Names of one `{ }`: what is defined, arrays' element sizes, register families."""

    __slots__ = ("elements", "families", "names", "offset", "statements")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.statements: list[Statement] = []
        self.names: set[str] = set()
        self.families: dict[str, int] = {}
        self.elements: dict[str, int] = {}

    def in_family(self, name: str) -> bool:
        """Whether `a<N>` of this scope declares a name; leading zeros of its number do not count."""
        prefix = name.rstrip("0123456789")
        suffix = name[len(prefix) :].lstrip("0") or "0"
        return len(suffix) < 10 and name != prefix and int(suffix) < self.families.get(prefix, 0)


class BodyParser:
    """Parses one body after the other of a source."""

    def __init__(self, source: Source, module_elements: dict[str, int], *, fast: bool = True) -> None:
        """`module_elements`: bytes of an element of each array declared at module level."""
        self.source = source
        self.module_elements = module_elements
        self.fast = fast
        self.opcodes: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.known: dict[str, Operand] = {}
        self.scopes: list[_Scope] = []
        self.reader = OperandReader(self._element_size, self._is_numbered)

    def parse(self, at: int, params: tuple[Variable, ...]) -> tuple[tuple[Statement, ...], int]:
        """The statements of the body whose `{` is at `at`, and the offset behind its `}`."""
        self.scopes = [_Scope(at)]
        for param in params:
            self._define(param.name, param.offset, "variable")
        position = at + 1
        while True:
            position = self._run_fast(position) if self.fast else position
            cursor = Cursor(self.source, position)
            if cursor.kind == "op" and cursor.value == "}":
                scope = self.scopes.pop()
                statements = tuple(scope.statements)
                position = cursor.end
                if not self.scopes:
                    return statements, position
                self.scopes[-1].statements.append(Block(statements, scope.offset))
            elif cursor.kind == "op" and cursor.value == "{":
                self.scopes.append(_Scope(cursor.at))
                position = cursor.end
            else:
                position = self._statement(cursor)

    # ------------------------------------------------------------ the fast way

    def _run_fast(self, position: int) -> int:
        """Take statements as long as `_FAST` takes them; returns where it stopped."""
        text = self.source.text
        match_fast = _FAST.match
        append = self.scopes[-1].statements.append
        opcodes, known = self.opcodes, self.known
        while match := match_fast(text, position):
            guard, negated, predicate, opcode, operands, label, _, file, line, column = match.groups()
            if opcode is not None:
                name = opcodes.get(opcode) or self._opcode(opcode)
                if name is None or name[0] == "call":
                    return position
                nodes: tuple[Operand, ...]
                if not operands:
                    nodes = ()
                elif len(operands) > _LONGEST_FAST_OPERANDS:
                    return position
                else:
                    parts = operands.split(", ") if "{" not in operands else _SPLIT.split(operands)
                    try:
                        nodes = tuple([known.get(part) or self._operand(part) for part in parts])
                    except _LongWay:
                        return position
                at = match.start("guard" if guard else "opcode")
                if guard and "0" in predicate:
                    predicate = self.reader.name(predicate).text
                append(Instruction(name[0], name[1], nodes, at, match.end(), predicate, bool(negated)))
            elif label is not None:
                self._define(label, match.start("label"), "label")
                append(Label(label, match.start("label")))
            else:
                append(Loc(int(file), int(line), int(column), match.start("loc")))
            position = match.end()
        return position

    def _opcode(self, text: str) -> tuple[str, tuple[str, ...]] | None:
        if not _OPCODE.fullmatch(text):
            return None
        opcode, *modifiers = text.split(".")
        self.opcodes[text] = name = (opcode, tuple(modifiers))
        return name

    def _operand(self, text: str) -> Operand:
        """The node of an operand's text, kept in the table where it cannot depend on the scope."""
        if text[:1] == "%" and "0" not in text and text.isascii() and text[1:].isalnum():
            found = self.known[text] = Name(text)
            return found
        if _BY_SCOPE.search(text):
            return self._operand_by_tokens(text)
        node: Operand
        if match := _SIMPLE.fullmatch(text):
            bracket, name, offset, integer, bits = match.groups()
            if name:
                node = Address(Name(name), int(offset or 0)) if bracket else Name(name)
            else:
                node = Integer(int(integer)) if integer else Float(int(bits, 16), 32)
        else:
            elements = self._elements(text) if text[0:1] == "{" else None
            node = Vector(elements) if elements else self._operand_by_tokens(text)
        self.known[text] = node
        return node

    def _elements(self, text: str) -> tuple[Operand, ...] | None:
        """Those of a vector of names and numbers, None for any other text."""
        inner = text.rstrip(" \t\r\n")
        if inner[-1] != "}":
            return None
        known = self.known
        parts = inner[1:-1].strip(" \t\r\n").split(", ")
        elements = tuple([known.get(part) or self._operand(part) for part in parts])
        return elements if _ELEMENTS.issuperset(map(type, elements)) else None

    def _operand_by_tokens(self, text: str) -> Operand:
        try:
            cursor = Cursor(Source(text.encode("latin-1"), self.source.name))
            node = self.reader.operand(cursor)
        except PtxSyntaxError:
            raise _LongWay from None
        if cursor.kind != "end":
            raise _LongWay
        return node

    # ------------------------------------------------------------ the long way

    def _statement(self, cursor: Cursor) -> int:
        """One statement at the cursor into the innermost scope; returns the offset behind it."""
        if cursor.kind == "word":
            return self._label_or_instruction(cursor)
        if cursor.kind == "op" and cursor.value == "@":
            return self._instruction(cursor)
        if cursor.kind == "dot":
            return self._directive(cursor)
        if cursor.kind == "end":
            raise self.source.error(
                self.scopes[-1].offset, "this `{` is never closed", hint="a `}` is missing"
            )
        hint = "a `;` alone is no statement" if cursor.value == ";" else None
        raise cursor.unexpected("a statement", hint=hint)

    def _label_or_instruction(self, cursor: Cursor) -> int:
        following = Cursor(self.source, cursor.end)
        if not (following.kind == "op" and following.value == ":"):
            return self._instruction(cursor)
        name, at = cursor.value, cursor.at
        self._define(name, at, "label")
        position = following.end
        following.advance()
        if following.kind == "dot" and following.value in (
            ".branchtargets",
            ".calltargets",
            ".callprototype",
        ):
            return self._append_behind(parse_table(following, name, at), following)
        self._append(Label(name, at))
        return position

    def _instruction(self, cursor: Cursor) -> int:
        at = cursor.at
        predicate, negated = None, False
        if cursor.value == "@":
            cursor.advance()
            negated = cursor.kind == "op" and cursor.accept("!")
            predicate = self.reader.name(cursor.name("a predicate")).text
        opcode_at = cursor.at
        opcode = cursor.name("an instruction")
        if not ("a" <= opcode[0] <= "z"):
            raise cursor.error(f"`{opcode}` is no instruction", at=opcode_at, hint=_opcode_hint(opcode))
        modifiers: list[str] = []
        while cursor.kind == "dot":
            modifiers.append(cursor.value[1:])
            cursor.advance()
        read = self.reader.call_operands if opcode == "call" else self.reader.operands
        operands = read(cursor)
        end = self._semicolon(cursor)
        self._append(Instruction(opcode, tuple(modifiers), operands, at, end, predicate, negated))
        return end

    def _semicolon(self, cursor: Cursor) -> int:
        """Check for the `;` that ends a statement; returns the offset behind it."""
        if not (cursor.kind == "op" and cursor.value == ";"):
            raise cursor.unexpected("`,` or `;`")
        return cursor.end

    def _directive(self, cursor: Cursor) -> int:
        value = cursor.value
        if value == ".reg":
            return self._registers(cursor)
        if value == ".loc":
            return self._append_behind(parse_loc(cursor), cursor)
        if value == ".pragma":
            return self._append_behind(_pragma(cursor), cursor)
        managed = value == ".attribute" and "managed" in attributes(cursor)
        if cursor.value in VARIABLE_SPACES:
            for variable in parse_variables(cursor, "none", managed):
                self._define(variable.name, variable.offset, "variable")
                if variable.shape:
                    self.scopes[-1].elements[variable.name] = element_size(variable)
                self._append(variable)
            return cursor.previous_end
        hint = None
        if value in (".file", ".section", ".extern", ".visible", ".weak", ".common"):
            hint = f"{value} stands outside of functions"
        raise cursor.unexpected("a statement", hint=hint)

    def _registers(self, cursor: Cursor) -> int:
        statement = parse_registers(cursor)
        for register in statement.registers:
            if register.count is None:
                self._define(register.name, register.offset, "register")
            else:
                self._define_family(register.name, register.count, register.offset)
        return self._append_behind(statement, cursor)

    # ------------------------------------------------------------ names

    def _append(self, statement: Statement) -> None:
        self.scopes[-1].statements.append(statement)

    def _append_behind(
        self, statement: Loc | Pragma | Registers | LabelTable | Prototype, cursor: Cursor
    ) -> int:
        self._append(statement)
        return cursor.previous_end

    def _define(self, name: str, at: int, what: str) -> None:
        """Note a name of the innermost scope; one name stands for one thing there."""
        scope = self.scopes[-1]
        taken = name in scope.names or (scope.families and what != "label" and scope.in_family(name))
        if taken:
            raise self.source.error(
                at,
                f"there is a `{name}` in this scope already, so no {what} can have that name",
                length=len(name),
            )
        scope.names.add(name)

    def _define_family(self, prefix: str, count: int, at: int) -> None:
        scope = self.scopes[-1]
        if prefix in scope.families or any(_number_in(name, prefix, count) for name in scope.names):
            raise self.source.error(
                at, f"`{prefix}<{count}>` repeats a name of this scope", length=len(prefix)
            )
        scope.families[prefix] = count

    def _element_size(self, name: str) -> int | None:
        for scope in reversed(self.scopes):
            if name in scope.elements:
                return scope.elements[name]
        return self.module_elements.get(name)

    def _is_numbered(self, name: str, prefix: str) -> bool:
        """Whether the innermost declaration that fits a name is `prefix<N>`, not the name itself."""
        for scope in reversed(self.scopes):
            if name in scope.names:
                return False
            if prefix in scope.families:
                return True
        return False


def _number_in(name: str, prefix: str, count: int) -> bool:
    """Whether a name is one of those of `prefix<count>`."""
    suffix = name[len(prefix) :]
    return (
        name.startswith(prefix)
        and suffix.isdecimal()
        and len(suffix) < 10
        and int(suffix) < count
        and (suffix == "0" or suffix[0] != "0")
    )


def _opcode_hint(opcode: str) -> str | None:
    return (
        f"opcodes are lower-case: {opcode.lower()}" if opcode.lower() != opcode and opcode.isalpha() else None
    )


def _pragma(cursor: Cursor) -> Pragma:
    """`.pragma "…", "…";`, semicolon included."""
    at = cursor.at
    cursor.advance()
    strings = parse_strings(cursor)
    cursor.expect(";")
    return Pragma(tuple(strings), at)
