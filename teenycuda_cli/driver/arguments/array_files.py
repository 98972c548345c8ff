"""Arrays in files: `.npy` (told by its magic bytes), anything else raw bytes of a given type."""

from __future__ import annotations

import io
from math import prod
from typing import Any, NoReturn

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import Array, encode, natural_dtype, storage_dtype
from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES, ElementType
from teenycuda_cli.errors import FileError, UsageError
from teenycuda_cli.files import read_input
from teenycuda_cli.wording import counted

MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"


def load_array(
    path: str, element: ElementType | None, shape: tuple[int, ...] | None
) -> tuple[ElementType, Array]:
    """The element type and the stored elements of a file.

    Type and shape, where given, must be the file's own. A raw file has exactly
    the bytes of the shape; without a type it is bytes (u8). As numpy has no
    bf16, tf32 and fp8, files for those hold their bits (uint16, uint8) or
    float32 values, which are rounded. Raises FileError for a broken file,
    UsageError where file and argument do not agree.
    """
    data = read_input(path)
    if data.startswith(MAGIC):
        return _from_npy(parse_npy(data, path), path, element, shape)
    if path.lower().endswith(".npy"):
        raise FileError(
            "is called .npy, and is none", file=path, hint="raw bytes are read under any other name"
        )
    if path.lower().endswith(".csv"):
        raise FileError(
            "is called .csv, which is not read",
            file=path,
            hint=".csv is written, not read: save it as .npy, or raw bytes under any other name",
        )
    if data.startswith(ZIP_MAGIC) and element is None:
        hint = "save the array that is meant as .npy; SHAPExu8@FILE reads the archive's own bytes"
        raise FileError("an archive, such as .npz, not one array", file=path, hint=hint)
    if element is None or shape is None:
        return ELEMENT_TYPES["u8"], np.frombuffer(data, np.uint8).copy()
    expected = prod(shape) * element.size
    if len(data) != expected:
        raise UsageError(
            f"{counted(len(data), 'byte')}, where {_described(shape, element)} has {expected}",
            file=path,
            hint=f"a raw file holds the elements alone; this one has room for {len(data) // element.size}",
        )
    return element, np.frombuffer(data, storage_dtype(element)).reshape(shape).copy()


def parse_npy(data: bytes, path: str) -> Array:
    """The array in the bytes of an `.npy` file, native and C-ordered; nothing is unpickled.

    The header's word on shape and type is checked against the size of the
    data before anything is allocated.
    """
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(stream, max_header_size=10000)
    except Exception as error:  # numpy's parser of foreign headers lets out whatever its parts raise
        reason = str(error).split("\n", maxsplit=1)[0].partition(": <ast.")[0]  # and no object's address
        raise FileError(f"a broken .npy header: {reason}", file=path) from error
    if dtype.hasobject or dtype.names or dtype.subdtype:
        raise FileError(f"an .npy file of {dtype}, which is no plain number type", file=path)
    body = memoryview(data)[stream.tell() :]
    expected = prod(shape) * dtype.itemsize
    if any(extent < 0 for extent in shape) or len(shape) > 32:
        raise FileError(f"a broken .npy header: no array has the shape {shape}", file=path)
    if len(body) != expected:
        raise FileError(
            f"the .npy header tells {counted(expected, 'byte')} of data, {len(body)} are here", file=path
        )
    if not expected:
        raise FileError("an .npy file of no elements", file=path)
    flat = np.frombuffer(body, dtype)
    array = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)
    return np.array(array, dtype=dtype.newbyteorder("="), order="C", copy=True)


def npy_bytes(array: Array) -> bytes:
    """An array as the bytes of an `.npy` file."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def _from_npy(
    array: Array, path: str, element: ElementType | None, shape: tuple[int, ...] | None
) -> tuple[ElementType, Array]:
    array = array.reshape(1) if array.ndim == 0 else array
    if element is None:
        element = _own_type(array.dtype, path)
    if shape is not None and shape != array.shape:
        raise UsageError(
            f"the array is {_extents(array.shape)}, not {_extents(shape)}",
            file=path,
            hint=f"write {_described(array.shape, element)}@{path}, or @{path} alone for its own shape",
        )
    return element, _as_stored(array, path, element)


def _own_type(dtype: np.dtype[Any], path: str) -> ElementType:
    known = _known_type(dtype)
    if known is None:
        raise UsageError(
            f"an array of {dtype}, which is no element type here", file=path, hint="convert it with .astype"
        )
    return known


def _known_type(dtype: np.dtype[Any]) -> ElementType | None:
    """The element type that is numpy's own."""
    for element in ELEMENT_TYPES.values():
        if element.name not in {"bf16", "tf32", "e4m3", "e5m2"} and natural_dtype(element) == dtype:
            return element
    return None


def _as_stored(array: Array, path: str, element: ElementType) -> Array:
    target = storage_dtype(element)
    if (
        array.dtype.kind == "V"
        and array.dtype.itemsize == element.size
        and element.name in {"bf16", "e4m3", "e5m2"}
    ):
        return array.view(target)
    if array.dtype == target and element.kind != "bool":
        return encode(element, array) if element.name == "tf32" else array
    if array.dtype == natural_dtype(element):
        return encode(element, array)
    _refuse(array, path, element)


def _refuse(array: Array, path: str, element: ElementType) -> NoReturn:
    wanted = {str(natural_dtype(element)), str(storage_dtype(element))} - (
        {"uint8"} if element.kind == "bool" else set()
    )
    known = _known_type(array.dtype)
    own = f", or give the type it has: {_described(array.shape, known)}@{path}" if known else ""
    raise UsageError(
        f"an array of {array.dtype}, where {element.name} needs {' or '.join(sorted(wanted))}",
        file=path,
        hint=f"save it with .astype{own}",
    )


def _extents(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _described(shape: tuple[int, ...], element: ElementType) -> str:
    return f"{_extents(shape)}x{element.name}"
