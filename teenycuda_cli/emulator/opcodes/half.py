"""f16, f16x2, bf16 and bf16x2: arithmetic, min and max, ex2 and tanh, set and setp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import comparisons
from teenycuda_cli.emulator.numerics import half_arithmetic as halves
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.numerics.half import joined
from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.comparison import flushable, truth
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_ISA = "half-precision-floating-point-instructions-"
_F16 = "f16 f16x2"
_BF16 = "bf16 bf16x2"
_CMP = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"
_BOOL = "and or xor"


def _value(m: Modifiers, function: Callable[..., Any]) -> Value:
    """A function of f32 values on one half or on two."""
    kind = m["type"]
    part, flags = kind.removesuffix("x2"), [bool(m.get(name)) for name in ("ftz", "sat", "relu")]
    one = halves.on_halves(function, part, ftz=flags[0], sat=flags[1], clamp=flags[2])
    return Value(blocked(halves.on_pairs(one) if kind.endswith("x2") else one, kind))


@op("add{.rnd}{.ftz}{.sat}.type d, a, b", rnd="rn", type=_F16, isa=_ISA + "add")
@op("add{.rnd}.type d, a, b", rnd="rn", type=_BF16, isa=_ISA + "add")
def add(m: Modifiers) -> Value:
    """Sum."""
    return _value(m, halves.ARITHMETIC["add"])


@op("sub{.rnd}{.ftz}{.sat}.type d, a, b", rnd="rn", type=_F16, isa=_ISA + "sub")
@op("sub{.rnd}.type d, a, b", rnd="rn", type=_BF16, isa=_ISA + "sub")
def sub(m: Modifiers) -> Value:
    """Difference."""
    return _value(m, halves.ARITHMETIC["sub"])


@op("mul{.rnd}{.ftz}{.sat}.type d, a, b", rnd="rn", type=_F16, isa=_ISA + "mul")
@op("mul{.rnd}.type d, a, b", rnd="rn", type=_BF16, isa=_ISA + "mul")
def mul(m: Modifiers) -> Value:
    """Product."""
    return _value(m, halves.ARITHMETIC["mul"])


@op("fma.rn{.ftz}{.sat}.type d, a, b, c", "fma.rn{.ftz}.relu.type d, a, b, c", type=_F16, isa=_ISA + "fma")
@op("fma.rn{.relu}.type d, a, b, c", type=_BF16, isa=_ISA + "fma")
def fma(m: Modifiers) -> Value:
    """a × b + c, rounded once."""
    return _value(m, halves.FMA[m["type"].removesuffix("x2")])


@op("neg{.ftz}.type d, a", type=_F16, isa=_ISA + "neg")
@op("neg.type d, a", type=_BF16, isa=_ISA + "neg")
def neg(m: Modifiers) -> Value:
    """The sign turned."""
    return _value(m, halves.ARITHMETIC["neg"])


@op("abs{.ftz}.type d, a", type=_F16, isa=_ISA + "abs")
@op("abs.type d, a", type=_BF16, isa=_ISA + "abs")
def abs_(m: Modifiers) -> Value:
    """Absolute value."""
    return _value(m, halves.ARITHMETIC["abs"])


@op("min{.ftz}{.NaN}.type d, a, b", "min{.ftz}{.NaN}.xorsign.abs.type d, a, b", type=_F16, isa=_ISA + "min")
@op("min{.NaN}.type d, a, b", "min{.NaN}.xorsign.abs.type d, a, b", type=_BF16, isa=_ISA + "min")
def min_(m: Modifiers) -> Value:
    """The lesser; −0 is below +0, a number beats NaN unless .NaN."""
    return _value(m, halves.extremes(False, bool(m["NaN"]), bool(m.get("xorsign"))))


@op("max{.ftz}{.NaN}.type d, a, b", "max{.ftz}{.NaN}.xorsign.abs.type d, a, b", type=_F16, isa=_ISA + "max")
@op("max{.NaN}.type d, a, b", "max{.NaN}.xorsign.abs.type d, a, b", type=_BF16, isa=_ISA + "max")
def max_(m: Modifiers) -> Value:
    """The greater; +0 is above −0, a number beats NaN unless .NaN."""
    return _value(m, halves.extremes(True, bool(m["NaN"]), bool(m.get("xorsign"))))


def _approximate(m: Modifiers, name: str) -> Value:
    kind = m["type"]
    one = halves.approximated(name, kind.removesuffix("x2"))
    return Value(blocked(halves.on_pairs(one) if kind.endswith("x2") else one, kind))


@op("ex2.approx.type d, a", type=_F16, isa=_ISA + "ex2")
@op("ex2.approx.ftz.type d, a", type=_BF16, isa=_ISA + "ex2")
def ex2(m: Modifiers) -> Value:
    """2 to the power of a."""
    return _approximate(m, "ex2")


@op("tanh.approx.type d, a", type=f"{_F16} {_BF16}", isa=_ISA + "tanh")
def tanh(m: Modifiers) -> Value:
    """tanh a."""
    return _approximate(m, "tanh")


# -------------------------------------------------------------- comparisons

_COMPARE = "half-precision-comparison-instructions-"


def _test(m: Modifiers) -> Callable[..., Any]:
    """The comparison of one half."""
    compare = comparisons.comparison(m["cmp"], False, False)
    return halves.compare(compare, m["stype"].removesuffix("x2"), bool(m.get("ftz")))


@op(
    "setp.cmp{.ftz}.stype p, a, b",
    stype="f16",
    cmp=_CMP,
    types="p:pred a:stype b:stype",
    isa=_COMPARE + "setp",
)
@op("setp.cmp.stype p, a, b", stype="bf16", cmp=_CMP, types="p:pred a:stype b:stype", isa=_COMPARE + "setp")
def setp(m: Modifiers) -> Value:
    """p is the comparison."""
    return Value(_test(m))


_LOWER = "p:pred a:stype b:stype c:pred"


@op("setp.cmp{.ftz}.stype p, a, b", stype="f16x2", cmp=_CMP, types=_LOWER, isa=_COMPARE + "setp")
@op("setp.cmp.stype p, a, b", stype="bf16x2", cmp=_CMP, types=_LOWER, isa=_COMPARE + "setp")
def setp_lower(m: Modifiers) -> Value:
    """p is the comparison of the lower halves."""
    return Value(halves.compare_lower(_test(m)))


@op(
    "setp.cmp.bool{.ftz}.stype p, a, b, {!}c",
    stype="f16x2",
    cmp=_CMP,
    bool=_BOOL,
    types=_LOWER,
    isa=_COMPARE + "setp",
)
@op(
    "setp.cmp.bool.stype p, a, b, {!}c",
    stype="bf16x2",
    cmp=_CMP,
    bool=_BOOL,
    types=_LOWER,
    isa=_COMPARE + "setp",
)
def setp_bool_lower(m: Modifiers) -> Value:
    """p is the comparison of the lower halves, combined with c."""
    return Value(comparisons.combined(halves.compare_lower(_test(m)), m["bool"]))


_PAIR = "p:pred q:pred a:stype b:stype c:pred"


@op("setp.cmp{.ftz}.stype p|q, a, b", stype="f16x2", cmp=_CMP, types=_PAIR, isa=_COMPARE + "setp")
@op("setp.cmp.stype p|q, a, b", stype="bf16x2", cmp=_CMP, types=_PAIR, isa=_COMPARE + "setp")
def setp_pair(m: Modifiers) -> Value:
    """p is the comparison of the lower halves, q that of the upper ones."""
    return Value(halves.compare_pairs(_test(m)))


@op(
    "setp.cmp.bool{.ftz}.stype p, a, b, {!}c",
    stype="f16",
    cmp=_CMP,
    bool=_BOOL,
    types=_PAIR,
    isa=_COMPARE + "setp",
)
@op(
    "setp.cmp.bool.stype p, a, b, {!}c",
    stype="bf16",
    cmp=_CMP,
    bool=_BOOL,
    types=_PAIR,
    isa=_COMPARE + "setp",
)
def setp_bool(m: Modifiers) -> Value:
    """p is the comparison, combined with c."""
    return Value(comparisons.combined(_test(m), m["bool"]))


@op(
    "setp.cmp.bool{.ftz}.stype p|q, a, b, {!}c",
    stype="f16x2",
    cmp=_CMP,
    bool=_BOOL,
    types=_PAIR,
    isa=_COMPARE + "setp",
)
@op(
    "setp.cmp.bool.stype p|q, a, b, {!}c",
    stype="bf16x2",
    cmp=_CMP,
    bool=_BOOL,
    types=_PAIR,
    isa=_COMPARE + "setp",
)
def setp_bool_pair(m: Modifiers) -> Value:
    """p is the comparison of the lower halves, q that of the upper ones, each combined with c."""
    combine, both = comparisons.COMBINE[m["bool"]], halves.compare_pairs(_test(m))

    def evaluate(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        low, high = both(a, b)
        return combine(low, c), combine(high, c)

    return Value(evaluate)


def _set(m: Modifiers) -> Value:
    """A result of true and 0, for one half or for both."""
    test, kind = _test(m), m["dtype"]
    if not m["stype"].endswith("x2"):
        held = comparisons.combined(test, m["bool"]) if m.get("bool") else test
        return Value(blocked(comparisons.chosen(held, truth(kind), dtype(kind)), kind))
    true = np.uint16(truth(kind.removesuffix("x2")) if kind.endswith("x2") else 0xFFFF)
    both, zero = halves.compare_pairs(test), np.uint16(0)

    def evaluate(a: Any, b: Any, c: Any = None) -> Any:
        parts = both(a, b)
        if m.get("bool"):
            parts = tuple(comparisons.COMBINE[m["bool"]](part, c) for part in parts)
        return joined(*[np.where(part, true, zero) for part in parts]).view(dtype(kind))

    return Value(blocked(evaluate, kind))


_SET_TYPES = "d:dtype a:stype b:stype c:pred"


@op(
    "set.cmp{.ftz}.dtype.stype d, a, b",
    "set.cmp.bool{.ftz}.dtype.stype d, a, b, {!}c",
    stype="f16",
    dtype="f16 bf16 u16 s16 u32 s32",
    where=flushable,
    cmp=_CMP,
    bool=_BOOL,
    types=_SET_TYPES,
    isa=_COMPARE + "set",
)
@op(
    "set.cmp.dtype.stype d, a, b",
    "set.cmp.bool.dtype.stype d, a, b, {!}c",
    stype="bf16",
    dtype="bf16 u16 s16 u32 s32",
    cmp=_CMP,
    bool=_BOOL,
    types=_SET_TYPES,
    isa=_COMPARE + "set",
)
@op(
    "set.cmp{.ftz}.dtype.stype d, a, b",
    "set.cmp.bool{.ftz}.dtype.stype d, a, b, {!}c",
    stype="f16x2",
    dtype="f16x2 u32 s32",
    cmp=_CMP,
    bool=_BOOL,
    types=_SET_TYPES,
    isa=_COMPARE + "set",
)
@op(
    "set.cmp.dtype.stype d, a, b",
    "set.cmp.bool.dtype.stype d, a, b, {!}c",
    stype="bf16x2",
    dtype="bf16x2 u32 s32",
    cmp=_CMP,
    bool=_BOOL,
    types=_SET_TYPES,
    isa=_COMPARE + "set",
)
def set_(m: Modifiers) -> Value:
    """All ones or 1.0 where the comparison (combined with c) holds, else 0."""
    return _set(m)
