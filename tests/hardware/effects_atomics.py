"""Trials of atom and red: each thread at a place of its own, and many threads at few places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.inputs import Array, Source, inputs
from tests.hardware.trials import THREADS, Output, Trial, drawn

LANES = 4096
PLACES = 7
BLOCKS = 2
_REGISTERS = {"f32": "%f", "f64": "%g", "b128": "%q"}


def register(name: str) -> str:
    """The prefix of registers of a type."""
    return _REGISTERS.get(name) or {1: "%r", 2: "%h", 4: "%r", 8: "%d"}[dtype(name).itemsize]


def vector(prefix: str, first: int, count: int) -> str:
    """`%f3`, or `{%f3, %f4}`."""
    names = ", ".join(f"{prefix}{first + number}" for number in range(count))
    return names if count == 1 else f"{{{names}}}"


def recipe(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Apart and, for spellings that are not about order and caches, contended."""
    spaces = ["global"] if bound.get("space", "global") in ("", "global") else ["shared"]
    if bound.get("space") == "" and plain and not bound.get("vec"):
        spaces.append("shared")
    for space in spaces:
        yield _apart(form, name, bound, space)
        if plain and bound.get("space", "") in ("", "global", "shared"):
            yield _contended(form, name, bound, space)


RECIPES = {"atom": recipe, "red": recipe}


class _Shape:
    """Names and sizes of one spelling."""

    def __init__(self, name: str, bound: dict[str, str]) -> None:
        self.name = name
        self.returns = name.startswith("atom")
        self.op = bound.get("op") or "add"
        self.type = bound["type"]
        self.count = int((bound.get("vec") or "v1")[1:])
        self.size = dtype(self.type).itemsize
        self.total = self.count * self.size
        self.prefix = register(self.type)
        self.hint = bool(bound.get("hint"))
        self.swaps = self.op == "cas"

    def instruction(self, address: str) -> str:
        """Found values into registers from 20 on; operands are in those from 0 (and 10)."""
        operands = [f"[{address}]", vector(self.prefix, 0, self.count)]
        if self.swaps:
            operands.append(vector(self.prefix, 1, 1))
        if self.returns:
            operands.insert(0, vector(self.prefix, self.first_found, self.count))
        policy = ""
        if self.hint:
            operands.append("%d39")
            policy = "createpolicy.fractional.L2::evict_first.b64 %d39, 1.0;"
        return f"{policy}\n{self.name} {', '.join(operands)};"

    @property
    def raw(self) -> str:
        """The type in which values are moved as they are."""
        return f"b{8 * self.size}"

    def load(self, address: str, first: int) -> str:
        """All elements at an address into registers."""
        return "\n".join(
            f"ld.global.{self.raw} {self.prefix}{first + number}, [{address}+{number * self.size}];"
            for number in range(self.count)
        )

    def store(self, address: str, first: int) -> str:
        """The other way round."""
        return "\n".join(
            f"st.global.{self.raw} [{address}+{number * self.size}], {self.prefix}{first + number};"
            for number in range(self.count)
        )

    def copy(self, target: str, target_space: str, source: str, source_space: str) -> str:
        """The bytes of one place to another."""
        step = 4 if self.total % 4 == 0 else 2
        kind = {4: ("%r59", "b32"), 2: ("%h39", "b16")}[step]
        return "\n".join(
            f"ld.{source_space}.{kind[1]} {kind[0]}, [{source}+{at}]; "
            f"st.{target_space}.{kind[1]} [{target}+{at}], {kind[0]};"
            for at in range(0, self.total, step)
        )

    @property
    def first_found(self) -> int:
        """The register of the first value found."""
        return 2 if self.type == "b128" else 20

    @property
    def unit(self) -> int:
        """Bytes of the numbers in which results are kept."""
        return min(self.size, 8)


@dataclass(frozen=True, slots=True)
class _Target:
    """Where an atomic works: declarations, code, the space that %d5 lies in, and the address it takes."""

    before: str
    code: str
    space: str
    address: str


