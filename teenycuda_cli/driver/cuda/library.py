"""Finding libcuda, and starting the driver while the rest of the program is still being imported.

cuda-python takes a tenth of a second to import and the driver two to start.
So the thread here goes to the library directly (`ctypes` lets go of the
interpreter lock while a call runs), and cuda-python joins later: both see the
same libcuda and the same primary context.
"""

from __future__ import annotations

import ctypes
import os
import threading

from teenycuda_cli.errors import DeviceNotFound

LIBRARY = "libcuda.so.1"
MINIMUM_VERSION = 12040
"""CUDA 12.4, the first whose driver tells parameters (`cuFuncGetParamInfo`) and enumerates a module."""

NO_DEVICE = 100
DEVICE_UNAVAILABLE = 46
INSUFFICIENT_DRIVER = 35
STUB_LIBRARY = 34
COMPAT_NOT_SUPPORTED = 803
SYSTEM_DRIVER_MISMATCH = 804


def find_library() -> ctypes.CDLL:
    """The NVIDIA driver's library; raises DeviceNotFound where it is not installed."""
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        missing = "No such file" in str(error)
        reason = f"{LIBRARY} is not found" if missing else f"{LIBRARY} does not load: {error}"
        raise DeviceNotFound(
            f"no NVIDIA driver is installed here ({reason})",
            hint="--device cpu runs kernels on the embedded emulator",
        ) from None


def version_text(version: int) -> str:
    """CUDA's version number as people write it: 13010 is "13.1"."""
    return f"{version // 1000}.{version % 1000 // 10}"


def detect() -> tuple[int, int]:
    """The driver's CUDA version, as in 13000, and how many GPUs it sees; raises DeviceNotFound for none."""
    library = find_library()
    version = initialise(library)
    return version, count_gpus(library)


class DriverStart:
    """The driver and the primary context of one GPU, being started by a thread.

    Whoever takes the context by `wait` releases it (`cuDevicePrimaryCtxRelease`).
    """

    def __init__(self, ordinal: int, *, cache: bool = True) -> None:
        """Start the thread. Without `cache` the driver assembles anew at each load, and so has a log."""
        self.ordinal = ordinal
        self.version = 0
        self._context = ctypes.c_void_p()
        self._failure: DeviceNotFound | None = None
        if not cache:
            os.environ["CUDA_CACHE_DISABLE"] = "1"  # read by libcuda once, when it is initialised
        self._thread = threading.Thread(
            target=self._run, name="cuda-start"
        )  # no daemon: libcuda cannot be left half-way
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the driver is still starting."""
        return self._thread.is_alive()

    def wait(self) -> int:
        """The retained primary context's handle; raises DeviceNotFound with the reason in one line."""
        self._thread.join()
        if self._failure:
            raise self._failure
        return self._context.value or 0

    def _run(self) -> None:
        try:
            library = find_library()
            self.version = initialise(library)
            device = find_gpu(library, self.ordinal)
            code = library.cuDevicePrimaryCtxRetain(ctypes.byref(self._context), device)
            if code:
                raise _not_usable(library, code, f"GPU {self.ordinal}", "cuDevicePrimaryCtxRetain")
        except DeviceNotFound as failure:
            self._failure = failure


def initialise(library: ctypes.CDLL) -> int:
    """Initialise the driver; returns the CUDA version it supports, as in 13000. Raises DeviceNotFound."""
    code = library.cuInit(0)
    if code:
        raise _not_usable(library, code, "the NVIDIA driver", "cuInit")
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    if version.value < MINIMUM_VERSION:
        raise DeviceNotFound(
            f"the NVIDIA driver is too old: it supports CUDA {version_text(version.value)},"
            f" and {version_text(MINIMUM_VERSION)} or newer is needed",
            hint="update the driver, or run on the embedded emulator with --device cpu",
        )
    return version.value


def count_gpus(library: ctypes.CDLL) -> int:
    """How many GPUs the driver sees; raises DeviceNotFound for none."""
    count = ctypes.c_int()
    code = library.cuDeviceGetCount(ctypes.byref(count))
    if code or not count.value:
        raise _not_usable(library, code or NO_DEVICE, "the NVIDIA driver", "cuDeviceGetCount")
    return count.value


def find_gpu(library: ctypes.CDLL, ordinal: int) -> int:
    """The device handle of GPU `ordinal`; raises DeviceNotFound saying how many there are."""
    count = count_gpus(library)
    device = ctypes.c_int()
    if ordinal < count:
        code = library.cuDeviceGet(ctypes.byref(device), ordinal)
        if code:
            raise _not_usable(library, code, f"GPU {ordinal}", "cuDeviceGet")
        return device.value
    there = "cuda:0 alone" if count == 1 else f"cuda:0 to cuda:{count - 1}"
    raise DeviceNotFound(f"no GPU {ordinal}: the driver sees {there}")


REASONS = {
    NO_DEVICE: "the NVIDIA driver sees no GPU",
    DEVICE_UNAVAILABLE: "{what} is in exclusive use by another process, or its compute mode forbids use",
    INSUFFICIENT_DRIVER: "the NVIDIA driver is older than its CUDA library",
    STUB_LIBRARY: f"the {LIBRARY} found is the toolkit's stub for linking, not the NVIDIA driver",
    COMPAT_NOT_SUPPORTED: "the CUDA compatibility library does not support this GPU",
    SYSTEM_DRIVER_MISMATCH: f"{LIBRARY} and the kernel's NVIDIA module are of different versions",
}


def _not_usable(library: ctypes.CDLL, code: int, what: str, call: str) -> DeviceNotFound:
    name, explanation = ctypes.c_char_p(), ctypes.c_char_p()
    library.cuGetErrorName(code, ctypes.byref(name))
    library.cuGetErrorString(code, ctypes.byref(explanation))
    words = (name.value or f"error {code}".encode()).decode()
    if code not in REASONS:
        text = (explanation.value or b"no explanation").decode()
        return DeviceNotFound(f"{what} cannot be used: {call}: {words}: {text}")
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    hint = f"CUDA_VISIBLE_DEVICES is {hidden!r}" if code == NO_DEVICE and hidden is not None else None
    return DeviceNotFound(f"{REASONS[code].format(what=what)} ({words})", hint=hint)
