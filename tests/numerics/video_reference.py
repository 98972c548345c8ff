"""Video instructions on one lane in Python's unbounded integers, step by step as the ISA tells them.

An instruction is told by its text: `vadd.s32.u32.s32.sat d.h1, a.b0, b, c`.
Where an H200 gives something else, a step says "not as the ISA".
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import NamedTuple

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
COMBINE: dict[str, Callable[[int, int], int]] = {"add": operator.add, "min": min, "max": max}


def average(a: int, b: int) -> int:
    """Half of the sum, halves rounded away from zero."""
    total = a + b
    return (total + 1) // 2 if total >= 0 else -((1 - total) // 2)


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "vadd": operator.add,
    "vsub": operator.sub,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
    "vavrg": average,
}


class Written(NamedTuple):
    """An instruction taken apart."""

    opcode: str
    types: tuple[str, ...]
    others: frozenset[str]  # the modifiers that are no types
    selectors: tuple[str, ...]  # an operand each, empty where nothing is selected
    minus: tuple[bool, ...]  # an operand each


def read(text: str) -> Written:
    """An instruction's text, taken apart."""
    name, _, rest = text.partition(" ")
    opcode, *modifiers = name.split(".")
    operands = [operand.strip() for operand in rest.split(",")]
    types = tuple(item for item in modifiers if re.fullmatch(r"[us]32", item))
    return Written(
        opcode,
        types,
        frozenset(modifiers) - {*types},
        tuple(operand.partition(".")[2] for operand in operands),
        tuple(operand.startswith("-") for operand in operands),
    )


def value_of(bits: int, size: int, kind: str) -> int:
    """So many low bits as a number of a type's signedness."""
    bits %= 1 << size
    return bits - (1 << size) if kind == "s32" and bits >= 1 << (size - 1) else bits


def selected(word: int, selector: str, kind: str) -> int:
    """partSelectSignExtend: a byte, a half or the whole word."""
    if not selector:
        return value_of(word, 32, kind)
    size = {"b": 8, "h": 16}[selector[0]]
    return value_of(word >> (size * int(selector[1])), size, kind)


def nearest(value: int, size: int, kind: str) -> int:
    """The number of so many bits that is closest."""
    lowest = -(2 ** (size - 1)) if kind == "s32" else 0
    return sorted((lowest, value, lowest + 2**size - 1))[1]


def inserted(value: int, word: int, size: int, place: int) -> int:
    """optMerge: a word with one of its parts replaced."""
    parts = [word >> at & (2**size - 1) for at in range(0, 32, size)]
    parts[place] = value % 2**size
    return sum(part << size * index for index, part in enumerate(parts))


def saturated(written: Written, value: int) -> int:
    """optSaturate."""
    kind, target = written.types[0], written.selectors[0]
    if written.opcode in ("vshl", "vshr"):  # not as the ISA: 34 bits of it, and to 32 bits for any part
        return nearest(value_of(value, 34, "s32"), 32, kind)
    if target:  # not as the ISA: what is below the range becomes the greatest number too
        greatest = 2 ** ({"b": 8, "h": 16}[target[0]] - (kind == "s32")) - 1
        return value if 0 <= value <= greatest else greatest
    return nearest(value, 32, kind) if kind == "s32" else max(value, 0)  # not as the ISA: no upper limit


def combined(written: Written, value: int, name: str, c: int) -> int:
    """optSecondaryOp."""
    shifts = written.opcode in ("vshl", "vshr") and "sat" in written.others
    if written.opcode in ("vadd", "vsub") or shifts:
        value = value_of(value, 32, "s32")  # not as the ISA: cut, and with a sign
    if written.types[0] == "u32" and value < 0 and name != "add":  # not as the ISA: greater than all
        return c if name == "min" else value
    return COMBINE[name](value, value_of(c, 32, written.types[0]))


def reference(text: str, a: int, b: int, c: int = 0) -> int:
    """The bits that an instruction gives for the bits of its operands."""
    written = read(text)
    if written.opcode == "vmad":
        return multiply_add(written, a, b, c)
    if written.opcode[-1] in "24":
        return parallel(written, a, b, c)
    x, y = (
        selected(word, selector, kind)
        for word, selector, kind in zip((a, b), written.selectors[1:3], written.types[-2:], strict=True)
    )
    value = operate(written, written.opcode, x, y)
    target = written.selectors[0]
    if "sat" in written.others:
        value = saturated(written, value)
    for name in written.others & COMBINE.keys():
        return combined(written, value, name, c) % 2**32
    if target == "h1":  # not as the ISA: its upper half
        value >>= 16
    if target:
        return inserted(value, c, {"b": 8, "h": 16}[target[0]], int(target[1]))
    return value % 2**32


def operate(written: Written, opcode: str, x: int, y: int) -> int:
    """The main operation on two numbers."""
    if opcode in ("vshl", "vshr"):
        amount = y % 32 if "wrap" in written.others else min(y, 32)
        return x << amount if opcode == "vshl" else x >> amount
    if opcode == "vset":
        (name,) = written.others & COMPARE.keys()
        return int(COMPARE[name](x, y))
    return ARITHMETIC[opcode](x, y)


def multiply_add(written: Written, a: int, b: int, c: int) -> int:
    """vmad: the product, with c and maybe 1 added, or one of both taken away, scaled and clamped."""
    _, a_type, b_type = written.types
    _, a_minus, b_minus, c_minus = written.minus
    product_minus = a_minus != b_minus
    is_signed = "s32" in (a_type, b_type) or product_minus or c_minus
    factors = zip((a, b), written.selectors[1:3], (a_type, b_type), strict=True)
    x, y = (selected(word, part, kind if part else "s32") for word, part, kind in factors)
    product, addend = x * y, value_of(c, 32, "s32")  # not as the ISA: words have signs
    total = (-product if product_minus else product) + (-addend if c_minus else addend)
    total += "po" in written.others
    shift = sum({"shr7": 7, "shr15": 15}.get(name, 0) for name in written.others)
    if shift and not is_signed:
        total %= 2**64
    total >>= shift
    return (nearest(total, 32, "s32" if is_signed else "u32") if "sat" in written.others else total) % 2**32


def parallel(written: Written, a: int, b: int, c: int) -> int:
    """An instruction on two halves or four bytes."""
    count = int(written.opcode[-1])
    size = 32 // count
    opcode = written.opcode[:-1]
    types = written.types if opcode != "vset" else ("u32", *written.types)
    mask, a_parts, b_parts = (selector[1:] for selector in written.selectors[:3])
    pool = [word >> at & (2**size - 1) for word in (a, b) for at in range(0, 32, size)]
    lowest_first = ["3210"[-count:], "7654" if count == 4 else "32"]
    lowest_first = [
        (parts or usual)[::-1] for parts, usual in zip((a_parts, b_parts), lowest_first, strict=True)
    ]
    result = c
    for index in range(count):
        if mask and str(index) not in mask:
            continue
        x, y = (
            value_of(pool[int(parts[index])], size, kind)
            for parts, kind in zip(lowest_first, types[1:], strict=True)
        )
        value = operate(written, opcode, x, y)
        if "sat" in written.others:
            value = nearest(value, size, types[0])
        result = result + value if "add" in written.others else inserted(value, result, size, index)
    return result % 2**32