def _place(shape: _Shape, bound: dict[str, str], space: str, buffer: str, number: str, count: int) -> _Target:
    """Place `number` of a buffer, or of `count` in shared memory; its address in %d5, the generic in %d7."""
    if space == "global":
        return _Target("", f"mad.wide.u32 %d5, {number}, {shape.total}, {buffer};", "global", "%d5")
    before = f".shared .align 16 .b8 NAMEs[{shape.total * count}];"
    code = f"mov.u64 %d6, NAMEs; mad.wide.u32 %d5, {number}, {shape.total}, %d6;"
    if bound.get("space"):
        return _Target(before, code, "shared", "%d5")
    return _Target(before, f"{code} cvta.shared.u64 %d7, %d5;", "shared", "%d7")


def _row(shape: _Shape, buffer: int, number: str = "%lane") -> str:
    """%d1: the place of row `number` in a buffer."""
    return f"mad.wide.u32 %d1, {number}, {shape.total}, %b{buffer};"


def _apart(form: Form, name: str, bound: dict[str, str], space: str) -> Trial:
    """Every thread alone at its place: all types' edge cases."""
    shape = _Shape(name, bound)
    operands = [_values(shape, "memory"), _values(shape, "operand")]
    if shape.swaps:
        operands[1] = np.where(np.arange(LANES) % 3 != 0, operands[0], operands[1])
        operands.append(_values(shape, "new"))
    out = len(operands)
    number = "%lane" if space == "global" else "%tx"
    target = _place(shape, bound, space, f"%b{out}", number, THREADS)
    body = [target.code, _row(shape, 0), shape.copy("%d5", target.space, "%d1", "global")]
    body += [_row(shape, 1), shape.load("%d1", 0)]
    if shape.swaps:
        body += [_row(shape, 2), shape.load("%d1", 1)]
    body.append(shape.instruction(target.address))
    if shape.returns:
        body += [_row(shape, out + 1), shape.store("%d1", shape.first_found)]
    if target.space == "shared":
        body += [_row(shape, out), shape.copy("%d1", "global", "%d5", "shared")]
    outputs = [Output(shape.unit, LANES * shape.total // shape.unit)] * (2 if shape.returns else 1)
    where = "apart" if bound.get("space") or space == "global" else "apart in shared memory"
    return Trial(
        f"{name}; {where}",
        form,
        "\n".join(body),
        tuple(operands),
        tuple(outputs),
        target.before,
        (LANES // THREADS, 1, 1),
    )


@cache
def _pair(kind: str) -> tuple[Array, ...]:
    return inputs((Source(kind), Source(kind)))


def _values(shape: _Shape, role: str) -> Array:
    """A value of a thread and element each: a row of `inputs`, another for each role and element."""
    kind = "b64" if shape.type == "b128" else shape.type
    memory, operand = _pair(kind)
    chosen = {"memory": memory, "operand": operand, "new": np.roll(operand, 1000)}[role]
    count = 2 if shape.type == "b128" else shape.count
    bits = chosen.view(f"u{chosen.dtype.itemsize}")[:LANES]
    columns = np.stack([np.roll(bits, 17 * number) for number in range(count)], axis=1)
    if shape.type != "b128":
        return columns.reshape(-1)
    return columns.view([("low", "<u8"), ("high", "<u8")]).reshape(-1)


def _contended(form: Form, name: str, bound: dict[str, str], space: str) -> Trial:
    """Many threads at few places: what they find, sorted by place, and what is there in the end.

    Threads at the same place have the same operand, so that the order of
    their turns does not show; sums of floats are exact.
    """
    shape = _Shape(name, bound)
    memory, operand, new = _small(shape)
    operands = [memory, operand, *([new] if shape.swaps else [])]
    out = len(operands)
    target = _place(shape, bound, space, f"%b{out}", "%r50", PLACES)
    body = [f"rem.u32 %r50, %tx, {PLACES};", target.code, _row(shape, 1, "%r50"), shape.load("%d1", 0)]
    if shape.swaps:
        body += [_row(shape, 2, "%r50"), shape.load("%d1", 1)]
    filling = [_row(shape, 0, "%r50"), shape.copy("%d5", target.space, "%d1", "global")]
    if shape.swaps:  # %d1 holds an operand of 64 bits
        filling = [line.replace("%d1", "%d30") for line in filling]
    body += [f"setp.ge.u32 %p19, %tx, {PLACES}; @%p19 bra FILLED;", *filling, "FILLED: bar.sync 0;"]
    body.append(shape.instruction(target.address))
    if shape.returns:
        body += [_row(shape, out + 1), shape.store("%d1", shape.first_found)]
    grid = (1, 1, 1) if space == "global" else (BLOCKS, 1, 1)
    if target.space == "shared":
        body += [f"bar.sync 0; setp.ge.u32 %p19, %tx, {PLACES}; @%p19 bra DONE;"]
        body += [f"mad.lo.u32 %r51, %bx, {PLACES}, %tx;", _row(shape, out, "%r51")]
        body += [shape.copy("%d1", "global", "%d5", "shared"), "DONE:"]
    scale = shape.total // shape.unit
    outputs = [Output(shape.unit, grid[0] * PLACES * scale)]
    if shape.returns:
        outputs.append(Output(shape.unit, grid[0] * THREADS * scale))
    width = scale if shape.type == "b128" else shape.count
    where = "contended" if bound.get("space") or space == "global" else "contended in shared memory"

    def settle(results: Sequence[Array]) -> Sequence[Array]:
        return [results[0], *[_sorted(found, width, shape.type == "b128") for found in results[1:]]]

    return Trial(
        f"{name}; {where}",
        form,
        "\n".join(body),
        tuple(operands),
        tuple(outputs),
        target.before,
        grid,
        settle=settle,
    )


def _small(shape: _Shape) -> tuple[Array, Array, Array]:
    """What the places hold, and what all threads at a place come with."""
    rng = drawn(f"{shape.op} {shape.type}", 3 * PLACES * 16, 4).reshape(3, PLACES, 16)
    kind = shape.type
    if kind == "b128":
        low = (rng[:, :, :2] % 3).astype(np.uint64)
        low[1] = np.where(np.arange(PLACES)[:, None] % 2, low[0], low[1]) if shape.swaps else low[1]
        whole = np.ascontiguousarray(low).view([("low", "<u8"), ("high", "<u8")]).reshape(3, PLACES)
        return whole[0], whole[1], whole[2]
    base = kind.removesuffix("x2")
    count = shape.count * (2 if kind.endswith("x2") else 1)
    numbers = rng[:, :, :count]
    if base in ("f16", "bf16", "f32", "f64"):
        numbers = (numbers % np.uint32(3)).astype(np.float64) + 1
        bits = _floats(numbers, base)
    else:
        if shape.op in ("inc", "dec"):
            numbers = numbers % np.uint32(40)
        wide = numbers.astype(np.uint64) * np.uint64(0x100000001 if shape.size == 8 else 1)
        bits = wide.astype(f"u{shape.size}")
    if shape.swaps:
        bits[1] = np.where(np.arange(PLACES)[:, None] % 2, bits[0], bits[1])
    return bits[0].reshape(-1), bits[1].reshape(-1), bits[2].reshape(-1)


def _floats(numbers: Array, base: str) -> Array:
    if base == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    kind = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[base]
    return numbers.astype(kind).view(f"u{np.dtype(kind).itemsize}")


def _sorted(found: Array, width: int, joined: bool) -> Array:
    """The values found at each place in order; an element of a vector by itself, 128 bits as a whole."""
    rows = found.reshape(-1, THREADS, width)
    place = np.arange(THREADS) % PLACES
    result = np.empty_like(rows)
    for block in range(len(rows)):
        if joined:
            result[block] = rows[block][np.lexsort((rows[block][:, 0], rows[block][:, 1], place))]
            continue
        for element in range(width):
            column = rows[block][:, element]
            result[block][:, element] = column[np.lexsort((column, place))]
    return result.reshape(-1)
