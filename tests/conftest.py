"""What all tests share: device tests run on the emulator everywhere, and on a GPU where there is one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gpus import gpu_count
from tests.kernels.processes import Processes

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a GPU where there is none."""
    if item.get_closest_marker("cuda") and gpu_count() == 0:
        pytest.skip("needs a GPU")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """The name of a device to launch on, as `--device` takes it."""
    return str(request.param)


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """What runs commands; a fault on a GPU is over with the command."""
    processes = Processes()
    yield processes
    processes.close()
