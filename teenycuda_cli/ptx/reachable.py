"""The bodies that a launch needs: the entry's, and those of the functions it can reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from teenycuda_cli.ptx.body import BodyParser
from teenycuda_cli.ptx.layout import element_size
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.syntax import (
    Arguments,
    Block,
    Function,
    Initializer,
    Instruction,
    LabelTable,
    Module,
    Name,
    Statement,
    SymbolAddress,
)


def with_reachable_bodies(source: Source, module: Module, entry: str) -> Module:
    """A module parsed without bodies, with those of `entry` and of every function it can reach.

    A function is reached by being named: in a call, a table of targets, or
    where its address is taken, also in a variable's initial value.
    """
    parser = BodyParser(source, {v.name: element_size(v) for v in module.variables if v.shape})
    functions = {function.name: function for function in module.functions}
    aliases = dict(module.aliases)
    waiting = [entry, *(name for v in module.variables for name in _symbols(v.initializer))]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        name = aliases.get(name, name)
        function = functions.get(name)
        if function is None or name in seen:
            continue
        seen.add(name)
        if function.body is None and function.body_span is not None:
            body, _ = parser.parse(function.body_span[0], function.returns + function.params)
            functions[name] = function = replace(function, body=body)
        waiting += [found for found in _names(function) if found in functions or found in aliases]
    return replace(module, functions=tuple(functions.values()))


def _names(function: Function) -> Iterator[str]:
    """Every plain name in a body that could be a function's."""
    waiting: list[Iterable[Statement]] = [function.body or ()]
    while waiting:
        for statement in waiting.pop():
            if isinstance(statement, Block):
                waiting.append(statement.statements)
            elif isinstance(statement, LabelTable):
                yield from statement.targets
            elif isinstance(statement, Instruction) and statement.opcode in ("call", "mov", "cvta", "st"):
                for operand in statement.operands:
                    parts = operand.elements if isinstance(operand, Arguments) else (operand,)
                    yield from (part.text for part in parts if isinstance(part, Name))


def _symbols(initializer: Initializer | None) -> Iterator[str]:
    waiting = [initializer]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting += value
        elif isinstance(value, SymbolAddress):
            yield value.name
