"""Functions declared before they are defined, and where the two disagree."""

from __future__ import annotations

from typing import NamedTuple

from teenycuda_cli.ptx.signatures import Directives, Function, Variable


class Header(NamedTuple):
    """What stands before a function's body."""

    name: str
    name_at: int
    is_entry: bool
    linkage: str
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    directives: Directives


def disagreement(header: Header, defined: bool, earlier: Function | None) -> str | None:
    """What keeps a header from standing beside an earlier one of its name; None if nothing does."""
    name, linkage = header.name, header.linkage
    if defined and linkage == "extern":
        return f"`{name}` is .extern, so it cannot be defined here"
    if earlier is None:
        return None
    if earlier.defined:
        problem: str | None = "is defined already"
    elif earlier.is_entry != header.is_entry:
        problem = "is both an entry and a function"
    elif linkage not in ("none", earlier.linkage) or (
        earlier.linkage == "extern" and (defined or linkage == "none")
    ):
        problem = f"was declared with another linkage ({earlier.linkage})"
    elif (_types(earlier.params), _types(earlier.returns)) != (_types(header.params), _types(header.returns)):
        problem = "was declared with other parameters"
    else:
        problem = None
    return problem and f"`{name}` {problem}"


def _types(variables: tuple[Variable, ...]) -> list[tuple[str, int, int | None]]:
    return [(variable.type, variable.vector, variable.size) for variable in variables]
