"""A kernel's parameters as people read them, and a command line to start from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from teenycuda_cli.driver.packing import declaration, scalar_type
from teenycuda_cli.driver.program import Kernel
from teenycuda_cli.ptx.syntax import Parameter

ELEMENTS = 4096
POINTER_NAMES = "xyzwuv"
INTEGER_NAMES = "nmklpq"
FLOAT_NAMES = "abcdef"


def parameter_lines(kernel: Kernel, given: Sequence[str] = ()) -> tuple[str, ...]:
    """One line a parameter: its declaration, and what it was given or that it is filled by itself."""
    lines = []
    texts = list(given)
    for parameter, role in zip(kernel.parameters, kernel.roles, strict=True):
        if role != "user":
            note = f"filled by itself ({role.replace('_', ' ')})"
        else:
            note = f"--arg {texts.pop(0)}" if texts else "not given" if given else ""
        lines.append(f"  {parameter.index}  {declaration(parameter)}" + (f"    {note}" if note else ""))
    lines += [f"  -  no parameter    --arg {text}" for text in texts]
    return tuple(lines)


def starting_command(path: str, kernel: Kernel, *, several: bool) -> str:
    """A command line that fits the signature, ready to paste; shapes and values are guesses."""
    words = ["teenycuda", "launch", path]
    if several:
        words += ["--entry", kernel.name]
    words += ["--grid", "4"]
    if kernel.threads is None:
        words += ["--block", "256"]
    used: set[str] = set()
    pointers = [
        p
        for p, role in zip(kernel.parameters, kernel.roles, strict=True)
        if role == "user" and _is_pointer(p)
    ]
    for parameter, role in zip(kernel.parameters, kernel.roles, strict=True):
        if role == "user":
            last = bool(pointers) and parameter is pointers[-1]
            words += ["--arg", _argument(parameter, used, last=last)]
    return shlex.join(words)


def _is_pointer(parameter: Parameter) -> bool:
    return parameter.size == 8 and not parameter.array and (
        parameter.pointer is not None or parameter.type in {"u64", "b64"}
    )  # fmt: skip


def _argument(parameter: Parameter, used: set[str], *, last: bool) -> str:
    if _is_pointer(parameter):
        name = _name(parameter, "out" if last else POINTER_NAMES, used)
        return f"{name}=ptr:{ELEMENTS}xf32" + ("" if last else "=randn")
    element = scalar_type(parameter)
    if element is None or parameter.size not in {1, 2, 4, 8}:
        if parameter.size == 2:
            return f"{_name(parameter, FLOAT_NAMES, used)}=f16:1"
        return f"{_name(parameter, 's', used)}=bytes:{'00' * parameter.size}"
    if element.kind == "float":
        return f"{_name(parameter, FLOAT_NAMES, used)}={element.name}:1.0"
    number = ELEMENTS if parameter.size >= 4 else 1
    return f"{_name(parameter, INTEGER_NAMES, used)}={element.name.replace('u', 'i')}:{number}"


def _name(parameter: Parameter, letters: str, used: set[str]) -> str:
    """The parameter's own name where a person gave it, else a letter by its type."""
    own = parameter.name
    plain = bool(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", own)) and not re.search(r"_param_\d+$|^__", own)
    candidates = [own] if plain and own else []
    candidates += ["out"] if letters == "out" else list(letters)
    name = next((name for name in candidates if name not in used), f"arg{parameter.index}")
    used.add(name)
    return name
