"""A launch captured into a CUDA graph, to be replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import DriverError, check

if TYPE_CHECKING:
    from teenycuda_cli.driver.cuda.device import CudaDevice


@contextmanager
def captured(device: CudaDevice, enqueue: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """What `enqueue` puts on the device's stream, as a graph; gives a function that replays it there.

    Capture forbids allocating and synchronising, so it also proves that
    `enqueue` does neither.
    """
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    check(driver.cuStreamBeginCapture, device.stream, mode)
    try:
        enqueue()
    except DriverError:
        driver.cuStreamEndCapture(device.stream)  # fails as well: the first failure is the one to tell
        raise
    graph = check(driver.cuStreamEndCapture, device.stream)
    try:
        replayable = check(driver.cuGraphInstantiate, graph, 0)
    finally:
        device.give_back("a graph", driver.cuGraphDestroy, graph)
    try:
        yield partial(check, driver.cuGraphLaunch, replayable, device.stream)
    finally:
        device.give_back("a graph", driver.cuGraphExecDestroy, replayable)
