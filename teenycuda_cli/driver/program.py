"""The kernel of a file as a launch needs it, whether it comes from PTX, a cubin or a fatbin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from teenycuda_cli.driver.image import Image
from teenycuda_cli.driver.nearest import nearest
from teenycuda_cli.errors import UsageError
from teenycuda_cli.ptx.inspection import SharedMemory
from teenycuda_cli.ptx.meta_blocks import meta_blocks
from teenycuda_cli.ptx.metadata import KEYS, Metadata, Sidecar, read_metadata
from teenycuda_cli.ptx.sidecar import find_sidecar, read_sidecar
from teenycuda_cli.ptx.signatures import Directives, Function, Module, Parameter
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.triton import parameter_roles


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry with its metadata. Sizes in bytes; scratch sizes are for each block.

    `roles` has one word a parameter: user, global_scratch or profile_scratch.
    `threads` is the metadata's or the directive's threads a block, None where
    neither is there; `shared_known` says whether anything told `shared`.
    """

    name: str
    parameters: tuple[Parameter, ...]
    roles: tuple[str, ...]
    directives: Directives
    threads: int | None
    num_ctas: int = 1
    shared: int = 0
    shared_known: bool = False
    extern_shared: bool = False
    global_scratch_size: int = 0
    global_scratch_align: int = 1
    profile_scratch_size: int = 0
    profile_scratch_align: int = 1
    cooperative: bool = False
    programmatic: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A file as a launch sees it: its kernel, how many it has, and its PTX, which the emulator runs.

    `ptx` is the file itself, the PTX inside a fatbin, or None.
    """

    kernel: Kernel
    kernels: int
    ptx: Image | None


def read_program(
    image: Image,
    path: str,
    *,
    entry: str | None,
    meta: str | None,
    arguments: int,
    notice: Callable[[str], None],
) -> Program:
    """Choose the entry of a file and work out its signature and metadata.

    `meta` is the JSON file that the user named, `arguments` how many were
    given: 0 means that the signature is wanted. `notice` gets warnings.
    Raises PtxSyntaxError, FileError, UsageError.
    """
    found, warnings = find_sidecar(path) if meta is None else (read_sidecar(meta), ())
    for warning in warnings:
        notice(warning)
    sidecars = (found,) if found else ()
    ptx, module, source = _parsed(image)
    entries = {function.name: function for function in module.entries if function.defined}
    name = _choose(list(entries), entry, _named(module, sidecars, list(entries)), image.name)
    metadata = read_metadata(module, entries[name], sidecars)
    for warning in metadata.warnings:
        notice(f"{image.name}: {warning}")
    roles = parameter_roles(source, module, entries[name], metadata, arguments or None)
    kernel = _kernel(source, module, entries[name], metadata, roles)
    if ptx is None:
        parameters = tuple(replace(parameter, type="", array=True) for parameter in kernel.parameters)
        kernel = replace(kernel, parameters=parameters)  # so many bytes, of which nothing is known
    return Program(kernel, len(entries), ptx)


def _parsed(image: Image) -> tuple[Image | None, Module, Source]:
    """The PTX to run, if there is any, and the entries; of machine code, without their parameters' types."""
    if image.kind == "ptx":
        return image, image.headers, image.source
    from teenycuda_cli.driver import machine_code  # noqa: PLC0415  (PTX, the usual case, starts without it)

    ptx = machine_code.ptx_inside(image)
    if ptx is not None:
        return ptx, ptx.headers, ptx.source
    return None, machine_code.module_of(image), Source(b"", image.name)


def _kernel(
    source: Source, module: Module, entry: Function, metadata: Metadata, roles: tuple[str, ...]
) -> Kernel:
    return Kernel(
        name=entry.name,
        parameters=entry.parameters,
        roles=roles,
        directives=entry.directives,
        threads=metadata.threads_per_block,
        num_ctas=metadata.num_ctas.number,
        shared=metadata.shared.number,
        shared_known=metadata.shared.source != "default",
        extern_shared=_uses_extern_shared(source, module, entry),
        global_scratch_size=metadata.global_scratch_size.number if "global_scratch" in roles else 0,
        global_scratch_align=metadata.global_scratch_align.number,
        profile_scratch_size=metadata.profile_scratch_size.number if "profile_scratch" in roles else 0,
        profile_scratch_align=metadata.profile_scratch_align.number,
        cooperative=metadata.launch_cooperative_grid,
        programmatic=metadata.launch_pdl,
    )


def _uses_extern_shared(source: Source, module: Module, entry: Function) -> bool:
    """Whether the entry, or a function it mentions, uses an array whose extent the launch tells."""
    if entry.body_span is None:
        return False
    return any(variable.linkage == "extern" for variable in SharedMemory(source, module).used(entry))


def _named(module: Module, sidecars: Iterable[Sidecar], entries: Sequence[str]) -> str | None:
    """The entry that metadata is for, where it is for one alone."""
    names = {block.values.get("name") for block in meta_blocks(module, KEYS)} | {
        sidecar.values.get("name") for sidecar in sidecars
    }
    known = [name for name in entries if name in names]
    return known[0] if len(known) == 1 else None


def _choose(names: Sequence[str], wanted: str | None, preferred: str | None, file: str) -> str:
    """The entry to launch: as asked for, the only one, or the one that the metadata names.

    Raises UsageError that lists the entries.
    """
    if not names:
        raise UsageError("no kernel is defined here", file=file, hint="a kernel is an .entry with a body")
    listing = tuple(f"  {name}" for name in names)
    if wanted is not None:
        if wanted in names:
            return wanted
        near = next((name for name in names if wanted in name), None) or nearest(wanted, names)  # mangled
        hint = f"did you mean {near}?" if near else None
        raise UsageError(f"no kernel is called {wanted!r}; there are:", file=file, context=listing, hint=hint)
    if len(names) == 1:
        return names[0]
    if preferred is not None:
        return preferred
    raise UsageError(
        f"{len(names)} kernels are here; which one?", file=file, context=listing, hint="say --entry NAME"
    )
