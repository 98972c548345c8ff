"""Kernel parameters as `cuLaunchKernel` takes them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Packed:
    """An array of pointers to the values; both live as long as this does, and a launch reads them."""

    address: int
    _held: tuple[Any, ...] = field(repr=False)


def pack(params: tuple[bytes, ...]) -> Packed:
    """Each value goes into memory of its own: a packed struct would fix an alignment that nobody knows."""
    values = [ctypes.create_string_buffer(value, len(value)) for value in params]
    addresses = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    return Packed(ctypes.addressof(addresses) if values else 0, (values, addresses))
