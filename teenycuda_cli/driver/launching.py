"""The launch, one sequence for every device.

Plan (read, parse, choose, match, fill) → open the device → check the limits →
allocate → scratch → load → launch → read back → compare, guards, save → free.
Whatever fails, an ExitStack gives everything back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from teenycuda_cli.driver.arguments.dtypes import Array, bits_differ
from teenycuda_cli.driver.arguments.language import Argument, Buffer, Bytes, Scalar
from teenycuda_cli.driver.arguments.matching import Binding
from teenycuda_cli.driver.arguments.packing import POINTER_BYTES, scalar_type
from teenycuda_cli.driver.benching.statistics import statistics
from teenycuda_cli.driver.buffers import (
    DeviceBuffer,
    HostBuffer,
    Overwritten,
    check_guards,
    on_device,
    read_back,
)
from teenycuda_cli.driver.checks.comparison import Comparison, compare
from teenycuda_cli.driver.deadline import remaining, within
from teenycuda_cli.driver.device import (
    Allocation,
    BenchOptions,
    Device,
    LaunchConfig,
    LaunchOutcome,
    Limits,
    LoadedFunction,
)
from teenycuda_cli.driver.geometry import check_geometry, check_shared
from teenycuda_cli.driver.plan import Check, LaunchRequest, Notice, Plan, View, make_plan, scalar_value
from teenycuda_cli.driver.registry import DeviceStart, look_up, start_device
from teenycuda_cli.driver.results import ArgumentResult, DeviceName, LaunchReport, Shown, Timing
from teenycuda_cli.driver.saving import saved, write_save
from teenycuda_cli.driver.scratch import scratch
from teenycuda_cli.errors import DeviceFault, TeenycudaError

if TYPE_CHECKING:
    from teenycuda_cli.driver.benching.measuring import Measurement

GUARD = 256
"""Bytes of a guard zone. A GPU lets a stray store into it pass; the emulator faults at the store itself."""

Progress = Callable[[str], AbstractContextManager[object]]
"""Makes a context that tells the user of something under way, by its name."""


def launch(
    request: LaunchRequest, notice: Notice, progress: Progress, started: DeviceStart | None = None
) -> LaunchReport:
    """Run a kernel and check what it computed.

    `notice` gets lines for standard error, `progress` surrounds the launch
    itself, `started` is the request's device where it is on its way already.
    Raises TeenycudaError of every kind, DeviceNotFound before any other;
    expectations that do not hold and guard zones that were overwritten are in
    the report.
    """
    began = time.monotonic()
    deadline = began + request.timeout if request.timeout is not None else None
    if request.dry_run:
        return _dry_run(request, notice, deadline)
    if started is None:
        started = start_device(request.device)
    try:
        plan = _planned(request, notice, deadline, started.is_emulator)
    except TeenycudaError:
        started.check()
        raise
    with started.open(notice) as device:
        _check_geometry(plan, device.limits, device.name)
        if request.graph and device.kind == "cpu":
            notice("--graph: the emulator has no graphs, and launches each time")
        try:
            ran = _run(request, plan, device, deadline, progress)
        except DeviceFault as fault:
            from teenycuda_cli.driver.rerun import explained  # noqa: PLC0415  (faults are rare)

            raise explained(fault, request, emulated=plan.ptx is not None) from fault
        if ran.outcome.printf_notice:
            notice(ran.outcome.printf_notice)
        for name in _unstable(plan, ran):
            notice(f"{name}: other bytes after benching than after the first launch")
        told = DeviceName(device.kind, device.name, device.arch)
    left = remaining(deadline, "what came out was looked at")
    report = within(left, "looking at what came out", lambda: _ran_report(plan, ran, told))
    for save, view in plan.saves:
        remaining(deadline, f"{save.path} was written")
        write_save(save, view.buffer.element, view.of(ran.after[view.buffer.name]))
    total_ms = (time.monotonic() - began) * 1e3
    return replace(report, timing=Timing(ran.load_ms, ran.outcome.kernel_ms, total_ms))


def _planned(
    request: LaunchRequest, notice: Notice, deadline: float | None, emulated: Callable[[], bool]
) -> Plan:
    """The plan, made before the deadline: nothing can interrupt numpy while it fills a buffer."""
    left = remaining(deadline, "anything was read")
    return within(left, "preparing the launch", lambda: make_plan(request, notice, deadline, emulated))


def _dry_run(request: LaunchRequest, notice: Notice, deadline: float | None) -> LaunchReport:
    """The report of a launch that does not happen, held to what every device allows."""
    device = look_up(request.device, notice)
    plan = _planned(request, notice, deadline, lambda: device is not None and device.kind == "cpu")
    _check_geometry(plan, Limits(), "a device")
    before = {name: buffer.before for name, buffer in plan.buffers.items()}
    told = DeviceName(device.kind, device.name, device.arch) if device else DeviceName("cuda", None, None)
    left = remaining(deadline, "the buffers were looked at")
    return within(left, "looking at the buffers", lambda: _report(plan, before, told))


def _check_geometry(plan: Plan, limits: Limits, device: str) -> None:
    kernel = plan.kernel
    check_geometry(plan.geometry, kernel.directives, limits, device, kernel.name)
    check_shared(plan.geometry.shared_bytes, 0, limits, device)


@dataclass(frozen=True, slots=True)
class _Ran:
    """What came back: `first` after one launch, `after` in the end, which is later where it is timed."""

    outcome: LaunchOutcome
    first: Mapping[str, Array]
    after: Mapping[str, Array]
    bench: Measurement | None
    overwritten: tuple[Overwritten, ...]
    load_ms: float


def _run(
    request: LaunchRequest, plan: Plan, device: Device, deadline: float | None, progress: Progress
) -> _Ran:
    """Everything that happens on the device; all of it is given back on every path."""
    guard = GUARD if request.guard is None else request.guard
    with ExitStack() as stack:
        began = time.perf_counter()
        image = plan.ptx if device.kind == "cpu" and plan.ptx is not None else plan.image
        module = stack.enter_context(device.load(image, timeout=remaining(deadline, "the file was loaded")))
        # A GPU has built the kernel by now, and lets no other thread at its context.
        left = remaining(deadline, "the kernel was built") if device.kind == "cpu" else None
        function = within(left, f"building {plan.kernel.name}", lambda: module.function(plan.kernel.name))
        load_ms = (time.perf_counter() - began) * 1e3
        check_shared(plan.geometry.shared_bytes, function.info.static_shared, device.limits, device.name)
        places = {
            name: stack.enter_context(on_device(device, buffer, guard, deadline))
            for name, buffer in plan.buffers.items()
        }
        kernel = plan.kernel
        addresses = {
            "global_scratch": stack.enter_context(
                scratch(device, plan.global_scratch_bytes, kernel.global_scratch_align, "global")
            ),
            "profile_scratch": stack.enter_context(
                scratch(device, plan.profile_scratch_bytes, kernel.profile_scratch_align, "profile")
            ),
        }
        device.annotate([Allocation(place.address, place.size, name) for name, place in places.items()])
        config = LaunchConfig(
            grid=plan.geometry.grid,
            block=plan.geometry.block,
            cluster=plan.geometry.cluster,
            shared_bytes=plan.geometry.shared_bytes,
            params=_packed(plan, places, addresses),
            cooperative=kernel.cooperative,
            programmatic=kernel.programmatic,
            graph=request.graph and device.kind == "cuda",
        )
        with progress(kernel.name):
            outcome = function.launch(config, timeout=remaining(deadline, "the launch"))
        after = first = _read_all(device, plan, places)
        bench = None
        if request.bench:
            scratches = {addresses[role]: size for role, size in plan.scratch_bytes.items() if size}
            used = [(plan.buffers[name], place, first[name]) for name, place in places.items()]
            with progress(f"benching {kernel.name}"):
                bench = _measure(device, function, config, request.bench, used, scratches, deadline)
            after = _read_all(device, plan, places)
        guards = [check_guards(device, plan.buffers[name], place) for name, place in places.items()]
        overwritten = tuple(found for found in guards if found)
        return _Ran(outcome, first, after, bench, overwritten, load_ms)


def _unstable(plan: Plan, ran: _Ran) -> list[str]:
    """The buffers in which the same launch left other bytes another time."""
    return [
        name
        for name, buffer in plan.buffers.items()
        if ran.bench and bits_differ(buffer.element, ran.first[name], ran.after[name])
    ]


def _read_all(device: Device, plan: Plan, places: Mapping[str, DeviceBuffer]) -> dict[str, Array]:
    return {name: read_back(device, plan.buffers[name], place) for name, place in places.items()}


def _measure(
    device: Device,
    function: LoadedFunction,
    config: LaunchConfig,
    options: BenchOptions,
    used: Sequence[tuple[HostBuffer, DeviceBuffer, Array]],
    scratches: Mapping[int, int],
    deadline: float | None,
) -> Measurement:
    from teenycuda_cli.driver.benching.measuring import Used, measure  # noqa: PLC0415  (most launches time nothing)

    timeout = remaining(deadline, "the kernel was timed")
    buffers = [Used(*each) for each in used]
    return measure(device, function, config, options, used=buffers, zeroed=scratches, timeout=timeout)


def _packed(
    plan: Plan, places: Mapping[str, DeviceBuffer], scratches: Mapping[str, int]
) -> tuple[bytes, ...]:
    """Each parameter's bytes, now that the addresses are known."""
    packed = []
    for binding in plan.bindings:
        if binding.packed is not None:
            packed.append(binding.packed)
            continue
        address = (
            places[binding.buffer].address + binding.offset if binding.buffer else scratches[binding.role]
        )
        packed.append(address.to_bytes(POINTER_BYTES, "little"))
    return tuple(packed)


