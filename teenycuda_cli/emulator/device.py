"""The embedded device: PTX run by the emulator behind the same protocol as a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np

from teenycuda_cli.collector import without_collector
from teenycuda_cli.driver.device import (
    Allocation,
    BenchOptions,
    BenchRun,
    FunctionInfo,
    LaunchConfig,
    LaunchOutcome,
    Limits,
)
from teenycuda_cli.driver.machine_code import not_emulated
from teenycuda_cli.emulator.lowering.lower import Lowering
from teenycuda_cli.emulator.machine.heap import Heap
from teenycuda_cli.emulator.machine.launch import WORKSPACE_REGISTER, Launch, now
from teenycuda_cli.emulator.machine.memory import Arena
from teenycuda_cli.emulator.machine.variables import place_variables
from teenycuda_cli.emulator.scheduling.batches import RESIDENT_LANES, Batches
from teenycuda_cli.emulator.scheduling.kernel import Kernel
from teenycuda_cli.errors import LaunchError, TimeoutExpired, UsageError
from teenycuda_cli.ptx.syntax import Function, Module
from teenycuda_cli.wording import counted

DEFAULT_LANES = 1 << 16
STREAMING_LANES = 1 << 18
"""For kernels whose work on arrays runs tile by tile."""
WATCHDOG_STEPS = 20_000_000
FEW_LANES = 30
"""Lanes of a loop at most that run one after the other in plain Python."""
WORKSPACE_BYTES = 64
_POINTER = 8


@dataclass(frozen=True, slots=True)
class Options:
    """How the emulator runs: lanes in a batch, the watchdog's limit in steps, few lanes of a loop."""

    lanes: int = DEFAULT_LANES
    watchdog: int = WATCHDOG_STEPS
    few_lanes: int = FEW_LANES


class EmulatedDevice:
    """The emulator as a device; leaving its context drops its memory."""

    kind = "cpu"
    name = "embedded emulator"
    arch = "sm_90"

    def __init__(self, options: Options | None = None) -> None:
        """Reserve address space; nothing is computed yet."""
        self.options = options or Options()
        self.arena = Arena()
        self.heap = Heap(self.arena)
        self.launches = 0

    @property
    def limits(self) -> Limits:
        """Those of an sm_90."""
        return Limits()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Memory goes with the object."""

    def allocate(self, size: int, name: str) -> Allocation:
        """Memory, 256-byte aligned; LaunchError when there is none."""
        region = self.arena.allocate(size, name)
        return Allocation(region.start, size, name)

    def free(self, allocation: Allocation) -> None:
        """Give memory back."""
        if allocation.address not in self.arena.allocations:
            raise LaunchError(f"{allocation.name} at {allocation.address:#x} is not allocated")
        self.arena.free(allocation.address)

    def write(self, address: int, data: bytes | memoryview) -> None:
        """Copy bytes to the device."""
        found = np.frombuffer(data, np.uint8)
        self.arena.bytes_at(address, len(found))[:] = found

    def read(self, address: int, size: int) -> memoryview:
        """Copy bytes from the device."""
        return memoryview(self.arena.bytes_at(address, size).copy())

    def copy(self, destination: int, source: int, size: int) -> None:
        """Copy bytes within the device."""
        self.arena.bytes_at(destination, size)[:] = self.arena.bytes_at(source, size)

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set bytes on the device to one value."""
        self.arena.bytes_at(address, size)[:] = byte

    def annotate(self, allocations: Sequence[Allocation]) -> None:
        """The user's buffers: inside an allocation that holds some, a kernel may touch those alone."""
        self.arena.annotate(tuple(allocations))

    def load(self, image: Any, *, timeout: float | None = None) -> EmulatedModule:
        """Load a `driver.image.Image` of PTX; raises UnsupportedError for a cubin or a fatbin."""
        if image.kind != "ptx":
            raise not_emulated(image)
        return EmulatedModule(self, image)


class EmulatedModule:
    """A loaded PTX file: its variables are in memory, its kernels are compiled when asked for."""

    def __init__(self, device: EmulatedDevice, image: Any) -> None:
        """Place the module's variables, with their first values."""
        self.device = device
        self.image = image
        self.module: Module = image.readable_module
        self.addresses, self._regions = place_variables(self.module, device.arena, image.source)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The module's variables go."""
        for address in self._regions:
            self.device.arena.free(address)
        self._regions = []

    def function(self, name: str) -> EmulatedFunction:
        """The entry of that name; UsageError names those there are, UnsupportedError all that is missing."""
        entries = {entry.name: entry for entry in self.module.entries if entry.body is not None}
        if name not in entries:
            known = ", ".join(entries) or "none"
            raise UsageError(f"no kernel {name}", file=self.image.name, hint=f"the file has: {known}")
        return EmulatedFunction(self, entries[name])


