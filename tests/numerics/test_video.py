"""Video instructions in kernels, against the steps of the ISA and of an H200 in Python's integers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest

from tests.emulator.harness import Session, entry
from tests.numerics.test_integer import EDGES
from tests.numerics.video_reference import reference

LANES = 64
TYPES = ("u32", "s32")
PARTS = ("", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1")
CHOICES = {2: ("h", 4), 4: ("b", 8)}
"""By the number of elements, how a selector begins and how many elements there are to pick from."""
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
SECOND = (".add", ".min", ".max")

SCALAR = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset")
PARALLEL = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")


def names(opcode: str) -> Iterator[str]:
    """The opcode with every choice of types, saturation, shift mode and comparison."""
    if opcode.startswith("vset"):
        for a, b, compare in itertools.product(TYPES, TYPES, COMPARE):
            yield f"{opcode}.{a}.{b}.{compare}"
        return
    shifts = opcode in ("vshl", "vshr")
    last = ("u32",) if shifts else TYPES
    modes = (".clamp", ".wrap") if shifts else ("",)
    for d, a, b, sat, mode in itertools.product(TYPES, TYPES, last, ("", ".sat"), modes):
        yield f"{opcode}.{d}.{a}.{b}{sat}{mode}"


def scalar(opcode: str, chance: random.Random) -> Iterator[str]:
    """Each name on parts of two operands: alone, merged into a third, combined with a third."""
    for name in names(opcode):
        a, b = (f"{letter}{chance.choice(PARTS)}" for letter in "ab")
        yield f"{name} d, {a}, {b}"
        yield f"{name} d{chance.choice(PARTS[1:])}, {a}, {b}, c"
        yield f"{name}{chance.choice(SECOND)} d, {a}, {b}, c"


def parallel(opcode: str, count: int, chance: random.Random) -> Iterator[str]:
    """Each name on elements picked from two operands into some of those of a third, or added to it."""
    letter, pool = CHOICES[count]
    order = "3210"[-count:]

    def mask() -> str:
        written = "".join(place for place in order if chance.random() < 0.6)
        return f".{letter}{written}" if written else ""

    def picked() -> str:
        return f".{letter}{''.join(str(chance.randrange(pool)) for _ in range(count))}"

    for name in names(f"{opcode}{count}"):
        yield f"{name} d, a, b, c"
        a, b = (picked().replace(".b1024", ".b1020") for _ in range(2))  # which ptxas takes for a type
        yield f"{name} d{mask()}, a{a}, b{b}, c"
        if ".sat" not in name:
            yield f"{name}.add d{mask()}, a{picked()}, b, c"


def multiply_add(chance: random.Random) -> Iterator[str]:
    """vmad with every choice of types, sign, scale and saturation."""
    signs = (("", "", ""), ("-", "", ""), ("", "-", ""), ("", "", "-"), ("-", "-", ""), ("-", "-", "-"))
    choices = itertools.product(TYPES, TYPES, ("", ".sat"), ("", ".shr7", ".shr15"), (*signs, None))
    for a_type, b_type, sat, scale, minus in choices:
        name = f"vmad.{chance.choice(TYPES)}.{a_type}.{b_type}{'' if minus else '.po'}{sat}{scale}"
        a_sign, b_sign, c_sign = minus or ("", "", "")
        a, b = (chance.choice(PARTS) for _ in range(2))
        yield f"{name} d, {a_sign}a{a}, {b_sign}b{b}, {c_sign}c"


def operands(chance: random.Random) -> list[list[int]]:
    """Three words a lane: edge cases, small amounts, any bits."""

    def word() -> int:
        kind = chance.randrange(4)
        if kind == 0:
            return chance.choice(EDGES[32])
        return chance.randrange(40) if kind == 1 else chance.getrandbits(32)

    return [[word() for _ in range(LANES)] for _ in "abc"]


def results(texts: list[str], columns: list[list[int]]) -> np.ndarray:
    """What a kernel gives for each instruction, a row each."""
    body = (
        ".reg .b32 a, b, c, d; .reg .b64 at; .reg .b32 lane; mov.u32 lane, %tid.x; mul.wide.u32 at, lane, 4;"
        "add.u64 %out, %out, at; ld.param.u64 %d1, [in]; add.u64 %d1, %d1, at;"
        + "".join(f"ld.global.b32 {name}, [%d1+{4 * LANES * index}];" for index, name in enumerate("abc"))
    )
    for index, text in enumerate(texts):
        body += f"{text}; st.global.b32 [%out+{4 * LANES * index}], d;\n"
    session = Session(entry(body + "ret;", ".param .u64 in, .param .u64 out"))
    given = session.buffer("in", np.array(columns, np.uint32))
    out = session.buffer("out", np.zeros(LANES * len(texts), np.uint32))
    session.launch(given, out, block=(LANES,))
    return session.values("out", np.uint32).reshape(len(texts), LANES)


def check(texts: list[str], chance: random.Random) -> None:
    """Each instruction gives the reference's bits in every lane."""
    columns = operands(chance)
    for text, row in zip(texts, results(texts, columns).tolist(), strict=True):
        for given, own in zip(zip(*columns, strict=True), row, strict=True):
            expected = reference(text, *given)
            assert own == expected, f"{text} of {[hex(v) for v in given]}: {own:#x}, not {expected:#x}"


