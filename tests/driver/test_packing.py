"""Packing by the kernel's own parameters, against struct and numpy."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teenycuda_cli.driver.arguments.language import Scalar, parse_argument
from teenycuda_cli.driver.arguments.packing import declaration, pack_bytes, pack_pointer, pack_scalar
from teenycuda_cli.errors import UsageError
from teenycuda_cli.ptx.parser import parse
from teenycuda_cli.ptx.source import Source
from teenycuda_cli.ptx.syntax import Parameter

FORMATS = {"s8": "b", "u8": "B", "s16": "h", "u16": "H", "s32": "i", "u32": "I", "s64": "q", "u64": "Q"}


def parameter(text: str) -> Parameter:
    """The parameter that a declaration in PTX makes."""
    ptx = f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k({text})\n{{\nret;\n}}\n"
    return parse(Source(ptx.encode(), "k.ptx")).entries[0].parameters[0]


def packed(declared: str, text: str) -> bytes:
    """The bytes that an argument gives a parameter."""
    argument = parse_argument(text, 0)
    assert isinstance(argument.value, Scalar)
    return pack_scalar(argument, parameter(declared), argument.value)


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_integers_as_struct_packs_them(name: str, data: st.DataObject) -> None:
    """A value of the declared range is packed as C would."""
    bits = int(name[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "s" else (0, (1 << bits) - 1)
    value = data.draw(st.integers(low, high))
    assert packed(f".param .{name} p", str(value)) == struct.pack(f"<{FORMATS[name]}", value)
    typed = name.replace("s", "i")
    assert packed(f".param .{name} p", f"{typed}:{value}") == struct.pack(f"<{FORMATS[name]}", value)


@given(st.sampled_from(sorted(FORMATS)), st.integers(-(2**66), 2**66))
def test_integers_that_do_not_fit_are_refused(name: str, value: int) -> None:
    """Whatever needs more bits than the parameter has is refused, with the declaration."""
    bits = int(name[1:])
    if -(1 << (bits - 1)) <= value < 1 << bits:
        assert packed(f".param .{name} p", str(value)) == (value % (1 << bits)).to_bytes(bits // 8, "little")
        return
    with pytest.raises(UsageError, match=rf"does not fit \.param \.{name} p: .* does not fit {bits} bits"):
        packed(f".param .{name} p", str(value))


@given(st.floats(width=32, allow_nan=False))
def test_floats_as_numpy_packs_them(value: float) -> None:
    """f32 goes into .f32 and .b32 and an opaque 4 bytes, f64 into .f64."""
    text = repr(value)
    expected = np.float32(value).tobytes()
    assert packed(".param .f32 p", f"f32:{text}") == expected
    assert packed(".param .f32 p", text) == expected
    assert packed(".param .b32 p", f"f32:{text}") == expected
    assert packed(".param .align 4 .b8 p[4]", f"f32:{text}") == expected
    assert packed(".param .f64 p", f"f64:{text}") == struct.pack("<d", value)


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [
        (".param .align 2 .b8 p[2]", "f16:1.5", "003e"),
        (".param .align 2 .b8 p[2]", "bf16:1.5", "c03f"),
        (".param .u16 p", "f16:1.5", "003e"),
        (".param .b16 p", "bf16:-2", "00c0"),
        (".param .u8 p", "bool:true", "01"),
        (".param .s8 p", "bool:false", "00"),
        (".param .u32 p", "i32:-1", "ffffffff"),
        (".param .u64 p", "i32:-1", "ffffffffffffffff"),
        (".param .u64 p", "4096", "0010000000000000"),
        (".param .b32 p", "i32:7", "07000000"),
        (".param .f32 p", "f32:inf", "0000807f"),
        (".param .f32 p", "1", "0000803f"),
        (".param .align 8 .b8 p[8]", "i64:1", "0100000000000000"),
    ],
)
def test_exact_bytes(declared: str, text: str, expected: str) -> None:
    """Each kind of value has the bytes that a C caller would give."""
    assert packed(declared, text).hex() == expected


@pytest.mark.parametrize(
    ("declared", "text", "says"),
    [
        (
            ".param .u64 .ptr .global .align 16 p",
            "5",
            r"\.param \.u64 \.ptr \.global \.align 16 p: the parameter is a pointer",
        ),
        (".param .f32 p", "i32:5", "i32 is no float"),
        (".param .u32 p", "f32:5", "f32 is a float, the parameter holds an integer"),
        (".param .u32 p", "f32:1.5", "f32 is a float, the parameter holds an integer"),
        (".param .f64 p", "f32:5", "f32 is 4 bytes"),
        (".param .f32 p", "f64:5", "f64 is 8 bytes"),
        (".param .u32 p", "1.5", "not a whole number"),
        (".param .b32 p", "5", "does not tell the type"),
        (".param .align 8 .b8 p[24]", "5", "does not tell the type"),
        (".param .align 8 .b8 p[24]", "i32:5", "i32 is 4 bytes"),
        (".param .align 2 .b8 p[2]", "f16:1e9", "beyond f16"),
        (".param .f32 p", "1e39", "beyond f32"),
        (".param .u8 p", "i32:256", "does not fit 8 bits"),
    ],
)
def test_refusals_show_the_declaration(declared: str, text: str, says: str) -> None:
    """What does not fit is refused with the parameter's declaration."""
    with pytest.raises(UsageError, match=says) as caught:
        packed(declared, text)
    assert "does not fit .param" in caught.value.message


@pytest.mark.parametrize(
    "declared",
    [
        ".param .u64 p",
        ".param .u64 .ptr .global .align 16 p",
        ".param .u64 .ptr .align 1 p",
        ".param .align 8 .b8 p[24]",
        ".param .f32 p",
    ],
)
def test_declarations_read_as_written(declared: str) -> None:
    """A message shows a parameter as the file declares it."""
    assert declaration(parameter(declared)) == declared


def test_pointers_need_eight_bytes() -> None:
    """A pointer goes into a 64-bit integer or 8 opaque bytes, and nowhere else."""
    argument = parse_argument("ptr:0x10", 0)
    for declared in (".param .u64 p", ".param .b64 p", ".param .align 8 .b8 p[8]"):
        assert pack_pointer(argument, parameter(declared), 16) == b"\x10" + bytes(7)
    for declared in (".param .u32 p", ".param .f64 p", ".param .align 8 .b8 p[16]"):
        with pytest.raises(UsageError, match="a pointer is 8 bytes"):
            pack_pointer(argument, parameter(declared), 16)


def test_a_struct_has_the_size_of_its_parameter() -> None:
    """bytes: fits exactly or not at all."""
    argument = parse_argument("bytes:0102030405", 0)
    with pytest.raises(UsageError, match=r"p\[4\]: 5 bytes for 4"):
        pack_bytes(argument, parameter(".param .align 4 .b8 p[4]"), argument.value)  # type: ignore[arg-type]
