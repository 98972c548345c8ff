"""A GPU as a Device: memory, limits, loading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import DriverError, check
from teenycuda_cli.driver.cuda.library import DriverStart
from teenycuda_cli.driver.cuda.loading import load_image
from teenycuda_cli.driver.cuda.properties import limits_of, properties_of
from teenycuda_cli.driver.device import Allocation, Limits
from teenycuda_cli.driver.properties import DeviceProperties
from teenycuda_cli.errors import LaunchError
from teenycuda_cli.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from teenycuda_cli.driver.cuda.module import CudaModule

Notice = Callable[[str], None]


def open_cuda(start: DriverStart, notice: Notice | None = None) -> CudaDevice:
    """The GPU that `start` has started; raises DeviceNotFound where it cannot be used.

    `notice` is told of what could not be given back at the end.
    """
    context = driver.CUcontext(start.wait())
    handle = check(driver.cuDeviceGet, start.ordinal)
    try:
        check(driver.cuCtxSetCurrent, context)
        return CudaDevice(start, handle, context, notice)
    except DriverError:
        driver.cuDevicePrimaryCtxRelease(handle)
        raise


class CudaDevice:
    """A GPU with its primary context current in this thread; leaving it frees what was allocated.

    After a fault of the device every call fails, so from then on giving back
    is left to the end of the process. `abandoned` says that a kernel or the
    assembler is still running: then every call would wait for it.
    """

    kind = "cuda"

    def __init__(self, start: DriverStart, handle: Any, context: Any, notice: Notice | None) -> None:
        """Take over the context; `version` is the CUDA version that the driver supports, as in 13000."""
        self._handle = handle
        self._ordinal = start.ordinal
        self._notice = notice
        self._allocations: dict[int, Allocation] = {}
        self.context = context
        self.version = start.version
        self.stream = check(driver.cuStreamCreate, int(driver.CUstream_flags.CU_STREAM_DEFAULT))
        self.faulted = False
        self.abandoned = False

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free what is still allocated, and release the context."""
        for allocation in tuple(self._allocations.values()):
            self.free(allocation)
        self.give_back("the stream", driver.cuStreamDestroy, self.stream)
        if not self.abandoned:
            driver.cuDevicePrimaryCtxRelease(self._handle)

    @cached_property
    def properties(self) -> DeviceProperties:
        """All that `devices` shows of it."""
        return properties_of(self._handle, self._ordinal, self.version)

    @cached_property
    def limits(self) -> Limits:
        """What can be launched."""
        return limits_of(self.properties)

    @property
    def name(self) -> str:
        """The GPU's name, "NVIDIA H200"."""
        return self.properties.name

    @property
    def arch(self) -> str:
        """Its compute capability as a target, "sm_90"."""
        return self.properties.arch

    def allocate(self, size: int, name: str) -> Allocation:
        """Memory of `size` bytes, 256-byte aligned, contents undefined; LaunchError when there is none."""
        try:
            address = int(check(driver.cuMemAlloc, max(size, 1)))
        except DriverError as error:
            if error.name != "CUDA_ERROR_OUT_OF_MEMORY":
                raise
            free, total = check(driver.cuMemGetInfo)
            raise LaunchError(
                f"{name}: no {counted(size, 'byte', spec=',')} of device memory:"
                f" {free:,} of {total:,} are free",
                hint="other processes on the GPU count too: nvidia-smi lists them",
            ) from None
        allocation = Allocation(address, size, name)
        self._allocations[address] = allocation
        return allocation

    def free(self, allocation: Allocation) -> None:
        """Give memory back."""
        del self._allocations[allocation.address]
        self.give_back(allocation.name, driver.cuMemFree, allocation.address)

    def write(self, address: int, data: bytes | memoryview) -> None:
        """Copy bytes to the device."""
        size = data.nbytes if isinstance(data, memoryview) else len(data)
        if size:
            with self.watching():
                check(driver.cuMemcpyHtoD, address, data, size)

    def read(self, address: int, size: int) -> memoryview:
        """Copy bytes from the device; the result is the caller's own and writable."""
        data = bytearray(size)
        if size:
            with self.watching():
                check(driver.cuMemcpyDtoH, data, address, size)
        return memoryview(data)

    def copy(self, destination: int, source: int, size: int) -> None:
        """Copy bytes within the device, in the order of the launches."""
        if size:
            with self.watching():
                check(driver.cuMemcpyDtoDAsync, destination, source, size, self.stream)

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set bytes on the device, in the order of the launches."""
        if size:
            with self.watching():
                check(driver.cuMemsetD8Async, address, byte, size, self.stream)

    def load(self, image: Any, *, timeout: float | None = None) -> CudaModule:
        """Load an `Image`; raises AssembleError, TimeoutExpired with the driver still at it."""
        return load_image(self, image, timeout)

    def annotate(self, allocations: Sequence[Allocation]) -> None:
        """Nothing to tell: a GPU's faults carry no address."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note a fault of the device, which every call after it repeats."""
        try:
            yield
        except DriverError as error:
            self.faulted = self.faulted or error.is_fault
            raise

    def give_back(self, what: str, call: Callable[..., Any], handle: Any) -> None:
        """Free or unload; a failure is told, unless it repeats the fault of a kernel."""
        if self.abandoned:
            return
        try:
            check(call, handle)
        except DriverError as error:
            if self._notice and not self.faulted and not error.is_fault:
                self._notice(f"warning: {what} could not be given back: {error.message}")
