"""What stands behind a label: `.branchtargets`, `.calltargets`, `.callprototype`."""

from __future__ import annotations

from teenycuda_cli.ptx.declarations import parse_parameters, plain_integer
from teenycuda_cli.ptx.statements import LabelTable, Prototype
from teenycuda_cli.ptx.tokens import Cursor

_LARGEST_FAMILY = 1 << 16  # labels that one `name<N>` may stand for
_WITH_NUMBER = (".abi_preserve", ".abi_preserve_control")


def parse_table(cursor: Cursor, name: str, at: int) -> LabelTable | Prototype:
    """The directive at the cursor, semicolon included; `name` and `at` are its label's."""
    kind = cursor.value[1:]
    cursor.advance()
    if kind == "callprototype":
        prototype = _prototype(cursor, name, at)
        cursor.expect(";")
        return prototype
    targets: list[str] = []
    while True:
        target = cursor.name("a label" if kind == "branchtargets" else "a function")
        if cursor.kind == "op" and cursor.accept("<"):
            count = plain_integer(cursor, "a number of labels")
            if count > _LARGEST_FAMILY:
                raise cursor.error(f"`{target}<{count}>` stands for too many labels")
            cursor.expect(">")
            targets += [f"{target}{index}" for index in range(count)]
        else:
            targets.append(target)
        if not cursor.accept(","):
            break
    cursor.expect(";")
    return LabelTable(name, kind, tuple(targets), at)


def _prototype(cursor: Cursor, name: str, at: int) -> Prototype:
    returns = parse_parameters(cursor, prototype=True) if cursor.value == "(" else ()
    cursor.expect("_", " in place of the function's name")
    params = parse_parameters(cursor, prototype=True) if cursor.value == "(" else ()
    noreturn = False
    while cursor.kind == "dot":
        noreturn = noreturn or cursor.value == ".noreturn"
        takes_number = cursor.value in _WITH_NUMBER
        cursor.advance()
        if takes_number:
            plain_integer(cursor, "a number of registers")
    return Prototype(name, returns, params, at, noreturn)
