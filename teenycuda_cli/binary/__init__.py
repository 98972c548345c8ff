"""Cubins and fatbins: machine code and its containers, read without the CUDA toolkit.

`read(data, name)` gives a `Cubin` or a `Fatbin`, or raises FileError with the
offset of what is wrong.
"""

from __future__ import annotations

from teenycuda_cli.binary.model import Binary, Cubin, Fatbin, FatbinEntry, Kernel, KernelParameter

__all__ = ["Binary", "Cubin", "Fatbin", "FatbinEntry", "Kernel", "KernelParameter", "read"]


def read(data: bytes, name: str) -> Binary:
    """What a cubin or fatbin holds; raises FileError for anything else, or for a damaged file."""
    # The readers are imported when there is something to read: whoever works on PTX needs the names alone.
    from teenycuda_cli.binary.fatbin import MAGIC, read_fatbin  # noqa: PLC0415

    if data[:4] == MAGIC:
        return read_fatbin(data, name)
    from teenycuda_cli.binary.cubin import read_cubin  # noqa: PLC0415

    return read_cubin(data, name)
