"""Constants and constant expressions, folded as the ISA says (`constant-expressions`).

Integers are 64 bits wide, signed unless marked U, too large, or made by an
operator that works on unsigned ones; decimal floating constants are f64.
Evaluation keeps its own stacks, so that nesting costs no recursion.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from typing import NamedTuple

from teenycuda_cli.ptx.literals import MASK, WARP_SIZE, integer_value
from teenycuda_cli.ptx.statements import Float, Integer
from teenycuda_cli.ptx.tokens import Cursor

WORD_SIZE = 64

_PRECEDENCE = {
    "?": 0, ":": 0, "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6,
    "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_UNARY_LEVEL = 11
_SMALLEST_NORMAL = sys.float_info.min


class Value(NamedTuple):
    """A folded value: an int with its signedness, or a float (`number` is then a float)."""

    number: int | float
    unsigned: bool = False


def starts_constant(cursor: Cursor) -> bool:
    """Whether a constant expression can begin with the current token."""
    return (
        cursor.kind in ("int", "float")
        or cursor.value in ("(", "-", "+", "~", "!")
        or (cursor.kind == "word" and cursor.value == "WARP_SZ")
    )


def parse_constant(cursor: Cursor) -> Integer | Float:
    """A constant expression, folded."""
    if cursor.kind == "float" and cursor.value[1] in "fF":
        bits = int(cursor.value[2:], 16)
        cursor.advance()
        return Float(bits, 32)
    value = _Evaluation(cursor).run()
    if isinstance(value.number, float):
        return Float(int.from_bytes(struct.pack(">d", value.number), "big"), 64)
    return Integer(value.number)


def parse_integer(cursor: Cursor, expected: str) -> int:
    """A constant expression that must be an integer."""
    if not starts_constant(cursor):
        raise cursor.unexpected(expected)
    at = cursor.at
    value = parse_constant(cursor)
    if not isinstance(value, Integer):
        raise cursor.error(f"expected {expected}, got a floating-point constant", at=at)
    return value.value


class _Evaluation:
    """Operator precedence over a cursor, with a stack of values and one of operators.

    On the stack of operators stand binary operators, `(`, `?` and the `:` that
    followed one, unary operators as `u-`, and casts by their type.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.start = cursor.at
        self.values: list[Value] = []
        self.operators: list[str] = []
        self.open_parentheses = 0
        self.open_conditions = 0

    def run(self) -> Value:
        """Read as far as the expression goes, and fold it."""
        self._operand()
        while self._operator():
            self._operand()
        self._reduce_while(lambda operator: operator not in ("(", "?"))
        if self.operators:
            raise self.cursor.unexpected("`)`" if self.operators[-1] == "(" else "`:`")
        return self.values[0]

    def _operand(self) -> None:
        """Prefix operators, casts and opening parentheses, then one literal."""
        cursor = self.cursor
        while cursor.kind == "op" and cursor.value in ("-", "+", "~", "!", "("):
            if cursor.value != "(":
                self.operators.append("u" + cursor.value)
                cursor.advance()
                continue
            cursor.advance()
            if cursor.kind == "dot":
                self._cast()
            else:
                self.operators.append("(")
                self.open_parentheses += 1
        self.values.append(self._literal())

    def _cast(self) -> None:
        cursor = self.cursor
        if cursor.value not in (".s64", ".u64"):
            raise cursor.unexpected("`.s64` or `.u64`", hint="constants are cast to 64-bit integers only")
        self.operators.append(cursor.value)
        cursor.advance()
        cursor.expect(")")

    def _literal(self) -> Value:
        cursor = self.cursor
        kind, text = cursor.kind, cursor.value
        if kind == "int":
            number = integer_value(text)
            if number > MASK + 1:
                raise cursor.error("this constant does not fit into 64 bits")
            value = Value(_wrapped(number, True), text.endswith("U") or number > MASK >> 1)
        elif kind == "float" and text[1:2] not in ("f", "F"):
            value = Value(_float_value(text))
            if text[1:2] not in ("d", "D") and not _representable(value.number, text):
                raise cursor.error("this constant is beyond the range of an f64")
        elif kind == "word" and text == "WARP_SZ":
            value = Value(WARP_SIZE)
        else:
            hint = "0f… stands alone" if kind == "float" else None
            raise cursor.unexpected("a constant", hint=hint)
        cursor.advance()
        return value

    def _operator(self) -> bool:
        """Close parentheses and take one binary operator; False at the expression's end."""
        cursor = self.cursor
        while cursor.kind == "op":
            operator = cursor.value
            if operator == ")" and self.open_parentheses:
                self._reduce_to("(", "`:`")
                self.open_parentheses -= 1
                cursor.advance()
            elif operator == ":" and self.open_conditions:
                self._reduce_to("?", "`)`")
                self.open_conditions -= 1
                self.operators.append(":")
                cursor.advance()
                return True
            elif operator in _PRECEDENCE and operator != ":":
                self._reduce_by(_PRECEDENCE[operator])
                self.operators.append(operator)
                self.open_conditions += operator == "?"
                cursor.advance()
                return True
            else:
                return False
        return False

    def _reduce_by(self, level: int) -> None:
        """Fold what binds at least as tight; `?:` alone goes to the right."""
        self._reduce_while(lambda top: _level(top) > level or (_level(top) == level > 0))

    def _reduce_to(self, opening: str, missing: str) -> None:
        """Fold back to `opening` and drop it; another opening in between lacks its `missing`."""
        self._reduce_while(lambda top: top not in ("(", "?"))
        if not self.operators or self.operators[-1] != opening:
            raise self.cursor.unexpected(missing)
        self.operators.pop()

    def _reduce_while(self, condition: Callable[[str], bool]) -> None:
        operators, values = self.operators, self.values
        while operators and condition(operators[-1]):
            operator = operators.pop()
            try:
                if operator[0] == "u" or operator[0] == ".":
                    values.append(_unary(operator, values.pop()))
                elif operator == ":":
                    otherwise, then, test = values.pop(), values.pop(), values.pop()
                    values.append(_choice(test, then, otherwise))
                else:
                    right, left = values.pop(), values.pop()
                    values.append(_binary(operator, left, right))
            except _NotFoldable as problem:
                raise self.cursor.error(str(problem), at=self.start) from None


