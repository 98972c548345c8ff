"""The argument language of `--arg`: `[NAME=]VALUE`, parsed into frozen data.

    VALUE    := TYPE:NUMBER | NUMBER | bytes:HEX | bytes:@FILE
              | ptr:null | ptr:0xADDR | ptr:BUFFER | ptr:NAME[+BYTES]
    BUFFER   := SHAPExTYPE[=INIT] | [SHAPExTYPE]@FILE

Nothing is read, allocated or packed here. Every error is a UsageError with the
column in the argument, what stands there, what was expected and a hint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES, ElementType, element_type, suggest
from teenycuda_cli.driver.arguments.initializers import Initializer, InitializerError, parse_initializer
from teenycuda_cli.driver.arguments.numbers import no_number, parse_number, whole
from teenycuda_cli.driver.caret import caret
from teenycuda_cli.errors import UsageError
from teenycuda_cli.wording import counted

MOST_DIMENSIONS = 32
MOST_DIGITS = 18  # of one extent; more cannot be memory anywhere


@dataclass(frozen=True, slots=True)
class Scalar:
    """`i32:4096`, or a bare number (type None), whose type the kernel's signature tells."""

    type: ElementType | None
    number: int | float
    text: str  # the number as written


@dataclass(frozen=True, slots=True)
class Address:
    """`ptr:null` or `ptr:0xADDR`: a pointer as it is."""

    value: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """`ptr:SHAPExTYPE[=INIT]` or `ptr:[SHAPExTYPE]@FILE`; without both it holds the poison pattern."""

    type: ElementType | None
    shape: tuple[int, ...] | None
    initializer: Initializer | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """`ptr:NAME[+BYTES]`: the buffer of an earlier argument, again."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Bytes:
    """`bytes:HEX` or `bytes:@FILE`: a struct passed by value."""

    data: bytes | None
    file: str | None


Value: TypeAlias = Scalar | Address | Buffer | Alias | Bytes


@dataclass(frozen=True, slots=True)
class Argument:
    """One `--arg`: its place in the command line's order (from 0), its name, and the text as given."""

    index: int
    name: str
    value: Value
    text: str


_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_$]*)=")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_SHAPE = re.compile(r"((?:[0-9]+x)+)([^=@]*)")
_GRAMMAR = "TYPE:NUMBER, NUMBER, ptr:… or bytes:…"


def parse_arguments(texts: Sequence[str]) -> tuple[Argument, ...]:
    """Parse every `--arg`, in order; names must differ, and an alias must name an earlier buffer."""
    arguments: dict[str, Argument] = {}
    for index, text in enumerate(texts):
        argument = parse_argument(text, index)
        if argument.name in arguments:
            _fail(
                text,
                1,
                f"a second argument called {argument.name!r}",
                hint="give each argument a name of its own",
            )
        if isinstance(argument.value, Alias):
            _check_alias(argument.text, argument.value, arguments)
        arguments[argument.name] = argument
    return tuple(arguments.values())


def parse_argument(text: str, index: int) -> Argument:
    """Parse one `--arg`; a nameless one is called arg0, arg1, … by its index."""
    named = _NAME.match(text)
    name = named[1] if named else f"arg{index}"
    return Argument(index, name, _value(text, named.end() if named else 0), text)


def _value(text: str, at: int) -> Value:
    rest = text[at:]
    word, colon, tail = rest.partition(":")
    behind = at + len(word) + 1
    if word == "ptr" and colon:
        return _pointer(text, behind, tail)
    if word == "bytes" and colon:
        return _bytes(text, behind, tail)
    number = parse_number(rest)
    if number is not None and not isinstance(number, complex):
        return Scalar(None, number, rest)
    if colon and re.fullmatch(r"\w+", word):
        return _scalar(text, at, word, tail)
    if not rest:
        _fail(text, at + 1, "nothing stands here", expected=_GRAMMAR)
    if _SHAPE.match(rest) or rest.startswith("@"):
        _fail(
            text, at + 1, f"{rest!r} is no value", expected=_GRAMMAR, hint=f"a buffer is written ptr:{rest}"
        )
    misnamed = re.match(r"([^=:]*)=", rest)
    if misnamed:
        what = f"{misnamed[1]!r} is no name" if misnamed[1] else "the name before the = is missing"
        hint = "NAME is a letter or _, then letters, digits, _ and $"
        _fail(text, at + 1, what, width=len(misnamed[1]), expected="[NAME=]VALUE", hint=hint)
    if rest in {"true", "false"}:
        _fail(text, at + 1, f"{rest!r} is no number", expected=_GRAMMAR, hint=f"write bool:{rest}")
    numeric = rest[:1] in "+-.0123456789"
    _fail(text, at + 1, no_number(rest) if numeric else f"{rest!r} is no value", expected=_GRAMMAR)


