"""Whether a file can load on a GPU at all, told by the rule that it breaks and before the driver."""

from __future__ import annotations

import re
from dataclasses import dataclass

from teenycuda_cli.driver.cuda.library import version_text

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
class Target:
    """`sm_90a` in its parts; `suffix` is "a" (this architecture alone), "f" (this family) or ""."""

    major: int
    minor: int
    suffix: str

    @property
    def name(self) -> str:
        """As PTX writes it."""
        return f"sm_{self.major}{self.minor}{self.suffix}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file cannot load: the rule, and what to do."""

    message: str
    hint: str


def parse_target(text: str) -> Target | None:
    """A target by its name; None for what is none (`texmode_unified`, `debug`)."""
    match = re.fullmatch(r"(?:sm|compute)_([0-9]+)([0-9])([af]?)", text)
    return Target(int(match[1]), int(match[2]), match[3]) if match else None


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
    """Whether PTX for these targets can be assembled for a device of `arch`; None when it can."""
    device = parse_target(arch)
    targets = [target for target in map(parse_target, names) if target]
    if not targets or not device:
        return None
    target = targets[0]
    has = (device.major, device.minor)
    wants = (target.major, target.minor)
    if target.suffix == "a" and wants != has:
        rule = f"{target.name} is for compute capability {target.major}.{target.minor} alone"
    elif target.suffix == "f" and (device.major != target.major or wants > has):
        rule = f"{target.name} is for its family, {target.major}.x from {target.major}.{target.minor}, alone"
    elif wants > has:
        rule = f"{target.name} needs compute capability {target.major}.{target.minor} or higher"
    else:
        return None
    return Refusal(
        f"PTX for {target.name} cannot load on this GPU: {rule}, and the GPU is {arch}",
        f"compile for {arch}, or an older target without a suffix",
    )


def refuse_machine_code(code: str, arch: str) -> Refusal | None:
    """Whether a cubin for `code` runs on a device of `arch`: the same major, and no higher minor."""
    target, device = parse_target(code), parse_target(arch)
    if not target or not device:
        return None
    if target.suffix != "a" and target.major == device.major and target.minor <= device.minor:
        return None
    if target.suffix == "a" and (target.major, target.minor) == (device.major, device.minor):
        return None
    return Refusal(
        f"the cubin holds machine code for {target.name}, and the GPU is {arch}",
        f"assemble the PTX for it: teenycuda load --arch {arch} --cubin OUT FILE.ptx",
    )
