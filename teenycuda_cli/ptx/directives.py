"""Performance directives of entries and functions."""

from __future__ import annotations

from teenycuda_cli.ptx.declarations import plain_integer
from teenycuda_cli.ptx.signatures import Directives
from teenycuda_cli.ptx.tokens import Cursor

_TRIPLES = (".reqntid", ".maxntid", ".reqnctapercluster")
_NUMBERS = (".minnctapersm", ".maxnreg", ".maxclusterrank")
_FLAGS = (".explicitcluster", ".blocksareclusters", ".noreturn")
_POSITIVE = (".reqntid", ".maxntid", ".minnctapersm", ".maxnreg")
_OF_FUNCTIONS = (".noreturn", ".abi_preserve", ".abi_preserve_control")
_OF_ENTRIES = (*_TRIPLES, *_NUMBERS, ".explicitcluster", ".blocksareclusters", ".pragma")


class _Collected:
    """Directives as they come."""

    __slots__ = ("flags", "numbers", "other", "pragmas", "triples")

    def __init__(self) -> None:
        self.triples: dict[str, tuple[int, ...]] = {}
        self.numbers: dict[str, int] = {}
        self.flags: set[str] = set()
        self.pragmas: list[str] = []
        self.other: list[tuple[str, tuple[str, ...]]] = []


def parse_directives(cursor: Cursor, *, of_entry: bool) -> Directives:
    """The directives between the parameters and the body; of one given twice the last counts."""
    start = cursor.at
    found = _Collected()
    while cursor.kind == "dot":
        _directive(cursor, found, of_entry)
    _check(cursor, found, start)
    return Directives(
        reqntid=found.triples.get(".reqntid"),
        maxntid=found.triples.get(".maxntid"),
        minnctapersm=found.numbers.get(".minnctapersm"),
        maxnreg=found.numbers.get(".maxnreg"),
        reqnctapercluster=found.triples.get(".reqnctapercluster"),
        explicitcluster=".explicitcluster" in found.flags,
        maxclusterrank=found.numbers.get(".maxclusterrank"),
        blocksareclusters=".blocksareclusters" in found.flags,
        noreturn=".noreturn" in found.flags,
        pragmas=tuple(found.pragmas),
        other=tuple(found.other),
    )


def _directive(cursor: Cursor, found: _Collected, of_entry: bool) -> None:
    name = cursor.value
    if of_entry and name in _OF_FUNCTIONS:
        raise cursor.error(f"`{name}` is for functions, not for entries")
    if not of_entry and name in _OF_ENTRIES:
        raise cursor.error(f"`{name}` is for entries, not for functions")
    cursor.advance()
    if name in _TRIPLES:
        found.triples[name] = _numbers(cursor, name, 3)
    elif name in _NUMBERS:
        found.numbers[name] = _numbers(cursor, name, 1)[0]
    elif name in _FLAGS:
        found.flags.add(name)
    elif name == ".pragma":
        found.pragmas += parse_strings(cursor)
        cursor.expect(";")
    else:
        found.other.append((name[1:], _anything(cursor)))


def _numbers(cursor: Cursor, name: str, most: int) -> tuple[int, ...]:
    numbers: list[int] = []
    while True:
        at = cursor.at
        value = plain_integer(cursor, f"a number for `{name}`", bits=32)
        if not value and name in _POSITIVE:
            raise cursor.error(f"`{name}` must be positive, got 0", at=at)
        numbers.append(value)
        if len(numbers) == most or not cursor.accept(","):
            return tuple(numbers)


def parse_strings(cursor: Cursor) -> list[str]:
    """Strings with commas between, without their quotes."""
    strings = [cursor.take("string", "a string")[1:-1]]
    while cursor.accept(","):
        strings.append(cursor.take("string", "a string")[1:-1])
    return strings


def _anything(cursor: Cursor) -> tuple[str, ...]:
    """Numbers, strings and words with commas between, of a directive newer than this parser."""
    values: list[str] = []
    while cursor.kind in ("int", "string", "word"):
        values.append(cursor.value)
        cursor.advance()
        if not (cursor.kind == "op" and cursor.accept(",")):
            break
    return tuple(values)


def _check(cursor: Cursor, found: _Collected, start: int) -> None:
    """Refuse directives that contradict each other."""
    for one, other in ((".maxntid", ".reqntid"), (".reqnctapercluster", ".maxclusterrank")):
        given = found.triples.keys() | found.numbers.keys()
        if one in given and other in given:
            raise cursor.error(f"`{one}` and `{other}` exclude each other", at=start)
    if ".blocksareclusters" in found.flags and not {".reqntid", ".reqnctapercluster"} <= found.triples.keys():
        raise cursor.error("`.blocksareclusters` needs .reqntid and .reqnctapercluster", at=start)