def _ran_report(plan: Plan, ran: _Ran, device: DeviceName) -> LaunchReport:
    return replace(
        _report(plan, ran.after, device),
        comparisons=_compared(plan, ran),
        overwritten=ran.overwritten,
        findings=tuple(ran.outcome.findings),
        printf=ran.outcome.printf,
        printf_dropped=ran.outcome.printf_dropped,
        saved=tuple(
            saved(save, view.buffer.element, view.of(view.buffer.before).shape) for save, view in plan.saves
        ),
        bench=ran.bench,
    )


def _report(plan: Plan, after: Mapping[str, Array], device: DeviceName) -> LaunchReport:
    """The report of what is known with these contents: before a launch, or after it."""
    return LaunchReport(
        device=device,
        kernel=plan.kernel.name,
        geometry=plan.geometry,
        global_scratch_bytes=plan.global_scratch_bytes,
        profile_scratch_bytes=plan.profile_scratch_bytes,
        bindings=plan.bindings,
        arguments=tuple(
            _argument_result(plan, binding, binding.argument, after)
            for binding in plan.bindings
            if binding.argument
        ),
        shown=tuple(_shown(view, after) for view in plan.shows),
    )


def _shown(view: View, after: Mapping[str, Array]) -> Shown:
    buffer = view.buffer
    return Shown(view.name, buffer.element, view.of(after[buffer.name]), buffer.poisoned)


