"""The driver's assembler and linker, with their logs.

cuda-python passes the options' values by copy, so what the driver writes back
into them (the sizes of the logs, the time) is lost there. These calls
therefore go to the library itself.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import DriverError, check
from teenycuda_cli.driver.cuda.library import find_library

FIRST_LOG_BYTES = 64 * 1024
LARGEST_LOG_BYTES = 1024 * 1024
"""Past this the log is cut, and said to be: the driver takes 18 s to write one of 6 MB (driver 580)."""


@dataclass(frozen=True, slots=True)
class JitOptions:
    """What the assembler is asked for; None leaves its default. There is no target: the device is it."""

    optimization: int | None = None  # 0 to 4
    max_registers: int | None = None
    lineinfo: bool = False


@dataclass(frozen=True, slots=True)
class JitLog:
    """What the assembler said; `truncated` says that more was to come, `milliseconds` what it took."""

    info: str
    error: str
    truncated: bool
    milliseconds: float


class JitError(DriverError):
    """An assembly or a link that failed, with its log."""

    def __init__(self, error: DriverError, log: JitLog) -> None:
        """The driver's error and what the log says to it."""
        super().__init__(error.call, error.name, error.explanation)
        self.log = log


def load_module(image: bytes, options: JitOptions) -> tuple[Any, JitLog]:
    """Load PTX (with one NUL behind it), a cubin or a fatbin; returns the `CUmodule` and the log.

    Raises JitError. The module is the caller's to unload.
    """
    library = find_library()
    module = ctypes.c_void_p()

    def attempt(values: _OptionValues) -> None:
        check(library.cuModuleLoadDataEx, ctypes.byref(module), image, *values.arguments)

    def discard() -> None:
        check(driver.cuModuleUnload, driver.CUmodule(module.value))

    log = _with_log(attempt, discard, options)
    return driver.CUmodule(module.value), log


def link_cubin(image: bytes, kind: str, name: str, options: JitOptions) -> tuple[bytes, JitLog]:
    """Make a cubin for the current device of PTX (with one NUL behind it) or a fatbin; raises JitError."""
    library = find_library()
    cubin = b""

    def attempt(values: _OptionValues) -> None:
        nonlocal cubin
        state, address, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        check(library.cuLinkCreate_v2, *values.arguments, ctypes.byref(state))
        try:
            inputs = driver.CUjitInputType
            given = inputs.CU_JIT_INPUT_PTX if kind == "ptx" else inputs.CU_JIT_INPUT_FATBINARY
            data = (int(given), image, ctypes.c_size_t(len(image)), name.encode())
            check(library.cuLinkAddData_v2, state, *data, 0, None, None)
            check(library.cuLinkComplete, state, ctypes.byref(address), ctypes.byref(size))
            cubin = ctypes.string_at(address.value or 0, size.value)
        finally:
            library.cuLinkDestroy(state)  # also the moment when the driver writes the sizes of the logs

    log = _with_log(attempt, lambda: None, options)
    return cubin, log


class _OptionValues:
    """The options as the driver takes them, with room for what it writes back."""

    def __init__(self, options: JitOptions, log_bytes: int) -> None:
        jit = driver.CUjit_option
        self._log_bytes = log_bytes
        self._info = ctypes.create_string_buffer(log_bytes)
        self._error = ctypes.create_string_buffer(log_bytes)
        wanted: dict[Any, int | None] = {
            jit.CU_JIT_WALL_TIME: 0,
            jit.CU_JIT_INFO_LOG_BUFFER: ctypes.addressof(self._info),
            jit.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: log_bytes,
            jit.CU_JIT_ERROR_LOG_BUFFER: ctypes.addressof(self._error),
            jit.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: log_bytes,
            jit.CU_JIT_LOG_VERBOSE: 1,
        }
        if options.optimization is not None:
            wanted[jit.CU_JIT_OPTIMIZATION_LEVEL] = options.optimization
        if options.max_registers is not None:
            wanted[jit.CU_JIT_MAX_REGISTERS] = options.max_registers
        if options.lineinfo:
            wanted[jit.CU_JIT_GENERATE_LINE_INFO] = 1
        self._keys = (ctypes.c_int * len(wanted))(*(int(key) for key in wanted))
        self._values = (ctypes.c_void_p * len(wanted))(*wanted.values())
        self._place = {int(key): index for index, key in enumerate(wanted)}

    @property
    def arguments(self) -> tuple[Any, ...]:
        """`numOptions, options, optionValues`."""
        return ctypes.c_uint(len(self._keys)), self._keys, self._values

    def log(self) -> JitLog:
        """The logs as the driver left them; `truncated` where one fills its buffer."""
        jit = driver.CUjit_option
        info, info_cut = self._text(self._info, jit.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
        error, error_cut = self._text(self._error, jit.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        time = (self._values[self._place[int(jit.CU_JIT_WALL_TIME)]] or 0) & 0xFFFFFFFF
        milliseconds = ctypes.c_float.from_buffer_copy(time.to_bytes(4, "little")).value
        return JitLog(info, error, info_cut or error_cut, milliseconds)

    def _text(self, buffer: Any, size_option: Any) -> tuple[str, bool]:
        written = (self._values[self._place[int(size_option)]] or 0) & 0xFFFFFFFF
        text = buffer.raw[: min(written, self._log_bytes)].split(b"\0", 1)[0]
        return text.decode(errors="replace"), len(text) + 1 >= self._log_bytes or written > self._log_bytes


def _with_log(attempt: Any, discard: Any, options: JitOptions) -> JitLog:
    """Attempt once, and again with larger buffers for as long as the log fills them; raises JitError."""
    size, first = FIRST_LOG_BYTES, None
    while True:
        values = _OptionValues(options, size)
        failure = None
        try:
            attempt(values)
        except DriverError as error:
            failure = error
        log = values.log()
        if first and not failure and not log.info:
            return first  # it came from the driver's cache this time, which keeps no log
        if not log.truncated or size == LARGEST_LOG_BYTES:
            break
        if not failure:
            discard()
        first = first or log
        size = LARGEST_LOG_BYTES
    if failure:
        raise JitError(failure, log)
    return log
