"""`--save NAME=PATH`: a buffer after the launch as .npy, .csv, .png or raw bytes, whole or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import prod

import numpy as np

from teenycuda_cli.driver.arguments.array_files import npy_bytes
from teenycuda_cli.driver.arguments.dtypes import Array, decode, natural_dtype, storage_dtype
from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.errors import FileError, UsageError
from teenycuda_cli.files import is_stdout, write_whole

LARGEST_PICTURE = 16384  # pixels a side


@dataclass(frozen=True, slots=True)
class Save:
    """One `--save`."""

    name: str
    path: str

    @property
    def format(self) -> str:
        """`npy`, `csv`, `png`, or `raw` for any other ending."""
        ending = os.path.splitext(self.path)[1].lower()
        return ending[1:] if ending in {".npy", ".csv", ".png"} else "raw"


@dataclass(frozen=True, slots=True)
class Saved:
    """A file that was written: `type` is that of the values in it, `element` that of the buffer."""

    name: str
    path: str
    format: str
    element: ElementType
    type: str | None
    count: int


def parse_save(text: str) -> Save:
    """Split `NAME=PATH`; raises UsageError."""
    name, equals, path = text.partition("=")
    if not equals or not name or not path or "\0" in path:
        raise UsageError(
            f"--save {text}: expected NAME=PATH", hint="e.g. out=out.npy, out=out.csv, out=picture.png"
        )
    if is_stdout(path):
        raise UsageError(f"--save {text}: standard output has the report", hint="name a file")
    stem, ending = os.path.splitext(path)
    if ending.lower() == ".npz":
        raise UsageError(f"--save {text}: an archive holds several arrays", hint=f"name it {stem}.npy")
    return Save(name, path)


def check_save(save: Save, element: ElementType, shape: tuple[int, ...], inputs: frozenset[str]) -> None:
    """Refuse, before the launch, what could not be written after it; `inputs` are the files read."""
    directory = os.path.dirname(save.path) or "."
    if not os.path.isdir(directory):
        raise FileError("no such directory", file=directory, hint="make it first; --save makes none")
    if os.path.isdir(save.path):
        raise FileError("is a directory", file=save.path, hint="name a file in it")
    if not os.access(directory, os.W_OK) and not os.path.exists(save.path):
        raise FileError("cannot write here", file=directory)
    for path in inputs:
        if os.path.exists(save.path) and os.path.exists(path) and os.path.samefile(save.path, path):
            raise UsageError(
                f"--save {save.name}={save.path} would overwrite an input", hint="name another file"
            )
    if save.format != "png":
        return
    if len(shape) != 2 or element.kind == "complex":
        extents = "x".join(map(str, shape))
        raise UsageError(
            f"--save {save.name}={save.path}: {extents}x{element.name} is no two-dimensional picture",
            hint="give the buffer a shape HEIGHTxWIDTHxTYPE, or save it as .npy",
        )
    if max(shape) > LARGEST_PICTURE:
        raise UsageError(f"--save {save.name}={save.path}: more than {LARGEST_PICTURE} pixels a side")


def write_save(save: Save, element: ElementType, stored: Array) -> None:
    """Write the buffer; raises FileError. bf16 and fp8, which numpy lacks, are saved as float32 values."""
    write_whole(save.path, _encoded(save.format, element, stored))


def saved(save: Save, element: ElementType, shape: tuple[int, ...]) -> Saved:
    """What `write_save` writes; a picture holds no values."""
    kind: str | None = element.name
    if save.format == "png":
        kind = None
    elif save.format != "raw" and natural_dtype(element) != storage_dtype(element):
        kind = "bool" if element.kind == "bool" else "f32"
    return Saved(save.name, save.path, save.format, element, kind, prod(shape))


def _encoded(form: str, element: ElementType, stored: Array) -> bytes:
    if form == "raw":
        return stored.tobytes()
    values = decode(element, stored)
    if form == "npy":
        return npy_bytes(values)
    if form == "csv":
        return _csv(values)
    from teenycuda_cli.driver.png import png_bytes  # noqa: PLC0415  (most launches draw nothing)

    return png_bytes(values)


def _csv(values: Array) -> bytes:
    """One line a row (the last axis); one a number where there is only one axis.

    Floats have the fewest digits that give the same value of their own type.
    """
    if values.dtype == np.bool_:
        values = values.astype(np.uint8)
    rows = values.reshape(-1, 1 if values.ndim == 1 else values.shape[-1])
    narrow = values.dtype in {np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.complex64)}
    return "".join(",".join(map(str, row)) + "\n" for row in (rows if narrow else rows.tolist())).encode()
