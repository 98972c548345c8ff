"""Types, their sizes, and where parameters lie."""

from __future__ import annotations

from collections.abc import Iterable

from teenycuda_cli.ptx.signatures import Parameter, Variable

SIZES = {
    "b8": 1, "u8": 1, "s8": 1,
    "b16": 2, "u16": 2, "s16": 2, "f16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8,
    "b128": 16,
    "texref": 8, "samplerref": 8, "surfref": 8,
}  # fmt: skip
OPAQUE = frozenset(("texref", "samplerref", "surfref"))
# Types that instructions know and declarations do not.
INSTRUCTION_TYPES = frozenset(
    (
        *("bf16", "bf16x2", "tf32", "e4m3", "e5m2", "e4m3x2", "e5m2x2", "e2m1", "e2m3", "e3m2", "ue8m0"),
        *("u4", "s4", "b4", "b1", "u2", "s2", "b2", "s128", "u128"),
    )
)


def product(shape: Iterable[int | None]) -> int | None:
    """The number of elements of a shape; None where an extent is open."""
    count = 1
    for extent in shape:
        if extent is None:
            return None
        count *= extent
    return count


def launch_layout(variables: Iterable[Variable]) -> tuple[Parameter, ...]:
    """Where an entry's parameters lie, as `cuFuncGetParamInfo` gives it: in order, each at its alignment."""
    parameters: list[Parameter] = []
    end = 0
    for index, variable in enumerate(variables):
        align, size = variable.align, variable.size or 0
        offset = (end + align - 1) // align * align
        end = offset + size
        pointer, array = variable.pointer, bool(variable.shape)
        parameters.append(
            Parameter(
                index, variable.name, variable.type, size, align, offset, pointer, variable.offset, array
            )
        )
    return tuple(parameters)


def element_size(variable: Variable) -> int:
    """Bytes from one element of an array to the next."""
    return SIZES[variable.type] * variable.vector * (product(variable.shape[1:]) or 1)
