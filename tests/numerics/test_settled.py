"""Values that ptxas 13.0 folds constants to, or that the ISA states outright."""

from __future__ import annotations

import pytest

from tests.numerics.instruction_runner import run

ONES, NAN, HALF_NAN = 0xFFFFFFFF, 0x7FFFFFFF, 0x7FFF
LONG_ONES, TOP, LONG_TOP = 0xFFFFFFFFFFFFFFFF, 0x80000000, 0x8000000000000000
ONE, QUIET, INFINITY = 0x3F800000, 0x7FC00000, 0x7F800000
SMALL = 0x00000001  # a subnormal f32

TABLE = [
    ("shl.b32", (1, 32), 0),
    ("shl.b32", (1, 0x80000000), 0),
    ("shl.b64", (1, 64), 0),
    ("shr.u32", (TOP, 32), 0),
    ("shr.s32", (TOP, 32), ONES),
    ("shr.s32", (TOP, 0xFFFFFFFF), ONES),
    ("shr.s64", (LONG_TOP, 64), LONG_ONES),
    ("shr.s16", (0x8000, 99), 0xFFFF),
    ("shf.l.wrap.b32", (1, 2, 32), 2),
    ("shf.l.clamp.b32", (1, 2, 32), 1),
    ("shf.r.clamp.b32", (1, 2, 33), 2),
    ("bfe.u32", (ONES, 30, 8), 3),
    ("bfe.s32", (TOP, 30, 8), 0xFFFFFFFE),
    ("bfe.s32", (TOP, 40, 8), ONES),
    ("bfe.u32", (ONES, 40, 8), 0),
    ("bfe.s32", (ONES, 0, 0), 0),
    ("clz.b32", (0,), 32),
    ("clz.b64", (0,), 64),
    ("bfind.u32", (0,), ONES),
    ("bfind.s32", (ONES,), ONES),
    ("popc.b64", (LONG_ONES,), 64),
    ("div.u32", (7, 0), ONES),
    ("div.s32", (7, 0), ONES),
    ("div.u64", (7, 0), LONG_ONES),
    ("rem.u32", (7, 0), ONES),
    ("rem.s64", (7, 0), LONG_ONES),
    ("div.s32", (0xFFFFFFF9, 2), 0xFFFFFFFD),
    ("rem.s32", (0xFFFFFFF9, 2), ONES),
    ("div.s32", (TOP, ONES), TOP),
    ("rem.s32", (TOP, ONES), 0),
    ("abs.s32", (TOP,), TOP),
    ("mul.hi.s32", (TOP, TOP), 0x40000000),
    ("mul.hi.u64", (LONG_ONES, LONG_ONES), LONG_ONES - 1),
    ("cvt.rzi.u32.f32", (0xC0A00000,), 0),
    ("cvt.rzi.s32.f32", (0x4F000000,), TOP - 1),
    ("cvt.rzi.s32.f32", (QUIET,), 0),
    ("cvt.rzi.s64.f32", (QUIET,), LONG_TOP),
    ("cvt.rzi.s32.f64", (0x7FF8000000000000,), TOP),
    ("cvt.s8.s32", (200,), 0xC8),
    ("cvt.sat.s8.s32", (300,), 127),
    ("cvt.sat.u8.s32", (ONES,), 0),
    ("cvt.rn.f16.f32", (QUIET,), HALF_NAN),
    ("cvt.rn.f16.f32", (0xFFC00001,), HALF_NAN),
    ("cvt.rn.bf16.f32", (QUIET,), HALF_NAN),
    ("cvt.rn.bf16.f32", (0xFFC00001,), HALF_NAN),
    ("cvt.rn.f16.f32", (0x477FF000,), 0x7C00),
    ("cvt.rn.f16.f32", (0x477FEFFF,), 0x7BFF),
    ("max.f32", (QUIET, ONE), ONE),
    ("max.NaN.f32", (QUIET, ONE), NAN),
    ("max.f32", (TOP, 0), 0),
    ("max.f32", (0, TOP), 0),
    ("min.f32", (TOP, 0), TOP),
    ("min.f32", (0, TOP), TOP),
    ("min.f32", (QUIET, QUIET), NAN),
    ("setp.ne.f32", (QUIET, ONE), 0),
    ("setp.neu.f32", (QUIET, ONE), 1),
    ("setp.eq.f32", (0, TOP), 1),
    ("set.lt.u32.s32", (ONES, 0), ONES),
    ("set.lt.f32.s32", (ONES, 0), ONE),
    ("add.ftz.f32", (SMALL, 0), 0),
    ("add.ftz.f32", (SMALL | TOP, TOP), TOP),
    ("add.f32", (SMALL, SMALL), 2),
    ("mul.ftz.f32", (0x00800000, 0x3F000000), 0),
    ("mul.ftz.f32", (0x80800000, 0x3F000000), TOP),
    ("add.sat.f32", (QUIET, ONE), 0),
    ("add.sat.f32", (TOP, TOP), 0),
    ("add.sat.f32", (ONE, ONE), ONE),
    ("add.f32", (INFINITY, INFINITY | TOP), NAN),
    ("mul.rz.f32", (0x7F7FFFFF, 0x7F7FFFFF), 0x7F7FFFFF),
    ("mul.rm.f32", (0x7F7FFFFF, 0xFF7FFFFF), 0xFF800000),
    ("mul.rp.f32", (SMALL, SMALL), SMALL),
    ("add.rm.f32", (ONE, ONE | TOP), TOP),
    ("add.rn.f32", (ONE, ONE | TOP), 0),
    ("fma.rn.f32", (0x3F800001, 0x3F800001, 0xBF800002), 0x28800000),
    ("lop3.b32", (0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA, 0x96), 0x96969696),
    ("prmt.b32", (0x33221100, 0x77665544, 0x7531), 0x77553311),
]


@pytest.mark.parametrize(("name", "sources", "want"), TABLE)
def test_settled(name: str, sources: tuple[int, ...], want: int) -> None:
    """The instruction gives this result."""
    if name == "lop3.b32":
        assert run(name, *[[value, value] for value in sources[:3]], sources[3]) == [want, want]
    else:
        assert run(name, *[[value, value] for value in sources]) == [want, want]
