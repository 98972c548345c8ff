"""What `devices` shows: the JSON document, and a paragraph a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from teenycuda_cli.driver.properties import DeviceProperties

GIB = 1 << 30
KIB = 1 << 10


def document(devices: Sequence[DeviceProperties]) -> dict[str, Any]:
    """The JSON document: every property of every device, null where it has none."""
    return {
        "schema": "teenycuda.devices/1",
        "devices": [dataclasses.asdict(device) for device in devices],
        "error": None,
        "exit_code": 0,
    }


def lines(devices: Sequence[DeviceProperties]) -> Iterator[str]:
    """A paragraph a device: how `--device` calls it, its name, then what matters for a launch."""
    for device in devices:
        spec = "cpu" if device.kind == "cpu" else f"cuda:{device.id}"
        driver = f", driver for CUDA {device.driver_version}" if device.driver_version else ""
        yield f"{spec}  {device.name} ({device.arch}{driver})"
        for label, value in _properties(device):
            if value is not None:
                yield f"    {label:28}{value}"


def _properties(device: DeviceProperties) -> Iterator[tuple[str, str | None]]:
    memory = device.total_global_mem
    yield "memory", f"{memory / GIB:.1f} GiB" if memory is not None else None
    yield "multiprocessors", _text(device.multi_processor_count)
    threads = f"{device.max_threads_per_block}, in x y z {_extents(device.max_threads_dim)}"
    yield "threads a block", threads
    yield "threads a multiprocessor", _text(device.max_threads_per_multi_processor)
    yield "blocks a multiprocessor", _text(device.max_blocks_per_multi_processor)
    yield "grid in x y z", _extents(device.max_grid_size)
    shared, optin = device.shared_mem_per_block // KIB, device.shared_mem_per_block_optin // KIB
    yield "shared memory a block", f"{shared} KiB, {optin} KiB on request"
    yield "registers a block", _text(device.regs_per_block)
    yield "threads a warp", _text(device.warp_size)
    yield "memory bus", f"{device.memory_bus_width} bits" if device.memory_bus_width is not None else None
    yield "L2 cache", f"{device.l2_cache_size // KIB} KiB" if device.l2_cache_size is not None else None
    yield "concurrent kernels", "yes" if device.concurrent_kernels else "no"


def _text(value: int | None) -> str | None:
    return str(value) if value is not None else None


def _extents(values: tuple[int, ...]) -> str:
    return " ".join(map(str, values))
