"""Trials of special registers: those whose value the launch decides, and what holds of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from teenycuda_cli.emulator.opcodes.table import Form, supported
from tests.hardware.trials import Output, Trial

_Axes = tuple[int, int, int]

_VECTORS = (
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
)
_SINGLE = (
    "%laneid",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%dynamic_smem_size",
    "%total_smem_size",
    "%aggr_smem_size",
    "%is_explicit_cluster",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap",
)
_ALSO = ("%nwarpid", "%current_graph_exec", "%reserved_smem_offset_0", "%reserved_smem_offset_1")
"""Tried in blocks of one axis alone."""
_CLUSTERS = {
    "clusters of two axes": ((4, 2, 1), (8, 4, 1), (2, 2, 1)),
    "clusters of three axes": ((2, 3, 2), (4, 2, 2), (1, 3, 2)),
}
_DYNAMIC = 2000
_SIZES = ("%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size")
_SHAPES = {
    "two axes": ((3, 2, 1), (8, 5, 1)),
    "three axes": ((2, 1, 2), (4, 3, 6)),
    "one axis": ((2, 1, 1), (100, 1, 1)),
}


def special_registers() -> Iterator[Trial]:
    """Each in grids of one to three axes and in clusters; sizes with dynamic shared memory; what holds."""
    form = next(form for form in supported() if form.opcode == "mov")
    names = (*(f"{name}.{axis}" for name in _VECTORS for axis in "xyz"), *_SINGLE)
    yield from _values(form, names, _SHAPES)
    yield from _values(form, names, _CLUSTERS)
    yield from _values(form, _ALSO, {"one axis": _SHAPES["one axis"]})
    for trial in _values(form, _SIZES, {f"{_DYNAMIC} bytes of dynamic memory": _SHAPES["one axis"]}):
        body = f"st.shared.u32 [NAMEs+4], 1; {trial.body}"
        yield replace(trial, body=body, before=".shared .align 16 .b8 NAMEs[100];", shared=_DYNAMIC)
    yield from _holding(form)


def _read(name: str) -> str:
    """Code that reads a register into %r4."""
    if name == "%is_explicit_cluster":
        return f"mov.pred %p1, {name}; selp.u32 %r4, 1, 0, %p1;"
    if name == "%current_graph_exec":
        return f"mov.u64 %d4, {name}; cvt.u32.u64 %r4, %d4;"
    return f"mov.u32 %r4, {name};"


def _values(form: Form, names: tuple[str, ...], launches: Mapping[str, tuple[_Axes, ...]]) -> Iterator[Trial]:
    """What registers hold in each thread of a grid: of blocks, or of clusters of them."""
    for name in names:
        read = _read(name)
        for where, (grid, block, *cluster) in launches.items():
            count = int(np.prod(grid) * np.prod(block))
            body = f"""
            mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
            mad.lo.u32 %r1, %r3, {block[1]}, %r2;
            mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, {block[0]}, %r2;
            mov.u32 %r2, %ctaid.z; mov.u32 %r3, %ctaid.y; mad.lo.u32 %r2, %r2, {grid[1]}, %r3;
            mov.u32 %r3, %ctaid.x; mad.lo.u32 %r2, %r2, {grid[0]}, %r3;
            mad.lo.u32 %r1, %r2, {int(np.prod(block))}, %r1;
            {read} mad.wide.u32 %d1, %r1, 4, %b0; st.global.u32 [%d1], %r4;
            """
            yield Trial(
                f"mov d, {name}; {where}",
                form,
                body,
                (),
                (Output(4, count),),
                grid=grid,
                block=block,
                cluster=cluster[0] if cluster else None,
            )


_HOLDING = {
    "%warpid; the same in a warp, another one in each, below %nwarpid": """
    mov.u32 %r1, %warpid; mov.u32 %r2, %nwarpid; setp.lt.u32 %p1, %r1, %r2;
    match.all.sync.b32 %r3|%p2, %r1, -1;
    and.pred %p1, %p1, %p2; mov.u64 %d6, NAMEs; mad.wide.u32 %d7, %tx, 4, %d6; st.shared.u32 [%d7], %r1;
    bar.sync 0; xor.b32 %r3, %tx, 32; mad.wide.u32 %d7, %r3, 4, %d6; ld.shared.u32 %r4, [%d7];
    setp.ne.u32 %p2, %r4, %r1; and.pred %p1, %p1, %p2;
    """,
    "%smid; below %nsmid, the same in a block": """
    mov.u32 %r1, %smid; mov.u32 %r2, %nsmid; setp.lt.u32 %p1, %r1, %r2; mov.u64 %d6, NAMEs;
    mad.wide.u32 %d7, %tx, 4, %d6; st.shared.u32 [%d7], %r1; bar.sync 0; xor.b32 %r3, %tx, 63;
    mad.wide.u32 %d7, %r3, 4, %d6; ld.shared.u32 %r4, [%d7]; setp.eq.u32 %p2, %r4, %r1;
    and.pred %p1, %p1, %p2;
    """,
    "%gridid; the same in all threads": """
    mov.u64 %d1, %gridid; mov.u64 %d6, NAMEs; mad.wide.u32 %d7, %tx, 8, %d6; st.shared.u64 [%d7], %d1;
    bar.sync 0;
    xor.b32 %r3, %tx, 63; mad.wide.u32 %d7, %r3, 8, %d6; ld.shared.u64 %d2, [%d7]; setp.eq.u64 %p1, %d1, %d2;
    """,
    "%clock; goes on": """
    mov.u32 %r1, %clock; bar.sync 0; mov.u32 %r2, %clock; sub.u32 %r2, %r2, %r1; setp.gt.s32 %p1, %r2, 0;
    """,
    "%clock64; goes on": """
    mov.u64 %d1, %clock64; bar.sync 0; mov.u64 %d2, %clock64; setp.gt.u64 %p1, %d2, %d1;
    """,
    "%globaltimer; does not go back": """
    mov.u64 %d1, %globaltimer; bar.sync 0; mov.u64 %d2, %globaltimer; setp.ge.u64 %p1, %d2, %d1;
    """,
}
"""What holds of registers that have another value each time, in blocks of two warps: %p1."""


def _holding(form: Form) -> Iterator[Trial]:
    for text, code in _HOLDING.items():
        body = f"{code} selp.u32 %r5, 1, 0, %p1; mad.wide.u32 %d5, %lane, 4, %b0; st.global.u32 [%d5], %r5;"
        before, outputs = ".shared .align 16 .b8 NAMEs[512];", (Output(4, 128),)
        yield Trial(f"mov d, {text}", form, body, (), outputs, before, grid=(2, 1, 1), block=(64, 1, 1))
