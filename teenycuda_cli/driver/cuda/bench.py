"""Timing a launch on a GPU: by events, with cold caches or warm ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import check
from teenycuda_cli.driver.cuda.jit import JitOptions, load_module
from teenycuda_cli.driver.cuda.packed import pack
from teenycuda_cli.driver.device import BenchOptions, BenchRun

if TYPE_CHECKING:
    from teenycuda_cli.driver.cuda.device import CudaDevice

WARM_UP_LAUNCHES = 3
LONGEST_BATCH = 50
"""Samples queued at once."""

MOST_SAMPLES = 100_000
EVICTED_CACHES = 4
"""How many times the size of the L2 cache is read to put out what is in it."""

EVICT_BLOCKS_PER_MULTIPROCESSOR = 8
EVICT_THREADS = 256
PAUSE_NANOSECONDS = 40_000
"""Longer than it takes to queue a sample, so that the device never waits for the host within one."""


class Bench:
    """A launch, ready to be timed again and again; leaving it frees events and the flush buffer."""

    def __init__(
        self,
        device: CudaDevice,
        enqueue: Callable[[], None],
        restore: Callable[[], None] | None,
        wait: Callable[[Any], None],
    ) -> None:
        """`enqueue` queues one launch, `wait` waits for an event and watches the timeout."""
        self._device = device
        self._enqueue = enqueue
        self._restore = restore
        self._wait = wait
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Load the kernels of bench.ptx and make the events."""
        text = Path(__file__).with_name("bench.ptx").read_bytes()
        with self._stack:  # gives back what there is if one of these fails
            module, _ = load_module(text + b"\0", JitOptions())
            self._defer("the module of bench.ptx", driver.cuModuleUnload, module)
            self._evict = check(driver.cuModuleGetFunction, module, b"evict")
            self._pause = check(driver.cuModuleGetFunction, module, b"pause")
            self._events = [(self._event(), self._event()) for _ in range(LONGEST_BATCH)]
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give all back."""
        self._stack.close()

    def run(self, options: BenchOptions) -> BenchRun:
        """Warm up, then sample for as long as the options say."""
        prepare = self._pauser() if options.hot else self._evicter()
        self._batch(WARM_UP_LAUNCHES, prepare)
        samples: list[float] = []
        start = time.monotonic()
        size = 1
        while True:
            samples += self._batch(size, prepare)
            elapsed = time.monotonic() - start
            if len(samples) >= MOST_SAMPLES:
                break
            if len(samples) >= options.min_samples and elapsed >= options.seconds:
                break
            wanted = int((options.seconds - elapsed) * len(samples) / max(elapsed, 1e-6))
            size = max(1, min(wanted, LONGEST_BATCH, 2 * size))
        return BenchRun(tuple(samples), cold=not options.hot)

    def _batch(self, size: int, prepare: Callable[[], None]) -> list[float]:
        """Queue so many samples, wait for them, and tell their microseconds."""
        stream = self._device.stream
        for start, end in self._events[:size]:
            if self._restore:
                self._restore()
            prepare()
            check(driver.cuEventRecord, start, stream)
            self._enqueue()
            check(driver.cuEventRecord, end, stream)
        self._wait(self._events[size - 1][1])
        return [check(driver.cuEventElapsedTime, *pair) * 1e3 for pair in self._events[:size]]

    def _evicter(self) -> Callable[[], None]:
        properties = self._device.properties
        size = EVICTED_CACHES * (properties.l2_cache_size or 8 << 20)
        buffer = self._device.allocate(size, "the buffer that flushes the caches")
        self._stack.callback(self._device.free, buffer)
        self._device.fill(buffer.address, 0, size)
        blocks = EVICT_BLOCKS_PER_MULTIPROCESSOR * (properties.multi_processor_count or 1)
        numbers = (buffer.address, size, blocks * EVICT_THREADS * 16)
        return self._launcher(self._evict, blocks, EVICT_THREADS, numbers)

    def _pauser(self) -> Callable[[], None]:
        return self._launcher(self._pause, 1, 1, (PAUSE_NANOSECONDS,))

    def _launcher(
        self, function: Any, blocks: int, threads: int, numbers: tuple[int, ...]
    ) -> Callable[[], None]:
        packed = pack(tuple(number.to_bytes(8, "little") for number in numbers))
        dimensions = (blocks, 1, 1, threads, 1, 1)

        def launch() -> None:
            check(driver.cuLaunchKernel, function, *dimensions, 0, self._device.stream, packed.address, 0)

        return launch

    def _event(self) -> Any:
        event = check(driver.cuEventCreate, int(driver.CUevent_flags.CU_EVENT_DEFAULT))
        self._defer("an event", driver.cuEventDestroy, event)
        return event

    def _defer(self, what: str, call: Callable[..., Any], handle: Any) -> None:
        self._stack.callback(partial(self._device.give_back, what, call, handle))
