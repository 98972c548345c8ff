"""The user's buffers: their contents before and after, and on the device between guard zones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

import numpy as np

from teenycuda_cli.driver.arguments.array_files import load_array
from teenycuda_cli.driver.arguments.dtypes import Array, storage_dtype
from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.driver.arguments.fills import fill
from teenycuda_cli.driver.arguments.language import Argument, Buffer
from teenycuda_cli.driver.deadline import remaining
from teenycuda_cli.driver.device import Allocation, Device
from teenycuda_cli.driver.memory_size import check_fits
from teenycuda_cli.errors import UsageError

GUARD_BYTE = 0xA5
ALIGNMENT = 256
COPIED_AT_ONCE = 1 << 28
"""Bytes between two looks at the deadline: a fraction of a second."""


@dataclass(frozen=True, slots=True)
class HostBuffer:
    """A buffer before the launch: stored elements in C order; `poisoned` where no contents were given."""

    name: str
    index: int
    element: ElementType
    before: Array
    poisoned: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.before.shape


@dataclass(frozen=True, slots=True)
class DeviceBuffer:
    """A buffer's memory: `address` is that of its first element, `guard` bytes lie on either side."""

    allocation: Allocation
    address: int
    size: int
    guard: int


@dataclass(frozen=True, slots=True)
class Overwritten:
    """A byte of a guard zone that the kernel changed: distance from the buffer's first byte, value.

    A distance of the buffer's size or more is behind its end, a negative one
    in front of it; `count` bytes of the zones were changed in all.
    """

    name: str
    offset: int
    value: int
    count: int
    size: int


def make_buffers(arguments: tuple[Argument, ...], seed: int) -> tuple[HostBuffer, ...]:
    """Read or fill every buffer; refuses what the memory cannot hold before making any of it."""
    wanted = [(argument, argument.value) for argument in arguments if isinstance(argument.value, Buffer)]
    for argument, value in wanted:
        if value.type and value.shape:
            check_fits(argument.name, value.shape, value.type)
    total = sum(prod(value.shape) * value.type.size for _, value in wanted if value.type and value.shape)
    check_fits("all buffers together", (total,), None)
    return tuple(_make(argument, value, seed) for argument, value in wanted)


def _make(argument: Argument, value: Buffer, seed: int) -> HostBuffer:
    name, index = argument.name, argument.index
    if value.file is not None:
        element, stored = load_array(value.file, value.type, value.shape)
        if not stored.size:
            raise UsageError(f"argument {name!r} ({argument.text}): the file is empty", file=value.file)
        return HostBuffer(name, index, element, stored, poisoned=False)
    if value.type is None or value.shape is None:
        raise UsageError(f"argument {name!r} ({argument.text}): a buffer needs a shape and a type")
    stored = fill(value.type, value.shape, value.initializer, seed=seed, index=index, name=name)
    return HostBuffer(name, index, value.type, stored, poisoned=value.initializer is None)


@contextmanager
def on_device(
    device: Device, buffer: HostBuffer, guard: int, deadline: float | None = None
) -> Iterator[DeviceBuffer]:
    """The buffer in device memory, its contents copied, between two guard zones of at least `guard` bytes.

    Raises TimeoutExpired where the deadline passes meanwhile.
    """
    front = -(-guard // ALIGNMENT) * ALIGNMENT
    size = buffer.before.nbytes
    allocation = device.allocate(front + size + guard, buffer.name)
    try:
        if front:
            device.fill(allocation.address, GUARD_BYTE, front)
            device.fill(allocation.address + front + size, GUARD_BYTE, guard)
        address = allocation.address + front
        data = buffer.before.reshape(-1).view(np.uint8).data
        for at in range(0, size, COPIED_AT_ONCE):
            remaining(deadline, f"{buffer.name} was copied to the device")
            device.write(address + at, data[at : at + COPIED_AT_ONCE])
        yield DeviceBuffer(allocation, address, size, guard)
    finally:
        device.free(allocation)


def read_back(device: Device, buffer: HostBuffer, place: DeviceBuffer) -> Array:
    """The stored elements after the launch."""
    data = device.read(place.address, place.size)
    return np.frombuffer(data, storage_dtype(buffer.element)).reshape(buffer.shape)


def check_guards(device: Device, buffer: HostBuffer, place: DeviceBuffer) -> Overwritten | None:
    """The changed byte nearest to the buffer, or None where both guard zones are whole."""
    if not place.guard:
        return None
    front = place.address - place.allocation.address
    before = np.frombuffer(device.read(place.allocation.address, front), np.uint8)
    behind = np.frombuffer(device.read(place.address + place.size, place.guard), np.uint8)
    changed_before = np.flatnonzero(before != GUARD_BYTE)
    changed_behind = np.flatnonzero(behind != GUARD_BYTE)
    count = int(changed_before.size + changed_behind.size)
    if not count:
        return None
    if changed_behind.size:
        at = int(changed_behind[0])
        return Overwritten(buffer.name, place.size + at, int(behind[at]), count, place.size)
    at = int(changed_before[-1])
    return Overwritten(buffer.name, at - front, int(before[at]), count, place.size)
