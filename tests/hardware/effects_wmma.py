"""Trials of wmma: registers after a load, memory after a store, and products of ordinary numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.inputs import Array
from tests.hardware.trials import Output, Trial, drawn

WARP = 32
MEMORY = 8192
"""Bytes that no matrix exceeds."""

PADDED = {
    "f16": 40,
    "bf16": 40,
    "tf32": 36,
    "f32": 36,
    "s32": 36,
    "f64": 18,
    "s8": 48,
    "u8": 48,
    "s4": 64,
    "u4": 64,
}
PADDED |= {"b1": 256}
"""The stride from one row or column to the next, in elements."""

_SHARED = f".shared .align 128 .b8 NAMEs[{MEMORY}];"
_LETTER = {"f32": "f", "f64": "g"}


def _names(types: tuple[str, ...], first: int) -> list[str]:
    letter = _LETTER.get(types[0], "r")
    return [f"%{letter}{first + number}" for number in range(len(types))]


def _moved(opcode: str, types: tuple[str, ...], first: int, buffer: str) -> str:
    """A lane's registers from, or to, its part of a buffer."""
    kind, size = (types[0], 8) if types[0] == "f64" else (types[0] if types[0] == "f32" else "b32", 4)
    text = f"mad.wide.u32 %d1, %tx, {size * len(types)}, {buffer};"
    for number, register in enumerate(_names(types, first)):
        place = f"[%d1+{size * number}]"
        operands = f"{register}, {place}" if opcode == "ld" else f"{place}, {register}"
        text += f" {opcode}.global.{kind} {operands};"
    return text


def _copied(buffer: str, label: str, *, back: bool = False) -> str:
    """All of a matrix's memory from global to shared, or back."""
    moves = "ld.global.b32 %r51, [%d2]; st.shared.b32 [%d3], %r51;"
    if back:
        moves = "ld.shared.b32 %r51, [%d3]; st.global.b32 [%d2], %r51;"
    return f"""
    bar.sync 0; mov.u32 %r50, %tx;
    {label}: mul.wide.u32 %d1, %r50, 4; mov.u64 %d3, NAMEs; add.u64 %d3, %d3, %d1; add.u64 %d2, {buffer}, %d1;
    {moves} add.u32 %r50, %r50, {WARP}; setp.lt.u32 %p1, %r50, {MEMORY // 4}; @%p1 bra {label}; bar.sync 0;
    """


def _braced(types: tuple[str, ...], first: int) -> str:
    return "{" + ", ".join(_names(types, first)) + "}"


def _numbers(name: str, kind: str, count: int) -> Array:
    """Registers that hold ordinary numbers of a type: floats between -2 and 2, or any bits."""
    bits = drawn(name, count * 4)
    values = bits.astype(np.float64) / (1 << 30) - 2
    if kind == "f64":
        return values[:count].view(np.uint64)
    if kind in ("f32", "tf32"):
        return values[:count].astype(np.float32).view(np.uint32)
    if kind == "f16":
        return values[: 2 * count].astype(np.float16).view(np.uint32)
    if kind == "bf16":
        return (
            (values[: 2 * count].astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
        )
    return bits[:count]


def _load(form: Form, name: str, bound: dict[str, str]) -> Trial:
    types = form.vectors["d"](bound)
    shared = bound["space"].startswith("shared")
    fill = _copied("%b0", "FILL") if shared else ""
    where = "NAMEs" if shared else "%b0"
    instruction = f"{name} {_braced(types, 10)}, [{where}], {PADDED[bound['type']]};"
    body = f"{fill}\n{instruction}\n{_moved('st', types, 10, '%b1')}"
    size = 8 if types[0] == "f64" else 4
    outputs = (Output(size, WARP * len(types)),)
    given = drawn("wmma memory", MEMORY // 4)
    before = _SHARED if shared else ""
    return Trial(f"{name} d, [a], stride", form, body, (given,), outputs, before, block=(WARP, 1, 1))


def _store(form: Form, name: str, bound: dict[str, str]) -> Trial:
    types = form.vectors["b"](bound)
    shared = bound["space"].startswith("shared")
    where = "NAMEs" if shared else "%b1"
    fill = _copied("%b1", "FILL") if shared else ""
    back = _copied("%b1", "BACK", back=True) if shared else ""
    instruction = f"{name} [{where}], {_braced(types, 10)}, {PADDED[bound['type']]};"
    body = f"{_moved('ld', types, 10, '%b0')}\n{fill}\n{instruction}\n{back}"
    given = _numbers("wmma registers", bound["type"], WARP * len(types))
    before = _SHARED if shared else ""
    outputs = (Output(4, MEMORY // 4),)
    return Trial(f"{name} [a], b, stride", form, body, (given,), outputs, before, block=(WARP, 1, 1))


def _product(form: Form, name: str, bound: dict[str, str]) -> Trial:
    factor = bound.get("atype", "f16")
    types = {letter: form.vectors[letter](bound) for letter in "abcd"}
    kinds = {"a": factor, "b": factor, "c": bound["ctype"]}
    given = tuple(_numbers(f"wmma {m}", kinds[m], WARP * len(types[m])) for m in "abc")
    firsts = {"a": 0, "b": 10, "c": 20, "d": 30}
    loads = "\n".join(_moved("ld", types[m], firsts[m], f"%b{number}") for number, m in enumerate("abc"))
    vectors = ", ".join(_braced(types[m], firsts[m]) for m in "dabc")
    body = f"{loads}\n{name} {vectors};\n{_moved('st', types['d'], firsts['d'], '%b3')}"
    outputs = (Output(8 if types["d"][0] == "f64" else 4, WARP * len(types["d"])),)
    return Trial(f"{name} d, a, b, c", form, body, given, outputs, block=(WARP, 1, 1))


def wmma(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Each form once, in one warp."""
    if "load" in bound:
        yield _load(form, name, bound)
    elif "store" in bound:
        yield _store(form, name, bound)
    else:
        yield _product(form, name, bound)


RECIPES = {"wmma": wmma}
