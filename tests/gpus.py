"""Whether there is a GPU, asked of the driver itself."""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def gpu_count() -> int:
    """How many GPUs the driver sees; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value
