"""A module's global and constant variables in device memory, with their first values."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from teenycuda_cli.emulator.machine.memory import Arena
from teenycuda_cli.errors import UnsupportedError
from teenycuda_cli.ptx.layout import SIZES
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.syntax import Float, Integer, Module, SymbolAddress, Variable

CODE_BASE = 0x1000
"""Functions' addresses, as variables hold them: told apart, never null, and no memory is there."""
CONSTANT_BYTES = 1 << 16
"""All constant variables of a module together, one behind the other as aligned, as ptxas allows."""


def place_variables(module: Module, arena: Arena, text: Source) -> tuple[dict[str, int], list[int]]:
    """Addresses by name, and those of the regions to give back; PtxSyntaxError for too many constants."""
    addresses: dict[str, int] = {}
    regions: list[int] = []
    placed: list[Variable] = []
    constant = 0
    for variable in module.variables:
        if variable.space.split("[")[0] not in {"global", "const"} or variable.name in addresses:
            continue
        if variable.linkage == "extern" and any(
            v.name == variable.name and v.linkage != "extern" for v in module.variables
        ):
            continue
        size = variable.size or 0
        align = max(variable.align, 1)
        if variable.space == "const":
            constant = -(-constant // align) * align + size
            if constant > CONSTANT_BYTES:
                what = f"constant variables up to here take {constant} bytes; a file has {CONSTANT_BYTES}"
                raise text.error(variable.offset, what)
        if align > 256:
            size += align
        region = arena.allocate(size, variable.name, writable=variable.space == "global")
        arena.zero(region)
        addresses[variable.name] = (region.start + align - 1) // align * align
        regions.append(region.start)
        placed.append(variable)
    functions = {function.name: CODE_BASE + 16 * number for number, function in enumerate(module.functions)}
    for variable in placed:
        if variable.initializer is None:
            continue
        data = bytearray(variable.size or 0)
        _fill(data, 0, variable.initializer, variable, list(variable.shape), functions | addresses, text)
        arena.bytes_at(addresses[variable.name], len(data))[:] = memoryview(data)
    return addresses, regions


def _fill(
    data: bytearray,
    at: int,
    value: Any,
    variable: Variable,
    shape: list[int | None],
    addresses: dict[str, int],
    text: Source,
) -> None:
    """Write an initialiser at a byte; what it leaves out stays zero."""
    size = SIZES[variable.type]
    if isinstance(value, tuple):
        inner = shape[1:]
        step = size * (variable.vector if not shape else 1)
        for extent in inner:
            step *= extent or 1
        if not shape:
            step = size
        elif not inner:
            step = size * variable.vector if any(isinstance(item, tuple) for item in value) else size
        for item in value:
            _fill(data, at, item, variable, inner, addresses, text)
            at += step
        return
    encoded = _encode(value, size, variable, addresses, text)
    data[at : at + size] = encoded


def _encode(value: Any, size: int, variable: Variable, addresses: dict[str, int], text: Source) -> bytes:
    if isinstance(value, Integer):
        if variable.type == "f32":
            return struct.pack("<f", value.value)
        if variable.type == "f64":
            return struct.pack("<d", value.value)
        return (value.value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    if isinstance(value, Float):
        return _encode_float(value, size)
    if isinstance(value, SymbolAddress) and value.name in addresses:
        address = (addresses[value.name] + value.addend) & ((1 << 64) - 1)
        if value.mask is not None:
            shift = (value.mask & -value.mask).bit_length() - 1
            address = (address & value.mask) >> shift
        return (address & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    line, column = text.position(variable.offset)
    raise UnsupportedError(
        f"the emulator cannot initialise {variable.name} with the address of {getattr(value, 'name', value)}",
        file=text.name,
        line=line,
        column=column,
    )


def _encode_float(value: Float, size: int) -> bytes:
    number = struct.unpack("<f", struct.pack("<I", value.bits))[0] if value.width == 32 else None
    if number is None:
        number = struct.unpack("<d", struct.pack("<Q", value.bits))[0]
    if size == 4:
        if value.width == 32:
            return struct.pack("<I", value.bits)
        with np.errstate(over="ignore"):
            return np.float32(number).tobytes()
    if size == 8:
        return struct.pack("<Q", value.bits) if value.width == 64 else struct.pack("<d", number)
    return struct.pack("<e", number)
