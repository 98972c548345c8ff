"""Where a file is loaded: on a GPU, on the emulator, or with no device, by nvJitLink for an architecture."""

from __future__ import annotations

from teenycuda_cli.binary import Fatbin
from teenycuda_cli.driver.assembly.loading import LoadedKernel, LoadOptions, LoadResult, load_for_arch
from teenycuda_cli.driver.assembly.usage import EntryUsage
from teenycuda_cli.driver.deadline import within
from teenycuda_cli.driver.image import Image
from teenycuda_cli.driver.machine_code import not_emulated, ptx_inside
from teenycuda_cli.driver.registry import Notice, open_device, start_device
from teenycuda_cli.errors import PtxSyntaxError, UsageError


def load(
    image: Image,
    options: LoadOptions,
    *,
    device: str | None = None,
    arch: str | None = None,
    cache: bool = False,
    cubin: bool = False,
    notice: Notice,
) -> LoadResult:
    """Load a file for an architecture, on the device of that name, or (neither given) on the first GPU.

    Where there is no GPU and none was asked for by name, nvJitLink assembles
    for the file's own target, and `notice` is told so. `cubin` says that
    machine code is wanted, `cache` that the driver may use its own.
    """
    idle = _idle_options(options)
    if image.kind == "cubin" and idle:
        notice(f"{idle}: a cubin is machine code already, and is loaded as it is")
    if arch is not None:
        if device is not None:
            raise UsageError("--device and --arch exclude each other", hint="--arch needs no device")
        if cache:
            notice("--cache is the GPU driver's: nvJitLink has none")
        return load_for_arch(image, arch, options)
    if device == "cpu":
        if cubin:
            raise UsageError("the emulator makes no machine code", hint="give --arch with --cubin")
        what = f"loading {image.name}"
        return within(options.timeout, what, lambda: _load_on_emulator(image, options, notice))
    started = start_device(device or "auto", cache=cache)
    gpu = started.open_gpu(notice, _without_gpu(image))
    if gpu is None:
        return load_for_arch(image, None, options)
    from teenycuda_cli.driver.cuda.assembling import load_on_device  # noqa: PLC0415  (imports cuda-python)

    with gpu:
        return load_on_device(gpu, image, options, cubin=cubin)


def _idle_options(options: LoadOptions) -> str:
    """The options given that concern the assembler alone, as typed."""
    given = {
        "-O": options.opt_level is not None,
        "--max-registers": options.max_registers is not None,
        "--lineinfo": options.lineinfo,
        "--no-strip": not options.strip,
    }
    return ", ".join(name for name, is_given in given.items() if is_given)


def _without_gpu(image: Image) -> str:
    """What `load_for_arch` does with a file, in words."""
    if image.kind == "ptx":
        return "assembling for the file's own target with nvJitLink"
    if isinstance(image.binary, Fatbin) and all(each.kind != "cubin" for each in image.binary.entries):
        return "assembling for the target of the fatbin's PTX with nvJitLink"
    return "showing what the machine code tells of itself"


def _load_on_emulator(image: Image, options: LoadOptions, notice: Notice) -> LoadResult:
    """Whether the emulator takes a file; UnsupportedError with all that it lacks where it does not."""
    if image.kind != "ptx":
        ptx = ptx_inside(image)
        if ptx is None:
            raise not_emulated(image)
        image = ptx
    image = _readable(image, options)
    names = [entry.name for entry in image.module.entries if entry.defined]
    if options.entry is not None and options.entry not in names:
        raise UsageError(f"no entry {options.entry!r}; its entries: {', '.join(names)}", file=image.name)
    kernels = []
    with open_device("cpu", notice) as emulator, emulator.load(image) as module:
        for name in names if options.entry is None else [options.entry]:
            info = module.function(name).info
            kernels.append(LoadedKernel(EntryUsage.of_function(info), None))
        return LoadResult(
            image=image, ok=True, arch=emulator.arch, kernels=tuple(kernels), device=emulator.name
        )


def _readable(image: Image, options: LoadOptions) -> Image:
    """The image, or where only its debug information keeps it from being read, the image without."""
    if options.strip:
        try:
            _ = image.module
        except PtxSyntaxError:
            from teenycuda_cli.ptx.strip import strip  # noqa: PLC0415  (rarely needed)

            return Image(strip(image.source).data, image.name, image.kind)
    return image