class _NotFoldable(Exception):
    """Why an expression has no value."""


def _level(operator: str) -> int:
    if operator[0] in "u.":
        return _UNARY_LEVEL
    return -1 if operator == "(" else _PRECEDENCE[operator]


def _float_value(text: str) -> float:
    if text[1:2] in ("d", "D"):
        value: float = struct.unpack(">d", int(text[2:], 16).to_bytes(8, "big"))[0]
        return value
    return float(text)


def _representable(number: float, text: str) -> bool:
    """Whether ptxas takes a decimal constant: neither infinite nor denormal."""
    return _SMALLEST_NORMAL <= number < math.inf or not text.lower().partition("e")[0].strip("0.")


def _wrapped(number: int, unsigned: bool) -> int:
    number &= MASK
    return number if unsigned or number <= MASK >> 1 else number - MASK - 1


def _integer(value: Value) -> int:
    if isinstance(value.number, float):
        raise _NotFoldable("an integer constant expression is expected here, got a floating-point constant")
    return value.number


def _unary(operator: str, value: Value) -> Value:
    if operator in ("u-", "u+") and isinstance(value.number, float):
        return Value(-value.number if operator == "u-" else value.number)
    number = _integer(value)
    if operator == "u-":
        return Value(_wrapped(-number, value.unsigned), value.unsigned)
    if operator == "u~":
        return Value(_wrapped(~number, True), True)
    if operator == "u!":
        return Value(int(not number))
    if operator == "u+":
        return value
    return Value(_wrapped(number, operator == ".u64"), operator == ".u64")


def _choice(test: Value, then: Value, otherwise: Value) -> Value:
    _integer(then)
    _integer(otherwise)
    return then if _integer(test) else otherwise


def _binary(operator: str, left: Value, right: Value) -> Value:
    if isinstance(left.number, float) and isinstance(right.number, float):
        return _float_binary(operator, left.number, right.number)
    if isinstance(left.number, float) != isinstance(right.number, float):
        raise _NotFoldable(f"`{operator}` mixes an integer and a floating-point constant")
    a, b = _integer(left), _integer(right)
    unsigned = left.unsigned or right.unsigned or operator == "%"
    if operator in _SHIFTS:
        return Value(_wrapped(_SHIFTS[operator](a, b & MASK), left.unsigned), left.unsigned)
    if operator in _LOGICAL:
        return Value(int(_LOGICAL[operator](a, b)))
    a, b = _wrapped(a, unsigned), _wrapped(b, unsigned)
    if operator in _COMPARISONS:
        return Value(int(_COMPARISONS[operator](a, b)))
    if operator in ("/", "%") and not b:
        raise _NotFoldable("this constant expression divides by zero")
    return Value(_wrapped(_ARITHMETIC[operator](a, b), unsigned), unsigned)


def _float_binary(operator: str, a: float, b: float) -> Value:
    if operator not in ("+", "-", "*", "/"):
        _integer(Value(a))
    if operator == "/" and not b:
        raise _NotFoldable("this constant expression divides by zero")
    return Value({"+": a + b, "-": a - b, "*": a * b, "/": a / (b or 1)}[operator])


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_SHIFTS: dict[str, Callable[[int, int], int]] = {
    "<<": lambda a, b: a << b % WORD_SIZE,
    ">>": lambda a, b: a >> b % WORD_SIZE,
}
_LOGICAL: dict[str, Callable[[int, int], bool]] = {
    "&&": lambda a, b: bool(a and b),
    "||": lambda a, b: bool(a or b),
}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
