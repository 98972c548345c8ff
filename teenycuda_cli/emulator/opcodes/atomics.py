"""atom and red: read, compute and write in one step, lane by lane in the order of the lanes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen import compute
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import Op, Place, Register, Source
from teenycuda_cli.emulator.machine.access import Site, positions
from teenycuda_cli.emulator.machine.conflicts import Change, change, exchange
from teenycuda_cli.emulator.machine.faults import fault
from teenycuda_cli.emulator.numerics.floating import TINY32, canonical
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.memory import SCOPES, elements, make_site
from teenycuda_cli.emulator.opcodes.table import Operation, decode
from teenycuda_cli.ptx.syntax import Instruction, Name

_UFUNCS: dict[str, np.ufunc] = {
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


_OTHERS: dict[str, Change] = {
    "inc": Change(_inc, scalar=lambda old, x: 0 if old >= x else old + 1),
    "dec": Change(_dec, scalar=lambda old, x: x if old == 0 or old > x else old - 1),
    "exch": Change(_exch, replaces=True),
    "cas": Change(_cas, scalar=lambda old, compare, x: x if old == compare else old),
}


def _is_odd32(values: Any) -> bool:
    """Whether there is a subnormal or a NaN."""
    size = np.abs(values)
    return not bool(((size >= TINY32) | (size == 0)).all())


def _is_nan(values: Any) -> bool:
    return bool(np.isnan(values).any())


@cache
def change_of(name: str, type_name: str, in_shared: bool, flushes: bool) -> Change:
    """What an operation does, in shared memory or in global memory.

    Where it flushes, f32 addition takes subnormals for zero; f64 addition in global memory hands NaNs on as
    they are.
    """
    if name in _OTHERS:
        return _OTHERS[name]
    if type_name[0] in "bus" and not type_name.startswith("bf"):
        ufunc = _UFUNCS[name]
        return Change(ufunc, ufunc, adds_integers=name == "add")
    modifiers = ("ftz", type_name) if type_name == "f32" and flushes else (type_name,)
    operand = Name("a")
    operation = decode(Instruction(name, modifiers, (operand, operand, operand), 0, 0))
    assert isinstance(operation, Operation)
    function: Any = operation.evaluate
    if operation.raw_nan:
        function = _settled(function)
    if type_name == "f32":
        return Change(function, np.add, _is_odd32)
    if type_name == "f64":
        return Change(_turned(function) if in_shared else _unquieted(function), np.add, _is_nan)
    if name == "add" and type_name in {"f16", "f16x2"}:
        return Change(function, np.add, _is_nan, halves=True)
    return Change(function)


def _settled(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda old, value: canonical(function(old, value))


def _turned(function: Callable[..., Any]) -> Callable[..., Any]:
    """The operand first, which tells whose NaN is handed on."""
    return lambda old, value: function(value, old)


def _unquieted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A sum with NaN is that NaN, the operand's before the old value, a signalling one too."""

    def add(old: Any, value: Any) -> Any:
        result = np.where(np.isnan(old), old, function(old, value))
        return np.where(np.isnan(value), value, result)

    return add


def _joined(halves: list[Any], dtype: Any) -> Any:
    """Lower and upper halves as numbers of 128 bits."""
    low, high = np.broadcast_arrays(*halves)
    joined = np.empty(low.shape, dtype)
    joined["low"], joined["high"] = low, high
    return joined


