"""setp, set and slct on integers, f32 and f64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from teenycuda_cli.emulator.numerics import comparisons
from teenycuda_cli.emulator.numerics.blocks import blocked
from teenycuda_cli.emulator.numerics.floating import flushed
from teenycuda_cli.emulator.numerics.types import dtype, highest
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_ISA = "comparison-and-selection-instructions-"
_FLOAT = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"
_KINDS = {
    "b16 b32 b64": "eq ne",
    "u16 u32 u64": "eq ne lt le gt ge lo ls hi hs",
    "s16 s32 s64": "eq ne lt le gt ge",
    "f64": _FLOAT,
}
_BOOL = "and or xor"
_SET = "u32 s32 f32 f16 bf16"


def flushable(m: Modifiers) -> bool:
    """.ftz does not go with a result of bf16."""
    return not (m["ftz"] and m.get("dtype") == "bf16")


_Build = Callable[[Modifiers], Value]


def _rows(
    head: str, tail: str, types: str, isa: str, results: str = "", booleans: str = ""
) -> Callable[[_Build], _Build]:
    """Register one function for all source types; the source type stands between `head` and `tail`."""

    def register(build: _Build) -> _Build:
        before, after = head.split("{.ftz}")
        for kinds, operators in _KINDS.items():
            line = f"{before}{after}.stype {tail}"
            op(line, cmp=operators, stype=kinds, types=types, isa=isa, dtype=results, bool=booleans)(build)
        line = f"{head}.stype {tail}"
        row = op(
            line, cmp=_FLOAT, stype="f32", types=types, where=flushable, isa=isa, dtype=results, bool=booleans
        )
        row(build)
        return build

    return register


def _compare(m: Modifiers) -> tuple[Callable[..., Any], str]:
    integer = m["stype"][0] != "f"
    return comparisons.comparison(m["cmp"], bool(m.get("ftz")), integer), comparisons.lane(m["cmp"], integer)


@_rows("setp.cmp{.ftz}", "p, a, b", "p:pred a:stype b:stype", _ISA + "setp")
def setp(m: Modifiers) -> Value:
    """p is the comparison."""
    evaluate, lane = _compare(m)
    return Value(evaluate, lane=None if m.get("ftz") else lane)


@_rows("setp.cmp{.ftz}", "p|q, a, b", "p:pred q:pred a:stype b:stype", _ISA + "setp")
def setp_pair(m: Modifiers) -> Value:
    """p is the comparison, q its opposite."""
    return Value(comparisons.pair(_compare(m)[0]))


@_rows("setp.cmp.bool{.ftz}", "p, a, b, {!}c", "p:pred a:stype b:stype c:pred", _ISA + "setp", booleans=_BOOL)
def setp_bool(m: Modifiers) -> Value:
    """p is the comparison, combined with c."""
    evaluate, lane = _compare(m)
    lane = comparisons.LANE_COMBINE[m["bool"]].replace("{compare}", lane).replace("{{2}}", "{2}")
    return Value(comparisons.combined(evaluate, m["bool"]), lane=None if m.get("ftz") else lane)


@_rows(
    "setp.cmp.bool{.ftz}",
    "p|q, a, b, {!}c",
    "p:pred q:pred a:stype b:stype c:pred",
    _ISA + "setp",
    booleans=_BOOL,
)
def setp_bool_pair(m: Modifiers) -> Value:
    """p is the comparison combined with c, q its opposite combined with c."""
    return Value(comparisons.pair(_compare(m)[0], m["bool"]))


def truth(kind: str) -> int:
    """The bits of true in a type: all ones, or 1.0."""
    ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}
    return ones[kind] if kind in ones else highest("u" + kind[1:])


@_rows("set.cmp{.ftz}.dtype", "d, a, b", "d:dtype a:stype b:stype", _ISA + "set", results=_SET)
def set_(m: Modifiers) -> Value:
    """All ones or 1.0 where the comparison holds, else 0."""
    chosen = comparisons.chosen(_compare(m)[0], truth(m["dtype"]), dtype(m["dtype"]))
    return Value(blocked(chosen, m["dtype"]))


@_rows(
    "set.cmp.bool{.ftz}.dtype",
    "d, a, b, {!}c",
    "d:dtype a:stype b:stype c:pred",
    _ISA + "set",
    results=_SET,
    booleans=_BOOL,
)
def set_bool(m: Modifiers) -> Value:
    """All ones or 1.0 where the comparison, combined with c, holds, else 0."""
    test = comparisons.combined(_compare(m)[0], m["bool"])
    return Value(blocked(comparisons.chosen(test, truth(m["dtype"]), dtype(m["dtype"])), m["dtype"]))


_SLCT = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"


@op("slct.dtype.s32 d, a, b, c", dtype=_SLCT, types="d:dtype a:dtype b:dtype c:s32", isa=_ISA + "slct")
@op("slct{.ftz}.dtype.f32 d, a, b, c", dtype=_SLCT, types="d:dtype a:dtype b:dtype c:f32", isa=_ISA + "slct")
def slct(m: Modifiers) -> Value:
    """a where c ≥ 0, else b; −0 chooses a, NaN b."""
    select = comparisons.selected_by_sign
    if m.get("ftz"):
        return Value(blocked(lambda a, b, c: select(a, b, flushed(c)), m["dtype"]))
    return Value(blocked(select, m["dtype"]), lane="{0} if {2} >= 0 else {1}")
