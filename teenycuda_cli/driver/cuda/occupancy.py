"""How many blocks, or clusters of blocks, of a kernel run on a GPU at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from cuda.bindings import driver

from teenycuda_cli.driver.assembly.theoretical_occupancy import WARP, Occupancy
from teenycuda_cli.driver.cuda.check import check
from teenycuda_cli.driver.cuda.launch import extended_config
from teenycuda_cli.driver.device import Dim3, LaunchConfig

if TYPE_CHECKING:
    from teenycuda_cli.driver.cuda.device import CudaDevice
    from teenycuda_cli.driver.cuda.launch import CudaFunction


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kernel is launched with, apart from its grid."""

    threads: int
    shared_bytes: int  # dynamic
    cluster: Dim3 | None = None


def occupancy_of(device: CudaDevice, function: CudaFunction, shape: Shape) -> Occupancy:
    """The occupancy of a function at this shape; zero blocks where it does not fit."""
    cluster = shape.cluster or (1, 1, 1)
    config = LaunchConfig(
        grid=cluster,
        block=(shape.threads, 1, 1),
        cluster=shape.cluster,
        shared_bytes=shape.shared_bytes,
        params=(),
    )
    shared = shape.shared_bytes + function.info.static_shared
    if shared > device.limits.shared_mem_per_block_optin:
        return Occupancy(shape.threads, shared, 0, 0.0)
    function.opt_in(config)
    blocks = check(
        driver.cuOccupancyMaxActiveBlocksPerMultiprocessor,
        function.handle,
        shape.threads,
        shape.shared_bytes,
    )
    clusters = None
    if prod(cluster) > 1:
        launch = extended_config(config, device.stream)
        clusters = int(check(driver.cuOccupancyMaxActiveClusters, function.handle, launch))
    warps = -(-shape.threads // WARP)
    most = (device.properties.max_threads_per_multi_processor or WARP) // WARP
    return Occupancy(
        threads=shape.threads,
        shared_bytes=shared,
        blocks_per_sm=int(blocks),
        percent=100.0 * blocks * warps / most,
        active_clusters=clusters,
    )
