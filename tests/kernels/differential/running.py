"""Kernels run on a device, each so that one which hangs or faults harms no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from teenycuda_cli.driver.device import Device, LaunchConfig
from teenycuda_cli.driver.image import image_of
from teenycuda_cli.driver.registry import open_device
from teenycuda_cli.errors import TeenycudaError
from tests.kernels.differential.assembled import as_assembled
from tests.kernels.differential.kernels import Kernel, made

LIMIT = 10.0
"""Seconds that a launch may take."""
PATIENCE = 60.0
"""Seconds for loading and launching a kernel, the start of a process among them."""
_CHUNK = 10

Words = np.ndarray[Any, np.dtype[np.uint32]]


@dataclass(frozen=True)
class Left:
    """What a kernel left in its output, or why it failed."""

    seed: int
    words: Words | None
    failure: str = ""


def launched(device: Device, kernel: Kernel) -> Words:
    """What a kernel leaves in its output; raises TeenycudaError.

    After a failure nothing is freed: a device that is lost would wait for ever to do it.
    """
    with device.load(image_of(kernel.text.encode(), f"{kernel.seed}.ptx")) as loaded:
        out = device.allocate(4 * kernel.words, "out")
        given = device.allocate(kernel.inputs.nbytes, "in")
        device.fill(out.address, 0, out.size)
        device.write(given.address, kernel.inputs.tobytes())
        params = tuple(each.address.to_bytes(8, "little") for each in (out, given))
        config = LaunchConfig(kernel.grid, kernel.block, kernel.cluster, kernel.dynamic, params)
        loaded.function("k").launch(config, timeout=LIMIT)
        words = np.frombuffer(device.read(out.address, out.size), np.uint32).copy()
        for each in (out, given):
            device.free(each)
    return words


def _serve(connection: Connection, name: str) -> None:
    """Run the seeds that come, until one fails."""
    device = open_device(name)
    with device:
        while True:
            kernel = made(connection.recv())
            try:
                taken = as_assembled(kernel) if name == "cpu" else kernel
                connection.send((launched(device, taken), ""))
            except TeenycudaError as error:
                connection.send((None, "; ".join([f"{type(error).__name__}: {error}", *error.context])))


class Worker:
    """A process that runs kernels, another one after each that failed."""

    def __init__(self, device: str) -> None:
        """By the device's name; the process starts with the first kernel."""
        self._device = device
        self._process: Any = None

    def run(self, seed: int) -> Left:
        """Run one kernel."""
        if self._process is None:
            context = get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other, self._device), daemon=True)
            self._process.start()
            other.close()
        words, failure = None, f"no end within {PATIENCE:g} s"
        try:
            self._connection.send(seed)
            if self._connection.poll(PATIENCE):
                words, failure = self._connection.recv()
        except (EOFError, ConnectionError):
            failure = "the process died of it"
        if failure:
            self.close()
        return Left(seed, words, failure)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _run_some(device: str, seeds: Sequence[int]) -> list[Left]:
    worker = Worker(device)
    try:
        return [worker.run(seed) for seed in seeds]
    finally:
        worker.close()


def run_all(device: str, seeds: Sequence[int], jobs: int) -> Iterator[Left]:
    """What each kernel left, in no order, `jobs` at a time."""
    parts = [seeds[start : start + _CHUNK] for start in range(0, len(seeds), _CHUNK)]
    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(_run_some, device, part) for part in parts]):
            yield from future.result()
