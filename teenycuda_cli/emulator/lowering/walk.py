"""Walks through a parsed body: its statements, and the names in operands and initialisers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.syntax import Function, Initializer, Instruction, Operand, Statement, Variable


def flat(statements: tuple[Statement, ...]) -> Sequence[Statement]:
    """All statements, those of inner scopes too, however deep."""
    if syntax.Block not in set(map(type, statements)):
        return statements
    found: list[Statement] = []
    stack = [iter(statements)]
    while stack:
        statement = next(stack[-1], None)
        if statement is None:
            stack.pop()
        elif isinstance(statement, syntax.Block):
            stack.append(iter(statement.statements))
        else:
            found.append(statement)
    return found


def names(operand: Operand) -> Iterator[str]:
    """All names in an operand."""
    if isinstance(operand, (syntax.Name, syntax.Indexed)):
        yield operand.base.text if isinstance(operand, syntax.Indexed) else operand.text
    elif isinstance(operand, syntax.Address):
        if operand.base is not None:
            yield operand.base.text
    elif isinstance(operand, syntax.Pair):
        yield from names(operand.first)
        yield from names(operand.second)
    elif isinstance(operand, (syntax.Vector, syntax.Arguments, syntax.Compound)):
        for element in operand.elements:
            yield from names(element)


def variables(statements: tuple[Statement, ...]) -> Iterator[Variable]:
    """All that a body declares."""
    return (statement for statement in flat(statements) if type(statement) is Variable)


def named(candidates: set[str], functions: list[Function]) -> set[str]:
    """Those of the names that stand in an instruction of the functions."""
    found: set[str] = set()
    if not candidates:
        return found
    for function in functions:
        for statement in flat(function.body or ()):
            if type(statement) is Instruction:
                for operand in statement.operands:
                    if type(operand) is syntax.Name:
                        if operand.text in candidates:
                            found.add(operand.text)
                    elif type(operand) is not syntax.Integer:
                        found.update(candidates.intersection(names(operand)))
                if len(found) == len(candidates):
                    return found
    return found


def addressed(value: Initializer | None) -> Iterator[str]:
    """The names whose addresses an initialiser holds."""
    if isinstance(value, tuple):
        for item in value:
            yield from addressed(item)
    elif isinstance(value, syntax.SymbolAddress):
        yield value.name
