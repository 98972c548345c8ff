"""atom and red: read, compute and write in one step, lane by lane in the order of the lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator import compute
from teenycuda_cli.emulator.access import Site, positions
from teenycuda_cli.emulator.effects import effect
from teenycuda_cli.emulator.emitter import Emitter
from teenycuda_cli.emulator.ir import Nowhere, Op, Place, Register, Source
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.opcodes.memory import SCOPES, make_site

_UFUNCS: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _inc(old: Any, x: Any) -> Any:
    return np.where(old >= x, old.dtype.type(0), old + old.dtype.type(1))


def _dec(old: Any, x: Any) -> Any:
    return np.where((old == 0) | (old > x), x, old - old.dtype.type(1))


def _exch(old: Any, x: Any) -> Any:
    return x


def _cas(old: Any, compare: Any, x: Any) -> Any:
    return np.where(old == compare, x, old)


_OTHERS: dict[str, Callable[..., Any]] = {"inc": _inc, "dec": _dec, "exch": _exch, "cas": _cas}


class Atomic:
    """An atomic: lanes, address, mask and operands in; the old values out where they are wanted."""

    def __init__(self, site: Site, name: str, readers: tuple[compute.Reader, ...], write: Any) -> None:
        """`write` makes a register's value of the old one; None: nobody wants it."""
        self.site = site
        self.name = name
        self.readers = readers
        self.write = write
        self.ufunc = _UFUNCS.get(name)
        self.function: Callable[..., Any] = self.ufunc or _OTHERS[name]

    def __call__(self, lanes: Any, address: Any, mask: Any, *operands: Any) -> Any:
        """Lanes with the same address take their turns in order."""
        values = [read(lanes, operand) for read, operand in zip(self.readers, operands, strict=True)]
        result = None if self.write is None else np.zeros(lanes.shape, self.site.dtype)
        for spot in positions(self.site, lanes, address, mask):
            data, index = spot.elements(self.site.dtype)
            if spot.mask is None:
                index = np.broadcast_to(index, lanes.shape).reshape(-1)
                here = [
                    v if type(v) is not np.ndarray else np.broadcast_to(v, lanes.shape).reshape(-1)
                    for v in values
                ]
            else:
                here = [
                    v if type(v) is not np.ndarray else np.broadcast_to(v, lanes.shape)[spot.mask]
                    for v in values
                ]
            if result is None:
                self._change(data, index, here)
            else:
                old = self._exchange(data, index, here)
                if spot.mask is None:
                    result.reshape(-1)[:] = old
                else:
                    result[spot.mask] = old
        return None if result is None else self.write(result)

    def _change(self, data: Any, index: Any, values: list[Any]) -> None:
        """Without the old values."""
        if self.name == "exch":
            data[index] = values[0]
            return
        if self.ufunc is None:
            self._exchange(data, index, values)
            return
        value = values[0]
        if self.name == "add" and data.dtype.kind != "f" and type(value) is not np.ndarray:
            low, high = int(index.min()), int(index.max())
            if high - low <= 4 * len(index):
                counts = np.bincount(index - low)
                data[low : high + 1] += counts.astype(data.dtype) * value
                return
        if len(index) == 1:
            data[index] = self.ufunc(data[index], value)
            return
        self.ufunc.at(data, index, value)

    def _exchange(self, data: Any, index: Any, values: list[Any]) -> Any:
        """With the old values, in the order of the lanes."""
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        starts = np.concatenate(([True], ordered[1:] != ordered[:-1]))
        if starts.all():
            old = data[index]
            data[index] = self.function(old, *values)
            return old
        if self.name == "add" and data.dtype.kind != "f":
            return _running_sums(data, index, values[0], order, ordered, starts)
        if self.name == "cas":
            return _compare_and_swap(data, index, values)
        return self._one_by_one(data, index, values)

    def _one_by_one(self, data: Any, index: Any, values: list[Any]) -> Any:
        old = np.empty(len(index), data.dtype)
        spread = [np.broadcast_to(value, index.shape) for value in values]
        for lane, at in enumerate(index.tolist()):
            before = data[at]
            old[lane] = before
            data[at] = self.function(before, *[value[lane] for value in spread])
        return old


