"""What a device says of itself, for the `devices` command."""

from __future__ import annotations

from dataclasses import dataclass

from teenycuda_cli.driver.device import Dim3, Limits


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """The static properties of a device, sizes in bytes; None where it has none (an emulator has no bus)."""

    kind: str  # "cuda" or "cpu"
    arch: str  # "sm_90"
    id: int | None
    name: str
    major: int | None
    minor: int | None
    multi_processor_count: int | None
    total_global_mem: int | None
    shared_mem_per_block: int
    regs_per_block: int | None
    warp_size: int
    max_threads_per_block: int
    max_threads_per_multi_processor: int | None
    max_blocks_per_multi_processor: int | None
    max_threads_dim: Dim3
    max_grid_size: Dim3
    memory_bus_width: int | None  # bits
    l2_cache_size: int | None
    concurrent_kernels: bool
    shared_mem_per_block_optin: int
    driver_version: str | None  # the CUDA version that the driver supports, "13.0"


def emulator_properties() -> DeviceProperties:
    """The embedded emulator's entry."""
    limits = Limits()
    return DeviceProperties(
        kind="cpu",
        arch="sm_90",
        id=None,
        name="embedded emulator",
        major=9,
        minor=0,
        multi_processor_count=None,
        total_global_mem=None,
        shared_mem_per_block=limits.shared_mem_per_block,
        regs_per_block=None,
        warp_size=32,
        max_threads_per_block=limits.max_threads_per_block,
        max_threads_per_multi_processor=None,
        max_blocks_per_multi_processor=None,
        max_threads_dim=limits.max_block,
        max_grid_size=limits.max_grid,
        memory_bus_width=None,
        l2_cache_size=None,
        concurrent_kernels=False,
        shared_mem_per_block_optin=limits.shared_mem_per_block_optin,
        driver_version=None,
    )
