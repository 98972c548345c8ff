"""GPU architectures by name: `sm_90`, `sm_90a` (it alone), `sm_100f` (its family)."""

from __future__ import annotations

import re

from teenycuda_cli.errors import UsageError

_SPELLING = re.compile(r"(?:sm_?|compute_?)?([0-9]{2,3})([af]?)")
_NAME = re.compile(r"(?:sm|compute)_(\d+)(\d)([af]?)")


def normal_arch(arch: str) -> str:
    """`sm_90a` for any usual spelling of it (`90a`, `sm90a`, `compute_90a`); UsageError for no architecture.

    Example: normal_arch("90a") == "sm_90a"
    """
    match = _SPELLING.fullmatch(arch.strip().lower())
    if not match:
        hint = "an architecture is sm_75, sm_80, sm_90a, sm_100f, …"
        raise UsageError(f"no architecture {arch!r}", hint=hint)
    return f"sm_{match[1]}{match[2]}"


def sm_number(arch: str) -> int | None:
    """90 of `sm_90a`; None for what is no architecture."""
    match = _NAME.fullmatch(arch)
    return int(match[1] + match[2]) if match else None


def code_runs_on(code: str, arch: str) -> bool:
    """Whether machine code for `code` runs on `arch`: same major, no higher minor; `a` on its own only."""
    made, device = _NAME.fullmatch(code), _NAME.fullmatch(arch)
    if not made or not device or made[1] != device[1]:
        return False
    return made[2] == device[2] if made[3] == "a" else int(made[2]) <= int(device[2])


def ptx_assembles_for(target: str, arch: str) -> bool:
    """Whether PTX for `target` can be assembled for `arch`: any later one, but for `a` and `f` targets."""
    made, device = _NAME.fullmatch(target), _NAME.fullmatch(arch)
    if not made or not device:
        return False
    wants, has = (int(made[1]), int(made[2])), (int(device[1]), int(device[2]))
    if made[3] == "a":
        return wants == has and device[3] == "a"
    return (made[3] != "f" or wants[0] == has[0]) and wants <= has
