"""Loading without a device: PTX assembled for an architecture, what a cubin or fatbin holds for it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from teenycuda_cli.binary import Cubin, Fatbin, FatbinEntry
from teenycuda_cli.driver.assembly.architectures import (
    code_runs_on,
    normal_arch,
    ptx_assembles_for,
    sm_number,
)
from teenycuda_cli.driver.assembly.assembler import Assembly, assemble
from teenycuda_cli.driver.assembly.diagnostics import Diagnostic, LineMap, diagnose
from teenycuda_cli.driver.assembly.theoretical_occupancy import (
    Occupancy,
    largest_block,
    theoretical_occupancy,
)
from teenycuda_cli.driver.assembly.usage import EntryUsage, usage_of
from teenycuda_cli.driver.image import Image, image_of
from teenycuda_cli.errors import AssembleError, PtxSyntaxError, UsageError
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from teenycuda_cli.ptx.signatures import Module

OLDEST_ARCH = "sm_75"
"""What nvJitLink 13 begins with; older targets are assembled for it, which PTX allows."""

_TARGET = re.compile(r"^[ \t]*\.target[ \t]+(sm_\d+[af]?)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to assemble; None leaves the assembler's default. `strip` takes debug information out first."""

    entry: str | None = None
    opt_level: int | None = None
    max_registers: int | None = None
    lineinfo: bool = False
    strip: bool = True
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """An entry, what it uses, and how many of its blocks a multiprocessor holds where that can be told."""

    usage: EntryUsage
    occupancy: Occupancy | None


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What loading a file told. `assembler` is None for machine code, which was there already.

    `notes` are lines for standard error: what was chosen, and why.
    """

    image: Image
    ok: bool
    arch: str
    kernels: tuple[LoadedKernel, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    device: str | None = None
    assembler: str | None = None
    assembler_version: str | None = None
    ms: float | None = None
    cached: bool = False
    info_log: str = ""
    error_log: str = ""
    truncated: bool = False
    cubin: bytes | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        assembly: Assembly,
        image: Image,
        kernels: tuple[LoadedKernel, ...],
        *,
        diagnostics: tuple[Diagnostic, ...],
        device: str | None = None,
        arch: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> LoadResult:
        """What an assembler made of a file, for its own architecture unless another is named."""
        return cls(
            image=image,
            ok=assembly.ok,
            arch=arch or assembly.arch,
            kernels=kernels,
            diagnostics=diagnostics,
            device=device,
            assembler=assembly.assembler,
            assembler_version=assembly.version,
            ms=assembly.ms,
            cached=assembly.cached,
            info_log=assembly.info_log,
            error_log=assembly.error_log,
            truncated=assembly.truncated,
            cubin=assembly.cubin,
            notes=notes,
        )


@dataclass(frozen=True, slots=True)
class _Prepared:
    """PTX as the assembler gets it, and the way back to the user's lines."""

    source: Source
    line_map: LineMap | None
    warnings: tuple[Diagnostic, ...] = ()


def load_for_arch(image: Image, arch: str | None, options: LoadOptions) -> LoadResult:
    """Load a file for an architecture, or for the one that it is made for where `arch` is None.

    PTX that does not assemble gives a result that is not ok. Raises
    UsageError for an entry that is not there, AssembleError where a cubin or
    fatbin holds nothing for the architecture, and what `assemble` raises.
    """
    if arch is not None:
        arch = normal_arch(arch)
    if image.kind == "ptx":
        result = _load_ptx(image, arch, options)
    elif isinstance(image.binary, Fatbin):
        result = _load_fatbin(image, image.binary, arch, options)
    else:
        result = _load_cubin(image, image.binary, arch)
    return _only(result, options.entry) if options.entry is not None and result.ok else result


def _only(result: LoadResult, entry: str) -> LoadResult:
    kernels = tuple(each for each in result.kernels if each.usage.name == entry)
    if not kernels:
        there = ", ".join(each.usage.name for each in result.kernels) or "none"
        raise UsageError(f"no entry {entry!r}; its entries: {there}", file=result.image.name)
    return replace(result, kernels=kernels)


def _load_ptx(image: Image, arch: str | None, options: LoadOptions) -> LoadResult:
    prepared = _prepare(image, options)
    target = _target(prepared.source)
    notes: tuple[str, ...] = ()
    chosen = arch or target
    assembly = _assemble(prepared, chosen, options)
    if arch is None and assembly.failure and (sm_number(target) or 0) < (sm_number(OLDEST_ARCH) or 0):
        notes = (f"{assembly.failure}: assembling for {OLDEST_ARCH}, which runs PTX for {target} too",)
        assembly = _assemble(prepared, OLDEST_ARCH, options)
    return LoadResult.of(
        assembly,
        image,
        _ptx_kernels(assembly.entries, assembly.arch, prepared.source, target),
        diagnostics=(*prepared.warnings, *diagnose(assembly, image.source, prepared.line_map)),
        notes=notes,
    )


def _assemble(prepared: _Prepared, arch: str, options: LoadOptions) -> Assembly:
    return assemble(
        prepared.source.data,
        arch=arch,
        opt_level=options.opt_level,
        max_registers=options.max_registers,
        lineinfo=options.lineinfo,
        timeout=options.timeout,
        name=prepared.source.name,
    )


def _prepare(image: Image, options: LoadOptions) -> _Prepared:
    if not options.strip:
        return _Prepared(image.source, None)
    from teenycuda_cli.ptx.strip import strip  # noqa: PLC0415  (not wanted with --no-strip)

    stripped = strip(image.source, keep_lineinfo=options.lineinfo)
    return _Prepared(Source(stripped.data, image.name), stripped.user_line, _cut_off(image.source))


