"""An image made into a module on a GPU: stripped, assembled by the driver, its refusals explained."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import check
from teenycuda_cli.driver.cuda.deadline import within
from teenycuda_cli.driver.cuda.jit import JitError, JitLog, JitOptions, link_cubin, load_module
from teenycuda_cli.driver.cuda.module import CudaModule
from teenycuda_cli.errors import AssembleError

if TYPE_CHECKING:
    from teenycuda_cli.driver.cuda.device import CudaDevice
    from teenycuda_cli.driver.image import Image

LOG_LINES_SHOWN = 20
DRIVERS_WORDS = {
    "CUDA_ERROR_INVALID_IMAGE": "the driver does not take this for PTX, a cubin or a fatbin",
    "CUDA_ERROR_INVALID_PTX": "the driver does not assemble this PTX",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the driver is too old for this PTX",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "there is no machine code for this GPU in it, nor PTX to make some of",
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": "the driver's assembler (libnvidia-ptxjitcompiler) is not installed",
}


def load_image(device: CudaDevice, image: Image) -> CudaModule:
    """Load an image, PTX without its debug information; raises AssembleError with the reason first."""
    data = stripped(image) if image.kind == "ptx" else image.data
    try:
        return load_data(device, image, data)
    except JitError as error:
        from teenycuda_cli.driver.cuda.precheck import refuse  # noqa: PLC0415  (rarely needed)

        refusal = refuse(image, device.arch, device.version)
        log = (error.log.error or error.log.info).splitlines()
        context = [f"  {line}" for line in log[:LOG_LINES_SHOWN]]
        if len(log) > LOG_LINES_SHOWN or error.log.truncated:
            context.append("  … and more: `teenycuda load` shows all of it")
        raise AssembleError(
            refusal.message if refusal else failure_words(error),
            file=image.name,
            hint=refusal.hint if refusal else None,
            context=tuple(context),
        ) from error


def load_data(
    device: CudaDevice,
    image: Image,
    data: bytes,
    options: JitOptions | None = None,
    timeout: float | None = None,
) -> CudaModule:
    """Load `data`, the bytes of `image` as the driver is to have them; raises JitError, TimeoutExpired."""
    work = partial(load_module, terminated(data) if image.kind == "ptx" else data, options or JitOptions())
    handle, log = within(timeout, f"loading {image.name}", partial(_in_context, device, work))
    return CudaModule(device, handle, image.name, log, prints=may_print(image))


def link_data(
    device: CudaDevice, image: Image, data: bytes, options: JitOptions, timeout: float | None
) -> tuple[bytes, JitLog]:
    """The cubin that the driver makes of PTX or a fatbin, and its log; raises JitError, TimeoutExpired."""
    given = terminated(data) if image.kind == "ptx" else data
    work = partial(link_cubin, given, image.kind, image.name, options)
    cubin, log = within(timeout, f"linking {image.name}", partial(_in_context, device, work))
    return cubin, log


def _in_context(device: CudaDevice, work: Any) -> Any:
    check(driver.cuCtxSetCurrent, device.context)  # a deadline is watched from another thread
    return work()


def terminated(text: bytes) -> bytes:
    """Text with exactly one NUL behind it, which is where the driver stops reading."""
    return text.rstrip(b"\0") + b"\0"


def stripped(image: Image) -> bytes:
    """PTX without debug information, which the driver takes badly."""
    from teenycuda_cli.ptx.strip import strip  # noqa: PLC0415  (machine code needs no stripping)

    return strip(image.source).data


def may_print(image: Image) -> bool:
    """Whether a kernel may call printf; a fatbin may be compressed and does not tell."""
    return image.kind == "fatbin" or b"vprintf" in image.data


def failure_words(error: JitError) -> str:
    """`CUDA_ERROR_INVALID_PTX: …` with what it means here."""
    return f"{DRIVERS_WORDS.get(error.name, error.explanation)} ({error.name})"
