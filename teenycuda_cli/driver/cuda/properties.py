"""The static properties of the GPUs."""

from __future__ import annotations

from typing import Any

from cuda.bindings import driver

from teenycuda_cli.driver.cuda.check import check
from teenycuda_cli.driver.cuda.library import version_text
from teenycuda_cli.driver.device import Limits
from teenycuda_cli.driver.properties import DeviceProperties

PORTABLE_CLUSTER_BLOCKS = 8
LARGEST_CLUSTER_BLOCKS = 16
"""With the function's opt-in (`CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`)."""


def cuda_properties(version: int, count: int) -> tuple[DeviceProperties, ...]:
    """Those of every GPU, as `library.detect` counted them, without making a context on any."""
    return tuple(
        properties_of(check(driver.cuDeviceGet, ordinal), ordinal, version) for ordinal in range(count)
    )


def properties_of(device: Any, ordinal: int, version: int) -> DeviceProperties:
    """The properties of a GPU by its handle (`CUdevice`)."""

    def attribute(name: str) -> int:
        wanted = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(check(driver.cuDeviceGetAttribute, wanted, device))

    major, minor = attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")
    name = check(driver.cuDeviceGetName, 256, device)
    return DeviceProperties(
        kind="cuda",
        arch=f"sm_{major}{minor}",
        id=ordinal,
        name=name.split(b"\0", 1)[0].decode(),
        major=major,
        minor=minor,
        multi_processor_count=attribute("MULTIPROCESSOR_COUNT"),
        total_global_mem=int(check(driver.cuDeviceTotalMem, device)),
        shared_mem_per_block=attribute("MAX_SHARED_MEMORY_PER_BLOCK"),
        regs_per_block=attribute("MAX_REGISTERS_PER_BLOCK"),
        warp_size=attribute("WARP_SIZE"),
        max_threads_per_block=attribute("MAX_THREADS_PER_BLOCK"),
        max_threads_per_multi_processor=attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
        max_blocks_per_multi_processor=attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"),
        max_threads_dim=(
            attribute("MAX_BLOCK_DIM_X"),
            attribute("MAX_BLOCK_DIM_Y"),
            attribute("MAX_BLOCK_DIM_Z"),
        ),
        max_grid_size=(
            attribute("MAX_GRID_DIM_X"),
            attribute("MAX_GRID_DIM_Y"),
            attribute("MAX_GRID_DIM_Z"),
        ),
        memory_bus_width=attribute("GLOBAL_MEMORY_BUS_WIDTH"),
        l2_cache_size=attribute("L2_CACHE_SIZE"),
        concurrent_kernels=bool(attribute("CONCURRENT_KERNELS")),
        shared_mem_per_block_optin=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        driver_version=version_text(version),
    )


def limits_of(properties: DeviceProperties) -> Limits:
    """What can be launched on a GPU of these properties."""
    clusters = (properties.major or 0) >= 9
    return Limits(
        max_threads_per_block=properties.max_threads_per_block,
        max_block=properties.max_threads_dim,
        max_grid=properties.max_grid_size,
        shared_mem_per_block=properties.shared_mem_per_block,
        shared_mem_per_block_optin=properties.shared_mem_per_block_optin,
        max_cluster_blocks=LARGEST_CLUSTER_BLOCKS if clusters else 1,
    )