class Atomic:
    """An atomic: lanes, address, mask and operands in; the old values out where they are wanted."""

    def __init__(
        self, site: Site, name: str, type_name: str, readers: tuple[compute.Reader, ...], writers: list[Any]
    ) -> None:
        """`writers` make registers' values of the old ones, an element each (two for 128 bits).

        None: nobody wants that element. Without any, nothing comes back.
        """
        self.site = site
        self.readers = readers
        self.writers = writers
        self.is_wide = type_name == "b128"
        self.in_shared = change_of(name, type_name, in_shared=True, flushes=False)
        self.elsewhere = change_of(name, type_name, in_shared=False, flushes=True)
        self.wants = any(write is not None for write in writers)

    def __call__(self, lanes: Any, address: Any, mask: Any, *operands: Any) -> Any:
        """Lanes with the same address take their turns in order."""
        site = self.site
        values = [read(lanes, operand) for read, operand in zip(self.readers, operands, strict=True)]
        if self.is_wide:
            values = [_joined(values[start : start + 2], site.dtype) for start in range(0, len(values), 2)]
        results = [np.zeros(lanes.shape, site.dtype) for _ in range(site.count)] if self.wants else []
        for spot in positions(site, lanes, address, mask):
            if spot.space.kind == "lane":
                numbers = lanes.numbers(spot.mask)
                wrong = "used local memory, which each thread has its own of, in an atomic"
                raise fault(site.program, site.op, lanes, int(numbers[0]), len(numbers), wrong)
            what = self.in_shared if spot.space.name == "shared" else self.elsewhere
            here = [_taken(lanes, value, spot.mask) for value in values]
            for number in range(site.count):
                data, index = spot.elements(site.dtype, number)
                if spot.mask is None:
                    index = np.broadcast_to(index, lanes.shape).reshape(-1)
                own = here[number :: site.count]
                if not self.wants:
                    change(what, data, index, own)
                    continue
                old = exchange(what, data, index, own)
                if spot.mask is None:
                    results[number].reshape(-1)[:] = old
                else:
                    results[number][spot.mask] = old
        return self._written(results)

    def _written(self, results: list[Any]) -> Any:
        if not self.wants:
            return None
        if self.is_wide:
            results = [results[0]["low"], results[0]["high"]]
        written = [
            None if write is None else write(result)
            for write, result in zip(self.writers, results, strict=True)
        ]
        return written[0] if len(written) == 1 else tuple(written)


def _taken(lanes: Any, value: Any, mask: Any) -> Any:
    """A value for the lanes of a mask, one after the other; a number for all as it is."""
    if type(value) is not np.ndarray or not value.ndim:
        return value
    value = np.broadcast_to(value, lanes.shape)
    return value.reshape(-1) if mask is None else value[mask]


_PLACES: Any = {"scope": SCOPES, "space": "global shared shared::cta shared::cluster"}
_ATOM_SEMANTICS = "relaxed acquire release acq_rel"
_RED_SEMANTICS = "relaxed release"
_ATOM = "parallel-synchronization-and-communication-instructions-atom"
_RED = "parallel-synchronization-and-communication-instructions-red"
_SCALARS = "u32 s32 u64 s64 b32 b64 f32 f64"
_HALVES = "f16 bf16 f16x2 bf16x2"
_TYPES_OF = {
    "add": {"u32", "s32", "u64", "f32", "f64"},
    "min": {"u32", "s32", "u64", "s64"},
    "max": {"u32", "s32", "u64", "s64"},
    "inc": {"u32"},
    "dec": {"u32"},
    "exch": {"b32", "b64", "b128"},
}


def _is_scalar_form(m: Any) -> bool:
    """Whether an operation has the type; hints are for global memory."""
    if m.get("hint") and m["space"].startswith("shared"):
        return False
    return m["type"] in _TYPES_OF.get(m["op"], {"b32", "b64"})


def _is_half_form(m: Any) -> bool:
    """A single half is only added to; vectors lie in global memory and have at most 16 bytes."""
    if (m.get("hint") or m["vec"]) and m["space"].startswith("shared"):
        return False
    if not m["vec"]:
        return bool(m["op"] == "add")
    return m["vec"] != "v8" or not m["type"].endswith("x2")


