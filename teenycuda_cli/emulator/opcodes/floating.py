"""f32 and f64 arithmetic that the ISA defines exactly.

add, sub and mul without a rounding modifier may be fused by an assembler;
here they never are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import floating, rounding
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.numerics.flushing import FLUSHED_BEFORE, flushing
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_RND = "rn rz rm rp"
_ISA = "floating-point-instructions-"
_PAYLOADS = {"add": (1, 0), "sub": (1, 0), "mul": (1, 0), "fma": (1, 2, 0)}
"""Whose NaN an f64 operation hands on first."""


def _arithmetic(m: Modifiers, name: str, lane: str) -> Value:
    """An operation in f32 or f64 with rounding, `.ftz` and `.sat`; `lane` computes it in Python floats."""
    kind, mode = m["type"], m.get("rnd", "")
    ftz, sat = bool(m.get("ftz")), bool(m.get("sat"))
    evaluate = rounding.operation(name, kind, mode)
    if kind == "f64" and name in _PAYLOADS:
        evaluate = floating.with_payloads(evaluate, _PAYLOADS[name])
    if ftz:
        evaluate = flushing(evaluate, name, mode)
    if ftz or sat:
        evaluate = blocked(floating.modified(evaluate, False, sat), kind)
    if mode in ("", "rn"):
        expression = f"f32({lane})" if kind == "f32" and "fma" not in lane else lane
    else:
        arguments = lane_arguments(name)
        expression = f"directed('{name}', '{kind}', '{mode}', {arguments})"
    if kind == "f64" and name in _PAYLOADS:
        expression = _lane_payloads(expression, _PAYLOADS[name])
    if ftz and name in FLUSHED_BEFORE:
        arguments = lane_arguments(name)
        expression = f"flushed32({expression}, '{name}', '{mode or 'rn'}', {arguments})"
    return Value(evaluate, lane=lane_modified(expression, ftz, sat), raw_nan=kind == "f32" and not sat)


def _lane_payloads(expression: str, order: tuple[int, ...]) -> str:
    return f"nan64({expression}, {', '.join(f'{{{index}}}' for index in order)})"


def lane_arguments(name: str) -> str:
    """The placeholders of an operation's sources."""
    count = {"fma": 3, "sqrt": 1, "rcp": 1}.get(name, 2)
    return ", ".join(f"{{{index}}}" for index in range(count))


def lane_modified(expression: str, ftz: bool, sat: bool) -> str:
    """A lane expression with `.ftz` on its sources and its result, and `.sat`."""
    if ftz:
        for index in range(3):
            expression = expression.replace(f"{{{index}}}", f"ftz({{{index}}})")
        expression = f"ftz({expression})"
    return f"sat({expression})" if sat else expression


@op("add{.rnd}{.ftz}{.sat}.f32 d, a, b", rnd=_RND, isa=_ISA + "add")
@op("add{.rnd}.f64 d, a, b", rnd=_RND, isa=_ISA + "add")
def add(m: Modifiers) -> Value:
    """Sum."""
    return _arithmetic(m, "add", "{0} + {1}")


@op("sub{.rnd}{.ftz}{.sat}.f32 d, a, b", rnd=_RND, isa=_ISA + "sub")
@op("sub{.rnd}.f64 d, a, b", rnd=_RND, isa=_ISA + "sub")
def sub(m: Modifiers) -> Value:
    """Difference."""
    return _arithmetic(m, "sub", "{0} - {1}")


@op("mul{.rnd}{.ftz}{.sat}.f32 d, a, b", rnd=_RND, isa=_ISA + "mul")
@op("mul{.rnd}.f64 d, a, b", rnd=_RND, isa=_ISA + "mul")
def mul(m: Modifiers) -> Value:
    """Product."""
    return _arithmetic(m, "mul", "{0} * {1}")


@op("fma.rnd{.ftz}{.sat}.f32 d, a, b, c", rnd=_RND, isa=_ISA + "fma")
@op("mad.rnd{.ftz}{.sat}.f32 d, a, b, c", rnd=_RND, isa=_ISA + "mad")
@op("fma.rnd.f64 d, a, b, c", rnd=_RND, isa=_ISA + "fma")
@op("mad.rnd.f64 d, a, b, c", rnd=_RND, isa=_ISA + "mad")
def fma(m: Modifiers) -> Value:
    """a × b + c, rounded once."""
    return _arithmetic(m, "fma", f"fma{m['type'][1:]}({{0}}, {{1}}, {{2}})")


@op("div.rnd{.ftz}.f32 d, a, b", rnd=_RND, isa=_ISA + "div")
@op("div.rnd.f64 d, a, b", rnd=_RND, isa=_ISA + "div")
def div(m: Modifiers) -> Value:
    """Quotient."""
    return _arithmetic(m, "div", "quotient({0}, {1})")


@op("rcp.rnd{.ftz}.f32 d, a", rnd=_RND, isa=_ISA + "rcp")
@op("rcp.rnd{.ftz}.f64 d, a", rnd=_RND, isa=_ISA + "rcp")
def rcp(m: Modifiers) -> Value:
    """1 ÷ a; .ftz means nothing to f64."""
    modifiers = {**m, "ftz": ""} if m["type"] == "f64" else m
    return _arithmetic(modifiers, "rcp", "quotient(1.0, {0})")


