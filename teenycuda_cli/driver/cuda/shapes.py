"""How the entries of a file are launched, as far as the file and the JSON beside it tell."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from teenycuda_cli.binary import Fatbin
from teenycuda_cli.driver.cuda.occupancy import Shape
from teenycuda_cli.driver.geometry import choose_cluster
from teenycuda_cli.errors import TeenycudaError
from teenycuda_cli.ptx.metadata import read_metadata
from teenycuda_cli.ptx.parser import parse
from teenycuda_cli.ptx.sidecar import find_sidecar

if TYPE_CHECKING:
    from teenycuda_cli.driver.image import Image
    from teenycuda_cli.ptx.metadata import Sidecar
    from teenycuda_cli.ptx.signatures import Function, Module


def shapes_of(image: Image) -> dict[str, Shape]:
    """Threads a block, dynamic shared memory and cluster of each entry whose threads are told."""
    try:
        if image.kind != "ptx":
            return _shapes_in_cubin(image)
        module = parse(image.source, bodies=False)
        sidecar, _ = find_sidecar(image.name)
    except TeenycudaError:  # the driver has taken it all the same
        return {}
    shapes = ((entry.name, _shape(module, entry, sidecar)) for entry in module.entries)
    return {name: shape for name, shape in shapes if shape}


def _shape(module: Module, entry: Function, sidecar: Sidecar | None) -> Shape | None:
    metadata = read_metadata(module, entry, (sidecar,) if sidecar else ())
    if not metadata.threads_per_block:
        return None
    cluster = choose_cluster(None, entry.directives, metadata.num_ctas.number)
    return Shape(metadata.threads_per_block, metadata.shared.number, cluster)


def _shapes_in_cubin(image: Image) -> dict[str, Shape]:
    content = image.binary
    if isinstance(content, Fatbin):
        return {}
    return {
        kernel.name: Shape(prod(kernel.reqntid), 0, kernel.cluster)
        for kernel in content.kernels
        if kernel.reqntid
    }
