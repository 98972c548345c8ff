"""A module on a GPU: loaded, its functions found by name, unloaded whatever happened."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import DriverError, check
from teenycuda_cli.driver.cuda.jit import JitLog
from teenycuda_cli.driver.cuda.launch import CudaFunction
from teenycuda_cli.driver.device import FunctionInfo
from teenycuda_cli.errors import UsageError

if TYPE_CHECKING:
    from teenycuda_cli.driver.cuda.device import CudaDevice


class CudaModule:
    """A loaded file; leaving its context unloads it."""

    def __init__(self, device: CudaDevice, handle: Any, name: str, log: JitLog, *, prints: bool) -> None:
        """Take over the `CUmodule`; `name` is what messages call the file."""
        self._device = device
        self._handle = handle
        self._name = name
        self._prints = prints
        self.log = log

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Unload; a failure is told, not raised."""
        self._device.give_back(f"the module of {self._name}", driver.cuModuleUnload, self._handle)

    def names(self) -> tuple[str, ...]:
        """The entries, in the driver's order."""
        count = check(driver.cuModuleGetFunctionCount, self._handle)
        if not count:
            return ()
        functions = check(driver.cuModuleEnumerateFunctions, count, self._handle)
        return tuple(check(driver.cuFuncGetName, function).decode() for function in functions)

    def function(self, name: str) -> CudaFunction:
        """The entry of that name; raises UsageError naming the entries there are."""
        try:
            handle = check(driver.cuModuleGetFunction, self._handle, name.encode())
        except DriverError as error:
            if error.name != "CUDA_ERROR_NOT_FOUND":
                raise
            there = ", ".join(self.names()) or "none"
            raise UsageError(f"no kernel {name!r}; its kernels: {there}", file=self._name) from None
        return CudaFunction(self._device, handle, function_info(handle, name), prints=self._prints)


def function_info(handle: Any, name: str) -> FunctionInfo:
    """What the driver tells of a function."""

    def attribute(kind: str) -> int:
        wanted = getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{kind}")
        return int(check(driver.cuFuncGetAttribute, wanted, handle))

    return FunctionInfo(
        name=name,
        parameters=parameters_of(handle),
        static_shared=attribute("SHARED_SIZE_BYTES"),
        max_threads=attribute("MAX_THREADS_PER_BLOCK"),
        registers=attribute("NUM_REGS"),
        local_bytes=attribute("LOCAL_SIZE_BYTES"),
        const_bytes=attribute("CONST_SIZE_BYTES"),
        ptx_version=attribute("PTX_VERSION"),
        binary_version=attribute("BINARY_VERSION"),
    )


def parameters_of(handle: Any) -> tuple[tuple[int, int], ...]:
    """(offset, size) of each parameter, in bytes."""
    parameters: list[tuple[int, int]] = []
    while True:
        try:
            offset, size = check(driver.cuFuncGetParamInfo, handle, len(parameters))
        except DriverError as error:
            if error.name != "CUDA_ERROR_INVALID_VALUE":  # past the last
                raise
            return tuple(parameters)
        parameters.append((int(offset), int(size)))
