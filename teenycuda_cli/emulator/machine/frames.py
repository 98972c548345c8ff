"""Local memory as calls use it: parameters from frame to frame, and registers that a call must save."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.machine.launch import INTERLEAVED, Space

_SIZES = (8, 4, 2, 1)
_DTYPES = {size: np.dtype(f"u{size}") for size in _SIZES}


def _field(space: Space, address: int, dtype: Any) -> Any:
    """What every lane of the batch has at one address."""
    return np.ndarray((space.rows,), dtype, space.data.data, space.place(address, 0), (INTERLEAVED,))


def addresses(lanes: Any, start: Any, mask: Any) -> Any:
    """An address as a register holds it: an int, or an array of one for each lane of a mask."""
    if type(start) is int:
        return start
    at = np.broadcast_to(lanes.integers(start, 64), lanes.shape)
    return at.reshape(-1) if mask is None else at[mask]


def _index(lanes: Any, mask: Any, at: Any, dtype: Any) -> tuple[Any, Any]:
    """Local memory as elements of a dtype, and the index of one for each lane of a mask."""
    space = lanes.batch.spaces["local"]
    places = space.place(at, lanes.numbers(mask) * space.stride)
    return space.data.view(dtype), places >> (dtype.itemsize.bit_length() - 1)


def read(lanes: Any, mask: Any, address: Any, dtype: Any) -> Any:
    """The element at an address, for each lane of a mask."""
    return _read(lanes, mask, addresses(lanes, address, mask), dtype)


def _read(lanes: Any, mask: Any, at: Any, dtype: Any) -> Any:
    data, index = _index(lanes, mask, at, dtype)
    return data[index]


def write(lanes: Any, mask: Any, address: Any, values: Any, dtype: Any) -> None:
    """Elements to an address, one for each lane of a mask."""
    _write(lanes, mask, addresses(lanes, address, mask), values, dtype)


def _write(lanes: Any, mask: Any, at: Any, values: Any, dtype: Any) -> None:
    data, index = _index(lanes, mask, at, dtype)
    data[index] = values


def copy(lanes: Any, mask: Any, destination: Any, source: Any, size: int) -> None:
    """Bytes from one place to another, for each lane of a mask; both are as aligned as the parameter."""
    into, out_of = addresses(lanes, destination, mask), addresses(lanes, source, mask)
    done = 0
    while done < size:
        step = _step(into, out_of, size - done)
        _copy_one(lanes, mask, into, out_of, _DTYPES[step])
        into, out_of = into + step, out_of + step
        done += step


def _step(into: Any, out_of: Any, left: int) -> int:
    together = into | out_of
    if type(together) is not int:
        together = int(np.bitwise_or.reduce(together, axis=None))
    return next(size for size in _SIZES if size <= left and not together & (size - 1))


def _copy_one(lanes: Any, mask: Any, into: Any, out_of: Any, dtype: Any) -> None:
    if type(into) is int and type(out_of) is int and not lanes.compact:
        space = lanes.batch.spaces["local"]
        where = True if mask is None else mask.reshape(-1)
        np.copyto(_field(space, into, dtype), _field(space, out_of, dtype), where=where)
    else:
        _write(lanes, mask, into, _read(lanes, mask, out_of, dtype), dtype)


def save(lanes: Any, mask: Any, address: Any, value: Any, dtype: Any) -> None:
    """A register's bits into local memory, for each lane of a mask."""
    whole = lanes.dense(value, dtype)
    write(lanes, mask, address, whole.reshape(-1) if mask is None else whole[mask], dtype)


def restore(lanes: Any, mask: Any, address: Any, dtype: Any) -> Any:
    """The opposite of `save`; lanes that are not in the mask get anything."""
    values = read(lanes, mask, address, dtype)
    result = np.zeros(lanes.shape, dtype)
    if mask is None:
        result.reshape(-1)[:] = values
    else:
        result[mask] = values
    return result
