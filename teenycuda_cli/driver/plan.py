"""A launch worked out in full before any device is touched: what runs, with which bytes, what is expected."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import Array, decode, storage_dtype
from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES
from teenycuda_cli.driver.arguments.language import Alias, Argument, Buffer, Bytes, Scalar, parse_arguments
from teenycuda_cli.driver.arguments.matching import Binding, bind, check_count
from teenycuda_cli.driver.buffers import HostBuffer, make_buffers
from teenycuda_cli.driver.checks.expectations import (
    Expectation,
    Operand,
    Subject,
    expected_values,
    parse_expectation,
    part_of,
)
from teenycuda_cli.driver.checks.tolerance import (
    Tolerance,
    ToleranceOption,
    parse_tolerance,
    tolerance_for,
    without_effect,
)
from teenycuda_cli.driver.device import BenchOptions
from teenycuda_cli.driver.geometry import Geometry, choose_block, choose_cluster, parse_dim3
from teenycuda_cli.driver.image import Image, read_image
from teenycuda_cli.driver.nearest import nearest
from teenycuda_cli.driver.program import Kernel, read_program
from teenycuda_cli.driver.saving import Save, check_save, parse_save
from teenycuda_cli.driver.scratch import scratch_bytes
from teenycuda_cli.errors import UsageError
from teenycuda_cli.ptx.sidecar import sidecar_path

Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """The command line of a launch, options as written."""

    path: str
    grid: str | None = None
    block: str | None = None
    cluster: str | None = None
    cooperative: bool = False
    shared: int | None = None
    entry: str | None = None
    meta: str | None = None
    device: str = "auto"
    arguments: tuple[str, ...] = ()
    seed: int = 0
    save: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()
    tolerance: tuple[str, ...] = ()
    guard: int | None = None
    timeout: float | None = None
    dry_run: bool = False
    bench: BenchOptions | None = None
    graph: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """Part of a buffer under a name: all of it, or from `offset` bytes on, flat."""

    name: str
    buffer: HostBuffer
    offset: int = 0

    def of(self, stored: Array) -> Array:
        """The elements that the name stands for."""
        return stored.reshape(-1)[self.offset // self.buffer.element.size :] if self.offset else stored

    @property
    def subject(self) -> Subject:
        """As an expectation sees it."""
        return Subject(self.name, self.buffer.element, self.of(self.buffer.before).shape, self.buffer.index)


@dataclass(frozen=True, slots=True)
class Check:
    """An expectation, worked out: the values that a view must hold, all of it or at flat indices."""

    expectation: Expectation
    view: View
    places: Array | None
    values: Array
    tolerance: Tolerance


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything about a launch that needs no device."""

    image: Image
    ptx: Image | None  # for the emulator
    kernel: Kernel
    geometry: Geometry
    arguments: tuple[Argument, ...]
    buffers: Mapping[str, HostBuffer]
    bindings: tuple[Binding, ...]
    checks: tuple[Check, ...]
    saves: tuple[tuple[Save, View], ...]
    shows: tuple[View, ...]
    global_scratch_bytes: int
    profile_scratch_bytes: int

    @property
    def scratch_bytes(self) -> dict[str, int]:
        """The bytes of scratch by the role of the parameter that points to them."""
        return {"global_scratch": self.global_scratch_bytes, "profile_scratch": self.profile_scratch_bytes}


@dataclass(frozen=True, slots=True)
class _Options:
    """The options that are parsed before any file is read."""

    arguments: tuple[Argument, ...]
    expectations: tuple[Expectation, ...]
    tolerances: tuple[ToleranceOption, ...]
    saves: tuple[Save, ...]


def make_plan(
    request: LaunchRequest, notice: Notice, deadline: float | None, emulated: Callable[[], bool]
) -> Plan:
    """Read, parse, choose the entry, match the arguments, fill the buffers, work out what is expected.

    `notice` gets lines for standard error, `emulated` tells whether the device
    is the emulator. Raises every error of a command line that does not fit:
    UsageError, FileError, PtxSyntaxError, UnsupportedError.
    """
    grid = parse_dim3(request.grid, "--grid") if request.grid is not None else None
    block = parse_dim3(request.block, "--block") if request.block is not None else None
    cluster = parse_dim3(request.cluster, "--cluster") if request.cluster is not None else None
    options = _parse_options(request)
    image = read_image(request.path)
    program = read_program(
        image,
        request.path,
        entry=request.entry,
        meta=request.meta,
        arguments=len(options.arguments),
        notice=notice,
    )
    if program.ptx is None and emulated():
        from teenycuda_cli.driver.machine_code import not_emulated  # noqa: PLC0415  (not for PTX)

        raise not_emulated(image)
    kernel = program.kernel
    if request.cooperative:
        kernel = replace(kernel, cooperative=True)
    check_count(kernel, options.arguments, request.path, several=program.kernels > 1)
    if grid is None:
        raise UsageError("--grid is missing: how many blocks to launch", hint="e.g. --grid 4, or --grid 8,8")
    geometry = Geometry(
        grid,
        choose_block(block, kernel.directives, kernel.threads, kernel.name),
        choose_cluster(cluster, kernel.directives, kernel.num_ctas),
        kernel.shared if request.shared is None else request.shared,
    )
    if kernel.extern_shared and request.shared is None and not kernel.shared_known:
        notice(f"{kernel.name} uses dynamic shared memory, and nothing tells how much: taking 0 (--shared)")
    buffers = {buffer.name: buffer for buffer in make_buffers(options.arguments, request.seed)}
    bindings = bind(kernel, options.arguments, buffers)
    views = _views(options.arguments, buffers)
    return Plan(
        image=image,
        ptx=program.ptx,
        kernel=kernel,
        geometry=geometry,
        arguments=options.arguments,
        buffers=buffers,
        bindings=bindings,
        checks=_checks(request, options, bindings, views, deadline, notice),
        saves=_saves(request, options, views),
        shows=tuple(_view(views, name, "--show") for name in request.show),
        global_scratch_bytes=scratch_bytes(kernel.global_scratch_size, geometry.blocks, "global"),
        profile_scratch_bytes=scratch_bytes(kernel.profile_scratch_size, geometry.blocks, "profile"),
    )


