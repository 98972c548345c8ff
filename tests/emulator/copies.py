"""Kernels of one warp a block that copy in bulk, and maps of tensors for them."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.emulator.harness import Session

Array = NDArray[Any]
Place = tuple[int, ...]

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
GIVEN = """
mov.u32 %r1, %r0;
F: mul.wide.u32 %d9, %r1, 4; add.u64 %d9, %d2, %d9; ld.global.u32 %r3, [%d9];
mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; st.shared.u32 [%r2], %r3;
add.u32 %r1, %r1, 32; setp.lt.u32 %p1, %r1, {words}; @%p1 bra F;
fence.proxy.async.shared::cta; bar.sync 0;
@%p0 cp{reduce}.async.bulk.tensor.{rank}d.global.shared::cta{op}.tile.bulk_group [%d1, {{{place}}}], [s];
cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; ret;
"""


def mapped(tensor: Array, kind: int, sizes: Place, steps: Place = (), **more: int) -> str:
    """Code that makes the map of a whole tensor; axes from the outermost."""
    strides = tensor.strides[-2::-1]
    return replaced(kind, tensor.shape[::-1], strides, sizes[::-1], steps[::-1], **more)


def written(place: Place) -> str:
    """Coordinates in an instruction."""
    return ", ".join(map(str, place[::-1]))


def loaded(
    tensor: Array, kind: int, place: Place, sizes: Place, steps: Place = (), **more: int
) -> NDArray[np.uint8]:
    """The bytes of a box in shared memory."""
    counts = [-(-size // step) for size, step in zip(sizes, steps or (1,) * len(sizes), strict=True)]
    size = int(np.prod(counts)) * tensor.itemsize
    body = mapped(tensor, kind, sizes, steps, **more)
    body += LOADED.format(size=size, rank=tensor.ndim, place=written(place))
    words = -(-size // 128) * 32
    session = Session(kernel(body + DUMPED.format(wait=WAIT, words=words), "t", "m", "out"))
    buffers = [session.buffer("t", tensor), session.buffer("m", np.zeros(32, np.uint32))]
    session.launch(*buffers, session.buffer("out", np.zeros(words, np.uint32)))
    return session.values("out", np.uint8)[:size]


def stored(tensor: Array, kind: int, place: Place, given: Array, op: str = "", **more: int) -> Array:
    """A tensor after a box was stored into it, or combined with it."""
    words = -(-given.nbytes // 128) * 32
    data = np.zeros(words, np.uint32)
    data.view(np.uint8)[: given.nbytes] = given.reshape(-1).view(np.uint8)
    reduce, op = (".reduce", f".{op}") if op else ("", "")
    body = mapped(tensor, kind, given.shape, **more)
    body += GIVEN.format(words=words, reduce=reduce, op=op, rank=tensor.ndim, place=written(place))
    session = Session(kernel(body, "t", "m", "given"))
    buffers = [session.buffer("t", tensor), session.buffer("m", np.zeros(32, np.uint32))]
    session.launch(*buffers, session.buffer("given", data))
    return session.values("t", tensor.dtype).reshape(tensor.shape)


def swizzled(rows: Array, span: int) -> NDArray[np.uint8]:
    """Rows as they lie in memory that begins at a multiple of 1024."""
    data = rows.reshape(-1).view(np.uint8).reshape(-1, 16)
    found = data.copy()
    for chunk in range(len(data)):
        found[chunk ^ (chunk // 8 % (span // 16) if span else 0)] = data[chunk]
    return found.reshape(-1)


def bits(shape: Place, dtype: Any, seed: int) -> Array:
    """Numbers of random bits."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8).view(dtype).reshape(shape)
