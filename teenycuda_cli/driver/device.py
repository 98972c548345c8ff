"""The Device protocol: what a launch needs of a GPU or of the embedded emulator.

Both devices stand behind these names, so that reading, parsing, packing,
scratch, checking and reporting exist once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from teenycuda_cli.wording import counted

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device can launch; counts, bytes."""

    max_threads_per_block: int = 1024
    max_block: Dim3 = (1024, 1024, 64)
    max_grid: Dim3 = (2**31 - 1, 65535, 65535)
    shared_mem_per_block: int = 49152
    shared_mem_per_block_optin: int = 232448
    max_cluster_blocks: int = 8


@dataclass(frozen=True, slots=True)
class Allocation:
    """Device memory: `address` to `address + size`, and what it is called in messages (`x`, `scratch`)."""

    address: int
    size: int
    name: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault in the kernel that a device saw without stopping (a race, a failed assert): text and place."""

    kind: str
    message: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """What loading told of an entry. Sizes in bytes; None where the device cannot tell."""

    name: str
    parameters: tuple[tuple[int, int], ...]  # (offset, size)
    static_shared: int
    max_threads: int
    registers: int | None = None
    local_bytes: int | None = None
    const_bytes: int | None = None
    ptx_version: int | None = None
    binary_version: int | None = None


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """Everything a launch says, the arguments packed already: one `bytes` a kernel parameter."""

    grid: Dim3
    block: Dim3
    cluster: Dim3 | None
    shared_bytes: int
    params: tuple[bytes, ...]
    cooperative: bool = False
    programmatic: bool = False  # programmatic dependent launch
    graph: bool = False  # captured into a CUDA graph and replayed; for a GPU only


@dataclass(slots=True)
class LaunchOutcome:
    """What came of a launch besides memory: findings, printf output, seconds on the device."""

    findings: list[Finding] = field(default_factory=list)
    printf: str = ""  # the emulator's; a GPU's comes through the process's own standard output
    printf_dropped: int | None = None  # calls whose text was not kept, the oldest; None where nobody knows
    kernel_ms: float = 0.0

    @property
    def printf_notice(self) -> str | None:
        """What to tell of calls of printf that were not kept, if there are any."""
        if not self.printf_dropped:
            return None
        return f"printf: more than is kept; without the first {counted(self.printf_dropped, 'call')}"


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How to measure: for at least `seconds` and at least `min_samples` launches, after a warm-up.

    The caches are flushed before each sample, untimed, unless `hot`.
    """

    seconds: float = 0.5
    min_samples: int = 10
    hot: bool = False


@dataclass(frozen=True, slots=True)
class BenchRun:
    """The samples, in microseconds of kernel time and in order; `cold` says that the caches were flushed."""

    samples_us: tuple[float, ...]
    cold: bool


class LoadedFunction(Protocol):
    """An entry, resolved by name and ready to launch."""

    @property
    def info(self) -> FunctionInfo:
        """What loading told."""

    def launch(self, config: LaunchConfig, *, timeout: float | None = None) -> LaunchOutcome:
        """Run to the end and synchronise, so that a fault surfaces here.

        Raises LaunchError for a fault, UnsupportedError, TimeoutExpired.
        """

    def bench(
        self,
        config: LaunchConfig,
        options: BenchOptions,
        *,
        restore: Callable[[], None] | None = None,
        timeout: float | None = None,
    ) -> BenchRun:
        """Launch again and again and time each launch; `config.graph` replays a graph instead.

        `restore` is called before each launch, untimed: it puts buffers back
        that the kernel changes, by `Device.copy` alone. Printf output is lost.
        Raises as `launch` does.
        """


class LoadedModule(Protocol):
    """A loaded file; leaving its context unloads it, whatever happened."""

    def __enter__(self) -> Self:
        """Itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give everything back; an error on the way out is told, not raised."""

    def function(self, name: str) -> LoadedFunction:
        """The entry of that name; raises UsageError naming the entries there are."""


class Device(Protocol):
    """A GPU or the emulator, opened; leaving its context releases all that it holds."""

    @property
    def kind(self) -> str:
        """Which of the two it is: "cuda" or "cpu"."""

    @property
    def name(self) -> str:
        """What people call it, "NVIDIA H200"."""

    @property
    def arch(self) -> str:
        """Its architecture, "sm_90"; of the emulator, the highest target that it takes."""

    @property
    def limits(self) -> Limits:
        """What can be launched."""

    def __enter__(self) -> Self:
        """Itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give everything back; an error on the way out is told, not raised."""

    def allocate(self, size: int, name: str) -> Allocation:
        """Memory of `size` bytes, 256-byte aligned, contents undefined; LaunchError when there is none."""

    def free(self, allocation: Allocation) -> None:
        """Give memory back."""

    def write(self, address: int, data: bytes | memoryview) -> None:
        """Copy bytes to the device."""

    def read(self, address: int, size: int) -> memoryview:
        """Copy bytes from the device; the result is the caller's own and writable."""

    def copy(self, destination: int, source: int, size: int) -> None:
        """Copy bytes within the device, in the order of the launches."""

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set `size` bytes on the device to one value, in the order of the launches."""

    def load(self, image: Any, *, timeout: float | None = None) -> LoadedModule:
        """Load a `driver.image.Image` (PTX, cubin, fatbin); raises AssembleError or UnsupportedError.

        Raises TimeoutExpired where assembling it takes longer than `timeout` seconds.
        """

    def annotate(self, allocations: Sequence[Allocation]) -> None:
        """Tell the device the user's buffers by name, for its fault messages (guards excluded)."""