def _argument_result(
    plan: Plan, binding: Binding, argument: Argument, after: Mapping[str, Array]
) -> ArgumentResult:
    match argument.value:
        case Buffer():
            buffer = plan.buffers[argument.name]
            stored = after[argument.name]
            return ArgumentResult(
                argument.name,
                argument.index,
                "buffer",
                buffer.element.name,
                buffer.shape,
                changed=bits_differ(buffer.element, buffer.before, stored),
                statistics=statistics(buffer.element, stored, poisoned=buffer.poisoned),
            )
        case Scalar(type=element):
            known = element or scalar_type(binding.parameter)
            return ArgumentResult(
                argument.name,
                argument.index,
                "scalar",
                known.name if known else None,
                value=scalar_value(argument.value, binding.packed or b""),
            )
        case Bytes():
            return ArgumentResult(argument.name, argument.index, "bytes", None)
        case _:
            return ArgumentResult(argument.name, argument.index, "pointer", None)


def _compared(plan: Plan, ran: _Ran) -> tuple[Comparison, ...]:
    """The expectations, held to what one launch left and to what benching left, the worse of the two told."""
    comparisons = []
    for check in plan.checks:
        name = check.view.buffer.name
        told = _comparison(check, ran.after[name])
        if told.ok and ran.bench:
            told = _comparison(check, ran.first[name])
        comparisons.append(told)
    return tuple(comparisons)


def _comparison(check: Check, after: Array) -> Comparison:
    buffer = check.view.buffer
    return compare(
        check.expectation,
        buffer.element,
        check.view.of(after),
        check.values,
        check.tolerance,
        poisoned=buffer.poisoned,
        places=check.places,
    )
