"""Inputs for a list of operands, made from its names alone: edge cases crossed, related values, random ones.

Everything is bits in the operand's dtype as the emulator takes it. One operand
of 16 bits (or two packed bytes) gets all 65536 patterns.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype
from tests.hardware import floats, integers
from tests.hardware.counter import Bits, Counter
from tests.hardware.floats import FORMATS, Format

Array = np.ndarray[Any, Any]
LANES = 4096
CROSSED = 1536
RELATED = 640
NEAR_LIMITS = 384
ALL_16 = 65536


@dataclass(frozen=True, slots=True)
class Source:
    """A source operand: its PTX type, and its role where that asks for values of its own ("amount")."""

    type: str
    role: str = ""

    @property
    def text(self) -> str:
        """`u32:amount`."""
        return f"{self.type}:{self.role}" if self.role else self.type


def signature(sources: Sequence[Source]) -> str:
    """What inputs are made from: `f32,f32,u32:amount`."""
    return ",".join(source.text for source in sources)


def inputs(sources: Sequence[Source]) -> tuple[Array, ...]:
    """An array an operand, all of the same length."""
    whole = _whole(sources)
    columns = whole if whole is not None else _lanes(sources)
    return tuple(_typed(column, source.type) for column, source in zip(columns, sources, strict=True))


def lanes_of(sources: Sequence[Source]) -> int:
    """How many lanes their inputs have."""
    if not sources[0].role and len(sources) == 1 and _is_whole(sources[0].type):
        return ALL_16
    return 2 * LANES if sources[0].role in _RANGES else LANES


def digest(arrays: Sequence[Array]) -> str:
    """A hash of inputs, to notice when they are no longer those that were recorded."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:16]


def _typed(column: Bits, name: str) -> Array:
    kind = dtype(name)
    if kind == np.bool_:
        return (column & np.uint64(1)).astype(np.bool_)
    return column.astype(f"u{kind.itemsize}").view(kind)


# --------------------------------------------------------------- one operand


def _parts(name: str) -> tuple[str, int]:
    """The element of a packed type and how many there are: `f16x2` → f16, 2."""
    base, _, count = name.partition("x")
    return base, int(count or 1)


def _whole(sources: Sequence[Source]) -> list[Bits] | None:
    """All patterns of a single 16-bit operand; both halves of a packed one go through them."""
    if lanes_of(sources) != ALL_16:
        return None
    every = np.arange(ALL_16, dtype=np.uint64)
    if dtype(sources[0].type).itemsize == 2:
        return [every]
    other = (every * np.uint64(40503) + np.uint64(12345)) & np.uint64(0xFFFF)
    return [every | other << np.uint64(16)]


def _is_whole(name: str) -> bool:
    base, count = _parts(name)
    return dtype(name).itemsize == 2 or (count == 2 and base in ("f16", "bf16", "u16", "s16"))


def _width(name: str) -> int:
    return 1 if name == "pred" else 8 * dtype(name).itemsize


def _few(name: str) -> list[int]:
    if name in FORMATS:
        return floats.few(FORMATS[name])
    return [0, 1] if name == "pred" else integers.few(_width(name))


def _edges(source: Source, counter: Counter) -> Bits:
    if source.role:
        return (
            integers.ROLES[source.role](counter, 64)
            if source.role in integers.ROLES
            else _drawn(source, counter, 64)
        )
    if source.type in FORMATS:
        return np.array(floats.edges(FORMATS[source.type]), np.uint64)
    return np.array([0, 1] if source.type == "pred" else integers.edges(_width(source.type)), np.uint64)


def _drawn(source: Source, counter: Counter, count: int) -> Bits:
    """Random values of one operand."""
    if source.role in integers.ROLES:
        return integers.ROLES[source.role](counter, count)
    if source.role:
        return _in_range(FORMATS[source.type], _RANGES[source.role], counter, count)
    base, elements = _parts(source.type)
    if elements > 1 and base in (*FORMATS, "u16", "s16"):
        width = _width(base)
        columns = [_drawn(Source(base), counter, count) for _ in range(elements)]
        return _joined(columns, width)
    if source.type in FORMATS:
        return floats.draw(FORMATS[source.type], counter, count)
    return integers.draw(_width(source.type), counter, count)


def _joined(columns: Sequence[Bits], width: int) -> Bits:
    total = columns[0]
    for index, column in enumerate(columns[1:], 1):
        total = total | column << np.uint64(width * index)
    return total


_RANGES: dict[str, tuple[float, ...]] = {
    "angle": (6.2831855, 0.05, 320.0, 1e5),
    "power": (1.0, 12.0, 130.0, 152.0),
    "unit": (1.0, 2.0, 4.0, 20.0),
}


