"""How messages put things: counts with their words, and text that others wrote."""

from __future__ import annotations

_SURROGATES = range(
    0xD800, 0xE000
)  # bytes of a file name that are no text: the streams write them as they are


STDIN_NAME = "<stdin>"


def display_name(path: str) -> str:
    """What messages call an input: its path, or `<stdin>` for `-`."""
    return STDIN_NAME if path == "-" else path


def counted(number: int, one: str, many: str | None = None, spec: str = "") -> str:
    """A number with its word, in the plural unless it is 1: `1 byte`, `2 bytes`, `3 entries`.

    `many` is the plural where it is not `one` with an s; `spec` formats the number.
    """
    return f"{number:{spec}} {plural(number, one, many)}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """The word alone, for where the number stands elsewhere: `1 of 3 elements differs`."""
    return one if number == 1 else many or f"{one}s"


def visible(text: str) -> str:
    """Text in which nothing steers a terminal: control characters as escapes (`\\x1b`), tabs as they are.

    For what is out of a file, a file's name or a command line, wherever people
    read it; a JSON document has escapes of its own.
    """
    if text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable() or character in "\t\u3000\xa0" or ord(character) in _SURROGATES:
        return character
    return character.encode("unicode_escape").decode("ascii")
