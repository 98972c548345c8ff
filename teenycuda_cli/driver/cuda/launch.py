"""Launching a function on a GPU, and waiting for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import DriverError, check
from teenycuda_cli.driver.cuda.graph import captured
from teenycuda_cli.driver.cuda.packed import pack
from teenycuda_cli.driver.cuda.printf import captured_output
from teenycuda_cli.driver.cuda.properties import PORTABLE_CLUSTER_BLOCKS
from teenycuda_cli.driver.cuda.waiting import wait_for
from teenycuda_cli.driver.device import BenchOptions, BenchRun, FunctionInfo, LaunchConfig, LaunchOutcome
from teenycuda_cli.errors import DeviceFault, LaunchError, TimeoutExpired
from teenycuda_cli.wording import counted

if TYPE_CHECKING:
    from teenycuda_cli.driver.cuda.device import CudaDevice

Enqueue = Callable[[], None]
"""Puts one launch on the stream; allocates nothing and waits for nothing."""


class CudaFunction:
    """An entry of a loaded module."""

    def __init__(self, device: CudaDevice, handle: Any, info: FunctionInfo, *, prints: bool) -> None:
        """`prints` says that the kernel may call printf."""
        self._device = device
        self._prints = prints
        self.handle = handle
        self.info = info

    def launch(self, config: LaunchConfig, *, timeout: float | None = None) -> LaunchOutcome:
        """Run to the end and synchronise, so that a fault surfaces here.

        Raises LaunchError for a fault, TimeoutExpired with the kernel still
        running: then the device is abandoned, and the process must be ended.
        """
        stream = self._device.stream
        with (
            self._blamed(config),
            timed_event(self._device) as start,
            timed_event(self._device) as end,
            self._enqueuer(config) as enqueue,
        ):
            with captured_output(self._prints) as printed:
                check(driver.cuEventRecord, start, stream)
                enqueue()
                check(driver.cuEventRecord, end, stream)
                self.wait(end, timeout, config)
                if self._prints:
                    check(driver.cuStreamSynchronize, stream)  # hands out what was printed; polling does not
            milliseconds = check(driver.cuEventElapsedTime, start, end)
        return LaunchOutcome(printf=printed.text, kernel_ms=milliseconds)

    def bench(
        self,
        config: LaunchConfig,
        options: BenchOptions,
        *,
        restore: Callable[[], None] | None = None,
        timeout: float | None = None,
    ) -> BenchRun:
        """Time launch after launch by events on the device; see `driver.device.LoadedFunction`."""
        from teenycuda_cli.driver.cuda.bench import Bench  # noqa: PLC0415  (most launches time nothing)

        with self._blamed(config), self._enqueuer(config) as enqueue, captured_output(self._prints):
            wait = partial(self.wait, timeout=timeout, config=config)
            with Bench(self._device, enqueue, restore, wait) as bench:
                run = bench.run(options)
            if self._prints:
                check(driver.cuStreamSynchronize, self._device.stream)  # what was printed is caught here, too
            return run

    def wait(self, event: Any, timeout: float | None, config: LaunchConfig) -> None:
        """Wait for an event; raises TimeoutExpired, and abandons the device when the wait ends early."""
        try:
            if wait_for(event, timeout):
                return
        except KeyboardInterrupt:
            self._device.abandoned = True
            raise
        self._device.abandoned = True
        raise TimeoutExpired(
            f"--timeout passed: kernel {self.info.name} was still running {timeout:.3g} s after its launch",
            hint="--timeout allows longer; --device cpu names the line where it spins",
            context=(describe(config),),
            abandon=True,
        )

    @contextmanager
    def _enqueuer(self, config: LaunchConfig) -> Iterator[Enqueue]:
        self.opt_in(config)
        packed = pack(config.params)
        launch_config = extended_config(config, self._device.stream)
        if config.cooperative:
            self._check_resident(config)
        enqueue = partial(check, driver.cuLaunchKernelEx, launch_config, self.handle, packed.address, 0)
        if config.graph:
            with captured(self._device, enqueue) as replay:
                yield replay
        else:
            yield enqueue
        del packed  # kept until here: the launches read it

    def opt_in(self, config: LaunchConfig) -> None:
        """Ask for what a function may not have by default: much shared memory, large clusters."""
        attribute = driver.CUfunction_attribute
        if config.shared_bytes + self.info.static_shared > self._device.limits.shared_mem_per_block:
            check(
                driver.cuFuncSetAttribute,
                self.handle,
                attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                config.shared_bytes,
            )
        if config.cluster and prod(config.cluster) > PORTABLE_CLUSTER_BLOCKS:
            check(
                driver.cuFuncSetAttribute,
                self.handle,
                attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                1,
            )

    def _check_resident(self, config: LaunchConfig) -> None:
        """A cooperative launch needs room for all blocks at once; raises LaunchError saying how many fit."""
        per_multiprocessor = check(
            driver.cuOccupancyMaxActiveBlocksPerMultiprocessor,
            self.handle,
            prod(config.block),
            config.shared_bytes,
        )
        room = per_multiprocessor * (self._device.properties.multi_processor_count or 0)
        blocks = prod(config.grid)
        if blocks > room:
            raise LaunchError(
                f"a cooperative launch needs all blocks of {self.info.name} on the device at once:"
                f" {blocks} do not fit, {room} do",
                hint=f"give a --grid of at most {counted(room, 'block')}",
            )

    @contextmanager
    def _blamed(self, config: LaunchConfig) -> Iterator[None]:
        """Turn the first call that fails into a LaunchError that says what was being launched."""
        try:
            with self._device.watching():
                yield
        except DriverError as error:
            context = (describe(config), f"first call that failed: {error.call}")
            reason = f"{error.name}: {error.explanation}"
            if error.is_fault:
                raise DeviceFault(f"kernel {self.info.name} faulted: {reason}", context=context) from error
            raise LaunchError(
                f"kernel {self.info.name} was not launched: {reason}", context=context
            ) from error


@contextmanager
def timed_event(device: CudaDevice) -> Iterator[Any]:
    """An event that carries the time."""
    event = check(driver.cuEventCreate, int(driver.CUevent_flags.CU_EVENT_DEFAULT))
    try:
        yield event
    finally:
        device.give_back("an event", driver.cuEventDestroy, event)


def describe(config: LaunchConfig) -> str:
    """`grid 4 × 1 × 1, block 128 × 1 × 1`, with cluster and shared memory where there are any."""

    def by(dimensions: tuple[int, ...]) -> str:
        return " × ".join(map(str, dimensions))

    parts = [f"grid {by(config.grid)}", f"block {by(config.block)}"]
    if config.cluster:
        parts.append(f"cluster {by(config.cluster)}")
    if config.shared_bytes:
        parts.append(f"{counted(config.shared_bytes, 'byte')} of dynamic shared memory")
    return ", ".join(parts)


def extended_config(config: LaunchConfig, stream: Any) -> Any:
    """The `CUlaunchConfig`, with an attribute for each thing out of the ordinary."""
    launch = driver.CUlaunchConfig()
    launch.gridDimX, launch.gridDimY, launch.gridDimZ = config.grid
    launch.blockDimX, launch.blockDimY, launch.blockDimZ = config.block
    launch.sharedMemBytes = config.shared_bytes
    launch.hStream = stream
    attributes = launch_attributes(config)
    launch.numAttrs = len(attributes)
    launch.attrs = attributes
    return launch


def launch_attributes(config: LaunchConfig) -> list[Any]:
    """Cluster dimensions, cooperative launch, programmatic dependent launch, where asked for."""
    kinds = driver.CUlaunchAttributeID
    attributes = []
    if config.cluster:
        value = driver.CUlaunchAttributeValue()
        value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = config.cluster
        attributes.append((kinds.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value))
    if config.cooperative:
        value = driver.CUlaunchAttributeValue()
        value.cooperative = 1
        attributes.append((kinds.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value))
    if config.programmatic:
        value = driver.CUlaunchAttributeValue()
        value.programmaticStreamSerializationAllowed = 1
        attributes.append((kinds.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value))
    return [_attribute(kind, value) for kind, value in attributes]


def _attribute(kind: Any, value: Any) -> Any:
    attribute = driver.CUlaunchAttribute()
    attribute.id = kind
    attribute.value = value
    return attribute
