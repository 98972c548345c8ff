"""`load` on a GPU: what the driver's assembler says of a file, and what each entry uses and how it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from teenycuda_cli.binary.model import KernelParameter
from teenycuda_cli.driver.assembly.assembler import Assembly
from teenycuda_cli.driver.assembly.loading import LoadedKernel, LoadOptions, LoadResult, in_file_order
from teenycuda_cli.driver.assembly.usage import EntryUsage, spills_in_log
from teenycuda_cli.driver.cuda.jit import JitError, JitLog, JitOptions
from teenycuda_cli.driver.cuda.library import version_text
from teenycuda_cli.driver.cuda.loading import link_data, load_data, prepared
from teenycuda_cli.driver.cuda.occupancy import Shape, occupancy_of
from teenycuda_cli.driver.cuda.refusals import diagnosed, refused
from teenycuda_cli.driver.cuda.shapes import shapes_of
from teenycuda_cli.driver.image import Image
from teenycuda_cli.errors import PtxSyntaxError, UsageError

if TYPE_CHECKING:
    from teenycuda_cli.driver.cuda.device import CudaDevice
    from teenycuda_cli.driver.cuda.module import CudaModule


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What came of loading: the assembly, and the kernels where it went well."""

    assembly: Assembly
    kernels: tuple[LoadedKernel, ...] = ()


def load_on_device(
    device: CudaDevice, image: Image, options: LoadOptions, *, cubin: bool = False
) -> LoadResult:
    """Load a file on a GPU by its driver, and tell what it said.

    With `cubin` the driver's linker makes machine code of it, which is then
    what is loaded. What the driver refuses gives a result that is not ok,
    with the rule broken before the driver's words. Raises UsageError for an
    entry that is not there, TimeoutExpired.
    """
    data, line_map = prepared(image, strip=options.strip, keep_lineinfo=options.lineinfo)
    attempt = _attempt(device, image, data, options, cubin=cubin)
    assembly = attempt.assembly
    return LoadResult.of(
        assembly,
        image,
        _in_file_order(attempt.kernels, image),
        arch=device.arch,
        device=device.name,
        diagnostics=diagnosed(assembly, image, line_map),
    )


def _in_file_order(kernels: tuple[LoadedKernel, ...], image: Image) -> tuple[LoadedKernel, ...]:
    if image.kind != "ptx":
        return kernels
    try:
        return in_file_order(kernels, image.headers)
    except PtxSyntaxError:  # the driver has taken it all the same
        return kernels


def _attempt(device: CudaDevice, image: Image, data: bytes, options: LoadOptions, *, cubin: bool) -> _Attempt:
    jit = JitOptions(options.opt_level, options.max_registers, options.lineinfo)
    machine_code, log = data if image.kind == "cubin" else None, None
    loadable = image
    try:
        if cubin and image.kind != "cubin":
            machine_code, log = link_data(device, image, data, jit, options.timeout)
            loadable, data = Image(machine_code, image.name, "cubin"), machine_code
        with load_data(device, loadable, data, jit, options.timeout) as module:
            log = log or module.log
            kernels = _kernels(device, image, module, log, options.entry)
    except JitError as error:
        return _Attempt(refused(device, image, error))
    assembly = Assembly(
        ok=True,
        arch=device.arch,
        assembler="driver",
        version=version_text(device.version),
        cubin=machine_code,
        error_log=log.error,
        info_log=log.info,
        truncated=log.truncated,
        ms=log.milliseconds,
        entries=tuple(kernel.usage for kernel in kernels),
        cached=image.kind == "ptx" and not log.info,  # only what is assembled anew has a log
    )
    return _Attempt(assembly, kernels)


def _kernels(
    device: CudaDevice, image: Image, module: CudaModule, log: JitLog, wanted: str | None
) -> tuple[LoadedKernel, ...]:
    """What the driver tells of each entry, or of the one wanted.

    Stack and spills stand in the log alone, so that a cached load has none.
    """
    names = module.names()
    if wanted is not None and wanted not in names:
        raise UsageError(f"no entry {wanted!r}; its entries: {', '.join(names) or 'none'}", file=image.name)
    spills = spills_in_log(log.info)
    shapes = shapes_of(image)
    kernels = []
    for name in names if wanted is None else (wanted,):
        function = module.function(name)
        info = function.info
        spilled = spills.get(name)
        usage = EntryUsage(
            name=name,
            registers=info.registers,
            stack_bytes=spilled.stack_frame if spilled else None,
            spill_store_bytes=spilled.stores if spilled else None,
            spill_load_bytes=spilled.loads if spilled else None,
            local_bytes=info.local_bytes,
            shared_bytes=info.static_shared,
            const_bytes=info.const_bytes,
            max_threads=info.max_threads,
            params=tuple(
                KernelParameter(index, offset, size) for index, (offset, size) in enumerate(info.parameters)
            ),
            binary_version=info.binary_version,
            ptx_version=info.ptx_version,
        )
        shape = shapes.get(name) or Shape(info.max_threads, 0)
        kernels.append(LoadedKernel(usage, occupancy_of(device, function, shape)))
    return tuple(kernels)
