"""Cubins and fatbins in the form in which a launch knows PTX."""

from __future__ import annotations

from teenycuda_cli.binary.model import Cubin, Fatbin, Kernel
from teenycuda_cli.driver.image import Image, image_of
from teenycuda_cli.errors import FileError
from teenycuda_cli.ptx.syntax import Directives, Function, Module, Parameter


def ptx_inside(image: Image) -> Image | None:
    """The PTX that a fatbin holds, or None."""
    content = image.binary
    if isinstance(content, Fatbin):
        for entry in content.entries:
            if entry.kind == "ptx" and entry.payload:
                return image_of(entry.payload.rstrip(b"\0"), image.name)
    return None


def _kernels(image: Image) -> tuple[Kernel, ...]:
    content = image.binary
    if isinstance(content, Cubin):
        return content.kernels
    for entry in content.entries:
        if entry.cubin is not None:
            return entry.cubin.kernels
    raise FileError("this fatbin holds no kernel that can be read", file=image.name)


def module_of(image: Image) -> Module:
    """The entries in the form of a parsed module, each parameter as so many bits; raises FileError."""
    functions = tuple(_function_of(kernel) for kernel in _kernels(image))
    return Module((0, 0), "0.0", (), 64, functions, (), (), (), (), (), 0)


def _function_of(kernel: Kernel) -> Function:
    parameters = tuple(
        Parameter(p.index, f"param_{p.index}", f"b{p.size * 8}", p.size, 1, p.offset, None, 0)
        for p in kernel.params
    )
    directives = Directives(reqntid=kernel.reqntid, maxntid=kernel.maxntid, reqnctapercluster=kernel.cluster)
    return Function(kernel.name, True, kernel.linkage, (), (), directives, 0, True, None, None, parameters)
