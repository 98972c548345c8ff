"""What all tests share: device tests run on the emulator everywhere, and on a GPU where there is one."""

from __future__ import annotations

import ctypes
from functools import cache

import pytest

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


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


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a GPU where there is none."""
    if item.get_closest_marker("cuda") and gpu_count() == 0:
        pytest.skip("needs a GPU")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """The name of a device to launch on, as `--device` takes it."""
    return str(request.param)
