"""What a cubin or a fatbin holds, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """A parameter's place in the parameter space, in bytes; its type is not recorded in a cubin."""

    index: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry of a cubin. Sizes in bytes; None where the file does not say."""

    name: str
    linkage: str  # "visible", "weak", "none"
    params: tuple[KernelParameter, ...]
    registers: int | None  # per thread
    static_shared: int  # without the kilobyte that sm_90 and later reserve for themselves
    frame: int  # per thread: the entry's own stack frame
    local: int | None  # per thread: the frame and those of all that it calls; None where that is not bounded
    const: int  # the module's `.const` variables
    const_bank0: int  # what the driver needs at a launch, and the parameters
    max_threads: int | None  # the product of reqntid, or of maxntid
    reqntid: tuple[int, int, int] | None
    maxntid: tuple[int, int, int] | None
    cluster: tuple[int, int, int] | None
    barriers: int | None
    arch: str  # "sm_90a"


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code for one architecture.

    `arch` has its suffix (`sm_90a`) where the file tells it; `toolkit` is the
    CUDA version that made it, None where unknown.
    """

    name: str
    arch: str
    abi_version: int
    toolkit: str | None
    kernels: tuple[Kernel, ...]
    functions: tuple[str, ...]  # device functions that are no entries
    debug_sections: tuple[str, ...]
    relocatable: bool  # made with -rdc/-c: still to be linked

    kind = "cubin"


@dataclass(frozen=True, slots=True)
class FatbinEntry:
    """One image of a fatbin; `payload` is it, unpacked, and for a cubin `cubin` what it holds.

    `size` counts the bytes in the file, `unpacked_size` those of the image.
    """

    kind: str  # "ptx", "cubin", or "kind 0x…"
    arch: str
    compression: str | None  # "lz4", "zstd"
    offset: int
    size: int
    unpacked_size: int
    payload: bytes = field(repr=False)
    cubin: Cubin | None = None


@dataclass(frozen=True, slots=True)
class Fatbin:
    """A container of images for several architectures."""

    name: str
    entries: tuple[FatbinEntry, ...]

    kind = "fatbin"


Binary: TypeAlias = Cubin | Fatbin
