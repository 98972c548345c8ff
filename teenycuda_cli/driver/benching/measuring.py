"""Timing a launch that has run once: buffers put back between samples, the bytes that it moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import Array, bits_differ
from teenycuda_cli.driver.benching.options import BenchSummary, summarise
from teenycuda_cli.driver.buffers import DeviceBuffer, HostBuffer
from teenycuda_cli.driver.device import BenchOptions, Device, LaunchConfig, LoadedFunction
from teenycuda_cli.errors import TimeoutExpired
from teenycuda_cli.wording import counted


@dataclass(frozen=True, slots=True)
class Measurement:
    """A summary and the samples behind it; `graph` says that a graph was replayed."""

    summary: BenchSummary
    samples_us: tuple[float, ...]
    graph: bool


@dataclass(frozen=True, slots=True)
class Used:
    """A buffer as a launch left it."""

    buffer: HostBuffer
    place: DeviceBuffer
    after: Array

    @property
    def changed(self) -> bool:
        """Whether the kernel wrote other bytes into it than were there."""
        return bits_differ(self.buffer.element, self.buffer.before, self.after)


def measure(
    device: Device,
    function: LoadedFunction,
    config: LaunchConfig,
    options: BenchOptions,
    *,
    used: Sequence[Used],
    zeroed: Mapping[int, int],
    timeout: float | None,
) -> Measurement:
    """Launch again and again and time it; raises as `LoadedFunction.bench`.

    Before each launch the inputs that the kernel changes get their contents
    back, and the memory in `zeroed` (address → bytes) is zeroed, both untimed.
    Each buffer counts once for its bytes if it is read or written, twice if both.
    """
    with ExitStack() as stack:
        inputs = [each for each in used if each.changed and not each.buffer.poisoned]
        kept = [(each.place, _keep(device, each.buffer, stack)) for each in inputs]

        def restore() -> None:
            for place, address in kept:
                device.copy(place.address, address, place.size)
            for address, size in zeroed.items():
                device.fill(address, 0, size)

        needed: Callable[[], None] | None = restore if kept or zeroed else None
        deadline = None if timeout is None else time.monotonic() + timeout
        run = function.bench(config, _bounded(options, timeout), restore=needed, timeout=timeout)
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutExpired(
                f"--timeout passed after {counted(len(run.samples_us), 'timed launch', 'timed launches')}",
                hint="--timeout allows longer, --bench-seconds measures shorter",
            )
        return Measurement(summarise(run, moved_bytes(used)), run.samples_us, config.graph)


def _bounded(options: BenchOptions, timeout: float | None) -> BenchOptions:
    """The options, with no more seconds than are left: no single launch of a short kernel runs into them."""
    return options if timeout is None else replace(options, seconds=min(options.seconds, timeout))


def moved_bytes(used: Sequence[Used]) -> int:
    """The bytes that a launch reads and writes if it touches each element of its buffers once."""
    return sum(each.place.size * (2 if each.changed and not each.buffer.poisoned else 1) for each in used)


def _keep(device: Device, buffer: HostBuffer, stack: ExitStack) -> int:
    """The buffer's first contents in memory of their own; its address."""
    allocation = device.allocate(buffer.before.nbytes, f"the contents of {buffer.name}")
    stack.callback(device.free, allocation)
    device.write(allocation.address, buffer.before.reshape(-1).view(np.uint8).data)
    return allocation.address
