"""A program as it lies in a file: PTX text, a cubin or a fatbin, told by content."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from teenycuda_cli.collector import without_collector
from teenycuda_cli.errors import FileError
from teenycuda_cli.files import read_input
from teenycuda_cli.wording import display_name

if TYPE_CHECKING:
    from teenycuda_cli.binary import Binary
    from teenycuda_cli.ptx.signatures import Module
    from teenycuda_cli.ptx.source import Source

ELF_MAGIC = b"\x7fELF"
FATBIN_MAGIC = b"\x50\xed\x55\xba"

_FOREIGN = {
    b"BC\xc0\xde": ("LLVM bitcode", "compile it to PTX with llc"),
    b"!<arch>\n": ("an archive", "take its members out with ar, then their cubins with cuobjdump"),
    b"\x1f\x8b": ("gzip-compressed", "unpack it first"),
    b"\x28\xb5\x2f\xfd": ("zstd-compressed", "unpack it first"),
    b"PK\x03\x04": ("a zip archive", "unpack it first"),
    b"\xff\xfe": ("UTF-16 text", "save it as ASCII: PTX is ASCII text"),
    b"\xfe\xff": ("UTF-16 text", "save it as ASCII: PTX is ASCII text"),
}
_SOURCES = {
    b"__global__": ("CUDA C++", "compile it to PTX: nvcc -ptx FILE"),
    b"target triple": ("LLVM IR", "compile it to PTX: llc -march=nvptx64 FILE"),
    b"@triton.jit": ("Triton source", "take the PTX from the compiled kernel: kernel.asm['ptx']"),
}
"""Words that tell what text is, where it is no PTX."""
_TEXT_SAMPLE = 4096


@dataclass(frozen=True)
class Image:
    """The bytes of a program, what messages call its file, and its kind: "ptx", "cubin" or "fatbin"."""

    data: bytes = field(repr=False)
    name: str
    kind: str

    @cached_property
    def source(self) -> Source:
        """The text, of PTX only."""
        from teenycuda_cli.ptx.source import Source  # noqa: PLC0415  (not needed for a cubin)

        if self.kind != "ptx":
            raise FileError(f"is a {self.kind}; expected PTX text", file=self.name)
        return Source(self.data, self.name)

    @cached_property
    def module(self) -> Module:
        """The parsed PTX, bodies included; PtxSyntaxError where it does not parse."""
        from teenycuda_cli.ptx.parser import parse  # noqa: PLC0415  (parsed only when asked for)

        return parse(self.source)

    @cached_property
    def headers(self) -> Module:
        """The PTX without bodies, read tolerantly: what only the driver refuses is noted in its `faults`."""
        from teenycuda_cli.ptx.parser import parse  # noqa: PLC0415  (as above)

        return parse(self.source, bodies=False)

    @cached_property
    def readable_module(self) -> Module:
        """The parsed PTX, read tolerantly, with all bodies but without looking into debug sections."""
        from teenycuda_cli.ptx.parser import parse_bodies  # noqa: PLC0415  (as above)

        with without_collector():
            return parse_bodies(self.source, self.headers)

    @cached_property
    def binary(self) -> Binary:
        """What a cubin or fatbin holds; FileError where it is damaged."""
        from teenycuda_cli.binary import read  # noqa: PLC0415  (not needed for PTX)

        return read(self.data, self.name)


def image_of(data: bytes, name: str) -> Image:
    """Tell what kind of program the bytes are; FileError where they are none."""
    if data.startswith(ELF_MAGIC):
        return Image(data, name, "cubin")
    if data.startswith(FATBIN_MAGIC):
        return Image(data, name, "fatbin")
    if not data.strip(b"\0 \t\r\n"):
        raise FileError("is empty", file=name, hint="expected PTX text, a cubin or a fatbin")
    for magic, (what, hint) in _FOREIGN.items():
        if data.startswith(magic):
            raise FileError(f"is {what}, neither PTX, cubin nor fatbin", file=name, hint=hint)
    if b".version" not in data:
        for words, (what, hint) in _SOURCES.items():
            if words in data:
                raise FileError(f"is {what}, not PTX", file=name, hint=hint)
        if _looks_binary(data):
            raise FileError("is neither PTX, cubin nor fatbin", file=name)
    return Image(data, name, "ptx")


def read_image(path: str) -> Image:
    """The program in a file, or on standard input for `-`; FileError where there is none."""
    return image_of(read_input(path), display_name(path))


def _looks_binary(data: bytes) -> bool:
    """Whether control characters that no text has stand near the beginning."""
    sample = data[:_TEXT_SAMPLE]
    return any(byte < 9 or 13 < byte < 32 for byte in sample)
