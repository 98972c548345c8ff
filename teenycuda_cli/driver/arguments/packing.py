"""Arguments packed by the kernel's own parameters: by PTX type and size, never by the Python type."""

from __future__ import annotations

from math import isfinite
from typing import NoReturn

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import encode, greatest
from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES, ElementType
from teenycuda_cli.driver.arguments.language import Argument, Bytes, Scalar
from teenycuda_cli.driver.arguments.numbers import whole
from teenycuda_cli.errors import UsageError
from teenycuda_cli.files import read_input
from teenycuda_cli.ptx.signatures import Parameter
from teenycuda_cli.wording import counted

POINTER_BYTES = 8


def declaration(parameter: Parameter) -> str:
    """The parameter as PTX declares it, e.g. `.param .u64 .ptr .global .align 16 x`."""
    if not parameter.type:  # of a cubin
        return f"parameter {parameter.index} ({counted(parameter.size, 'byte')} at offset {parameter.offset})"
    words = [".param"]
    if parameter.array:
        words.append(f".align {parameter.align}")
    words.append(f".{parameter.type}")
    if parameter.pointer:
        space = parameter.pointer.space
        words.append(".ptr" if space == "generic" else f".ptr .{space}")
        words.append(f".align {parameter.pointer.align}")
    words.append(parameter.name)
    text = " ".join(words)
    return f"{text}[{parameter.size // _width(parameter)}]" if parameter.array else text


def pack_pointer(argument: Argument, parameter: Parameter, address: int) -> bytes:
    """A device address, for a 64-bit integer parameter or 8 opaque bytes."""
    if parameter.size != POINTER_BYTES or (_is_float(parameter) and not parameter.array):
        _refuse(argument, parameter, "a pointer is 8 bytes", None)
    return address.to_bytes(POINTER_BYTES, "little")


def pack_bytes(argument: Argument, parameter: Parameter, value: Bytes) -> bytes:
    """A struct by value: exactly the parameter's size."""
    data = read_input(value.file) if value.file is not None else value.data or b""
    if len(data) != parameter.size:
        _refuse(argument, parameter, f"{counted(len(data), 'byte')} for {parameter.size}", None)
    return data


def pack_scalar(argument: Argument, parameter: Parameter, value: Scalar) -> bytes:
    """A number in the parameter's own type and size, range-checked.

    An integer goes into any integer parameter that holds its value (negative
    ones in two's complement, whatever the declared sign: compilers declare a C
    `int` as `.u32`); floats go into a float of the same size, or into bits.
    """
    if parameter.pointer is not None:
        known = isinstance(value.number, int) and value.number > 0
        hint = f"write ptr:{value.number:#x}" if known else "write ptr:null or ptr:BUFFER"
        _refuse(argument, parameter, "the parameter is a pointer", hint)
    element = value.type or _type_of(argument, parameter, value)
    if element.kind != "float":
        return _pack_integer(argument, parameter, element, int(value.number))
    number = value.number
    if parameter.size != element.size or (_is_float(parameter) and _is_other_float(parameter, element)):
        advice = _pointer_hint(parameter, element, value) or _suggestion(parameter, value)
        _refuse(argument, parameter, f"{element.name} is {counted(element.size, 'byte')}", advice)
    if _is_other_float(parameter, element):
        advice = _pointer_hint(parameter, element, value) or _number_hint(parameter, value)
        _refuse(argument, parameter, f"{element.name} is a float, the parameter holds an integer", advice)
    if (isinstance(number, int) or isfinite(number)) and abs(number) > greatest(element):
        _refuse(argument, parameter, f"{value.text} is beyond {element.name}'s {greatest(element):g}",
                f"write {element.name}:inf for infinity")  # fmt: skip
    return encode(element, np.array([number], dtype=np.float64)).tobytes()


def scalar_type(parameter: Parameter) -> ElementType | None:
    """The element type that a parameter's declaration tells, or None for bits and structs."""
    if parameter.array or not parameter.type:
        return None
    name = parameter.type.replace("s", "i", 1) if parameter.type[0] == "s" else parameter.type
    return ELEMENT_TYPES.get(name)


def _type_of(argument: Argument, parameter: Parameter, value: Scalar) -> ElementType:
    element = scalar_type(parameter)
    if element is None:
        _refuse(
            argument,
            parameter,
            "the signature does not tell the type of a bare number",
            _suggestion(parameter, value),
        )
    if element.kind != "float" and isinstance(whole(value.number), float):
        _refuse(argument, parameter, f"{value.text} is not a whole number", None)
    return element


def _pack_integer(argument: Argument, parameter: Parameter, element: ElementType, number: int) -> bytes:
    if _is_float(parameter) and not parameter.array:
        _refuse(argument, parameter, f"{element.name} is no float", _suggestion(parameter, None, str(number)))
    if parameter.array and parameter.size != element.size:
        _refuse(
            argument,
            parameter,
            f"{element.name} is {counted(element.size, 'byte')}",
            "give a struct as bytes:HEX",
        )
    size = parameter.size
    if not -(1 << (size * 8 - 1)) <= number < 1 << (size * 8):
        _refuse(argument, parameter, f"{number} does not fit {size * 8} bits", None)
    return (number % (1 << (size * 8))).to_bytes(size, "little")


def _width(parameter: Parameter) -> int:
    """Bytes of one element of an array parameter."""
    digits = "".join(character for character in parameter.type if character.isdigit())
    return max(1, int(digits) // 8) if digits else 1


def _is_float(parameter: Parameter) -> bool:
    return parameter.type[:1] == "f" or parameter.type.startswith("bf")


def _is_other_float(parameter: Parameter, element: ElementType) -> bool:
    """A float parameter of another format, or an integer one that is as wide as a number (not as bits)."""
    if parameter.array or not parameter.type or (parameter.type[0] == "b" and parameter.type[1:2].isdigit()):
        return False
    if _is_float(parameter):
        return parameter.type != element.name
    return element.size > 2  # a half has no type of its own as a parameter, and comes as .u16


def _suggestion(parameter: Parameter, value: Scalar | None, text: str | None = None) -> str | None:
    shown = text if text is not None else value.text if value else "…"
    element = scalar_type(parameter)
    if element is not None:
        return f"write {element.name}:{shown}"
    if parameter.size in {1, 2, 4, 8} and not parameter.type.startswith("."):
        names = [e.name for e in ELEMENT_TYPES.values() if e.scalar and e.size == parameter.size]
        return "say which type it is: " + ", ".join(f"{name}:{shown}" for name in names)
    return "a struct by value is given as bytes:HEX or bytes:@FILE"


def _number_hint(parameter: Parameter, value: Scalar) -> str | None:
    """How to write a whole number for an integer parameter; None for any other number."""
    return _suggestion(parameter, value) if isinstance(whole(value.number), int) else None


def _pointer_hint(parameter: Parameter, element: ElementType, value: Scalar) -> str | None:
    """For a float where 8 bytes are no float: most likely a pointer, to such numbers."""
    if parameter.size != POINTER_BYTES or parameter.array or _is_float(parameter):
        return None
    number = _number_hint(parameter, value) if parameter.type else None
    hint = f"if it is a pointer, give a buffer: ptr:4096x{element.name}"
    return f"{hint}; if a number, {number}" if number else hint


def _refuse(argument: Argument, parameter: Parameter, why: str, hint: str | None) -> NoReturn:
    raise UsageError(
        f"argument {argument.name!r} ({argument.text}) does not fit {declaration(parameter)}: {why}",
        hint=hint,
    )
