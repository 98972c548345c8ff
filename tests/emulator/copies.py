"""Kernels of one warp a block that copy in bulk, and maps of tensors for them."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from collections.abc import Sequence

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %d<20>;"
WAIT = "W: mbarrier.try_wait.parity.shared::cta.b64 %p8, [bar], 0; @!%p8 bra W;"


def kernel(body: str, *params: str, shared: int = 4096, before: str = "") -> str:
    """A kernel of one block with shared memory `s` and an mbarrier `bar`; %p0 is lane 0, %r0 the lane."""
    declared = ", ".join(f".param .u64 {name}" for name in params)
    loads = " ".join(
        f"ld.param.u64 %d{index}, [{name}]; cvta.to.global.u64 %d{index}, %d{index};"
        for index, name in enumerate(params)
    )
    return f"""{HEAD}{before}
.visible .entry k({declared}) {{
{REGISTERS}
.shared .align 1024 .b8 s[{shared}]; .shared .align 128 .b8 map[128]; .shared .align 8 .b64 bar;
{loads}
mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0;
{body}
}}
"""


def replaced(
    kind: int,
    dims: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    steps: Sequence[int] = (),
    **more: int,
) -> str:
    """Code of a whole warp that makes a map of %d0's tensor and puts it where %d1 points; innermost axis first."""
    rank = len(dims)
    name = "tensormap.replace.tile"
    lines = ["st.shared.u32 [%r9], 0;", "bar.warp.sync -1;"]
    lines = ["shl.b32 %r9, %r0, 2; mov.u32 %r8, map; add.u32 %r9, %r9, %r8;", *lines]
    fields = [f"{name}.global_address.shared::cta.b1024.b64 [map], %d0;"]
    fields.append(f"{name}.rank.shared::cta.b1024.b32 [map], {rank - 1};")
    fields.append(f"{name}.elemtype.shared::cta.b1024.b32 [map], {kind};")
    for axis in range(rank):
        fields.append(f"{name}.box_dim.shared::cta.b1024.b32 [map], {axis}, {box[axis]};")
        fields.append(f"{name}.global_dim.shared::cta.b1024.b32 [map], {axis}, {dims[axis]};")
        step = steps[axis] if steps else 1
        fields.append(f"{name}.element_stride.shared::cta.b1024.b32 [map], {axis}, {step};")
    fields += [
        f"{name}.global_stride.shared::cta.b1024.b64 [map], {axis}, {stride};"
        for axis, stride in enumerate(strides)
    ]
    for field in ("interleave_layout", "swizzle_mode", "fill_mode"):
        fields.append(f"{name}.{field}.shared::cta.b1024.b32 [map], {more.get(field, 0)};")
    lines += [f"@%p0 {field}" for field in fields]
    lines.append("bar.warp.sync -1;")
    lines.append(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [map], 128;"
    )
    lines.append("fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;")
    return "\n".join(lines)


LOADED = """
@%p0 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size};
@%p0 cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%d1, {{{place}}}], [bar];
"""
DUMPED = """
{wait}
mov.u32 %r1, %r0;
L: mul.wide.u32 %d9, %r1, 4; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; ld.shared.u32 %r3, [%r2];
add.u64 %d9, %d2, %d9; st.global.u32 [%d9], %r3; add.u32 %r1, %r1, 32; setp.lt.u32 %p1, %r1, {words}; @%p1 bra L;
ret;
"""