def _cut_off(source: Source) -> tuple[Diagnostic, ...]:
    """A warning where text stands behind a NUL: no assembler sees it."""
    nul = source.data.find(b"\0")
    rest = source.data[nul:].strip(b"\0 \t\r\n") if nul >= 0 else b""
    if not rest:
        return ()
    line, column = source.position(nul)
    behind = len(source.data) - nul - 1
    message = f"a NUL byte inside the text: what is behind it, {counted(behind, 'byte')}, is not assembled"
    return (Diagnostic("warning", message, line, column, source.line_text(line)),)


def _module(source: Source) -> Module:
    """The module without its bodies; PtxSyntaxError."""
    from teenycuda_cli.ptx.parser import parse  # noqa: PLC0415  (only for PTX)

    return parse(source, bodies=False)


def _target(source: Source) -> str:
    """The architecture that PTX is made for; PtxSyntaxError where it does not say."""
    try:
        names = _module(source).target
    except PtxSyntaxError:
        found = _TARGET.search(source.text)
        if found is None:
            raise
        return found[1]
    return next((name for name in names if sm_number(name) is not None), OLDEST_ARCH)


def in_file_order(kernels: Iterable[LoadedKernel], module: Module) -> tuple[LoadedKernel, ...]:
    """The kernels as the file has them: assemblers tell of them in an order of their own."""
    places = {entry.name: place for place, entry in enumerate(module.entries)}
    return tuple(sorted(kernels, key=lambda kernel: places.get(kernel.usage.name, len(places))))


def _ptx_kernels(
    usages: tuple[EntryUsage, ...], arch: str, source: Source, target: str
) -> tuple[LoadedKernel, ...]:
    """The entries with what the file and the JSON beside it say of threads and dynamic shared memory."""
    from teenycuda_cli.ptx.metadata import read_metadata  # noqa: PLC0415  (only for PTX that assembles)
    from teenycuda_cli.ptx.sidecar import find_sidecar  # noqa: PLC0415

    usages = tuple(replace(usage, ptx_version=sm_number(target)) for usage in usages)
    try:
        module = _module(source)
    except PtxSyntaxError:  # the assembler knows better
        return tuple(_kernel(usage, arch) for usage in usages)
    sidecar, _ = find_sidecar(source.name)
    entries = {entry.name: entry for entry in module.entries}
    kernels = []
    for usage in usages:
        entry = entries.get(usage.name)
        metadata = read_metadata(module, entry, (sidecar,) if sidecar else ()) if entry else None
        threads, dynamic = (metadata.threads_per_block, metadata.shared.number) if metadata else (None, 0)
        kernels.append(_kernel(usage, arch, threads, dynamic))
    return in_file_order(kernels, module)


def _kernel(usage: EntryUsage, arch: str, threads: int | None = None, dynamic: int = 0) -> LoadedKernel:
    """An entry with its occupancy, at its largest block where nothing tells the block's size."""
    number = sm_number(arch)
    if number is not None and usage.max_threads is None and usage.registers is not None:
        usage = replace(usage, max_threads=largest_block(number, usage.registers))
    threads = threads or usage.max_threads
    occupancy = None
    if number is not None and threads and usage.registers is not None:
        shared = (usage.shared_bytes or 0) + dynamic
        occupancy = theoretical_occupancy(number, usage.registers, threads, shared)
    return LoadedKernel(usage, occupancy)


def _load_cubin(image: Image, cubin: Cubin, arch: str | None, data: bytes | None = None) -> LoadResult:
    if arch is not None and not code_runs_on(cubin.arch, arch):
        raise AssembleError(
            f"holds machine code for {cubin.arch}, which does not run on {arch}",
            file=image.name,
            hint=f"machine code cannot be assembled anew: give --arch {cubin.arch}, or the PTX",
        )
    notes = () if arch in {None, cubin.arch} else (f"machine code for {cubin.arch}, which runs on {arch}",)
    return LoadResult(
        image=image,
        ok=True,
        arch=cubin.arch,
        kernels=tuple(_kernel(usage_of(each), arch or cubin.arch) for each in cubin.kernels),
        cubin=image.data if data is None else data,
        notes=notes,
    )


def _load_fatbin(image: Image, fatbin: Fatbin, arch: str | None, options: LoadOptions) -> LoadResult:
    """The image that the driver would take: machine code that runs on the architecture, else PTX."""
    if not fatbin.entries:
        raise AssembleError("holds no image", file=image.name)
    held = ", ".join(f"{each.kind} for {each.arch}" for each in fatbin.entries)
    chosen = _choose(fatbin, arch)
    if chosen is None:
        raise AssembleError(f"holds nothing for {arch}", file=image.name, hint=f"it holds {held}")
    note = f"of the fatbin's images ({held}): {chosen.kind} for {chosen.arch}"
    if chosen.cubin is not None:
        result = _load_cubin(image, chosen.cubin, arch, chosen.payload)
    else:
        inner = image_of(chosen.payload, f"{image.name}({chosen.arch}.ptx)")
        result = _load_ptx(inner, arch or chosen.arch, options)
    return replace(result, notes=(note, *result.notes))


def _choose(fatbin: Fatbin, arch: str | None) -> FatbinEntry | None:
    entries = [each for each in fatbin.entries if each.kind in {"cubin", "ptx"}]
    if arch is None:
        return max(entries, key=lambda each: (each.kind == "cubin", sm_number(each.arch) or 0), default=None)
    fitting = [
        each
        for each in entries
        if (code_runs_on if each.kind == "cubin" else ptx_assembles_for)(each.arch, arch)
    ]
    return max(fitting, key=lambda each: (each.kind == "cubin", sm_number(each.arch) or 0), default=None)