def _running_sums(data: Any, index: Any, value: Any, order: Any, ordered: Any, starts: Any) -> Any:
    """Integer addition: old values are running sums within each address."""
    added = np.broadcast_to(np.asarray(value, data.dtype), index.shape)[order]
    total = np.cumsum(added, dtype=data.dtype)
    before = total - added
    firsts = np.flatnonzero(starts)
    group = np.cumsum(starts) - 1
    old_ordered = data[ordered] + (before - before[firsts][group])
    lasts = np.concatenate((firsts[1:], [len(index)])) - 1
    data[ordered[lasts]] = old_ordered[lasts] + added[lasts]
    old = np.empty_like(old_ordered)
    old[order] = old_ordered
    return old


def _compare_and_swap(data: Any, index: Any, values: list[Any]) -> Any:
    compare, new = [np.broadcast_to(value, index.shape).tolist() for value in values]
    places = index.tolist()
    current = dict(zip(places, data[index].tolist(), strict=True))
    old = []
    for place, wanted, value in zip(places, compare, new, strict=True):
        before = current[place]
        old.append(before)
        if before == wanted:
            current[place] = value
    data[list(current)] = np.array(list(current.values()), data.dtype)
    return np.array(old, data.dtype)


_TYPES: Any = {
    "sem": "relaxed acquire release acq_rel",
    "scope": SCOPES,
    "space": "global shared shared::cta shared::cluster",
}
_ATOM = "parallel-synchronization-and-communication-instructions-atom"
_RED = "parallel-synchronization-and-communication-instructions-red"


def _allowed(m: Any) -> bool:
    name, type_name = m["op"], m["type"]
    kind = type_name[0]
    allowed: bool = {
        "add": type_name in {"u32", "s32", "u64", "s64", "f32", "f64"},
        "min": kind in "us",
        "max": kind in "us",
        "inc": type_name == "u32",
        "dec": type_name == "u32",
        "exch": kind == "b",
        "cas": kind == "b",
    }.get(name, kind == "b")
    return allowed


@effect(
    "atom{.sem}{.scope}{.space}.op{.level}.type d, [a], b",
    "atom{.space}{.scope}{.sem}.op{.level}.type d, [a], b",
    op="add min max and or xor inc dec exch",
    type="b32 b64 u32 s32 u64 s64 f32 f64",
    level="L2::cache_hint",
    where=_allowed,
    types="d:type?",
    isa=_ATOM,
    **_TYPES,
)
@effect(
    "atom{.sem}{.scope}{.space}.op.type d, [a], b, c",
    "atom{.space}{.scope}{.sem}.op.type d, [a], b, c",
    op="cas",
    type="b16 b32 b64",
    where=_allowed,
    types="d:type?",
    isa=_ATOM,
    **_TYPES,
)
def atom(emit: Emitter, op: Op) -> None:
    """The old value comes back."""
    place = op.operands[1]
    assert isinstance(place, Place)
    destination: Source = op.operands[0]
    if not emit.is_used(destination):
        destination = Nowhere()
    _emit(emit, op, place, op.operands[2:], destination)


@effect(
    "red{.sem}{.scope}{.space}.op{.level}.type [a], b",
    "red{.space}{.scope}{.sem}.op{.level}.type [a], b",
    op="add min max and or xor inc dec",
    type="b32 b64 u32 s32 u64 s64 f32 f64",
    level="L2::cache_hint",
    where=_allowed,
    isa=_RED,
    **_TYPES,
)
def red(emit: Emitter, op: Op) -> None:
    """Nothing comes back."""
    place = op.operands[0]
    assert isinstance(place, Place)
    _emit(emit, op, place, op.operands[1:], Nowhere())


def _emit(emit: Emitter, op: Op, place: Place, sources: tuple[Source, ...], destination: Source) -> None:
    modifiers = op.operation.modifiers
    type_name = modifiers["type"]
    dtype = dtype_of(type_name)
    site, address = make_site(emit, op, place, 1, dtype, writes=True)
    arguments = [emit.argument(source, type_name) for source in sources]
    readers = []
    for argument in arguments:
        known = argument.constant if argument.constant is not None else argument.scalar
        if known is not None:
            readers.append(emit.constant_reader(compute.constant(known, type_name)))
        else:
            readers.append(compute.reader(argument.kept, type_name))
    write = None
    if isinstance(destination, Register):
        write = compute.writer(emit.kept(destination), type_name, False)
    run = emit.bind(Atomic(site, modifiers["op"], tuple(readers), write))
    mask = emit.mask(op)
    call = f"{run}(S, {address}, {mask}, {', '.join([argument.text for argument in arguments])})"
    if isinstance(destination, Register):
        emit.store_results(op, [destination], call, mask, [emit.kept(destination).dtype])
    else:
        emit.line(call if mask == "m" else f"if {mask} is not False: {call}")
