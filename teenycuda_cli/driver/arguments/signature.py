"""A kernel's parameters as people read them, and a command line to start from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from math import prod

from teenycuda_cli.driver.arguments.packing import POINTER_BYTES, declaration, scalar_type
from teenycuda_cli.driver.program import Kernel
from teenycuda_cli.ptx.signatures import Parameter

BLOCK = 256
POINTER_NAMES = "xyzwuv"
INTEGER_NAMES = "nmklpq"
FLOAT_NAMES = "abcdef"


def parameter_lines(kernel: Kernel, given: Sequence[str] = ()) -> tuple[str, ...]:
    """One line a parameter: its declaration, and what it was given or that it is filled in."""
    lines = []
    texts = list(given)
    for parameter, role in zip(kernel.parameters, kernel.roles, strict=True):
        if role != "user":
            note = f"filled in ({role.replace('_', ' ')})"
        else:
            note = f"--arg {texts.pop(0)}" if texts else "not given" if given else ""
        lines.append(f"  {parameter.index}  {declaration(parameter)}" + (f"    {note}" if note else ""))
    lines += [f"  -  no parameter    --arg {text}" for text in texts]
    return tuple(lines)


def starting_command(path: str, kernel: Kernel, *, several: bool) -> str:
    """A command line that fits the signature, ready to paste; shapes and values are guesses.

    With one integer among the parameters it is taken for a length, with
    several for the extents of matrices.
    """
    words = ["teenycuda", "launch", path]
    if several:
        words += ["--entry", kernel.name]
    words += ["--grid", "4"]
    if kernel.threads is None:
        most = prod(kernel.directives.maxntid or (BLOCK,))
        words += ["--block", str(min(BLOCK, most))]
    own = [p for p, role in zip(kernel.parameters, kernel.roles, strict=True) if role == "user"]
    integers = [p for p in own if not _is_pointer(p) and _is_integer(p)]
    extent, shape = (64, "64x64") if len(integers) > 1 else (4096, "4096")
    pointers = [p for p in own if _is_pointer(p)]
    used: set[str] = set()
    for parameter in own:
        if not _is_pointer(parameter):
            text = _scalar(parameter, used, extent)
        elif parameter is pointers[-1]:
            text = f"{_name(parameter, ['out'], used)}=ptr:{shape}xf32"
        else:
            text = f"{_name(parameter, POINTER_NAMES, used)}=ptr:{shape}xf32=randn"
        words += ["--arg", text]
    return shlex.join(words)


def _is_pointer(parameter: Parameter) -> bool:
    """Whether a parameter is declared as a pointer, or has the size of one and nothing speaks against it."""
    if parameter.size != POINTER_BYTES or (parameter.array and parameter.type):
        return False
    return parameter.pointer is not None or parameter.type in {"u64", "b64", ""}


def _is_integer(parameter: Parameter) -> bool:
    element = scalar_type(parameter)
    return element is not None and element.is_integer and element.size >= 4


def _scalar(parameter: Parameter, used: set[str], extent: int) -> str:
    element = scalar_type(parameter)
    if element is None:
        if parameter.size == 2:
            return f"{_name(parameter, FLOAT_NAMES, used)}=f16:1"
        return f"{_name(parameter, ['s'], used)}=bytes:{'00' * parameter.size}"
    if element.kind == "float":
        return f"{_name(parameter, FLOAT_NAMES, used)}={element.name}:1.0"
    number = extent if _is_integer(parameter) else 1
    return f"{_name(parameter, INTEGER_NAMES, used)}={element.name.replace('u', 'i')}:{number}"


def _name(parameter: Parameter, candidates: Sequence[str], used: set[str]) -> str:
    """The parameter's own name where a person gave it, else the first candidate that is free."""
    own = parameter.name
    plain = bool(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", own)) and not re.search(r"(^|_)param_\d+$|^__", own)
    names = [own, *candidates] if plain else candidates
    name = next((name for name in names if name not in used), f"arg{parameter.index}")
    used.add(name)
    return name
