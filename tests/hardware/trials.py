"""Instructions with effects as trials: a kernel of its own each, whose buffers in the end are its results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from teenycuda_cli.driver.device import Device, LaunchConfig, LoadedModule
from teenycuda_cli.emulator.opcodes.table import Form
from teenycuda_cli.errors import TeenycudaError
from tests.hardware.counter import Counter
from tests.hardware.inputs import Array
from tests.hardware.kernels import HEAD

TRIALS = 24
THREADS = 256
LIMIT = 20.0
"""Seconds that a launch may take."""
_FILL = 0xA5


@dataclass(frozen=True, slots=True)
class Output:
    """A buffer of `count` unsigned numbers of `size` bytes."""

    size: int
    count: int


Settle = Callable[[Sequence[Array]], Sequence[Array]]
"""Results made comparable: what the ISA leaves open is taken out, what may come in any order is sorted."""


@dataclass(frozen=True)
class Trial:
    """An instruction in a situation.

    `body` is PTX. It finds the address of its buffers in %b0, %b1 …, the
    inputs first, and its thread's number in the grid in %lane; there are
    registers %p %h %r %d %f %g %q. `before` stands before the entry; in both,
    `NAME` is the entry's own.
    """

    text: str  # "atom.global.add.u32 d, [a], b; apart"
    form: Form
    body: str
    inputs: tuple[Array, ...] = ()
    outputs: tuple[Output, ...] = ()
    before: str = ""
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (THREADS, 1, 1)
    params: tuple[tuple[str, bytes], ...] = ()  # more parameters: declaration, bytes
    settle: Settle | None = None
    shared: int = 0
    cluster: tuple[int, int, int] | None = None
    directives: str = ""  # of the entry: ".maxnreg 64"

    @property
    def approximate(self) -> bool:
        """Whether the ISA gives a bound on the error and no exact result."""
        return False


@dataclass(frozen=True, slots=True)
class TrialKernel:
    """An entry and the trial that it is."""

    name: str
    trial: Trial


@dataclass(frozen=True, slots=True)
class TrialModule:
    """PTX text, its kernels, and which trial stands on which of its lines (counted from 1)."""

    text: str
    kernels: tuple[TrialKernel, ...]
    lines: dict[int, Trial] = field(default_factory=dict)

    def without(self, texts: set[str]) -> TrialModule:
        """The module made again without some trials."""
        return _module([kernel.trial for kernel in self.kernels if kernel.trial.text not in texts])


def trial_modules(trials: Iterable[Trial], most: int = TRIALS) -> Iterator[TrialModule]:
    """Trials in their order, some a module."""
    waiting: list[Trial] = []
    for trial in trials:
        waiting.append(trial)
        if len(waiting) == most:
            yield _module(waiting)
            waiting = []
    if waiting:
        yield _module(waiting)


def _module(trials: Sequence[Trial]) -> TrialModule:
    lines = HEAD.splitlines()
    at: dict[int, Trial] = {}
    kernels = []
    for number, trial in enumerate(trials):
        name = f"k{number}"
        for line in _entry(trial, name):
            lines.append(line)
            at[len(lines)] = trial
        kernels.append(TrialKernel(name, trial))
    return TrialModule("\n".join(lines) + "\n", tuple(kernels), at)


def _entry(trial: Trial, name: str) -> list[str]:
    count = len(trial.inputs) + len(trial.outputs)
    parameters = [f".param .u64 p{number}" for number in range(count)]
    parameters += [declaration for declaration, _ in trial.params]
    text = f"""
    {trial.before}
    .visible .entry {name}({", ".join(parameters)})
    {trial.directives}
    {{
    .reg .pred %p<20>; .reg .b16 %h<40>; .reg .b32 %r<60>; .reg .b64 %d<40>; .reg .b64 %b<9>;
    .reg .f32 %f<40>; .reg .f64 %g<40>; .reg .b128 %q<4>; .reg .b32 %lane, %tx, %bx, %nx;
    mov.u32 %tx, %tid.x; mov.u32 %bx, %ctaid.x; mov.u32 %nx, %ntid.x; mad.lo.u32 %lane, %bx, %nx, %tx;
    """
    for number in range(count):
        text += f"ld.param.u64 %b{number}, [p{number}]; cvta.to.global.u64 %b{number}, %b{number};\n"
    text += f"{trial.body}\nret;\n}}"
    return [line.strip() for line in text.replace("NAME", name).splitlines() if line.strip()]


def launched(device: Device, loaded: LoadedModule, kernel: TrialKernel) -> tuple[tuple[Array, ...], str]:
    """What a trial's output buffers hold in the end, settled; or why it failed."""
    try:
        return _launched(device, loaded, kernel), ""
    except TeenycudaError as error:
        return (), "; ".join([str(error), *error.context])


def _launched(device: Device, loaded: LoadedModule, kernel: TrialKernel) -> tuple[Array, ...]:
    """After a failure nothing is freed: a device that is lost would wait for ever to do it."""
    trial = kernel.trial
    allocations = []
    for number, array in enumerate(trial.inputs):
        allocation = device.allocate(array.nbytes, f"in{number}")
        allocations.append(allocation)
        device.write(allocation.address, np.ascontiguousarray(array).tobytes())
    for number, output in enumerate(trial.outputs):
        allocation = device.allocate(output.size * output.count, f"out{number}")
        allocations.append(allocation)
        device.write(allocation.address, bytes([_FILL]) * (output.size * output.count))
    params = [allocation.address.to_bytes(8, "little") for allocation in allocations]
    params += [data for _, data in trial.params]
    config = LaunchConfig(trial.grid, trial.block, trial.cluster, trial.shared, tuple(params))
    loaded.function(kernel.name).launch(config, timeout=LIMIT)
    results: Sequence[Array] = [
        np.frombuffer(device.read(allocation.address, allocation.size), f"<u{output.size}").copy()
        for allocation, output in zip(allocations[len(trial.inputs) :], trial.outputs, strict=True)
    ]
    for allocation in allocations:
        device.free(allocation)
    return tuple(results if trial.settle is None else trial.settle(results))


def input_digest(trial: Trial) -> str:
    """A hash of all that a trial is given and does, to notice when it is no longer what was recorded."""
    total = hashlib.sha256()
    for text in (trial.before, trial.body, repr((trial.grid, trial.block, trial.outputs, trial.params))):
        total.update(text.encode())
    if trial.cluster or trial.directives:
        total.update(f"{trial.cluster} {trial.directives}".encode())
    for array in trial.inputs:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:8]


def drawn(name: str, count: int, size: int = 4) -> Array:
    """Random unsigned numbers, the same for the same name."""
    bits = Counter(name).bits(count)
    return (bits >> np.uint64(64 - 8 * size)).astype(f"u{size}")