def _scalar(text: str, at: int, word: str, tail: str) -> Scalar:
    element = element_type(word)
    if element is None:
        _fail(text, at + 1, f"unknown type {word!r}", width=len(word), hint=suggest(word, scalar=True))
    if not element.scalar:
        scalars = ", ".join(name for name, other in ELEMENT_TYPES.items() if other.scalar)
        _fail(text, at + 1, f"{word} is a type of buffers", width=len(word), expected=f"one of {scalars}")
    behind = at + len(word) + 1
    if element.kind == "bool" and tail.lower() in {"true", "false"}:
        return Scalar(element, int(tail.lower() == "true"), tail)
    number = parse_number(tail)
    if number is None or isinstance(number, complex):
        expected = "true, false, 0 or 1" if element.kind == "bool" else "a number"
        _fail(text, behind + 1, no_number(tail), width=len(tail), expected=expected)
    if element.kind != "float":
        number = whole(number)
    if isinstance(number, float) and element.kind != "float":
        _fail(
            text,
            behind + 1,
            f"{tail} is not a whole number",
            width=len(tail),
            expected=f"an integer for {word}",
        )
    if (
        isinstance(number, int)
        and element.kind != "float"
        and not element.lowest <= number <= element.highest
    ):
        _fail(
            text,
            behind + 1,
            f"{tail} does not fit {word}",
            width=len(tail),
            expected=f"{element.lowest} to {element.highest}",
        )
    return Scalar(element, number, tail)


def _pointer(text: str, at: int, rest: str) -> Address | Buffer | Alias:
    if rest == "null":
        return Address(0)
    if rest[:2] in {"0x", "0X"}:
        return _address(text, at, rest)
    if rest.startswith("@"):
        return Buffer(None, None, file=_file(text, at + 1, rest[1:]))
    shape = _SHAPE.match(rest)
    if shape:
        return _buffer(text, at, rest, shape)
    alias = _IDENTIFIER.match(rest)
    if alias:
        return _alias(text, at, rest, alias[0])
    expected = "null, an address 0x…, a buffer SHAPExTYPE, @FILE or an earlier argument's name"
    hint = None
    if rest.isascii() and rest.isdigit():
        number = int(rest[:MOST_DIGITS])
        hint = f"a buffer of {counted(number, 'element')} is ptr:{number}xf32, an address is ptr:{number:#x}"
    _fail(
        text,
        at + 1,
        f"{rest!r} is no pointer" if rest else "nothing stands here",
        expected=expected,
        hint=hint,
    )


def _address(text: str, at: int, rest: str) -> Address:
    if element_type(rest[2:]):
        _fail(
            text,
            at + 1,
            f"{rest!r} is an address, and looks like an empty buffer",
            width=len(rest),
            hint=f"write the address with a leading 0, 0x0{rest[2:]}; a buffer has at least 1 element",
        )
    number = parse_number(rest)
    if not isinstance(number, int):
        _fail(text, at + 1, f"{rest!r} is no address", width=len(rest), expected="0x and hex digits")
    if number >= 1 << 64:
        _fail(text, at + 1, f"{rest} does not fit 64 bits", width=len(rest), expected="an address below 2^64")
    return Address(number)


