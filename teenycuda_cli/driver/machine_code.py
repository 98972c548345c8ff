"""Cubins and fatbins in the form in which a launch knows PTX."""

from __future__ import annotations

from dataclasses import replace

from teenycuda_cli.binary import entries
from teenycuda_cli.binary.model import Cubin, Fatbin, Kernel
from teenycuda_cli.driver.image import Image, image_of
from teenycuda_cli.errors import FileError, UnsupportedError
from teenycuda_cli.ptx.signatures import Function, Module


def ptx_inside(image: Image) -> Image | None:
    """The PTX that a fatbin holds, or None."""
    content = image.binary
    if isinstance(content, Fatbin):
        for entry in content.entries:
            if entry.kind == "ptx" and entry.payload:
                return image_of(entry.payload.rstrip(b"\0"), image.name)
    return None


def not_emulated(image: Image) -> UnsupportedError:
    """That the emulator cannot run a file which holds machine code alone; to be raised by the caller."""
    return UnsupportedError(
        f"the emulator runs PTX, and this {image.kind} holds machine code alone",
        file=image.name,
        hint="give the PTX that it was made from, or run it on a GPU with --device cuda",
    )


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
    module = entries.module_of(_kernels(image))
    return replace(module, functions=tuple(map(_with_declarations, module.functions)))


def _with_declarations(function: Function) -> Function:
    parameters = tuple(
        replace(parameter, name=f"param_{parameter.index}", type=f"b{parameter.size * 8}", align=1)
        for parameter in function.parameters
    )
    return replace(function, parameters=parameters)
