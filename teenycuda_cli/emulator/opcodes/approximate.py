"""The approximate functions of f32 and f64: div rcp sqrt rsqrt sin cos lg2 ex2 tanh."""

from __future__ import annotations

from teenycuda_cli.emulator.numerics import approximations
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_ISA = "floating-point-instructions-"


def _approximate(m: Modifiers, name: str) -> Value:
    """A function of f32 that the special function unit has."""
    function = approximations.function(name, bool(m.get("ftz")))
    lane = f"approximate({name!r}, {bool(m.get('ftz'))}, {{0}})"
    return Value(blocked(function, "f32"), lane=lane, raw_nan=True)


@op("div.approx{.ftz}.f32 d, a, b", isa=_ISA + "div")
def div_approx(m: Modifiers) -> Value:
    """a times the reciprocal of b: 0 for a divisor above 2¹²⁶."""
    function = approximations.flushed_quotient if m["ftz"] else approximations.quotient
    lane = f"approximate_quotient(False, {bool(m['ftz'])}, {{0}}, {{1}})"
    return Value(blocked(function, "f32"), lane=lane, raw_nan=True)


@op("div.full{.ftz}.f32 d, a, b", isa=_ISA + "div")
def div_full(m: Modifiers) -> Value:
    """a times the reciprocal of b, scaled where that is out of range."""
    function = approximations.flushed_full_quotient if m["ftz"] else approximations.full_quotient
    lane = f"approximate_quotient(True, {bool(m['ftz'])}, {{0}}, {{1}})"
    return Value(blocked(function, "f32"), lane=lane, raw_nan=True)


@op("rcp.approx{.ftz}.f32 d, a", isa=_ISA + "rcp")
def rcp(m: Modifiers) -> Value:
    """1 ÷ a."""
    return _approximate(m, "rcp")


@op("sqrt.approx{.ftz}.f32 d, a", isa=_ISA + "sqrt")
def sqrt(m: Modifiers) -> Value:
    """√a."""
    return _approximate(m, "sqrt")


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
