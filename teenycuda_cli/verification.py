"""Whether stripped PTX is the same program: both sides assembled, their machine code compared."""

from __future__ import annotations

import re
from dataclasses import dataclass

from teenycuda_cli.binary.elf import SHT_NOBITS, read_elf
from teenycuda_cli.binary.reader import Reader
from teenycuda_cli.driver.assembly.assembler import Assembly, assemble
from teenycuda_cli.driver.assembly.diagnostics import diagnose
from teenycuda_cli.errors import AssembleError
from teenycuda_cli.ptx.parser import parse
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.strip import Stripped
from teenycuda_cli.ptx.targets import architecture_number

OLDEST_ARCH = "sm_75"  # what assemblers of CUDA 13 go back to
_CODE = re.compile(r"\.text\.|\.nv\.constant[0-9]*(\.|\Z)|\.nv\.global\.init")
_DEBUG_OPTION = re.compile(rb"(?<![^\n])([ \t]*\.target[^\n]*?),[ \t]*debug(?![A-Za-z0-9_$])")
_DIAGNOSTICS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Verification:
    """What comparing showed.

    `compared` is False where the original does not assemble, so that there is
    nothing to compare with; `reason` then says why. `differences` names the
    sections of machine code that are not the same.
    """

    arch: str
    compared: bool
    sections: int
    differences: tuple[str, ...]
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the stripped text assembles, and to the same code where that can be told."""
        return not self.differences


def verify(source: Source, stripped: Stripped) -> Verification:
    """Assemble a text before and after `strip`, and compare the machine code.

    `debug` in `.target` turns optimization off, so it is taken out of the
    original too. Raises AssembleError, in the user's lines, where the stripped
    text does not assemble.
    """
    arch = _architecture(Source(stripped.data, source.name))
    after = assemble(stripped.data, arch=arch, name=source.name)
    if not after.ok or after.cubin is None:
        raise _refused(after, source, stripped)
    original = source.data
    if stripped.removed.target_debug:
        original = _DEBUG_OPTION.sub(rb"\1", original, count=1)
    reason = "text behind a NUL is no part of the original" if stripped.removed.behind_nul else None
    if stripped.removed.behind_nul:
        original = original[: original.find(b"\0")]
    before = assemble(original, arch=arch, name=source.name)
    if not before.ok or before.cubin is None:
        said = before.failure or _first_line(before.error_log) or "the assembler refuses it"
        return Verification(arch, False, 0, (), f"the original does not assemble: {said}")
    code_before, code_after = _code(before.cubin, source.name), _code(after.cubin, source.name)
    names = sorted(code_before.keys() | code_after.keys())
    different = tuple(name for name in names if code_before.get(name) != code_after.get(name))
    return Verification(arch, True, len(names), different, reason)


def _architecture(source: Source) -> str:
    """The architecture to assemble for: the target's, or the oldest one that assemblers still know."""
    target = next(iter(parse(source, bodies=False).target), OLDEST_ARCH)
    number, oldest = architecture_number(target) or 0, architecture_number(OLDEST_ARCH) or 0
    return target.replace("compute_", "sm_") if number >= oldest else OLDEST_ARCH


def _code(cubin: bytes, name: str) -> dict[str, bytes]:
    """Machine code and initialised data by section; what is left out changes with debug information."""
    return {
        section.name: cubin[section.offset : section.offset + section.size]
        for section in read_elf(Reader(cubin, name, "cubin")).sections
        if section.type != SHT_NOBITS and _CODE.match(section.name)
    }


def _refused(assembly: Assembly, source: Source, stripped: Stripped) -> AssembleError:
    errors = [d for d in diagnose(assembly, source, stripped.user_line) if d.severity != "info"]
    first = next((d for d in errors if d.line is not None), None)
    message = first.message if first else assembly.failure or "the stripped text does not assemble"
    return AssembleError(
        message,
        file=source.name,
        line=first.line if first else None,
        column=first.column if first else None,
        context=tuple(f"  {d.message}" for d in errors[1:_DIAGNOSTICS_SHOWN]),
        hint="the fault is in the code itself: see `teenycuda load`",
    )


def _first_line(log: str) -> str:
    return next((line.strip() for line in log.splitlines() if line.strip()), "")
