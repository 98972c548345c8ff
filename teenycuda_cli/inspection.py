"""What a file holds, whatever its kind: the one call behind `inspect`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from teenycuda_cli.driver.image import Image, image_of, read_image
from teenycuda_cli.errors import TeenycudaError
from teenycuda_cli.ptx.inspection import KernelFacts, inspect_ptx
from teenycuda_cli.ptx.metadata import Sidecar, read_metadata
from teenycuda_cli.ptx.sidecar import find_sidecar
from teenycuda_cli.ptx.signatures import Module
from teenycuda_cli.wording import display_name

if TYPE_CHECKING:
    from teenycuda_cli.binary import Cubin, Fatbin, FatbinEntry, Kernel

DEBUG_SECTION = ".debug"
DWARF_LINES = "@@DWARF"


class DebugFacts(NamedTuple):
    """The debug information of a file: `debug` in .target, sections, numbers of `.file` and `.loc`."""

    target: bool
    sections: tuple[str, ...]
    files: int | None
    locs: int | None


class FunctionFacts(NamedTuple):
    """A function that is no kernel; line and linkage None where the file does not say."""

    name: str
    linkage: str | None
    line: int | None
    defined: bool


class GlobalFacts(NamedTuple):
    """A variable of a module; size in bytes, None where it is open."""

    name: str
    space: str
    type: str
    size: int | None
    line: int


class ImageFacts(NamedTuple):
    """One image of a fatbin; sizes in bytes, in the file and unpacked."""

    kind: str
    arch: str
    compression: str | None
    size: int
    unpacked_size: int
    kernels: tuple[str, ...] | None  # None where the image cannot be read


class FileFacts(NamedTuple):
    """What a file holds, or the error that kept it from being read. None is unknown."""

    path: str
    kind: str | None = None
    ptx_version: str | None = None
    target: tuple[str, ...] | None = None
    address_size: int | None = None
    debug: DebugFacts | None = None
    kernels: tuple[KernelFacts, ...] = ()
    functions: tuple[FunctionFacts, ...] = ()
    globals: tuple[GlobalFacts, ...] = ()
    images: tuple[ImageFacts, ...] | None = None
    entries: tuple[str, ...] = ()  # all kernels' names, also those not asked for
    warnings: tuple[str, ...] = ()
    error: TeenycudaError | None = None


def inspect_file(path: str, *, entry: str | None = None, sidecar: Sidecar | None = None) -> FileFacts:
    """Everything about a file, or about one of its kernels; an error is part of the answer.

    `sidecar` is metadata that the user names; without it, Triton's JSON file
    beside the file is looked for.
    """
    try:
        image = read_image(path)
        found, warnings = find_sidecar(path) if sidecar is None else (sidecar, ())
        facts = inspect_image(image, entry=entry, sidecars=[found] if found else [])
    except TeenycudaError as error:
        return FileFacts(display_name(path), error=error)
    return facts._replace(warnings=warnings + facts.warnings)


def inspect_image(image: Image, *, entry: str | None = None, sidecars: Sequence[Sidecar] = ()) -> FileFacts:
    """The same for a program in memory; raises FileError and PtxSyntaxError."""
    if image.kind == "ptx":
        return _of_ptx(image, entry, sidecars)
    from teenycuda_cli.binary import Cubin  # noqa: PLC0415  (not needed for PTX)

    content = image.binary
    if isinstance(content, Cubin):
        return _of_cubin(content, entry, sidecars)
    return _of_fatbin(content, entry, sidecars)


def _of_ptx(image: Image, entry: str | None, sidecars: Sequence[Sidecar]) -> FileFacts:
    facts = inspect_ptx(image.source, sidecars, entry)
    module, position = facts.module, image.source.position
    return FileFacts(
        path=image.name,
        kind=image.kind,
        ptx_version=module.version_text,
        target=module.target,
        address_size=module.address_size,
        debug=DebugFacts(
            target="debug" in module.target,
            sections=tuple(
                section.name
                for section in module.sections
                if section.name.startswith(DEBUG_SECTION) or section.name == DWARF_LINES
            ),
            files=len(module.files),
            locs=module.loc_count,
        ),
        kernels=facts.kernels,
        functions=tuple(
            FunctionFacts(f.name, f.linkage, position(f.offset)[0], f.defined)
            for f in module.functions
            if not f.is_entry
        ),
        globals=tuple(
            GlobalFacts(v.name, v.space, v.type, v.size, position(v.offset)[0]) for v in module.variables
        ),
        entries=tuple(function.name for function in module.entries),
        warnings=facts.warnings,
    )


def _of_cubin(cubin: Cubin, entry: str | None, sidecars: Sequence[Sidecar]) -> FileFacts:
    from teenycuda_cli.binary.entries import module_of  # noqa: PLC0415  (PTX, the usual case, starts without it)

    module = module_of(cubin.kernels)
    kernels = tuple(
        _kernel_facts(kernel, module, sidecars) for kernel in cubin.kernels if entry in (None, kernel.name)
    )
    sections = cubin.debug_sections
    return FileFacts(
        path=cubin.name,
        kind="cubin",
        target=(cubin.arch,),
        address_size=64,
        debug=DebugFacts(target=bool(sections), sections=sections, files=None, locs=None),
        kernels=kernels,
        functions=tuple(FunctionFacts(name, None, None, True) for name in cubin.functions),
        entries=tuple(kernel.name for kernel in cubin.kernels),
        warnings=tuple(warning for kernel in kernels for warning in kernel.metadata.warnings),
    )


def _kernel_facts(kernel: Kernel, module: Module, sidecars: Sequence[Sidecar]) -> KernelFacts:
    function = next(function for function in module.functions if function.name == kernel.name)
    metadata = read_metadata(module, function, sidecars)
    return KernelFacts(
        function=function,
        line=None,
        metadata=metadata,
        roles=("user",) * len(function.parameters),
        static_shared=kernel.static_shared,
        extern_shared=None,
    )


def _of_fatbin(fatbin: Fatbin, entry: str | None, sidecars: Sequence[Sidecar]) -> FileFacts:
    """The images, and the kernels as the most telling of them knows them: PTX has the parameters' types."""
    read = [(image, _inside(image, fatbin.name, entry, sidecars)) for image in fatbin.entries]
    best = next((facts for _, facts in read if facts and facts.kind == "ptx"), None)
    best = best or next((facts for _, facts in read if facts), None) or FileFacts(fatbin.name)
    return best._replace(
        path=fatbin.name,
        kind="fatbin",
        target=tuple(dict.fromkeys(image.arch for image, _ in read)),
        images=tuple(
            ImageFacts(
                kind=image.kind,
                arch=image.arch,
                compression=image.compression,
                size=image.size,
                unpacked_size=image.unpacked_size,
                kernels=facts.entries if facts else None,
            )
            for image, facts in read
        ),
    )


def _inside(
    image: FatbinEntry, name: str, entry: str | None, sidecars: Sequence[Sidecar]
) -> FileFacts | None:
    if image.cubin is not None:
        return _of_cubin(image.cubin, entry, sidecars)
    if image.kind != "ptx" or image.payload is None:
        return None
    try:
        return inspect_image(image_of(image.payload.rstrip(b"\0"), name), entry=entry, sidecars=sidecars)
    except TeenycudaError:
        return None
