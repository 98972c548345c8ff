"""Value instructions as functions of registers: exact rules first, else the table's `evaluate` on arrays.

A register's value is turned into the array or numpy scalar that `evaluate`
takes, and what comes out is turned into what the register keeps. Which turns
are needed is settled when the function is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from teenycuda_cli.emulator.machine import algebra
from teenycuda_cli.emulator.machine.values import SIGNED, Affine, fit, plus, wrap
from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.opcodes.table import Operation

Reader: TypeAlias = Callable[[Any, Any], Any]
"""(lanes, register's value) → array or numpy scalar of the type that an instruction reads."""

_SIGN_BLIND = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.bitwise_and: "and",
    np.bitwise_or: "or",
    np.bitwise_xor: "xor",
    np.bitwise_not: "not",
}


_EXACT = frozenset((int, Affine))
_BY_OPCODE = frozenset(("and", "or", "xor", "not", "min", "max"))


_DTYPES: dict[str, Any] = {
    "f4": np.dtype(np.float32),
    "f8": np.dtype(np.float64),
    "p": np.dtype(np.bool_),
}
_INTEGERS: dict[int, Any] = {width: np.dtype(kind) for width, kind in SIGNED.items()}


class Kept(NamedTuple):
    """How a register keeps its values: tag and width; a constant counts as an integer of 64 bits."""

    tag: str
    width: int
    raw_nan: bool = False

    @property
    def dtype(self) -> Any:
        """Of its arrays."""
        return _INTEGERS[self.width] if self.tag == "i" else _DTYPES[self.tag]


def native(tag: str) -> str:
    """The PTX type whose arrays a tag keeps as they are."""
    return {"f4": "f32", "f8": "f64", "p": "pred"}.get(tag, "")


def reader(kept: Kept, type_name: str) -> Reader:
    """How an instruction that reads a register as a PTX type gets its array or scalar."""
    wanted = dtype_of(type_name)
    if kept.tag == "p":
        return lambda lanes, value: value if type(value) is np.ndarray else np.bool_(value)
    if kept.tag != "i":
        if native(kept.tag) == type_name:
            return lambda lanes, value: value
        if kept.raw_nan:
            return lambda lanes, value: canonical(value).view(wanted)
        return lambda lanes, value: value.view(wanted)
    return _integer_reader(kept.width, wanted)


def _integer_reader(width: int, wanted: Any) -> Reader:
    size = 8 * wanted.itemsize
    if size == width:
        if wanted.kind == "i":
            return lambda lanes, value: lanes.integers(value, width)
        return lambda lanes, value: lanes.integers(value, width).view(wanted)
    kind = np.dtype(SIGNED[size])

    def narrower(lanes: Any, value: Any) -> Any:
        if type(value) is int:
            number: Any = kind.type(wrap(value, size))
            return number.view(wanted)
        if type(value) is Affine:
            part = fit(value, size)
            if part is not None:
                return lanes.integers(part, size).view(wanted)
        return lanes.integers(value, width).astype(kind).view(wanted)

    return narrower


def _sign_blind_reader(width: int) -> Reader:
    """Signed integers of a width, also of a constant that is written without its sign."""
    kind = SIGNED[width]

    def read(lanes: Any, value: Any) -> Any:
        return kind(wrap(value, width)) if type(value) is int else lanes.integers(value, width)

    return read


def constant(value: int | float, type_name: str) -> Any:
    """A constant as the numpy scalar that an instruction reads."""
    wanted: Any = dtype_of(type_name)
    if wanted.kind in "iu" and isinstance(value, int):
        number: Any = SIGNED[8 * wanted.itemsize](wrap(value, 8 * wanted.itemsize))
        return number.view(wanted)
    return wanted.type(value)


@cache
def constants(type_name: str) -> Reader:
    """How an instruction that reads a PTX type gets any integer constant."""
    known: dict[int, Any] = {}

    def read(_: Any, value: int) -> Any:
        found = known.get(value)
        if found is None:
            found = known[value] = constant(value, type_name)
        return found

    return read


def writer(  # noqa: PLR0911  (a case each)
    kept: Kept, type_name: str, raw_nan: bool
) -> Callable[[Any], Any]:
    """How a result of a PTX type becomes what a register keeps."""
    made = dtype_of(type_name)
    target = kept.dtype
    if kept.tag == "p":
        return lambda result: result if type(result) is np.ndarray else bool(result)
    if kept.tag != "i":
        if made == target:
            return lambda result: result
        return lambda result: result.view(target)
    width = kept.width
    size = 8 * made.itemsize
    if made.kind == "f":
        bits = np.dtype(SIGNED[size])
        if raw_nan:
            return lambda result: _integers(canonical(result).view(bits), width)
        return lambda result: _integers(result.view(bits), width)
    if size == width:
        if made == target:
            return lambda result: result if type(result) is np.ndarray else int(result)

        def view(result: Any) -> Any:
            return result.view(target) if type(result) is np.ndarray else int(result.view(target))

        return view
    return lambda result: _integers(result, width)