def _in_range(format: Format, limits: tuple[float, ...], counter: Counter, count: int) -> Bits:
    """Values spread evenly within ± each limit, one in four of any kind; f32 alone."""
    fraction = (counter.bits(count) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    limit = np.array(limits)[counter.below(len(limits), count).astype(np.int64)]
    spread = (fraction * limit).astype(np.float32).view(np.uint32).astype(np.uint64)
    return np.where(counter.below(4, count) == 0, floats.draw(format, counter, count), spread)


# -------------------------------------------------------------- all operands


def _lanes(sources: Sequence[Source]) -> list[Bits]:
    """`few` crossed as far as they fit, related values, random ones; shuffled, so that any part shows all."""
    counter = Counter(signature(sources))
    lanes = lanes_of(sources)
    blocks = [_crossed(sources, counter), _edge_draws(sources, counter)]
    if len(sources) > 1:
        blocks.append(_related(sources, counter, RELATED))
        blocks.append(_near_limits(sources, counter, NEAR_LIMITS))
    rest = lanes - sum(len(block[0]) for block in blocks)
    blocks.append([_drawn(source, counter, rest) for source in sources])
    order = counter.order(lanes)
    return [np.concatenate(column)[order] for column in zip(*blocks, strict=True)]


def _crossed(sources: Sequence[Source], counter: Counter) -> list[Bits]:
    """Every combination of the operands' few values; where those are too many, fewer values each."""
    lists = [
        _edges(source, counter).tolist() if source.role or _parts(source.type)[1] > 1 else _few(source.type)
        for source in sources
    ]
    if len(sources) == 1:
        values = np.unique(_edges(sources[0], counter))[: LANES // 2]
        return [values]
    while np.prod([len(values) for values in lists]) > CROSSED:
        longest = max(range(len(lists)), key=lambda index: len(lists[index]))
        lists[longest] = lists[longest][:-1]
    return [np.array(column, np.uint64) for column in zip(*itertools.product(*lists), strict=True)]


def _edge_draws(sources: Sequence[Source], counter: Counter) -> list[Bits]:
    """Edge cases of each operand, met at random; packed types join two."""
    columns = []
    for source in sources:
        base, elements = _parts(source.type)
        if elements > 1 and base in FORMATS and not source.role:
            listed = np.array(floats.edges(FORMATS[base]), np.uint64)
            parts = [counter.choice(listed, 512) for _ in range(elements)]
            columns.append(_joined(parts, _width(base)))
        else:
            columns.append(counter.choice(_edges(source, counter), 512))
    return columns


def _related(sources: Sequence[Source], counter: Counter, count: int) -> list[Bits]:
    """The second operand equal to the first, its opposite or a neighbour, the third against their product."""
    columns = [_drawn(source, counter, count) for source in sources]
    first, second = sources[0], sources[1]
    if first.type == second.type and not second.role and first.type != "pred":
        base, elements = _parts(first.type)
        bits = _width(base) if elements > 1 else _width(first.type)
        columns[1] = _neighbours(columns[0], bits, elements, base in FORMATS, counter)
        third = sources[2] if len(sources) > 2 else None
        if third is not None and third.type == first.type and base in FORMATS:
            half = count // 2
            columns[1] = np.where(np.arange(count) < half, _drawn(second, counter, count), columns[1])
            columns[2] = _against_product(columns[0], columns[1], columns[2], base, elements, counter)
    return columns


def _near_limits(sources: Sequence[Source], counter: Counter, count: int) -> list[Bits]:
    """Floats whose product or quotient is about the least normal or the greatest, the third one tiny."""
    columns = [_drawn(source, counter, count) for source in sources]
    base, elements = _parts(sources[0].type)
    if base not in FORMATS or sources[1].type != sources[0].type or sources[0].role:
        return columns
    format = FORMATS[base]
    mask = np.uint64((1 << format.width) - 1)
    parts: list[list[Bits]] = [[], [], []]
    for index in range(elements):
        shift = np.uint64(format.width * index)
        first = floats.normal(format, counter, count)
        parts[0].append(first)
        parts[1].append(floats.opposite(format, first, counter))
        third = (columns[2] >> shift) & mask if len(columns) > 2 else first
        parts[2].append(np.where(counter.below(3, count) == 0, third, floats.tiny(format, counter, count)))
    for index, column in enumerate(parts[: len(sources)]):
        if sources[index].type == sources[0].type:
            columns[index] = _joined(column, format.width)
    return columns


def _neighbours(values: Bits, width: int, elements: int, is_float: bool, counter: Counter) -> Bits:
    mask = np.uint64((1 << width) - 1)
    results = []
    for index in range(elements):
        value = (values >> np.uint64(width * index)) & mask
        step = counter.below(5, len(values)) - np.uint64(2)
        flipped = value ^ np.uint64(1 << (width - 1)) if is_float else np.uint64(0) - value
        near = np.where(counter.below(2, len(values)) == 0, value, flipped)
        results.append((near + step) & mask)
    return _joined(results, width)


_NATIVE: dict[str, type[np.floating[Any]]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def _against_product(a: Bits, b: Bits, c: Bits, base: str, elements: int, counter: Counter) -> Bits:
    """−a·b rounded, so that a·b + c cancels but for the rounding; every fourth lane keeps c."""
    width = _width(base)
    mask = np.uint64((1 << width) - 1)
    parts = []
    for index in range(elements):
        shift = np.uint64(width * index)
        opposite = _product(base, (a >> shift) & mask, (b >> shift) & mask) ^ np.uint64(1 << (width - 1))
        moved = (opposite + counter.below(3, len(a)) - np.uint64(1)) & mask
        parts.append(np.where(counter.below(4, len(a)) == 0, (c >> shift) & mask, moved))
    return _joined(parts, width)


def _product(base: str, a: Bits, b: Bits) -> Bits:
    def value(bits: Bits) -> Array:
        if base == "bf16":
            return (bits << np.uint64(16)).astype(np.uint32).view(np.float32)
        kind = _NATIVE[base]
        return bits.astype(f"u{np.dtype(kind).itemsize}").view(kind)

    with np.errstate(all="ignore"):
        product = value(a) * value(b)
    bits = product.view(f"u{product.dtype.itemsize}").astype(np.uint64)
    if base == "bf16":
        bits >>= np.uint64(16)
    return np.where(np.isnan(product), a, bits)  # a NaN's payload depends on the processor