@effect(
    "atom{.sem}{.scope}{.space}.op.type d, [a], b",
    "atom{.sem}{.scope}{.space}.op.hint.type d, [a], b, policy",
    sem=_ATOM_SEMANTICS,
    op="add min max and or xor inc dec exch",
    hint="L2::cache_hint",
    type=f"{_SCALARS} b128",
    where=_is_scalar_form,
    types="d:type? policy:u64",
    isa=_ATOM,
    **_PLACES,
)
@effect(
    "atom{.sem}{.scope}{.space}.op.noftz{.vec}.type d, [a], b",
    "atom{.sem}{.scope}{.space}.op.noftz.hint{.vec}.type d, [a], b, policy",
    sem=_ATOM_SEMANTICS,
    op="add min max",
    hint="L2::cache_hint",
    vec="v2 v4 v8",
    type=_HALVES,
    where=_is_half_form,
    types="d:type? policy:u64",
    isa=_ATOM,
    **_PLACES,
)
@effect(
    "atom{.sem}{.scope}{.global}.op.vec.type d, [a], b",
    "atom{.sem}{.scope}{.global}.op.hint.vec.type d, [a], b, policy",
    sem=_ATOM_SEMANTICS,
    scope=SCOPES,
    op="add",
    hint="L2::cache_hint",
    vec="v2 v4",
    type="f32",
    types="d:type? policy:u64",
    isa=_ATOM,
)
@effect(
    "atom{.sem}{.scope}{.space}.op.type d, [a], b, c",
    sem=_ATOM_SEMANTICS,
    op="cas",
    type="b16 b32 b64 b128",
    types="d:type?",
    isa=_ATOM,
    **_PLACES,
)
def atom(emit: Emitter, op: Op) -> None:
    """The old value comes back."""
    place = op.operands[1]
    assert isinstance(place, Place)
    _emit(emit, op, place, _operands(op, op.operands[2:]), elements(op.operands[0]))


@effect(
    "red{.sem}{.scope}{.space}.op.type [a], b",
    "red{.sem}{.scope}{.space}.op.hint.type [a], b, policy",
    sem=_RED_SEMANTICS,
    op="add min max and or xor inc dec",
    hint="L2::cache_hint",
    type=_SCALARS,
    where=_is_scalar_form,
    types="policy:u64",
    isa=_RED,
    **_PLACES,
)
@effect(
    "red{.sem}{.scope}{.space}.op.noftz{.vec}.type [a], b",
    "red{.sem}{.scope}{.space}.op.noftz.hint{.vec}.type [a], b, policy",
    sem=_RED_SEMANTICS,
    op="add min max",
    hint="L2::cache_hint",
    vec="v2 v4 v8",
    type=_HALVES,
    where=_is_half_form,
    types="policy:u64",
    isa=_RED,
    **_PLACES,
)
@effect(
    "red{.sem}{.scope}{.global}.op.vec.type [a], b",
    "red{.sem}{.scope}{.global}.op.hint.vec.type [a], b, policy",
    sem=_RED_SEMANTICS,
    scope=SCOPES,
    op="add",
    hint="L2::cache_hint",
    vec="v2 v4",
    type="f32",
    types="policy:u64",
    isa=_RED,
)
def red(emit: Emitter, op: Op) -> None:
    """Nothing comes back."""
    place = op.operands[0]
    assert isinstance(place, Place)
    _emit(emit, op, place, _operands(op, op.operands[1:]), [])


def _operands(op: Op, sources: tuple[Source, ...]) -> list[Source]:
    """The elements of the operands one after the other, without a policy, which changes nothing."""
    if op.operation.modifiers.get("hint"):
        sources = sources[:-1]
    return [element for source in sources for element in elements(source)]


def _emit(emit: Emitter, op: Op, place: Place, sources: list[Source], destinations: list[Source]) -> None:
    modifiers = op.operation.modifiers
    type_name = modifiers["type"]
    count = int((modifiers.get("vec") or "v1")[1:])
    part = "b64" if type_name == "b128" else type_name
    site, address = make_site(emit, op, place, count, dtype_of(type_name), writes=True)
    arguments = [emit.argument(source, part) for source in sources]
    readers = []
    for argument in arguments:
        known = argument.constant if argument.constant is not None else argument.scalar
        if known is not None:
            readers.append(emit.constant_reader(compute.constant(known, part)))
        else:
            readers.append(compute.reader(argument.kept, part))
    if not any(emit.is_used(destination) for destination in destinations):
        destinations = []
    writers = [
        compute.writer(emit.kept(destination), part, False) if isinstance(destination, Register) else None
        for destination in destinations
    ]
    run = emit.bind(Atomic(site, modifiers["op"], type_name, tuple(readers), writers))
    mask = emit.mask(op)
    call = f"{run}(S, {address}, {mask}, {', '.join([argument.text for argument in arguments])})"
    if destinations:
        dtypes = [emit.kept(d).dtype if isinstance(d, Register) else None for d in destinations]
        emit.store_results(op, destinations, call, mask, dtypes)
    else:
        emit.line_for(mask, call)
