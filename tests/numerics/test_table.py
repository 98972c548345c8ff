"""The opcode table: what it decodes, what it refuses, and that the assembler takes every form in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from teenycuda_cli.emulator.opcodes.table import (
    Form,
    Operation,
    Unsupported,
    decode,
    operand_types,
    spellings,
    supported,
)
from teenycuda_cli.ptx.syntax import Instruction, Name, Negated, Operand, Pair, Vector

R = Name("%r1")


def instruction(name: str, *operands: Operand) -> Instruction:
    """An instruction by its full name."""
    opcode, *modifiers = name.split(".")
    return Instruction(opcode, tuple(modifiers), operands, 0, 0)


def found(name: str, *operands: Operand) -> Operation:
    """The operation, which must exist."""
    operation = decode(instruction(name, *operands))
    assert isinstance(operation, Operation)
    return operation


def refused(name: str, *operands: Operand) -> str:
    """The reason why there is no operation."""
    reason = decode(instruction(name, *operands))
    assert isinstance(reason, Unsupported)
    return reason.reason


def test_types_and_modifiers_are_bound() -> None:
    """An operation knows its modifiers by name and the type of each operand."""
    operation = found("fma.rn.ftz.f32", R, R, R, R)
    assert operation.modifiers["rnd"] == "rn"
    assert operation.modifiers["ftz"] == "ftz"
    assert operation.modifiers["sat"] == ""
    assert (operation.destinations, operation.sources) == (("f32",), ("f32",) * 3)
    wide = found("mad.wide.s32", R, R, R, R)
    assert (wide.destinations, wide.sources) == (("s64",), ("s32", "s32", "s64"))
    assert found("shl.b64", R, R, R).sources == ("b64", "u32")
    assert found("cvt.rn.f16x2.f32", R, R, R).destinations == ("f16x2",)


def test_operand_shapes_choose_the_form() -> None:
    """p|q, vectors and negated predicates are told apart by the operands."""
    assert found("setp.lt.s32", Pair(R, R), R, R).destinations == ("pred", "pred")
    assert found("mov.b64", R, Vector((R, R))).sources == ("b32", "b32")
    assert found("mov.b64", Vector((R, R, R, R)), R).destinations == ("b16",) * 4
    assert found("selp.b32", R, R, R, Negated(R)).sources == ("b32", "b32", "pred")


def test_modifiers_in_any_order() -> None:
    """Modifiers may be permuted, as the assembler has it; types keep their order."""
    assert found("add.sat.ftz.f32", R, R, R).form is found("add.ftz.sat.f32", R, R, R).form
    assert found("cvt.f32.f16", R, R).destinations == ("f32",)
    assert found("cvt.rn.f16.f32", R, R).destinations == ("f16",)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("add.sat.u32", 3),
        ("add.sat.f64", 3),
        ("add.ftz.f64", 3),
        ("mul.wide.u64", 3),
        ("mad.lo.sat.s32", 4),
        ("fma.f32", 4),
        ("setp.lo.s32", 3),
        ("setp.lt.b32", 3),
        ("shr.f32", 3),
        ("cvt.f16.f32", 2),
        ("cvt.sat.s32.s16", 2),
        ("cvt.rzi.f32.s32", 2),
        ("min.relu.u16x2", 3),
        ("add.rz.f16", 3),
        ("tanh.approx.ftz.f32", 2),
        ("add.s32.s32", 3),
    ],
)
def test_illegal_modifiers(name: str, count: int) -> None:
    """Combinations that the ISA does not have are refused with the name."""
    assert name in refused(name, *[R] * count)


def test_reasons() -> None:
    """A refusal says whether the opcode, its form or its operands are wrong."""
    assert refused("frobnicate.b32", R) == "the emulator has no instruction frobnicate"
    assert "add.type d, a, b" in refused("add.s32", R, R)
    assert "setp.cmp" in refused("setp.lt.s32", R, R, Negated(R))


def test_decoding_twice_gives_the_same_operation() -> None:
    """Decoded operations are kept."""
    assert found("add.s32", R, R, R) is found("add.s32", R, R, R)


def test_plain_arithmetic_is_one_ufunc() -> None:
    """Arithmetic without modifiers is a bare numpy function, for the engine to inline."""
    for name in ("add.f32", "sub.rn.f32", "mul.f32", "add.s32", "xor.b32", "min.s32", "div.rn.f32"):
        assert found(name, R, R, R).ufunc is not None, name
    assert found("setp.lt.s32", R, R, R).ufunc is not None


def value_forms() -> list[Form]:
    """Every row that is a value instruction."""
    return [form for form in supported() if form.kind == "value"]


def test_rows_are_documented() -> None:
    """Every row has an anchor in the ISA, and its function says in a sentence what it gives."""
    for form in value_forms():
        assert form.isa.startswith(tuple("abcdefghijklmnopqrstuvwxyz")), form
        assert form.build.__doc__, form


REGISTERS = {
    "%p": "pred",
    "%h": "b8 u8 s8 b16 u16 s16 f16 bf16 e4m3x2 e5m2x2",
    "%r": "b32 u32 s32 tf32 f16x2 bf16x2 u16x2 s16x2",
    "%f": "f32",
    "%d": "f64",
    "%l": "b64 u64 s64 f32x2",
}
LETTER = {kind: letter for letter, kinds in REGISTERS.items() for kind in kinds.split()}
HEADER = """.version 8.8
.target {target}
.address_size 64
.visible .entry k() {{
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b64 %l<9>;
"""


def written(form: Form) -> Iterator[str]:
    """Every full instruction of a row."""
    for name in spellings(form):
        operands, number = [], 1
        for names, kinds in operand_types(form, name):
            registers = []
            for operand, kind in zip(names, kinds, strict=True):
                registers.append("0x3a" if operand == "table" else f"{LETTER[kind]}{number}")
                number += 1
            text = ("|" if kinds[-1] == "pred" else ", ").join(registers)
            operands.append(f"{{{text}}}" if ", " in text else text)
        yield f"{name} {', '.join(operands)};"


def assemble(lines: list[str], target: str) -> str:
    """The assembler's error log, empty where it takes the text."""
    nvjitlink = pytest.importorskip("cuda.bindings.nvjitlink")
    text = "\n".join([HEADER.format(target=target), *lines, "ret;", "}"]).encode()
    handle = nvjitlink.create(2, [f"-arch={target}", "-O0"])
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), "forms.ptx")
        nvjitlink.complete(handle)
    except nvjitlink.nvJitLinkError:
        log = bytearray(nvjitlink.get_error_log_size(handle))
        nvjitlink.get_error_log(handle, log)
        return log.decode(errors="replace")
    finally:
        nvjitlink.destroy(handle)
    return ""


BLACKWELL = ("f32x2", "min{.ftz}{.NaN}{.abs}.f32 d, a, b, c", "max{.ftz}{.NaN}{.abs}.f32 d, a, b, c")


@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_the_assembler_takes_every_form(target: str) -> None:
    """Whatever the table decodes, the assembler accepts."""
    new = target == "sm_100"
    forms = [form for form in value_forms() if any(part in form.syntax for part in BLACKWELL) == new]
    lines = [line for form in forms for line in written(form)]
    assert len(lines) > (20 if new else 5000)
    assert assemble(lines, target) == ""
