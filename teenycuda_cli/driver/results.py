"""What a launch gave, as frozen data: all that the report prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from teenycuda_cli.driver.arguments.dtypes import Array
from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.driver.arguments.matching import Binding
from teenycuda_cli.driver.benching.statistics import Statistics
from teenycuda_cli.driver.buffers import Overwritten
from teenycuda_cli.driver.checks.comparison import Comparison
from teenycuda_cli.driver.device import Finding
from teenycuda_cli.driver.geometry import Geometry
from teenycuda_cli.driver.saving import Saved

if TYPE_CHECKING:
    from teenycuda_cli.driver.benching.measuring import Measurement


@dataclass(frozen=True, slots=True)
class DeviceName:
    """The device that ran, or would run; name and arch None of a GPU that is not there."""

    kind: str
    name: str | None
    arch: str | None


@dataclass(frozen=True, slots=True)
class ArgumentResult:
    """An argument after the launch; what only buffers have is None for the others.

    `value` is a scalar's, as the kernel gets it: rounded to its type.
    """

    name: str
    index: int
    kind: str  # "scalar", "buffer", "pointer", "bytes"
    type: str | None
    shape: tuple[int, ...] | None = None
    changed: bool | None = None
    statistics: Statistics | None = None
    value: int | float | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A buffer to show: its stored elements after the launch (of a dry run, before it).

    `poisoned` says that it held the poison pattern before the launch.
    """

    name: str
    element: ElementType
    stored: Array
    poisoned: bool


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds: loading, the kernel itself, everything."""

    load_ms: float
    kernel_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """The outcome of `launch`; `timing` is None of a dry run, which launches nothing."""

    device: DeviceName
    kernel: str
    geometry: Geometry
    global_scratch_bytes: int
    profile_scratch_bytes: int
    bindings: tuple[Binding, ...]
    arguments: tuple[ArgumentResult, ...]
    comparisons: tuple[Comparison, ...] = ()
    overwritten: tuple[Overwritten, ...] = ()
    findings: tuple[Finding, ...] = ()
    printf: str = ""
    printf_dropped: int | None = None
    saved: tuple[Saved, ...] = ()
    shown: tuple[Shown, ...] = ()
    timing: Timing | None = None
    bench: Measurement | None = None

    @property
    def exit_code(self) -> int:
        """1 where an expectation, a guard zone or a check failed, else 0."""
        failed = (
            self.overwritten or self.findings or not all(comparison.ok for comparison in self.comparisons)
        )
        return 1 if failed else 0
