"""Instructions of whole warps in blocks whose last warp is not whole, and has ended."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulator.harness import Session, entry

BLOCKS = 3
SHARED = ".shared .align 16 .b8 s[2048];"
FILL = """
mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r2, s;
setp.ge.u32 %p1, %r1, 32; @%p1 bra LAST;
mad.lo.u32 %r4, %r3, 32, %r1; mul.lo.u32 %r5, %r4, 0x9E3779B1; mov.u32 %r6, 0;
FILL: shl.b32 %r7, %r6, 7; mad.lo.u32 %r7, %r1, 4, %r7; add.u32 %r7, %r7, %r2; mad.lo.u32 %r5, %r5, 0x2C9277B5, 0xAC564B05;
st.shared.b32 [%r7], %r5; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 16; @%p2 bra FILL;
bar.warp.sync 0xffffffff;
mad.lo.u32 %r8, %r1, 16, %r2; ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r8];
"""
LAST = """
mul.wide.u32 %d1, %r4, 16; add.u64 %d1, %out, %d1; st.global.v4.b32 [%d1], {%r20, %r21, %r22, %r23};
LAST: ret;
"""
EACH = """
ld.shared.b32 %r20, [%r8]; ld.shared.b32 %r21, [%r8+512]; ld.shared.b32 %r22, [%r8+1024]; ld.shared.b32 %r23, [%r8+1536];
"""
BODIES = {
    "mma": "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r20, %r21, %r22, %r23}, {%r20, %r21, %r22, %r23}, {%r20, %r21}, {%r20, %r21, %r22, %r23};",
    "ldmatrix.x4": "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r20, %r21, %r22, %r23}, [%r8];",
    "ldmatrix.x1": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r20}, [%r8];",
    "stmatrix": f"xor.b32 %r9, %r8, 64; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r9], {{%r20, %r21, %r22, %r23}}; bar.warp.sync 0xffffffff; {EACH}",
    "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 %r20, %r21;",
    "wmma.load": "wmma.load.c.sync.aligned.col.m8n8k32.shared.s32 {%r20, %r21}, [%r2], 9;",
    "wmma.load by rows": "wmma.load.a.sync.aligned.row.m16n16k16.shared.u8 {%r20, %r21}, [%r2], 32;",
    "wmma.load turned": "wmma.load.a.sync.aligned.col.m16n16k16.shared.f16 {%r20, %r21, %r22, %r23, %r10, %r11, %r12, %r13}, [%r2], 24;",
    "wmma.store turned": f"wmma.store.d.sync.aligned.col.m16n16k16.shared.f16 [%r2], {{%r20, %r21, %r22, %r23}}, 24; bar.warp.sync 0xffffffff; {EACH}",
    "wmma.store": f"wmma.store.d.sync.aligned.row.m8n8k32.shared.s32 [%r2], {{%r20, %r21}}, 12; bar.warp.sync 0xffffffff; {EACH}",
}


def results(body: str, threads: int) -> Any:
    text = entry(FILL + body + LAST, before=SHARED).replace("sm_80", "sm_90")
    session = Session(text)
    out = session.buffer("out", np.zeros((BLOCKS, 32, 4), np.uint32))
    session.launch(out, grid=(BLOCKS,), block=(threads,))
    return session.values("out", np.uint32)


@pytest.mark.parametrize("threads", [33, 48, 80])
@pytest.mark.parametrize("name", BODIES)
def test_part_of_a_warp(name: str, threads: int) -> None:
    """The first warp of each block gives what it gives alone."""
    assert np.array_equal(results(BODIES[name], threads), results(BODIES[name], 32))
