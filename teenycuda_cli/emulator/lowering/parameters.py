"""Parameters of functions that are registers: they come and go through `.param` variables."""

from __future__ import annotations

from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.syntax import Address, Function, Instruction, Name, Variable

_FLOATS = frozenset(("f32", "f64"))
SAVED_STACK = "stack at entry"


def modifiers(variable: Variable) -> tuple[str, ...]:
    """Those of a load or store of a parameter."""
    kind = variable.type if variable.type in _FLOATS else f"b{bits(variable)}"
    return ("param", f"v{variable.vector}", kind) if variable.vector > 1 else ("param", kind)


def bits(variable: Variable) -> int:
    """Those of one element of a parameter."""
    return 8 * (variable.size or 0) // variable.vector


def hidden(variable: Variable) -> str:
    """The name of the `.param` variable behind a parameter in a register."""
    return f"{variable.name} in .param"


def register_of(variable: Variable) -> syntax.Registers:
    """The declaration of the register that a parameter is."""
    item = syntax.Register(variable.name, variable.type, variable.vector, None, variable.offset)
    return syntax.Registers((item,))


def entering(function: Function, *, keeps_stack: bool) -> list[Instruction]:
    """What comes before a function's first instruction: parameters into registers, the stack's end saved."""
    at = function.offset
    found = [
        Instruction("ld", modifiers(variable), (Name(variable.name), _place(variable)), at, at)
        for variable in function.params
        if variable.space == "reg"
    ]
    if keeps_stack:
        found.append(Instruction("stacksave", ("u64",), (Name(SAVED_STACK),), at, at))
    return found


def leaving(function: Function, *, keeps_stack: bool) -> list[Instruction]:
    """What comes before each of its `ret`: results out of registers, and what it took of the stack back."""
    at = function.offset
    found = [
        Instruction("st", modifiers(variable), (_place(variable), Name(variable.name)), at, at)
        for variable in function.returns
        if variable.space == "reg"
    ]
    if keeps_stack:
        found.append(Instruction("stackrestore", ("u64",), (Name(SAVED_STACK),), at, at))
    return found


def _place(variable: Variable) -> Address:
    return Address(Name(hidden(variable)), 0)