def _buffer(text: str, at: int, rest: str, match: re.Match[str]) -> Buffer:
    shape = []
    column = at + 1
    for extent in match[1].split("x")[:-1]:
        if len(extent) > MOST_DIGITS:
            _fail(text, column, f"{extent} elements are more than any memory holds", width=len(extent))
        if int(extent) == 0:
            _fail(
                text,
                column,
                "a buffer of no elements",
                expected="at least 1 in each dimension",
                hint="or ptr:null",
            )
        shape.append(int(extent))
        column += len(extent) + 1
    if len(shape) > MOST_DIMENSIONS:
        _fail(text, at + 1, counted(len(shape), "dimension"), expected=f"at most {MOST_DIMENSIONS}")
    word = match[2]
    element = element_type(word)
    if element is None:
        where = at + len(match[1]) + 1
        _fail(
            text,
            where,
            f"unknown element type {word!r}" if word else "the element type is missing",
            width=len(word),
            hint=suggest(word),
        )
    behind = rest[match.end() :]
    place = at + match.end()
    if behind.startswith("@"):
        return Buffer(element, tuple(shape), file=_file(text, place + 1, behind[1:]))
    if behind.startswith("="):
        return Buffer(element, tuple(shape), _initializer(text, place + 1, behind[1:]))
    return Buffer(element, tuple(shape))


def _initializer(text: str, at: int, rest: str) -> Initializer:
    try:
        return parse_initializer(rest)
    except InitializerError as error:
        _fail(
            text,
            at + error.offset + 1,
            error.message,
            width=error.width,
            expected=error.expected,
            hint=error.hint,
        )


def _alias(text: str, at: int, rest: str, name: str) -> Alias:
    behind = rest[len(name) :]
    if not behind:
        return Alias(name, 0)
    place = at + len(name) + 1
    if not behind.startswith("+"):
        hint = f"a buffer needs its shape first: ptr:1024x{name}" if element_type(name) else None
        _fail(text, place, f"{behind!r} behind the name", width=len(behind), expected="+BYTES", hint=hint)
    offset = parse_number(behind[1:])
    if not isinstance(offset, int) or offset < 0 or offset >= 1 << 63:
        _fail(
            text, place + 1, f"{behind[1:]!r} is no count of bytes", width=len(behind) - 1, expected="+BYTES"
        )
    return Alias(name, offset)


def _bytes(text: str, at: int, rest: str) -> Bytes:
    if rest.startswith("@"):
        return Bytes(None, _file(text, at + 1, rest[1:]))
    digits = rest[2:] if rest[:2] in {"0x", "0X"} else rest
    start = at + len(rest) - len(digits)
    wrong = re.search(r"[^0-9a-fA-F]", digits)
    if wrong:
        _fail(
            text, start + wrong.start() + 1, f"{wrong[0]!r} is no hex digit", expected="two hex digits a byte"
        )
    if not digits or len(digits) % 2:
        _fail(
            text,
            start + 1,
            counted(len(digits), "hex digit"),
            width=len(digits),
            expected="two for each byte",
        )
    return Bytes(bytes.fromhex(digits), None)


def _file(text: str, at: int, path: str) -> str:
    if not path or "\0" in path:
        _fail(
            text,
            at + 1,
            "the file's name is missing" if not path else "a file's name holds no NUL",
            expected="@FILE",
        )
    return path


def _check_alias(text: str, value: Alias, earlier: dict[str, Argument]) -> None:
    target = earlier.get(value.name)
    column = text.rindex(f"ptr:{value.name}") + 5
    if target is None:
        buffers = [name for name, other in earlier.items() if isinstance(other.value, Buffer)]
        hint = (
            f"earlier buffers: {', '.join(buffers)}"
            if buffers
            else "no buffer was given before this argument"
        )
        if element_type(value.name):
            hint = f"a buffer needs its shape first: ptr:1024x{value.name}"
        _fail(
            text,
            column,
            f"no earlier argument is called {value.name!r}",
            width=len(value.name),
            hint=hint,
        )
    if not isinstance(target.value, Buffer):
        _fail(
            text,
            column,
            f"{value.name!r} is no buffer",
            width=len(value.name),
            hint=f"it was given as {target.text!r}",
        )


def _fail(
    text: str, column: int, what: str, *, width: int = 1, expected: str | None = None, hint: str | None = None
) -> NoReturn:
    message = f"{what}; expected {expected}" if expected else what
    raise UsageError(message, file="--arg", column=column, hint=hint, context=caret(text, column, width))
