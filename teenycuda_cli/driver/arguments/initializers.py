"""How a buffer is filled: `zeros`, `arange:START:STEP`, `randn`, `1,2,3` …, parsed into frozen data.

INIT := zeros | ones | arange[:START[:STEP]] | rand[:LO:HI] | randn[:MEAN:STD] | randint:LO:HI | eye | nan
      | NUMBER | NUMBER,NUMBER,…
"""

from __future__ import annotations

from dataclasses import dataclass

from teenycuda_cli.driver.arguments.numbers import Number, no_number, parse_number, whole
from teenycuda_cli.driver.nearest import nearest
from teenycuda_cli.wording import counted


@dataclass(frozen=True, slots=True)
class Initializer:
    """`kind` is the word, "number" or "list"; `numbers` the values or the word's parameters."""

    kind: str
    numbers: tuple[Number, ...] = ()


class InitializerError(Exception):
    """What is wrong in an initializer, at which offset; the caller knows the whole argument."""

    def __init__(
        self, message: str, offset: int, width: int = 1, expected: str | None = None, hint: str | None = None
    ) -> None:
        """`offset` counts from 0 in the initializer's own text."""
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.width = width
        self.expected = expected
        self.hint = hint


_WORDS: dict[str, tuple[tuple[Number, ...], int]] = {  # defaults of the parameters, how many must be given
    "zeros": ((), 0),
    "ones": ((), 0),
    "arange": ((0, 1), 0),
    "rand": ((0.0, 1.0), 0),
    "randn": ((0.0, 1.0), 0),
    "randint": ((0, 0), 2),
    "eye": ((), 0),
    "nan": ((), 0),
}
RANDOM = {"rand", "randn", "randint"}
_USAGE = {
    "arange": "arange[:START[:STEP]]",
    "rand": "rand[:LO:HI]",
    "randn": "randn[:MEAN:STD]",
    "randint": "randint:LO:HI",
}


def is_initializer(text: str) -> bool:
    """Whether a text is meant as an initializer: a fill's word, a number, or numbers with commas."""
    word = text.partition(":")[0]
    return word in _WORDS or all(
        parse_number(part, allow_complex=True) is not None for part in text.split(",")
    )


def parse_initializer(text: str) -> Initializer:
    """Parse an INIT; raises InitializerError with the offset of what is wrong."""
    word = text.partition(":")[0]
    if word in _WORDS:
        return _filled(text, word)
    number = parse_number(text, allow_complex=True)
    if number is not None:
        return Initializer("number", (number,))
    if "," in text:
        return _list(text)
    if not text:
        raise InitializerError("the initial value is missing", 0, expected=_expected())
    near = nearest(word, _WORDS)
    hint = f"did you mean {near}?" if near else None
    if text.endswith((".npy", ".bin")) or text.startswith("@"):
        hint = f"a file is given without the =: SHAPExTYPE@{text.lstrip('@')}"
    if text.lower() in ("true", "false"):
        hint = f"write {int(text.lower() == 'true')}"
    if word[:1] in "+-.0123456789":
        raise InitializerError(no_number(text), 0, len(text), _expected(), hint)
    raise InitializerError(f"unknown initial value {text!r}", 0, len(text), _expected(), hint)


def _filled(text: str, word: str) -> Initializer:
    defaults, required = _WORDS[word]
    parts = text.split(":")[1:]
    usage = _USAGE.get(word, word)
    if len(parts) > len(defaults):
        raise InitializerError(f"{word} with {counted(len(parts), 'parameter')}", 0, len(text), usage)
    if len(parts) < required or (parts and word in RANDOM and len(parts) != len(defaults)):
        raise InitializerError(f"{word} with {len(parts)} parameter(s)", 0, len(text), usage)
    numbers: list[Number] = []
    offset = len(word) + 1
    for part in parts:
        number = parse_number(part)
        if number is None:
            raise InitializerError(no_number(part), offset, len(part), usage)
        if word == "randint":
            number = whole(number)
        if word == "randint" and not isinstance(number, int):
            raise InitializerError(f"{part} is not a whole number", offset, len(part), usage)
        numbers.append(number)
        offset += len(part) + 1
    values = (*numbers, *defaults[len(numbers) :])
    _check_range(text, word, values, offset=len(word) + 1)
    return Initializer(word, values)


def _check_range(text: str, word: str, values: tuple[Number, ...], offset: int) -> None:
    if word not in {"arange", "rand", "randint", "randn"}:
        return
    first, second = (value.real for value in values)
    if not (abs(first) < float("inf") and abs(second) < float("inf")):
        raise InitializerError(f"{word} needs finite parameters", offset, len(text) - offset, _USAGE[word])
    if word == "randint" and first >= second:
        raise InitializerError(
            f"no whole number is at least {first} and below {second}",
            offset,
            len(text) - offset,
            "LO below HI",
        )
    if word == "rand" and first > second:
        raise InitializerError(
            f"LO {first} is above HI {second}", offset, len(text) - offset, "LO at most HI"
        )
    if word == "randn" and second < 0:
        raise InitializerError("a negative standard deviation", offset, len(text) - offset, _USAGE[word])


def _list(text: str) -> Initializer:
    numbers: list[Number] = []
    offset = 0
    for part in text.split(","):
        number = parse_number(part, allow_complex=True)
        if number is None:
            what = no_number(part) if part else "a number is missing"
            raise InitializerError(what, offset, max(1, len(part)), "NUMBER,NUMBER,…")
        numbers.append(number)
        offset += len(part) + 1
    return Initializer("list", tuple(numbers))


def _expected() -> str:
    return "a number, numbers with commas, or one of " + ", ".join(_WORDS)
