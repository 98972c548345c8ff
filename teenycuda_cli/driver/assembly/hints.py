"""What to do about an assembler's message, for the causes that are known."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from teenycuda_cli.ptx.targets import introduced

_ONLY_TARGET = {
    "wgmma": "sm_90a",
    "setmaxnreg": "sm_90a, or sm_100a and later with an `a`",
    "tcgen05": "sm_100a or sm_100f",
}
"""Instructions that a plain target lacks, and the targets that have them."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What was assembled: for which architecture, and for what the file says it is, as far as it does."""

    arch: str
    target: str | None
    version: str | None


_Advice = Callable[[re.Match[str], Subject], str]


def hint_for(message: str, subject: Subject) -> str | None:
    """The next step for an assembler's message; None where none is known.

    Example: "Unsupported .version 9.9; current version is '9.0'" gives "this
    assembler reads PTX ISA up to 9.0: …".
    """
    for pattern, advice in _ADVICE:
        match = pattern.search(message)
        if match:
            return advice if isinstance(advice, str) else advice(match, subject)
    return None


def _too_new(match: re.Match[str], _: Subject) -> str:
    return (
        f"this assembler reads PTX ISA up to {match[1]}: lower .version if the code needs nothing newer, "
        "or `pip install -U nvidia-nvjitlink`"
    )


def _too_old(match: re.Match[str], _: Subject) -> str:
    first = introduced(match[1])
    needed = f".version {first[0]}.{first[1]} or later" if first else "a newer .version"
    return f"{match[1]} needs {needed}"


def _newer_isa(match: re.Match[str], subject: Subject) -> str:
    here = f"; the file says {subject.version}" if subject.version else ""
    return f"raise .version to {match[1]}{here}"


def _not_on_target(match: re.Match[str], subject: Subject) -> str:
    target = _ONLY_TARGET.get(match[1].split(".")[0])
    if target:
        return f"{match[1]} needs .target {target}; a plain {subject.target or subject.arch} does not have it"
    return f"{match[1]} needs another .target than {match[2]}: the PTX ISA names those that have it"


def _wrong_suffix(match: re.Match[str], _: Subject) -> str:
    return f"code for {match[1]} runs on {match[1]} only: --arch {match[1]}, or compile it for another target"


def _wrong_family(match: re.Match[str], _: Subject) -> str:
    return (
        f"{match[1]} runs within its family only (sm_100f on sm_100 and sm_103, sm_120f on sm_120 and sm_121)"
    )


def _too_high(_: re.Match[str], subject: Subject) -> str:
    if subject.target is None:
        return "assemble for the file's .target or a later architecture"
    return f"the file is for {subject.target}: --arch {subject.target} or later, not {subject.arch}"


def _undefined(match: re.Match[str], _: Subject) -> str:
    name = match[1]
    if name.startswith("__nv_"):
        return f"{name} is in libdevice: let the compiler link it in"
    if name.startswith("cuda"):
        return f"{name} is in the device runtime, cudadevrt: link it with nvlink"
    return f"{name} is declared .extern and defined nowhere in this file: link the file that defines it"


def _shared(_: re.Match[str], __: Subject) -> str:
    return (
        "the assembler takes 49152 bytes of static shared memory on every architecture; "
        "more must be dynamic: .extern .shared, and --shared at the launch"
    )


def _higher_target(match: re.Match[str], subject: Subject) -> str:
    here = f", not {subject.target}" if subject.target else ""
    return f"compile it for .target {match[1]} or later{here}"


_DEBUG = (
    "the debug information does not fit the code: `teenycuda strip`, and load without --no-strip, drop it"
)

_ADVICE: tuple[tuple[re.Pattern[str], str | _Advice], ...] = tuple(
    (re.compile(pattern), advice)
    for pattern, advice in (
        (r"Unsupported \.version \S+; current version is '([\d.]+)'", _too_new),
        (r"PTX \.version \S+ does not support \.target (\w+)", _too_old),
        (r"requires PTX ISA \.version ([\d.]+) or later", _newer_isa),
        (r"requires \.target (\w+) or higher", _higher_target),
        (r"(?:Instruction|Feature) '(\S+)' not supported on \.target '(\w+)'", _not_on_target),
        (r"\.target '(\w+)' cannot be compiled for architecture", _wrong_suffix),
        (r"\.target '(\w+)' cannot be compiled to future architecture", _wrong_suffix),
        (r"\.target '(\w+)' cannot be compiled to different SM-family", _wrong_family),
        (r"SM version specified by \.target is higher", _too_high),
        (r"Debug information not found in presence of \.target debug", _DEBUG),
        (r"used in (?:function_name|inlined_at)|^label '.*' invalid|\.debug_\w+ section not found", _DEBUG),
        (r"Parsing error near '\.?\$?\$L__sec", _DEBUG),
        (
            r"Optimized debugging not supported",
            "leave out -O, or --no-strip: code with debug information is not optimized",
        ),
        (r"non-ASCII character", "PTX is ASCII, comments too: `teenycuda strip` puts ? in their place"),
        (r"Undefined reference to '(\S+)'", _undefined),
        (r"Unresolved extern (?:function|variable) '(\S+)'", _undefined),
        (r"Missing \.version directive", "PTX begins with `.version major.minor`, after comments at most"),
        (r"uses too much shared data", _shared),
        (
            r"uses too much parameter space",
            "a kernel takes 32764 bytes of parameters (4352 before PTX 8.1): pass a pointer to more",
        ),
        (r"too much global constant data", "constant memory ends at 65536 bytes: put more into .global"),
        (r"memory exhausted", "the text is nested too deeply for the assembler"),
        (r"32-Bit ABI", "put `.address_size 64` behind .target"),
        (
            r"Call to '(\S+)' requires call prototype",
            "declare the function before the call: .extern .func …;",
        ),
        (
            r"Not a name of any known instruction",
            "misspelt, or newer than the PTX ISA that this assembler reads; opcodes are lower-case",
        ),
        (r"register count of \d+ to lower bound", "--max-registers is raised to what the architecture needs"),
        (r"Too big maxrregcount", "a thread has at most 255 registers"),
    )
)
