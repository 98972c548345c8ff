"""setp: comparisons into predicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from teenycuda_cli.emulator.numerics import comparisons
from teenycuda_cli.emulator.opcodes.table import Modifiers, Value, op

_SETP = "comparison-and-selection-instructions-setp"
_UNSIGNED = "eq ne lt le gt ge lo ls hi hs"
_SIGNED = "eq ne lt le gt ge"
_FLOAT = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"
_BOOL = "and or xor"


def _compare(m: Modifiers) -> tuple[Callable[..., Any], str]:
    integer = m["type"][0] != "f"
    return comparisons.comparison(m["cmp"], bool(m.get("ftz")), integer), comparisons.lane(m["cmp"], integer)


@op("setp.cmp.type p, a, b", cmp="eq ne", type="b16 b32 b64", types="p:pred", isa=_SETP)
@op("setp.cmp.type p, a, b", cmp=_UNSIGNED, type="u16 u32 u64", types="p:pred", isa=_SETP)
@op("setp.cmp.type p, a, b", cmp=_SIGNED, type="s16 s32 s64", types="p:pred", isa=_SETP)
@op("setp.cmp{.ftz}.f32 p, a, b", cmp=_FLOAT, types="p:pred", isa=_SETP)
@op("setp.cmp.f64 p, a, b", cmp=_FLOAT, types="p:pred", isa=_SETP)
def setp(m: Modifiers) -> Value:
    """p is the comparison."""
    evaluate, lane = _compare(m)
    return Value(evaluate, lane=None if m.get("ftz") else lane)


@op("setp.cmp.type p|q, a, b", cmp="eq ne", type="b16 b32 b64", types="p:pred q:pred", isa=_SETP)
@op("setp.cmp.type p|q, a, b", cmp=_UNSIGNED, type="u16 u32 u64", types="p:pred q:pred", isa=_SETP)
@op("setp.cmp.type p|q, a, b", cmp=_SIGNED, type="s16 s32 s64", types="p:pred q:pred", isa=_SETP)
@op("setp.cmp{.ftz}.f32 p|q, a, b", cmp=_FLOAT, types="p:pred q:pred", isa=_SETP)
@op("setp.cmp.f64 p|q, a, b", cmp=_FLOAT, types="p:pred q:pred", isa=_SETP)
def setp_pair(m: Modifiers) -> Value:
    """p is the comparison, q its opposite."""
    return Value(comparisons.pair(_compare(m)[0]))
