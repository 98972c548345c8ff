"""ld and st, in every form."""

from __future__ import annotations

from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen import compute
from teenycuda_cli.emulator.codegen.arguments import MASK, Argument, fixed
from teenycuda_cli.emulator.codegen.compute import Kept
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.ir import (
    Constant,
    Frame,
    Group,
    KernelParameter,
    Op,
    Place,
    Register,
    Source,
)
from teenycuda_cli.emulator.machine.access import Site, positions, view
from teenycuda_cli.emulator.machine.tiles import distinct
from teenycuda_cli.emulator.machine.values import Affine
from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.opcodes.effects import effect
from teenycuda_cli.emulator.opcodes.orderings import is_load, is_store, is_uniform_load
from teenycuda_cli.errors import UnsupportedError

TYPES = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"
SPACES = "global shared shared::cta shared::cluster local const param param::entry param::func"
SCOPES = "cta cluster gpu sys"
_EVICT = "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"
_LEVEL = "L2::evict_last L2::evict_normal L2::evict_first"
_PREFETCH = "L2::64B L2::128B L2::256B"
_SAME_SPACE = {
    "shared::cta": "shared",
    "shared::cluster": "shared",
    "param::entry": "param",
    "param::func": "param",
    "": "generic",
}


def space_of(name: str) -> str:
    """The emulator's name of a state space modifier."""
    return _SAME_SPACE.get(name, name)


def elements(source: Source) -> list[Source]:
    """A vector's elements, both halves of 128 bits, or the operand itself."""
    return list(source.elements) if isinstance(source, Group) else [source]


def parts(source: Source, type_name: str) -> tuple[list[Source], str]:
    """An operand's elements and their type; 128 bits are two halves of 64."""
    if type_name != "b128":
        return elements(source), type_name
    if isinstance(source, Constant):
        return [source, Constant(-1 if source.value < 0 else 0)], "b64"
    return elements(source), "b64"


def make_site(
    emit: Emitter, op: Op, place: Place, count: int, dtype: Any, *, writes: bool
) -> tuple[Site, str]:
    """The access of an instruction to `[base+offset]`, and the expression of its base."""
    space = space_of(op.operation.modifiers.get("space", ""))
    base = place.base
    if isinstance(base, Frame):
        space = "local"
    argument = emit.argument(base, "b64")
    width = argument.kept.width
    offset = place.offset
    text = argument.text
    if argument.constant is not None or (
        space in {"shared", "local"} and isinstance(base, Register) and base.width == 64
    ):
        width = 64
    site = Site(emit.program, op, space, offset, dtype.itemsize, count, dtype, width, writes)
    return site, text


class Load:
    """A load: lanes, address, mask and buffer numbers in; a value (or a tuple of them) out."""

    __slots__ = ("kept", "site", "type_dtype")

    def __init__(self, site: Site, kept: tuple[Kept | None, ...]) -> None:
        """`kept` says what becomes of each element; None: it is not wanted."""
        self.site = site
        self.kept = kept

    def __call__(self, lanes: Any, address: Any, mask: Any, buffers: tuple[int, ...]) -> Any:
        """Without buffers a view of memory may come back, which is good until memory changes."""
        site = self.site
        parts: Any = None
        if type(address) is int or type(address) is Affine:
            parts = view(site, lanes, address)
        if parts is None:
            return self._gather(lanes, address, mask, buffers)
        if site.count == 1:
            return self._taken(lanes, parts, self.kept[0], buffers[0] if buffers else None)
        return tuple(
            [
                self._taken(lanes, parts[k], kept, buffers[k] if buffers else None)
                for k, kept in enumerate(self.kept)
            ]
        )

    def tiled(self, lanes: Any, address: Any, dtype: Any) -> Any:
        """All that the lanes load as a view of their shape; None where it is none."""
        return _whole(self.site, lanes, address, dtype)

    def _taken(self, lanes: Any, part: Any, kept: Kept | None, buffer: int | None) -> Any:
        if kept is None:
            return None
        if part.size == 1:
            item = part.reshape(-1)[0]
            return int(item) if kept.tag == "i" else item
        target = kept.dtype
        if part.dtype != target:
            return part.astype(target)
        if buffer is None:
            return part
        if part.shape != lanes.shape:
            return part.copy()
        out = lanes.P[buffer] if buffer >= 0 else lanes.fresh(~buffer, target)
        np.copyto(out, part)
        return out

    def _gather(self, lanes: Any, address: Any, mask: Any, buffers: tuple[int, ...]) -> Any:
        site = self.site
        results: list[Any] = [None] * site.count
        for found in positions(site, lanes, address, mask):
            for k, kept in enumerate(self.kept):
                if kept is None:
                    continue
                data, index = found.elements(site.dtype, k)
                buffer = buffers[k] if buffers else None
                results[k] = self._placed(lanes, data, index, found.mask, kept, buffer, results[k])
        return results[0] if site.count == 1 else tuple(results)

    def _placed(
        self, lanes: Any, data: Any, index: Any, mask: Any, kept: Kept, buffer: int | None, result: Any
    ) -> Any:
        target = kept.dtype
        if mask is None:
            if index.size == 1:
                item = data[index.reshape(-1)[0]]
                return int(item) if kept.tag == "i" else item
            if buffer is None or data.dtype != target or index.shape != lanes.shape:
                return data.take(index, mode="clip").astype(target, copy=False)
            out = lanes.P[buffer] if buffer >= 0 else lanes.fresh(~buffer, target)
            return data.take(index, out=out, mode="clip")
        if result is None:
            result = np.zeros(lanes.shape, target)
        result[mask] = data.take(index, mode="clip")
        return result


