"""The approximate functions of f32 and f64: div rcp sqrt rsqrt sin cos lg2 ex2 tanh."""

from __future__ import annotations

import numpy as np

from teenycuda_cli.emulator.numerics import approximations
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_ISA = "floating-point-instructions-"


def _approximate(m: Modifiers, name: str, lane: str | None = None) -> Value:
    ftz = bool(m.get("ftz"))
    evaluate = blocked(approximations.with_flush(approximations.UNARY[name], ftz), "f32")
    if lane is not None and ftz:
        lane = f"ftz({lane.replace('{0}', 'ftz({0})')})"
    return Value(evaluate, lane=lane, raw_nan=True)


@op("div.approx{.ftz}.f32 d, a, b", isa=_ISA + "div")
def div_approx(m: Modifiers) -> Value:
    """a ÷ b, correctly rounded; 0 for a divisor above 2¹²⁶."""
    return Value(
        blocked(approximations.with_flush(approximations.quotient, bool(m["ftz"])), "f32"), raw_nan=True
    )


@op("div.full{.ftz}.f32 d, a, b", isa=_ISA + "div")
def div_full(m: Modifiers) -> Value:
    """a ÷ b, correctly rounded; the ISA allows 2 ulp."""
    ftz = bool(m["ftz"])
    evaluate = blocked(approximations.with_flush(np.divide, True), "f32") if ftz else np.divide
    lane = "ftz(f32(quotient(ftz({0}), ftz({1}))))" if ftz else "f32(quotient({0}, {1}))"
    return Value(evaluate, lane=lane, raw_nan=True)


@op("rcp.approx{.ftz}.f32 d, a", isa=_ISA + "rcp")
def rcp(m: Modifiers) -> Value:
    """1 ÷ a."""
    return _approximate(m, "rcp", "f32(quotient(1.0, {0}))")


@op("sqrt.approx{.ftz}.f32 d, a", isa=_ISA + "sqrt")
def sqrt(m: Modifiers) -> Value:
    """√a."""
    return _approximate(m, "sqrt", "f32(root({0}))")


@op("rsqrt.approx{.ftz}.f32 d, a", isa=_ISA + "rsqrt")
def rsqrt(m: Modifiers) -> Value:
    """1 ÷ √a."""
    return _approximate(m, "rsqrt")


@op("sin.approx{.ftz}.f32 d, a", isa=_ISA + "sin")
def sin(m: Modifiers) -> Value:
    """sin a."""
    return _approximate(m, "sin")


@op("cos.approx{.ftz}.f32 d, a", isa=_ISA + "cos")
def cos(m: Modifiers) -> Value:
    """cos a."""
    return _approximate(m, "cos")


@op("lg2.approx{.ftz}.f32 d, a", isa=_ISA + "lg2")
def lg2(m: Modifiers) -> Value:
    """log₂ a."""
    return _approximate(m, "lg2")


@op("ex2.approx{.ftz}.f32 d, a", isa=_ISA + "ex2")
def ex2(m: Modifiers) -> Value:
    """2 to the power of a."""
    return _approximate(m, "ex2")


@op("tanh.approx.f32 d, a", isa=_ISA + "tanh")
def tanh(m: Modifiers) -> Value:
    """tanh a."""
    return _approximate(m, "tanh")


@op("rcp.approx.ftz.f64 d, a", isa=_ISA + "rcp-approx-ftz-f64")
def rcp_64(m: Modifiers) -> Value:
    """1 ÷ a from and to the upper 32 bits."""
    return Value(blocked(approximations.reciprocal_64, "f64"))


@op("rsqrt.approx.ftz.f64 d, a", isa=_ISA + "rsqrt-approx-ftz-f64")
def rsqrt_64(m: Modifiers) -> Value:
    """1 ÷ √a from and to the upper 32 bits."""
    return Value(blocked(approximations.reciprocal_root_64, "f64"))


@op("rsqrt.approx.f64 d, a", isa=_ISA + "rsqrt")
def rsqrt_of_f64(m: Modifiers) -> Value:
    """1 ÷ √a."""
    return Value(blocked(approximations.reciprocal_root_of_f64, "f64"))
