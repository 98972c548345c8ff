"""Numbers and names at places in a binary file, with a clear error where the file ends too early."""

from __future__ import annotations

import struct
from typing import Any, NoReturn

from teenycuda_cli.errors import FileError
from teenycuda_cli.wording import counted


class Reader:
    """Bytes under the file's name; `label` is what messages call the format ("cubin")."""

    def __init__(self, data: bytes, name: str, label: str) -> None:
        """Keep the bytes as they are."""
        self.data = data
        self.name = name
        self.label = label

    def fail(self, offset: int, message: str, hint: str | None = None) -> NoReturn:
        """Raise FileError for a damaged file, with the place in bytes."""
        raise FileError(f"damaged {self.label}, offset 0x{offset:x}: {message}", file=self.name, hint=hint)

    def numbers(self, layout: struct.Struct, offset: int, what: str) -> tuple[Any, ...]:
        """The fields of a little-endian structure at an offset."""
        self.check(offset, layout.size, what)
        return layout.unpack_from(self.data, offset)

    def slice(self, offset: int, size: int, what: str) -> bytes:
        """The bytes of a part of the file."""
        self.check(offset, size, what)
        return self.data[offset : offset + size]

    def check(self, offset: int, size: int, what: str) -> None:
        """Raise FileError unless the part lies within the file."""
        if offset + size > len(self.data):
            self.fail(
                offset,
                f"{what} takes {counted(size, 'byte')}, and the file ends at 0x{len(self.data):x}",
                "the file is cut short or was changed",
            )

    def string(self, offset: int, end: int, what: str) -> str:
        """A name that ends with a NUL before `end`."""
        stop = self.data.find(b"\0", offset, min(end, len(self.data)))
        if stop < 0:
            self.fail(offset, f"{what} does not end where it should, before 0x{end:x}")
        return self.data[offset:stop].decode("utf-8", "backslashreplace")
