"""Modules of cases run on a device, the GPU or the emulator alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from teenycuda_cli.driver.device import Device, LaunchConfig, LoadedModule
from teenycuda_cli.driver.image import image_of
from teenycuda_cli.errors import TeenycudaError
from tests.hardware.forms import Case
from tests.hardware.inputs import Array, inputs
from tests.hardware.kernels import BLOCK, Kernel, Module, modules
from tests.hardware.trials import Trial, TrialKernel, TrialModule, launched

_LINE = re.compile(r"line (\d+)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a device gave for a case: an array of unsigned numbers a result; or why there is none."""

    case: Case | Trial
    results: tuple[Array, ...] = ()
    failure: str = ""
    lost: bool = False  # a launch failed: a GPU does nothing more after that


def run(device: Device, module: Module | TrialModule) -> Iterator[Outcome]:
    """The outcomes of a module's cases; those on lines that the assembler refuses fail alone."""
    while module.kernels:
        try:
            loaded = device.load(image_of(module.text.encode(), "cases.ptx"))
        except TeenycudaError as error:
            refused = refusals(module, [*error.context, str(error)])
            if not refused:
                yield from (Outcome(case, failure=str(error)) for case in cases_of(module))
                return
            yield from (Outcome(case, failure=reason) for case, reason in refused)
            module = without(module, [case for case, _ in refused])
            continue
        with loaded:
            for kernel in module.kernels:
                if isinstance(kernel, TrialKernel):
                    results, failure = launched(device, loaded, kernel)
                    yield Outcome(kernel.trial, results, failure, lost=bool(failure))
                else:
                    yield from _run_kernel(device, loaded, kernel)
        return


def cases_of(module: Module | TrialModule) -> list[Case | Trial]:
    """What a module tries, each once."""
    return list({case.text: case for case in module.lines.values()}.values())


def refusals(module: Module | TrialModule, messages: Sequence[str]) -> list[tuple[Case | Trial, str]]:
    """The cases that an assembler's messages name by line, each with the first message."""
    found: dict[str, tuple[Case | Trial, str]] = {}
    for message in messages:
        match = _LINE.search(message)
        case = module.lines.get(int(match[1])) if match else None
        if case is not None:
            found.setdefault(case.text, (case, message.partition("error   : ")[2] or message))
    return list(found.values())


def without(module: Module | TrialModule, dropped: Sequence[Case | Trial]) -> Module | TrialModule:
    """The module made again without some cases."""
    texts = {case.text for case in dropped}
    if isinstance(module, TrialModule):
        return module.without(texts)
    kept = [case for case in module.lines.values() if case.text not in texts]
    made = modules(kept)
    return made[0] if made else replace(module, kernels=(), lines={})


def _run_kernel(device: Device, loaded: LoadedModule, kernel: Kernel) -> Iterator[Outcome]:
    try:
        data = _launch(device, loaded, kernel)
    except TeenycudaError as error:
        yield from (Outcome(case, failure=str(error)) for case in kernel.cases)
        return
    for case, places in zip(kernel.cases, kernel.results, strict=True):
        results = tuple(
            np.frombuffer(data, f"<u{place.size}", kernel.lanes, place.offset).copy() for place in places
        )
        yield Outcome(case, results)


def _launch(device: Device, loaded: LoadedModule, kernel: Kernel) -> memoryview:
    """Run a kernel on its inputs; the bytes of its output buffer."""
    allocations = []
    try:
        for index, array in enumerate(inputs(kernel.read)):
            allocation = device.allocate(array.nbytes, f"in{index}")
            allocations.append(allocation)
            device.write(allocation.address, array.tobytes())
        output = device.allocate(kernel.size, "out")
        allocations.append(output)
        device.write(output.address, b"\xcd" * kernel.size)
        params = tuple(allocation.address.to_bytes(8, "little") for allocation in allocations)
        grid = (kernel.lanes // BLOCK, 1, 1)
        config = LaunchConfig(grid, (BLOCK, 1, 1), None, 0, params)
        loaded.function(kernel.name).launch(config)
        return device.read(output.address, kernel.size)
    finally:
        for allocation in allocations:
            device.free(allocation)
