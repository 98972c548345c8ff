"""Video instructions: vadd vsub vabsdiff vmin vmax vshl vshr vmad vset, and the SIMD ones on 2 and 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import video
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_TYPES = "u32 s32"
_PART = "b[0-3] h[0-1]"
_CMP = "eq ne lt le gt ge"
_SECOND = "add min max"
_ISA = "scalar-video-instructions-"
_SIMD = "simd-video-instructions-"
_REGISTERS = "d:b32 a:b32 b:b32 c:b32"


def _scalar(
    m: Modifiers,
    function: video.Function,
    saturated: video.Function = video.saturated,
    *,
    is_cut: bool = False,
) -> Value:
    signed = tuple(m.get(name, "u32") == "s32" for name in ("dtype", "atype", "btype"))
    parts = tuple(m.get(name, "") for name in ("dsel", "asel", "bsel"))
    saturate = saturated if m.get("sat") else None
    second = m.get("second", "")
    evaluate = video.scalar(function, signed, parts, saturate=saturate, is_cut=is_cut, second=second)
    return Value(blocked(evaluate, "b32"))


def _shifted(m: Modifiers, *, left: bool) -> Value:
    function = video.shift(left=left, wraps=m["mode"] == "wrap")
    return _scalar(m, function, video.saturated_shift, is_cut=bool(m["sat"]))


def _rows(opcode: str, modifiers: str, isa: str, **alternatives: Any) -> Callable[..., Any]:
    """An instruction of two operands, with a third to combine with or to merge into."""
    return op(
        f"{opcode}{modifiers} d, a{{.asel}}, b{{.bsel}}",
        f"{opcode}{modifiers} d{{.dsel}}, a{{.asel}}, b{{.bsel}}, c",
        f"{opcode}{modifiers}.second d, a{{.asel}}, b{{.bsel}}, c",
        isa=_ISA + isa,
        types=_REGISTERS,
        atype=_TYPES,
        second=_SECOND,
        dsel=_PART,
        asel=_PART,
        bsel=_PART,
        **alternatives,
    )


def _arithmetic(opcode: str) -> Callable[..., Any]:
    isa = "vadd-vsub-vabsdiff-vmin-vmax"
    return _rows(opcode, ".dtype.atype.btype{.sat}", isa, dtype=_TYPES, btype=_TYPES)


def _shift(opcode: str) -> Callable[..., Any]:
    return _rows(opcode, ".dtype.atype.u32{.sat}.mode", "vshl-vshr", dtype=_TYPES, mode="clamp wrap")


@_arithmetic("vadd")
def vadd(m: Modifiers) -> Value:
    """The sum of two parts."""
    return _scalar(m, np.add, is_cut=True)


@_arithmetic("vsub")
def vsub(m: Modifiers) -> Value:
    """The difference of two parts."""
    return _scalar(m, np.subtract, is_cut=True)


@_arithmetic("vabsdiff")
def vabsdiff(m: Modifiers) -> Value:
    """The distance of two parts."""
    return _scalar(m, video.distance)


@_arithmetic("vmin")
def vmin(m: Modifiers) -> Value:
    """The smaller of two parts."""
    return _scalar(m, np.minimum)


@_arithmetic("vmax")
def vmax(m: Modifiers) -> Value:
    """The greater of two parts."""
    return _scalar(m, np.maximum)


@_shift("vshl")
def vshl(m: Modifiers) -> Value:
    """A part shifted left by at most 32, or by the low five bits of the amount."""
    return _shifted(m, left=True)


@_shift("vshr")
def vshr(m: Modifiers) -> Value:
    """A part shifted right by at most 32, or by the low five bits of the amount."""
    return _shifted(m, left=False)


@_rows("vset", ".atype.btype.cmp", "vset", btype=_TYPES, cmp=_CMP)
def vset(m: Modifiers) -> Value:
    """1 where two parts compare so, else 0."""
    return _scalar({**m, "dtype": m["atype"]}, video.compared(m["cmp"]))


def _multiply_add(m: Modifiers, negated: str) -> Value:
    signed = (m["atype"] == "s32", m["btype"] == "s32")
    scale = int(m["scale"].removeprefix("shr") or 0)
    evaluate = video.multiply_add(signed, (m["asel"], m["bsel"]), negated, scale, bool(m["sat"]))
    return Value(blocked(evaluate, "b32"))


def _vmad(*lines: str) -> Callable[..., Any]:
    return op(
        *lines,
        isa=_ISA + "vmad",
        types=_REGISTERS,
        dtype=_TYPES,
        atype=_TYPES,
        btype=_TYPES,
        scale="shr7 shr15",
        asel=_PART,
        bsel=_PART,
    )


@_vmad(
    "vmad.dtype.atype.btype{.sat}{.scale} d, a{.asel}, b{.bsel}, c",
    "vmad.dtype.atype.btype{.sat}{.scale} d, -a{.asel}, -b{.bsel}, c",
)
def vmad(m: Modifiers) -> Value:
    """The product of two parts, plus c."""
    return _multiply_add(m, "")


@_vmad(
    "vmad.dtype.atype.btype{.sat}{.scale} d, -a{.asel}, b{.bsel}, c",
    "vmad.dtype.atype.btype{.sat}{.scale} d, a{.asel}, -b{.bsel}, c",
)
def vmad_less_product(m: Modifiers) -> Value:
    """c less the product of two parts."""
    return _multiply_add(m, "ab")


@_vmad(
    "vmad.dtype.atype.btype{.sat}{.scale} d, a{.asel}, b{.bsel}, -c",
    "vmad.dtype.atype.btype{.sat}{.scale} d, -a{.asel}, -b{.bsel}, -c",
)
def vmad_less_c(m: Modifiers) -> Value:
    """The product of two parts, less c."""
    return _multiply_add(m, "c")


@_vmad("vmad.dtype.atype.btype.po{.sat}{.scale} d, a{.asel}, b{.bsel}, c")
def vmad_plus_one(m: Modifiers) -> Value:
    """The product of two parts, plus c, plus 1."""
    return _multiply_add(m, "po")


# ---------------------------------------------------------------------- SIMD

_MASKS = {2: "h0 h1 h10", 4: "b0 b1 b10 b2 b20 b21 b210 b3 b30 b31 b310 b32 b320 b321 b3210"}
_CHOSEN = {2: "h[0-3][0-3]", 4: "b[0-7][0-7][0-7][0-7]"}


def _parallel(
    opcode: str, count: int, modifiers: str, adds: str, isa: str, **alternatives: Any
) -> Callable[..., Any]:
    return op(
        *(f"{opcode}{count}{after} d{{.mask}}, a{{.asel}}, b{{.bsel}}, c" for after in (modifiers, adds)),
        isa=_SIMD + isa.format(count=count),
        types=_REGISTERS,
        atype=_TYPES,
        btype=_TYPES,
        mask=_MASKS[count],
        asel=_CHOSEN[count],
        bsel=_CHOSEN[count],
        **alternatives,
    )


def _each(opcode: str, count: int) -> Callable[..., Any]:
    isa = "vadd{count}-vsub{count}-vavrg{count}-vabsdiff{count}-vmin{count}-vmax{count}"
    modifiers = ".dtype.atype.btype"
    return _parallel(opcode, count, modifiers + "{.sat}", modifiers + ".add", isa, dtype=_TYPES)


def _compare_each(count: int) -> Callable[..., Any]:
    modifiers = ".atype.btype.cmp"
    return _parallel("vset", count, modifiers, modifiers + ".add", "vset{count}", cmp=_CMP)


def _several(m: Modifiers, count: int, function: video.Function) -> Value:
    signed = tuple(m.get(name, "u32") == "s32" for name in ("dtype", "atype", "btype"))
    parts = (m["mask"], m["asel"], m["bsel"])
    evaluate = video.several(function, count, signed, parts, sat=bool(m.get("sat")), adds="add" in m)
    return Value(blocked(evaluate, "b32"))


@_each("vadd", 2)
def vadd2(m: Modifiers) -> Value:
    """The sums of two halves."""
    return _several(m, 2, np.add)


@_each("vsub", 2)
def vsub2(m: Modifiers) -> Value:
    """The differences of two halves."""
    return _several(m, 2, np.subtract)


@_each("vavrg", 2)
def vavrg2(m: Modifiers) -> Value:
    """The means, halves going away from zero of two halves."""
    return _several(m, 2, video.average)


@_each("vabsdiff", 2)
def vabsdiff2(m: Modifiers) -> Value:
    """The distances of two halves."""
    return _several(m, 2, video.distance)


@_each("vmin", 2)
def vmin2(m: Modifiers) -> Value:
    """The smaller ones of two halves."""
    return _several(m, 2, np.minimum)


@_each("vmax", 2)
def vmax2(m: Modifiers) -> Value:
    """The greater ones of two halves."""
    return _several(m, 2, np.maximum)


@_compare_each(2)
def vset2(m: Modifiers) -> Value:
    """1 where halves compare so, else 0."""
    return _several(m, 2, video.compared(m["cmp"]))


@_each("vadd", 4)
def vadd4(m: Modifiers) -> Value:
    """The sums of four bytes."""
    return _several(m, 4, np.add)


@_each("vsub", 4)
def vsub4(m: Modifiers) -> Value:
    """The differences of four bytes."""
    return _several(m, 4, np.subtract)


@_each("vavrg", 4)
def vavrg4(m: Modifiers) -> Value:
    """The means, halves going away from zero of four bytes."""
    return _several(m, 4, video.average)


@_each("vabsdiff", 4)
def vabsdiff4(m: Modifiers) -> Value:
    """The distances of four bytes."""
    return _several(m, 4, video.distance)


@_each("vmin", 4)
def vmin4(m: Modifiers) -> Value:
    """The smaller ones of four bytes."""
    return _several(m, 4, np.minimum)


@_each("vmax", 4)
def vmax4(m: Modifiers) -> Value:
    """The greater ones of four bytes."""
    return _several(m, 4, np.maximum)


@_compare_each(4)
def vset4(m: Modifiers) -> Value:
    """1 where bytes compare so, else 0."""
    return _several(m, 4, video.compared(m["cmp"]))
