"""Triton's scratch memory: some bytes for each block of the grid, zeroed, aligned, freed whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from teenycuda_cli.driver.device import Device
from teenycuda_cli.errors import LaunchError
from teenycuda_cli.wording import counted

DEVICE_ALIGNMENT = 256  # of every allocation
LARGEST = 1 << 47  # no device addresses more


def scratch_bytes(size: int, blocks: int, name: str) -> int:
    """The bytes of a scratch of `size` bytes a block; LaunchError where no device can hold them."""
    total = size * blocks
    if total >= LARGEST:
        raise LaunchError(
            f"{name} scratch of {counted(size, 'byte', spec=',')} for each of"
            f" {counted(blocks, 'block', spec=',')} is {counted(total, 'byte', spec=',')}",
            hint="make the grid smaller",
        )
    return total


@contextmanager
def scratch(device: Device, total: int, alignment: int, name: str) -> Iterator[int]:
    """The address of `total` zeroed bytes on the device, at the alignment; 0 where none are needed."""
    if not total:
        yield 0
        return
    slack = alignment if alignment > DEVICE_ALIGNMENT else 0
    allocation = device.allocate(total + slack, f"{name} scratch")
    try:
        device.fill(allocation.address, 0, allocation.size)
        yield -(-allocation.address // alignment) * alignment
    finally:
        device.free(allocation)