class EmulatedFunction:
    """A kernel, compiled for the emulator."""

    def __init__(self, module: EmulatedModule, entry: Function) -> None:
        """Compile it; UnsupportedError names all that the emulator lacks."""
        self._module = module
        self._device = module.device
        self._entry = entry
        with without_collector(), np.errstate(all="ignore"):
            program = Lowering(module.module, module.image.source, entry, module.addresses).run()
            self.kernel = Kernel(program)
        options = self._device.options
        self._batches = Batches(self.kernel, options.watchdog, options.few_lanes)

    @property
    def info(self) -> FunctionInfo:
        """What compiling told."""
        program = self.kernel.program
        version = self._module.module.version
        return FunctionInfo(
            name=self._entry.name,
            parameters=tuple([(p.offset, p.size) for p in self._entry.parameters]),
            static_shared=program.static_shared - program.reserved_shared,
            max_threads=self._device.limits.max_threads_per_block,
            local_bytes=program.local_size,
            ptx_version=version[0] * 10 + version[1],
        )

    def launch(self, config: LaunchConfig, *, timeout: float | None = None) -> LaunchOutcome:
        """Run all blocks; LaunchError for a fault, TimeoutExpired.

        When it fails, what was printed until then goes to standard error.
        """
        started = now()
        launch = self._prepare(config, None if timeout is None else started + timeout, timeout or 0.0)
        try:
            with np.errstate(all="ignore"):
                self._batches.run(launch, self._lanes)
        except BaseException:
            _tell(_outcome(launch))
            raise
        finally:
            for address in (launch.parameter_address, launch.workspace):
                if address:
                    self._device.arena.free(address)
        return _outcome(launch, 1000 * (now() - started))

    def bench(
        self,
        config: LaunchConfig,
        options: BenchOptions,
        *,
        restore: Callable[[], None] | None = None,
        timeout: float | None = None,
    ) -> BenchRun:
        """Launch again and again, and time each launch; ends early, with what was timed, at the timeout."""
        samples: list[float] = []
        deadline = None if timeout is None else now() + timeout
        if restore is not None:
            restore()
        self.launch(config, timeout=timeout)
        end = now() + options.seconds
        while len(samples) < options.min_samples or now() < end:
            if restore is not None:
                restore()
            left = None if deadline is None else max(0.0, deadline - now())
            try:
                samples.append(1000 * self.launch(config, timeout=left).kernel_ms)
            except TimeoutExpired:
                if not samples:
                    raise
                break
        return BenchRun(tuple(samples), cold=False)

    def _prepare(self, config: LaunchConfig, deadline: float | None, timeout: float) -> Launch:
        program = self.kernel.program
        parameters = self._pack(config)
        limits = self._device.limits
        threads = config.block[0] * config.block[1] * config.block[2]
        if threads > limits.max_threads_per_block or threads < 1:
            raise LaunchError(
                f"a block of {counted(threads, 'thread')}; the limit is {limits.max_threads_per_block}"
            )
        size = program.dynamic_offset + config.shared_bytes if config.shared_bytes else program.static_shared
        if size - program.reserved_shared > limits.shared_mem_per_block_optin:
            raise LaunchError(
                f"{counted(size, 'byte')} of shared memory a block;"
                f" the limit is {limits.shared_mem_per_block_optin}"
            )
        self._device.launches += 1
        launch = Launch(
            arena=self._device.arena,
            grid=config.grid,
            block=config.block,
            shared_size=size,
            reserved_shared=program.reserved_shared,
            dynamic_shared=config.shared_bytes,
            local_size=program.local_size,
            parameters=parameters,
            heap=self._device.heap,
            frames=program.stack_base,
            cluster=config.cluster,
            number=self._device.launches,
            cooperative=config.cooperative,
            deadline=deadline,
            timeout=timeout,
        )
        if self.kernel.addresses_parameters:
            region = self._device.arena.allocate(len(parameters), "the kernel's parameters", writable=False)
            self._device.write(region.start, parameters)
            launch.parameter_address = region.start
        if launch.cooperative:
            self._prepare_cooperation(launch)
        self._device.arena.prepare()
        return launch

    @property
    def _lanes(self) -> int:
        """Of a batch, at most."""
        lanes = self._device.options.lanes
        return STREAMING_LANES if self.kernel.streams and lanes == DEFAULT_LANES else lanes

    def _prepare_cooperation(self, launch: Launch) -> None:
        """All blocks must be there at once; what they synchronise by is zero before they begin."""
        blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
        if blocks * launch.threads > RESIDENT_LANES:
            raise LaunchError(
                f"a cooperative launch needs all blocks of {self._entry.name} on the device at once:"
                f" {blocks} blocks of {launch.threads} threads are more than {RESIDENT_LANES} threads"
            )
        if WORKSPACE_REGISTER in self.kernel.specials:
            region = self._device.arena.allocate(WORKSPACE_BYTES, "the grid's workspace")
            self._device.fill(region.start, 0, WORKSPACE_BYTES)
            launch.workspace = region.start

    def _pack(self, config: LaunchConfig) -> bytes:
        entry = self._entry
        if len(config.params) != len(entry.parameters):
            raise LaunchError(
                f"{entry.name} takes {counted(len(entry.parameters), 'parameter')}, not {len(config.params)}"
            )
        data = bytearray(self.kernel.program.parameter_size + _POINTER)
        for parameter, value in zip(entry.parameters, config.params, strict=True):
            if len(value) != parameter.size:
                raise LaunchError(
                    f"{parameter.name} takes {counted(parameter.size, 'byte')}, not {len(value)}"
                )
            data[parameter.offset : parameter.offset + parameter.size] = value
        return bytes(data)


def _outcome(launch: Launch, kernel_ms: float = 0.0) -> LaunchOutcome:
    printed = launch.printed
    return LaunchOutcome(printf=printed.text, printf_dropped=printed.dropped, kernel_ms=kernel_ms)


def _tell(outcome: LaunchOutcome) -> None:
    """What was printed on standard error, ended by a line's end."""
    for text in (outcome.printf, outcome.printf_notice):
        if text:
            with suppress(OSError):
                sys.stderr.write(text if text.endswith("\n") else f"{text}\n")
