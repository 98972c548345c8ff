"""`.loc`: which source line the following statements are."""

from __future__ import annotations

from teenycuda_cli.ptx.declarations import plain_integer
from teenycuda_cli.ptx.statements import Loc
from teenycuda_cli.ptx.tokens import Cursor


def parse_loc(cursor: Cursor) -> Loc:
    """`.loc file line column{, function_name label{+n}, inlined_at file line column}`."""
    at = cursor.at
    cursor.advance()
    file, line, column = _place(cursor)
    if not (cursor.kind == "op" and cursor.accept(",")):
        return Loc(file, line, column, at)
    _word(cursor, "function_name")
    cursor.name("a label")
    if cursor.kind == "op" and cursor.accept("+"):
        plain_integer(cursor, "an offset")
    cursor.expect(",")
    _word(cursor, "inlined_at")
    return Loc(file, line, column, at, _place(cursor))


def _place(cursor: Cursor) -> tuple[int, int, int]:
    file, line, column = (plain_integer(cursor, f"a {what} number") for what in ("file", "line", "column"))
    return file, line, column


def _word(cursor: Cursor, word: str) -> None:
    if cursor.kind != "word" or cursor.value != word:
        raise cursor.unexpected(f"`{word}`")
    cursor.advance()