def _integers(result: Any, width: int) -> Any:
    if type(result) is np.ndarray:
        return result if result.dtype == SIGNED[width] else result.astype(SIGNED[width])
    return wrap(int(result), width)


def exact_rule(operation: Operation) -> tuple[algebra.Rule, algebra.IntegerType] | None:
    """The rule of an instruction that is integer algebra, and the type that it works in."""
    opcode = operation.form.opcode
    modifiers = operation.modifiers
    if opcode == "cvt" and operation.affine == "cvt":
        source, destination = operation.sources[0], operation.destinations[0]
        return algebra.convert(source, destination), algebra.IntegerType(source)
    type_name = operation.sources[0] if operation.sources else ""
    if type_name[:1] not in {"s", "u", "b"} or not type_name[1:].isdigit():
        return None
    if opcode == "setp" and len(operation.sources) == 2 and len(operation.destinations) == 1:
        rule = algebra.comparison(modifiers["cmp"])
    elif opcode in _BY_OPCODE and not modifiers.get("relu"):
        rule = algebra.RULES.get(opcode)
    else:
        rule = algebra.RULES.get(operation.affine or "")
    return None if rule is None else (rule, algebra.IntegerType(type_name))


def compute(
    operation: Operation, readers: list[Reader], kept: Kept, exact: tuple[bool, ...]
) -> Callable[..., Any]:
    """The function (lanes, buffer number, *registers' values) → the destination's value.

    `exact` says which arguments may be exact integers (Python int or affine).
    A buffer number counts the pool from 0; ~home is that of a register that
    lives across blocks.
    """
    evaluate: Any = operation.evaluate
    found = exact_rule(operation) if any(exact) else None
    write = writer(kept, operation.destinations[0], operation.raw_nan)
    made = dtype_of(operation.destinations[0])
    width = kept.width
    same_size = made.itemsize == kept.dtype.itemsize
    if operation.ufunc in _SIGN_BLIND and kept.tag == "i" and same_size and found is not None and all(exact):
        signed = np.dtype(SIGNED[width])
        readers = [_sign_blind_reader(width)] * len(readers)
        write = writer(kept, f"s{width}", False)
        made = signed

    bits_of_float = made.kind == "f" and kept.tag == "i" and operation.raw_nan

    def on_arrays(lanes: Any, buffer: int, *values: Any) -> Any:
        shape = lanes.shape
        arguments = [read(lanes, value) for read, value in zip(readers, values, strict=True)]
        for argument in arguments:
            if argument.shape == shape:
                if not same_size:
                    break
                kept_buffer = lanes.P[buffer] if buffer >= 0 else lanes.fresh(~buffer, kept.dtype)
                out = kept_buffer if kept_buffer.dtype == made else kept_buffer.view(made)
                result = evaluate(*arguments, out=out)
                if result is not out:
                    return write(result)
                if bits_of_float:
                    canonical(out)
                return kept_buffer
        return write(evaluate(*arguments))

    if found is None:
        return on_arrays
    rule, integer_type = found

    def on_values(lanes: Any, buffer: int, *values: Any) -> Any:
        for value in values:
            if type(value) not in _EXACT:
                return on_arrays(lanes, buffer, *values)
        result = rule(integer_type, *values)
        if result is None:
            return on_arrays(lanes, buffer, *values)
        if type(result) is bool:
            return result
        result = fit(result, width)
        return on_arrays(lanes, buffer, *values) if result is None else result

    return on_values


def plain(evaluate: Any, dtype: Any, settles: bool) -> Callable[..., Any]:
    """The same for floats that go in and come out as registers keep them; `settles`: with PTX's own NaN."""

    def run(lanes: Any, buffer: int, *values: Any) -> Any:
        shape = lanes.shape
        out = None
        for value in values:
            if value.shape == shape:
                out = lanes.P[buffer] if buffer >= 0 else lanes.fresh(~buffer, dtype)
                break
        result = evaluate(*values) if out is None else evaluate(*values, out=out)
        return canonical(result) if settles else result

    return run