@pytest.mark.parametrize("opcode", SCALAR)
def test_scalar(opcode: str) -> None:
    """A scalar instruction works on parts of words, clamps, merges and combines."""
    chance = random.Random(opcode)
    check([*scalar(opcode, chance), *scalar(opcode, chance)], chance)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("opcode", PARALLEL)
def test_parallel(opcode: str, count: int) -> None:
    """A SIMD instruction works on elements picked from both sources, and writes or adds those of the mask."""
    chance = random.Random(f"{opcode}{count}")
    check([*parallel(opcode, count, chance), *parallel(opcode, count, chance)], chance)


def test_multiply_add() -> None:
    """vmad adds to a product or takes away one of both, and scales and clamps 64 bits."""
    chance = random.Random("vmad")
    check([*multiply_add(chance), *multiply_add(chance)], chance)


def test_constants() -> None:
    """Sources of scalar instructions may be constants."""
    values = {"a": 0x1234, "b": 7, "c": -5}
    written = ["vadd.s32.s32.s32 d, {a}, b.h1", "vsub.s32.s32.s32.sat.max d, a.b2, {b}, {c}"]
    written += ["vset.s32.u32.lt.add d, {a}, {b}, {c}", "vmad.s32.s32.s32 d, {a}, {b}, {c}"]
    written += ["vmax.u32.u32.s32 d.b1, {a}, {b}, {c}", "vshl.u32.u32.u32.clamp d, {a}, {b}"]
    chance = random.Random("constants")
    columns = operands(chance)
    rows = results([text.format_map(values) for text in written], columns)
    for text, row in zip(written, rows.tolist(), strict=True):
        named = text.translate({ord("{"): None, ord("}"): None})
        for given, own in zip(zip(*columns, strict=True), row, strict=True):
            a, b, c = (
                values[name] & 0xFFFFFFFF if f"{{{name}}}" in text else word
                for name, word in zip("abc", given, strict=True)
            )
            assert own == reference(named, a, b, c), text


RECORDED = """
vadd.u32.u32.u32 d.h1, a.b1, b.b3, c            | 1b4e968c fffffff6 fad937a4 | 000037a4
vadd.u32.s32.u32.sat d.b2, a, b.b1, c           | ffffffff 80000001 7ffffffe | 7ffffffe
vadd.u32.u32.u32.sat.add d, a, b, c             | 1b4e968c fffffff6 fad937a4 | 1627ce26
vadd.u32.u32.s32.min d, a.b3, b.b2, c           | 00000002 7fffffff 00000055 | 00000055
vmad.u32.u32.u32.sat d, a.b2, b.b1, c           | 1b4e968c fffffff6 fad937a4 | 00000000
vmad.u32.u32.s32.sat.shr7 d, a, b, c            | ffffffff 80000001 7ffffffe | 01ffffff
vmin.s32.u32.s32.sat d.h0, a.h0, b.b3, c        | 1b4e968c fffffff6 fad937a4 | fad97fff
vset.s32.u32.lt.min d, a.b0, b.b0, c            | 1b4e968c fffffff6 fad937a4 | fad937a4
vshl.u32.u32.u32.sat.clamp d, a.b3, b           | 7ffffffe 0000002d 00000000 | 00000000
vshr.u32.u32.u32.sat.clamp d.b3, a.h0, b.b0, c  | 50ffdace 0000000f f462ae4a | 0162ae4a
"""
"""What an H200 gives where it does not do what the ISA says: instruction, operands, result."""


def test_recorded() -> None:
    """Where an H200 leaves the ISA, results are those of the H200."""
    rows = [[part.strip() for part in line.split("|")] for line in RECORDED.strip().splitlines()]
    columns = [[int(words.split()[index], 16) for _, words, _ in rows] for index in range(3)]
    columns = [column + [0] * (LANES - len(column)) for column in columns]
    for lane, row in enumerate(results([text for text, _, _ in rows], columns).tolist()):
        assert row[lane] == int(rows[lane][2], 16), rows[lane][0]