@effect(
    "ldu{.space}{.vec}.type d, [a]",
    space="global",
    vec="v2 v4",
    type=TYPES,
    types="d:type+",
    where=is_uniform_load,
    isa="data-movement-and-conversion-instructions-ldu",
    keeps_memory=True,
)
@effect(
    "ld{.mmio}{.sem}{.scope}{.space}{.cop}{.nc}{.evict}{.level}{.prefetch}{.vec}.type d, [a]",
    "ld{.mmio}{.sem}{.scope}{.space}{.cop}{.nc}{.evict}{.level}.hint{.prefetch}{.vec}.type d, [a], policy",
    sem="weak volatile relaxed acquire",
    scope=SCOPES,
    space=SPACES,
    cop="ca cg cs lu cv",
    evict=_EVICT,
    level=_LEVEL,
    hint="L2::cache_hint",
    prefetch=_PREFETCH,
    vec="v2 v4 v8",
    type=TYPES,
    types="d:type+ policy:u64",
    where=is_load,
    isa="data-movement-and-conversion-instructions-ld",
    keeps_memory=True,
)
def ld(emit: Emitter, op: Op) -> None:
    """Memory into registers, narrow integers extended."""
    place = op.operands[1]
    assert isinstance(place, Place)
    destinations, type_name = parts(op.operands[0], op.operation.modifiers["type"])
    kept = tuple([emit.kept(d) if isinstance(d, Register) else None for d in destinations])
    if isinstance(place.base, KernelParameter):
        _load_parameters(emit, op, place, destinations, type_name)
        return
    dtypes = {_element_dtype(type_name, item) for item in kept if item is not None}
    dtype = dtypes.pop() if len(dtypes) == 1 else dtype_of(type_name)
    site, address = make_site(emit, op, place, len(destinations), dtype, writes=False)
    load = emit.bind(Load(site, tuple([_matching(item, dtype) for item in kept])))
    emit.accesses[op] = load, address
    registers = [d for d in destinations if isinstance(d, Register)]
    lazy = all(emit.only_read_before_writes(r) for r in registers)
    buffers: tuple[int, ...] = ()
    if not lazy:
        buffers = tuple(
            [emit.buffer(d, emit.kept(d).dtype) if isinstance(d, Register) else 0 for d in destinations]
        )
    results = [dtype] * len(destinations)
    emit.call(op, destinations, load, (emit.argument(place.base), MASK, fixed(buffers)), results)


def _element_dtype(type_name: str, kept: Kept) -> Any:
    """The dtype to read memory in, so that the register gets its own where sizes are the same."""
    dtype = dtype_of(type_name)
    return kept.dtype if dtype.itemsize == kept.dtype.itemsize else dtype


def _matching(kept: Kept | None, dtype: Any) -> Kept | None:
    """What a load makes for a register: floats of other bits come as integers first."""
    if kept is None or kept.tag == "i" or kept.dtype == dtype:
        return kept
    return Kept("i", kept.width)