def compute_many(
    operation: Operation, readers: list[Reader], kept: list[Kept | None], carry: bool
) -> Callable[..., Any]:
    """As `compute`, for several destinations (None where one is not wanted): a tuple comes out."""
    evaluate: Any = operation.evaluate
    types = [*operation.destinations, *(["pred"] if carry else [])]
    writers = [
        None if item is None else writer(item, name, operation.raw_nan)
        for item, name in zip(kept, types, strict=True)
    ]

    def run(lanes: Any, _: int, *values: Any) -> Any:
        results = evaluate(*[read(lanes, value) for read, value in zip(readers, values, strict=True)])
        return tuple(
            [None if write is None else write(result) for write, result in zip(writers, results, strict=True)]
        )

    return run


def negate(predicate: Any) -> Any:
    """`!p`."""
    return ~predicate if type(predicate) is np.ndarray else not predicate


def inverse(_: Any, predicate: Any) -> Any:
    """The same as a function (lanes, predicate)."""
    return negate(predicate)


def both(predicate: Any, mask: Any, lanes: Any) -> Any:
    """The lanes of a mask for which a predicate holds: a mask of its own, or False for none.

    Lanes may wait under it long after the predicate's array has gone back to the pool.
    """
    if type(predicate) is not np.ndarray:
        return mask if predicate else False
    if predicate.shape != lanes.shape:
        predicate = np.broadcast_to(predicate, lanes.shape)
    if mask is not None:
        predicate = predicate & mask
    count = int(np.count_nonzero(predicate))
    if not count:
        return False
    if mask is not None:
        return predicate
    return None if count == lanes.count else predicate.copy()


def pick(lanes: Any, predicate: Any, new: Any, old: Any, dtype: Any) -> Any:
    """`new` where a predicate (or mask) holds, else `old`."""
    if type(predicate) is not np.ndarray:
        return new if predicate else old
    if type(new) is not np.ndarray and type(new) is type(old) and type(new) is not Affine and new == old:
        return new
    width = 8 * dtype.itemsize
    if dtype.kind == "i":
        new, old = lanes.integers(new, width), lanes.integers(old, width)
    return np.where(predicate, new, old)


def chosen(lanes: Any, lane_mask: Any, mask: Any, new: Any, old: Any, dtype: Any) -> Any:
    """`new` for the lanes of `lane_mask`, `old` for the others of `mask`."""
    return new if lane_mask is mask else pick(lanes, lane_mask, new, old, dtype)


def selector(dtype: Any) -> Callable[..., Any]:
    """`selp` on values of a dtype: exact where the predicate decides for all lanes."""
    integer = dtype.kind == "i"
    width = 8 * dtype.itemsize

    def select(lanes: Any, buffer: int, a: Any, b: Any, chosen: Any) -> Any:
        if type(chosen) is not np.ndarray:
            value = a if chosen else b
            return lanes.keep(~buffer, value) if buffer < 0 else duplicate(value)
        if integer:
            a, b = lanes.integers(a, width), lanes.integers(b, width)
        if lanes.shape not in {chosen.shape, a.shape, b.shape}:
            return np.where(chosen, a, b)
        out = lanes.P[buffer] if buffer >= 0 else lanes.fresh(~buffer, dtype)
        np.copyto(out, b)
        np.copyto(out, a, where=chosen)
        return out

    return select


def duplicate(value: Any) -> Any:
    """An array's copy; anything else itself."""
    return value.copy() if type(value) is np.ndarray else value


def bits(dtype: Any, raw_nan: bool) -> Callable[[Any, Any], Any]:
    """A function (lanes, floats) → their bits as signed integers, exact for a scalar."""

    def read(_: Any, value: Any) -> Any:
        if raw_nan:
            value = canonical(value)
        return value.view(dtype) if type(value) is np.ndarray else int(value.view(dtype))

    return read


def resized(source: Kept, kept: Kept, type_name: str) -> Callable[[Any, Any], Any]:
    """A function (lanes, value) from integers of one width to those of another."""
    read, write = reader(source, type_name), writer(kept, type_name, False)
    return lambda lanes, value: write(read(lanes, value))


def settled(_: Any, value: Any) -> Any:
    """Floats with PTX's own NaN."""
    return canonical(value)


def keep(lanes: Any, register: int, value: Any) -> Any:
    """A value that a register that lives across blocks may own."""
    return lanes.keep(register, value)


def plus64(_: Any, value: Any, addend: int) -> Any:
    """A 64-bit register plus a constant."""
    if type(value) is np.ndarray:
        return value + np.int64(addend)
    return fit(plus(value, addend), 64)
