"""Grid, block, cluster and shared memory: read from the command line, checked against kernel and device.

The driver answers all of these with a bare INVALID_VALUE; here the message
names the axis, the value, the limit and the way out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from teenycuda_cli.driver.device import Dim3, Limits
from teenycuda_cli.errors import UsageError
from teenycuda_cli.ptx.signatures import Directives
from teenycuda_cli.wording import counted

AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Geometry:
    """How a launch is laid out; `grid` counts blocks, `shared_bytes` is dynamic shared memory."""

    grid: Dim3
    block: Dim3
    cluster: Dim3 | None
    shared_bytes: int

    @property
    def blocks(self) -> int:
        """Blocks altogether."""
        return prod(self.grid)


def parse_dim3(text: str, option: str) -> Dim3:
    """Parse `X[,Y[,Z]]`; what is not given is 1. Raises UsageError."""
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"[0-9]{1,18}", part, re.ASCII) for part in parts):
        hint = f"{option} {text.replace('x', ',')}" if re.fullmatch(r"[0-9]+(x[0-9]+){1,2}", text) else None
        raise UsageError(
            f"{option} {text}: expected X, X,Y or X,Y,Z in whole numbers",
            hint=f"write {hint}" if hint else None,
        )
    numbers = [int(part) for part in parts] + [1, 1]
    for axis, number in zip(AXES, numbers, strict=False):
        if number == 0:
            raise UsageError(f"{option} {text}: {axis} is 0; at least 1 is launched")
    return numbers[0], numbers[1], numbers[2]


def choose_block(given: Dim3 | None, directives: Directives, threads: int | None, kernel: str) -> Dim3:
    """The block: as given, or `.reqntid`, or the metadata's threads; UsageError where nothing tells."""
    if given:
        return given
    if directives.reqntid:
        return padded(directives.reqntid)
    if threads:
        return threads, 1, 1
    most = prod(directives.maxntid) if directives.maxntid else 256
    raise UsageError(
        f"--block is missing: neither a directive nor metadata tells the threads a block of {kernel}",
        hint=f"e.g. --block {min(most, 256)}; it is the block size that the kernel was written for",
    )


def choose_cluster(given: Dim3 | None, directives: Directives, num_ctas: int) -> Dim3 | None:
    """The cluster: as given, or the directive's, or the metadata's blocks a cluster, or none."""
    if given:
        return given
    if directives.reqnctapercluster:
        return padded(directives.reqnctapercluster)
    return (num_ctas, 1, 1) if num_ctas > 1 else None


def check_geometry(
    geometry: Geometry, directives: Directives, limits: Limits, device: str, kernel: str
) -> None:
    """Refuse what the device or the kernel's directives do not allow; raises UsageError.

    Shared memory is `check_shared`'s, since its static part is known only once the kernel is loaded.
    """
    _check_axes("--grid", geometry.grid, limits.max_grid, device)
    _check_axes("--block", geometry.block, limits.max_block, device)
    threads = prod(geometry.block)
    most = limits.max_threads_per_block
    if threads > most:
        raise UsageError(
            f"--block {shown(geometry.block)} is {counted(threads, 'thread')}; {device} allows {most}",
            hint="make the block smaller and the grid larger",
        )
    _check_directives(geometry.block, directives, kernel)
    _check_cluster(geometry, directives, limits, device, kernel)


def _check_axes(option: str, value: Dim3, limit: Dim3, device: str) -> None:
    for axis, number, most in zip(AXES, value, limit, strict=True):
        if number > most:
            way = "put the larger extent in x" if axis != "x" and option == "--grid" else None
            raise UsageError(f"{option} {shown(value)}: {axis} is {number}; {device} allows {most}", hint=way)


def _check_directives(block: Dim3, directives: Directives, kernel: str) -> None:
    if directives.reqntid and padded(directives.reqntid) != block:
        wanted = shown(padded(directives.reqntid))
        raise UsageError(
            f"--block {shown(block)}: {kernel} was compiled for exactly {wanted} (.reqntid)",
            hint=f"leave --block out, or write --block {wanted}",
        )
    if directives.maxntid and prod(block) > prod(directives.maxntid):
        most = prod(directives.maxntid)
        raise UsageError(
            f"--block {shown(block)} is {counted(prod(block), 'thread')};"
            f" {kernel} takes at most {most} (.maxntid)",
            hint=f"--block {most}",
        )


def _check_cluster(
    geometry: Geometry, directives: Directives, limits: Limits, device: str, kernel: str
) -> None:
    cluster = geometry.cluster
    if cluster is None:
        if directives.explicitcluster:
            raise UsageError(
                f"--cluster is missing: {kernel} is only launched in clusters (.explicitcluster)"
            )
        return
    if directives.reqnctapercluster and padded(directives.reqnctapercluster) != cluster:
        wanted = shown(padded(directives.reqnctapercluster))
        raise UsageError(
            f"--cluster {shown(cluster)}: {kernel} was compiled for exactly {wanted} (.reqnctapercluster)",
            hint="leave --cluster out",
        )
    most = min(limits.max_cluster_blocks, directives.maxclusterrank or limits.max_cluster_blocks)
    if prod(cluster) > most:
        raise UsageError(
            f"a cluster of {counted(prod(cluster), 'block')}; {kernel} on {device} takes at most {most}"
        )
    if directives.blocksareclusters:
        return  # the grid counts clusters
    for axis, blocks, extent in zip(AXES, geometry.grid, cluster, strict=True):
        if blocks % extent:
            raise UsageError(
                f"--grid {shown(geometry.grid)}: {axis} is {blocks}, no multiple of the cluster's {extent}",
                hint=f"--grid counts blocks: {axis} could be {-(-blocks // extent) * extent}",
            )


def check_shared(dynamic: int, static: int, limits: Limits, device: str) -> None:
    """Refuse more shared memory a block, dynamic and static, than the device has; raises UsageError."""
    most = limits.shared_mem_per_block_optin
    if static + dynamic > most:
        parts = f"{dynamic} dynamic + {static} static = {static + dynamic}" if static else f"{dynamic}"
        raise UsageError(
            f"shared memory of {parts} bytes a block; {device} has {most}",
            hint=f"--shared can be at most {most - static}" if static < most else None,
        )


def padded(extents: tuple[int, ...]) -> Dim3:
    """One to three extents as three."""
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


def shown(value: Dim3) -> str:
    """As the command line writes it, without trailing ones: `4`, `8,8`."""
    numbers = list(value)
    while len(numbers) > 1 and numbers[-1] == 1:
        numbers.pop()
    return ",".join(map(str, numbers))