def _load_parameters(emit: Emitter, op: Op, place: Place, destinations: list[Source], type_name: str) -> None:
    base = place.base
    assert isinstance(base, KernelParameter)
    dtype = dtype_of(type_name)
    start = base.offset + place.offset
    end = start + dtype.itemsize * len(destinations)
    if start < 0 or end > emit.program.parameter_size:
        raise UnsupportedError(
            f"{op.instruction.name} reads bytes {start} to {end - 1} of the kernel's parameters,"
            f" which are {emit.program.parameter_size} bytes",
            file=emit.program.text.name,
            line=emit.program.text.position(op.instruction.offset)[0],
        )
    for number, destination in enumerate(destinations):
        if isinstance(destination, Register):
            offset = base.offset + place.offset + number * dtype.itemsize
            emit.read_parameter(op, destination, offset, dtype)


class Store:
    """A store: lanes, address, mask and the elements' values in."""

    __slots__ = ("readers", "site")

    def __init__(self, site: Site, readers: tuple[compute.Reader, ...]) -> None:
        """A reader an element makes an array or scalar of the memory's dtype."""
        self.site = site
        self.readers = readers

    def __call__(self, lanes: Any, address: Any, mask: Any, *values: Any) -> None:
        """Where lanes write the same place, the last one's value stays."""
        site = self.site
        found = [read(lanes, value) for read, value in zip(self.readers, values, strict=True)]
        if type(address) is int or type(address) is Affine:
            parts = view(site, lanes, address)
            if parts is not None and self._written(lanes, parts, mask, found):
                return
        for spot in positions(site, lanes, address, mask):
            for number, value in enumerate(found):
                data, index = spot.elements(site.dtype, number)
                if type(value) is not np.ndarray:
                    data[index] = value
                elif spot.mask is not None:
                    data[index] = np.broadcast_to(value, lanes.shape)[spot.mask]
                else:
                    data[np.broadcast_to(index, lanes.shape)] = value

    def tiled(self, lanes: Any, address: Any, dtype: Any) -> Any:
        """All that the lanes store to as a view of their shape; None where it is none, or places overlap."""
        whole = _whole(self.site, lanes, address, dtype)
        if whole is None or not distinct(whole.strides, whole.shape, self.site.size):
            return None
        return whole

    def _written(self, lanes: Any, parts: Any, mask: Any, values: list[Any]) -> bool:
        site = self.site
        several = site.count > 1
        first = parts[0] if several else parts
        apart = first.shape == lanes.shape and distinct(first.strides, first.shape, site.size * site.count)
        if not apart and (mask is not None or any(type(value) is np.ndarray for value in values)):
            return False
        for number, value in enumerate(values):
            part = parts[number] if several else parts
            if mask is None:
                np.copyto(part, value)
            else:
                np.copyto(part, value, where=mask)
        return True


def _whole(site: Site, lanes: Any, address: Any, dtype: Any) -> Any:
    if type(address) is not Affine:
        return None
    found = view(site, lanes, address)
    if found is None or found.shape != lanes.shape:
        return None
    return found.view(dtype)


@effect(
    "st{.mmio}{.sem}{.scope}{.space}{.cop}{.evict}{.level}{.vec}.type [a], b",
    "st{.mmio}{.sem}{.scope}{.space}{.cop}{.evict}{.level}.hint{.vec}.type [a], b, policy",
    sem="weak volatile relaxed release",
    scope=SCOPES,
    space="global shared shared::cta shared::cluster local param param::func",
    cop="wb cg cs wt",
    evict=_EVICT,
    level=_LEVEL,
    hint="L2::cache_hint",
    vec="v2 v4 v8",
    type=TYPES,
    types="b:type+ policy:u64",
    where=is_store,
    isa="data-movement-and-conversion-instructions-st",
)
def st(emit: Emitter, op: Op) -> None:
    """Registers into memory, the low bits of wide ones."""
    place = op.operands[0]
    assert isinstance(place, Place)
    sources, type_name = parts(op.operands[1], op.operation.modifiers["type"])
    arguments = [emit.argument(source, type_name) for source in sources]
    dtype = dtype_of(type_name)
    site, address = make_site(emit, op, place, len(arguments), dtype, writes=True)
    readers = tuple([stored_reader(emit, argument, type_name) for argument in arguments])
    store = emit.bind(Store(site, readers))
    emit.accesses[op] = store, address
    emit.call(op, [], store, (emit.argument(place.base), MASK, *arguments))


def stored_reader(emit: Emitter, argument: Argument, type_name: str) -> compute.Reader:
    """How a store reads an argument: with the bits that NaNs have."""
    is_known = argument.constant is not None or argument.scalar is not None
    if not is_known and argument.kept.raw_nan and compute.native(argument.kept.tag) == type_name:
        return _canonical
    return emit.reader(argument, type_name)


def _canonical(lanes: Any, value: Any) -> Any:
    return canonical(value)
