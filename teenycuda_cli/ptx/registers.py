"""`.reg` statements."""

from __future__ import annotations

from teenycuda_cli.ptx.declarations import parse_declared, parse_family
from teenycuda_cli.ptx.statements import Register, Registers
from teenycuda_cli.ptx.tokens import Cursor


def parse_registers(cursor: Cursor) -> Registers:
    """A `.reg` statement, semicolon included."""
    declared = parse_declared(cursor, "none", False)
    registers: list[Register] = []
    while not (cursor.value == ";" and not registers):
        at = cursor.at
        name = cursor.name("a register's name")
        count = parse_family(cursor) if cursor.kind == "op" and cursor.value == "<" else None
        registers.append(Register(name, declared.type, declared.vector, count, at))
        if not cursor.accept(","):
            break
    cursor.expect(";")
    return Registers(tuple(registers))