@op("sqrt.rnd{.ftz}.f32 d, a", rnd=_RND, isa=_ISA + "sqrt")
@op("sqrt.rnd.f64 d, a", rnd=_RND, isa=_ISA + "sqrt")
def sqrt(m: Modifiers) -> Value:
    """Square root."""
    return _arithmetic(m, "sqrt", "root({0})")


def _unary(m: Modifiers, ufunc: np.ufunc, lane: str) -> Value:
    ftz = bool(m.get("ftz"))
    if m["type"] == "f64":
        return Value(floating.with_payloads(ufunc, (0,)), lane=_lane_payloads(lane, (0,)))
    evaluate = blocked(floating.modified(ufunc, ftz, False), m["type"]) if ftz else ufunc
    return Value(evaluate, lane=lane_modified(lane, ftz, False), raw_nan=m["type"] == "f32")


@op("abs{.ftz}.f32 d, a", isa=_ISA + "abs")
@op("abs.f64 d, a", isa=_ISA + "abs")
def abs_(m: Modifiers) -> Value:
    """Absolute value."""
    return _unary(m, np.absolute, "abs({0})")


@op("neg{.ftz}.f32 d, a", isa=_ISA + "neg")
@op("neg.f64 d, a", isa=_ISA + "neg")
def neg(m: Modifiers) -> Value:
    """The sign turned."""
    return _unary(m, np.negative, "-{0}")


def _extreme(m: Modifiers, greatest: bool) -> Value:
    kind, ftz, keep = m["type"], bool(m.get("ftz")), bool(m.get("NaN"))
    function: Callable[..., Any] = floating.extreme(greatest, keep)
    lane = f"{'greater' if greatest else 'lesser'}({{0}}, {{1}}, {keep})"
    if m.get("abs"):
        function = floating.extreme_of_magnitudes(greatest, keep, bool(m.get("xorsign")))
        lane = ""
    if kind == "f64":
        lane = _lane_payloads(lane, (1, 0))
        return Value(blocked(floating.with_payloads(function, (1, 0)), kind), lane=lane)
    evaluate = blocked(floating.modified(function, ftz, False), kind)
    return Value(evaluate, lane=lane_modified(lane, ftz, False) if lane else None, raw_nan=kind == "f32")


@op("min{.ftz}{.NaN}.f32 d, a, b", "min{.ftz}{.NaN}.xorsign.abs.f32 d, a, b", isa=_ISA + "min")
@op("min.f64 d, a, b", isa=_ISA + "min")
def min_(m: Modifiers) -> Value:
    """The lesser; −0 is below +0, a number beats NaN unless .NaN."""
    return _extreme(m, False)


@op("max{.ftz}{.NaN}.f32 d, a, b", "max{.ftz}{.NaN}.xorsign.abs.f32 d, a, b", isa=_ISA + "max")
@op("max.f64 d, a, b", isa=_ISA + "max")
def max_(m: Modifiers) -> Value:
    """The greater; +0 is above −0, a number beats NaN unless .NaN."""
    return _extreme(m, True)


def _extreme_of_three(m: Modifiers, greatest: bool) -> Value:
    keep = bool(m["NaN"])
    function = floating.extreme(greatest, keep)
    if m["abs"]:
        function = floating.extreme_of_magnitudes(greatest, keep, False)
    evaluate = floating.modified(floating.of_three(function), bool(m["ftz"]), False)
    return Value(blocked(evaluate, "f32"), raw_nan=True)


@op("min{.ftz}{.NaN}{.abs}.f32 d, a, b, c", isa=_ISA + "min")
def min_3(m: Modifiers) -> Value:
    """The least of three."""
    return _extreme_of_three(m, False)


@op("max{.ftz}{.NaN}{.abs}.f32 d, a, b, c", isa=_ISA + "max")
def max_3(m: Modifiers) -> Value:
    """The greatest of three."""
    return _extreme_of_three(m, True)


@op("copysign.type d, a, b", type="f32 f64", isa=_ISA + "copysign")
def copysign(m: Modifiers) -> Value:
    """b with the sign of a."""
    return Value(blocked(floating.copy_sign, m["type"]))


@op(
    "testp.property.type p, a",
    property="finite infinite number notanumber normal subnormal",
    type="f32 f64",
    types="p:pred",
    isa=_ISA + "testp",
)
def testp(m: Modifiers) -> Value:
    """Whether a has a property."""
    return Value(floating.has_property(m["property"]))


def _pair(m: Modifiers, name: str) -> Value:
    operation = rounding.operation(name, "f32", m["rnd"])
    evaluate = floating.on_pairs(flushing(operation, name, m["rnd"]) if m["ftz"] else operation)
    return Value(blocked(evaluate, "f32x2"))


@op("add{.rnd}{.ftz}.f32x2 d, a, b", rnd=_RND, isa=_ISA + "add")
def add_pair(m: Modifiers) -> Value:
    """Two sums."""
    return _pair(m, "add")


@op("sub{.rnd}{.ftz}.f32x2 d, a, b", rnd=_RND, isa=_ISA + "sub")
def sub_pair(m: Modifiers) -> Value:
    """Two differences."""
    return _pair(m, "sub")


@op("mul{.rnd}{.ftz}.f32x2 d, a, b", rnd=_RND, isa=_ISA + "mul")
def mul_pair(m: Modifiers) -> Value:
    """Two products."""
    return _pair(m, "mul")


@op("fma.rnd{.ftz}.f32x2 d, a, b, c", rnd=_RND, isa=_ISA + "fma")
def fma_pair(m: Modifiers) -> Value:
    """a × b + c twice, each rounded once."""
    return _pair(m, "fma")