def _parse_options(request: LaunchRequest) -> _Options:
    return _Options(
        parse_arguments(request.arguments),
        tuple(map(parse_expectation, request.expect)),
        tuple(map(parse_tolerance, request.tolerance)),
        tuple(map(parse_save, request.save)),
    )


def _views(arguments: Sequence[Argument], buffers: Mapping[str, HostBuffer]) -> dict[str, View]:
    """Every name that stands for elements: buffers, and aliases that begin at a whole element."""
    views = {name: View(name, buffer) for name, buffer in buffers.items()}
    for argument in arguments:
        value = argument.value
        if isinstance(value, Alias):
            buffer = buffers[value.name]
            if value.offset % buffer.element.size == 0 and value.offset < buffer.before.nbytes:
                views[argument.name] = View(argument.name, buffer, value.offset)
    return views


def _view(views: Mapping[str, View], name: str, option: str) -> View:
    if name not in views:
        near = nearest(name, views)
        there = ", ".join(views) or "none was given"
        hint = f"did you mean {near}?" if near else f"buffers: {there}"
        raise UsageError(f"{option} {name}: no buffer is called {name!r}", hint=hint)
    return views[name]


def _checks(
    request: LaunchRequest,
    options: _Options,
    bindings: Sequence[Binding],
    views: Mapping[str, View],
    deadline: float | None,
    notice: Notice,
) -> tuple[Check, ...]:
    for option in options.tolerances:
        if option.name is not None:
            _view(views, option.name, "--tol")
    for line in without_effect(options.tolerances, [each.name for each in options.expectations]):
        notice(line)
    values = _operands(options.arguments, bindings, views) if options.expectations else {}
    checks = []
    for expectation in options.expectations:
        view = _view(views, expectation.name, "--expect")
        subject = part_of(expectation, view.subject, values, deadline=deadline)
        expected = expected_values(expectation, subject, values, seed=request.seed, deadline=deadline)
        tolerance = tolerance_for(expectation.name, view.buffer.element, options.tolerances)
        checks.append(Check(expectation, view, subject.places, expected, tolerance))
    return tuple(checks)


def _operands(
    arguments: Sequence[Argument], bindings: Sequence[Binding], views: Mapping[str, View]
) -> dict[str, Any]:
    """The arguments as expressions see them: arrays (widened when used), scalars as the kernel gets them."""
    values: dict[str, Any] = {}
    packed = {binding.argument.name: binding.packed for binding in bindings if binding.argument}
    for argument in arguments:
        if argument.name in views:
            view = views[argument.name]
            decoded = decode(view.buffer.element, view.of(view.buffer.before))
            values[argument.name] = Operand(argument.name, decoded, view.buffer.poisoned)
        elif isinstance(argument.value, Scalar):
            values[argument.name] = scalar_value(argument.value, packed[argument.name] or b"")
    return values


def scalar_value(value: Scalar, packed: bytes) -> int | float:
    """An integer as it is; a float rounded to its type."""
    if isinstance(value.number, int) and (value.type is None or value.type.kind != "float"):
        return value.number
    element = value.type or ELEMENT_TYPES[f"f{len(packed) * 8}"]
    return float(decode(element, np.frombuffer(packed, storage_dtype(element)))[0])


def _saves(
    request: LaunchRequest, options: _Options, views: Mapping[str, View]
) -> tuple[tuple[Save, View], ...]:
    """Each `--save` with what it saves, checked as far as it can be before the launch."""
    inputs = _inputs(request, options)
    saves = []
    paths: set[str] = set()
    for save in options.saves:
        view = _view(views, save.name, "--save")
        check_save(save, view.buffer.element, view.of(view.buffer.before).shape, inputs)
        path = os.path.realpath(save.path)
        if path in paths:
            raise UsageError(f"--save {save.name}={save.path}: another --save writes the same file")
        paths.add(path)
        saves.append((save, view))
    return tuple(saves)


def _inputs(request: LaunchRequest, options: _Options) -> frozenset[str]:
    """The files that are read, which nothing may be saved over."""
    files = {request.path, request.meta or sidecar_path(request.path)}
    files |= {each.value.file for each in options.arguments if isinstance(each.value, (Buffer, Bytes))}
    files |= {each.what[1:] for each in options.expectations if each.what.startswith("@")}
    return frozenset(file for file in files if file is not None and file != "-")
