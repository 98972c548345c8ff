"""An image made into a module on a GPU: stripped, assembled by the driver, its refusals explained."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import check
from teenycuda_cli.driver.cuda.jit import JitError, JitLog, JitOptions, link_cubin, load_module
from teenycuda_cli.driver.cuda.module import CudaModule
from teenycuda_cli.driver.deadline import within
from teenycuda_cli.errors import TimeoutExpired
from teenycuda_cli.ptx.strip import strip as strip_debug

if TYPE_CHECKING:
    from teenycuda_cli.driver.assembly.diagnostics import LineMap
    from teenycuda_cli.driver.cuda.device import CudaDevice
    from teenycuda_cli.driver.image import Image


def load_image(device: CudaDevice, image: Image, timeout: float | None = None) -> CudaModule:
    """Load an image, PTX without its debug information; raises AssembleError with the reason first.

    Raises TimeoutExpired as `load_data`.
    """
    data, line_map = prepared(image)
    try:
        return load_data(device, image, data, timeout=timeout)
    except JitError as error:
        from teenycuda_cli.driver.cuda.refusals import refusal_error  # noqa: PLC0415  (rarely needed)

        raise refusal_error(device, image, error, line_map) from error


def prepared(
    image: Image, *, strip: bool = True, keep_lineinfo: bool = False
) -> tuple[bytes, LineMap | None]:
    """The bytes for the driver, PTX without debug information, and the way back to the user's lines.

    Raises FileError for a damaged cubin or fatbin: the driver would crash on it.
    """
    if image.kind != "ptx":
        _ = image.binary
        return image.data, None
    if not strip:
        return image.data, None
    result = strip_debug(image.source, keep_lineinfo=keep_lineinfo)
    return result.data, result.user_line


def load_data(
    device: CudaDevice,
    image: Image,
    data: bytes,
    options: JitOptions | None = None,
    timeout: float | None = None,
) -> CudaModule:
    """Load `data`, the bytes of `image` as the driver is to have them; raises JitError, TimeoutExpired."""
    work = partial(load_module, terminated(data) if image.kind == "ptx" else data, options or JitOptions())
    handle, log = _within(device, timeout, f"loading {image.name}", work)
    return CudaModule(device, handle, image.name, log, prints=may_print(image))


def link_data(
    device: CudaDevice, image: Image, data: bytes, options: JitOptions, timeout: float | None
) -> tuple[bytes, JitLog]:
    """The cubin that the driver makes of PTX or a fatbin, and its log; raises JitError, TimeoutExpired."""
    given = terminated(data) if image.kind == "ptx" else data
    work = partial(link_cubin, given, image.kind, image.name, options)
    cubin, log = _within(device, timeout, f"linking {image.name}", work)
    return cubin, log


def _within(device: CudaDevice, timeout: float | None, what: str, work: Callable[[], Any]) -> Any:
    """Let the driver work for at most `timeout` seconds; then the device is abandoned to it."""

    def in_context() -> Any:
        check(driver.cuCtxSetCurrent, device.context)  # a deadline is watched from another thread
        return work()

    try:
        return within(timeout, what, in_context)
    except TimeoutExpired as expired:
        device.abandoned = expired.abandon = True
        raise


def terminated(text: bytes) -> bytes:
    """Text with exactly one NUL behind it, which is where the driver stops reading."""
    return text.rstrip(b"\0") + b"\0"


def may_print(image: Image) -> bool:
    """Whether a kernel may call printf; a fatbin may be compressed and does not tell."""
    return image.kind == "fatbin" or b"vprintf" in image.data
