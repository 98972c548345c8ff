"""Whether a file can load on a GPU at all, told by the rule that it breaks and before the driver."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from teenycuda_cli.binary import Cubin, FatbinEntry
from teenycuda_cli.driver.assembly.architectures import code_runs_on, ptx_assembles_for
from teenycuda_cli.driver.cuda.library import version_text
from teenycuda_cli.errors import FileError, PtxSyntaxError
from teenycuda_cli.ptx.parser import parse

if TYPE_CHECKING:
    from teenycuda_cli.driver.image import Image

PTX_VERSIONS = {
    12040: (8, 4),
    12050: (8, 5),
    12060: (8, 5),
    12070: (8, 6),
    12080: (8, 7),
    12090: (8, 8),
    13000: (9, 0),
    13010: (9, 1),
}
"""The newest PTX that a driver of each CUDA version assembles (the PTX ISA's release notes)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file cannot load: the rule, and what to do."""

    message: str
    hint: str | None


def refuse(image: Image, arch: str, driver_version: int) -> Refusal | None:
    """The rule by which an image cannot load on a GPU of `arch`, if there is one to be told."""
    if image.kind == "ptx":
        try:
            module = parse(image.source, bodies=False)
        except PtxSyntaxError:
            return None  # the assembler tells it, with the line
        return refuse_version(module.version, driver_version) or refuse_target(module.target, arch)
    try:
        content = image.binary
    except FileError as broken:
        return Refusal(broken.message, broken.hint)
    if isinstance(content, Cubin):
        return refuse_machine_code(content.arch, arch)
    refusals = [_refuse_entry(entry, arch) for entry in content.entries]
    if not all(refusals):
        return None
    held = ", ".join(f"{entry.kind} for {entry.arch}" for entry in content.entries) or "nothing"
    return Refusal(f"the fatbin holds {held}, and this GPU is {arch}", f"compile it for {arch}")


def _refuse_entry(entry: FatbinEntry, arch: str) -> Refusal | None:
    if entry.kind == "ptx":
        return refuse_target((entry.arch,), arch)
    return refuse_machine_code(entry.arch, arch) if entry.kind == "cubin" else None


def refuse_version(version: tuple[int, int], driver_version: int) -> Refusal | None:
    """Whether PTX of this version is newer than the driver; None when it is not, or when nobody can tell."""
    newest = PTX_VERSIONS.get(driver_version)
    if newest is None or version <= newest:
        return None
    return Refusal(
        f"PTX version {version[0]}.{version[1]} is newer than the driver: CUDA {version_text(driver_version)}"
        f" assembles PTX up to {newest[0]}.{newest[1]}",
        "update the driver, or compile for an older PTX version",
    )


def refuse_target(names: tuple[str, ...], arch: str) -> Refusal | None:
    """Whether PTX for these targets can be assembled for a GPU of `arch`; None when it can."""
    target = next((name for name in names if re.fullmatch(r"(sm|compute)_\d+[af]?", name)), None)
    if target is None or ptx_assembles_for(target, f"{arch}a"):  # a GPU has what only its own `a` target has
        return None
    number = re.sub(r"\D", "", target)
    if target.endswith("a"):
        rule = f"runs on compute capability {number[:-1]}.{number[-1]} alone"
    elif target.endswith("f"):
        rule = (
            f"runs on compute capability {number[:-1]}.{number[-1]} and later ones of {number[:-1]}.x alone"
        )
    else:
        rule = f"needs compute capability {number[:-1]}.{number[-1]} or higher"
    return Refusal(
        f"the PTX is for {target}, which {rule}, and this GPU is {arch}",
        f"compile it for {arch}, or for an earlier target without a letter behind",
    )


def refuse_machine_code(code: str, arch: str) -> Refusal | None:
    """Whether a cubin for `code` runs on a GPU of `arch`; None when it does."""
    if code_runs_on(code, arch):
        return None
    return Refusal(
        f"the cubin holds machine code for {code}, and this GPU is {arch}",
        f"assemble the PTX for it: teenycuda load --arch {arch} --cubin OUT FILE",
    )
