"""The contents of `.section name { … }`: data, labels, differences of labels."""

from __future__ import annotations

from teenycuda_cli.ptx.tokens import Cursor

_DATA = (".b8", ".b16", ".b32", ".b64", ".4byte", ".byte")
LABELS_SINCE = (7, 0)
NEGATIVES_SINCE = (7, 5)


def check_section(cursor: Cursor, end: int, version: tuple[int, int]) -> None:
    """Check what stands between the braces, from the `{` at the cursor to its `}` at `end`."""
    cursor.advance()
    while cursor.at < end:
        if cursor.kind == "word":
            if version < LABELS_SINCE:
                raise cursor.error("labels in a section need PTX 7.0 or later")
            cursor.advance()
            cursor.expect(":")
        elif cursor.kind == "dot" and cursor.value in _DATA:
            cursor.advance()
            _data(cursor, version)
        else:
            raise cursor.unexpected("data such as `.b8 1`, a label or `}`")


def _data(cursor: Cursor, version: tuple[int, int]) -> None:
    """Values with commas between; a number takes no sign but a minus, and no sum."""
    while True:
        if cursor.kind == "op" and cursor.value == "-":
            if version < NEGATIVES_SINCE:
                raise cursor.error("negative numbers in a section need PTX 7.5 or later")
            cursor.advance()
            cursor.take("int", "a number")
        elif cursor.kind == "int":
            cursor.advance()
        elif cursor.kind in ("word", "dot"):
            if _symbol(cursor):
                return
        else:
            raise cursor.unexpected("a number, a label or a section")
        if not (cursor.kind == "op" and cursor.accept(",")):
            return


def _symbol(cursor: Cursor) -> bool:
    """`label`, `label+4`, `.section+4` or `label-label`; True for the last, which no comma may follow."""
    of_section = cursor.kind == "dot"
    cursor.advance()
    if cursor.kind == "op" and cursor.accept("+"):
        cursor.take("int", "a number")
    elif cursor.kind == "op" and not of_section and cursor.accept("-"):
        cursor.take("word", "a label")
        return True
    return False
