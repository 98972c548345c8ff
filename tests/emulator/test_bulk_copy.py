"""Copies in bulk and of tensors, which one lane makes and an mbarrier counts."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import Session

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


def replaced(rank: int, kind: int, dims: list[str], strides: list[str], box: list[int], **more: int) -> str:
    """Code of a whole warp that makes a map in %d0's tensor and puts it where %d1 points."""
    name = "tensormap.replace.tile"
    lines = ["st.shared.u32 [%r9], 0;", "bar.warp.sync -1;"]
    lines = ["shl.b32 %r9, %r0, 2; mov.u32 %r8, map; add.u32 %r9, %r9, %r8;", *lines]
    fields = [f"{name}.global_address.shared::cta.b1024.b64 [map], %d0;"]
    fields.append(f"{name}.rank.shared::cta.b1024.b32 [map], {rank - 1};")
    fields.append(f"{name}.elemtype.shared::cta.b1024.b32 [map], {kind};")
    for axis in range(rank):
        fields.append(f"{name}.box_dim.shared::cta.b1024.b32 [map], {axis}, {box[axis]};")
        fields.append(f"{name}.global_dim.shared::cta.b1024.b32 [map], {axis}, {dims[axis]};")
        step = more.get("step", 1) if axis == 0 else 1
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


def test_bytes_come_and_go() -> None:
    """From global memory into shared memory, turned there, and back; and added to what is there."""
    body = f"""
    @%p0 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
    @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d0], 128, [bar];
    {WAIT}
    mov.u32 %r2, s; mad.lo.u32 %r2, %r0, 4, %r2; ld.shared.u32 %r3, [%r2]; xor.b32 %r4, %r0, 31;
    mov.u32 %r2, s+128; mad.lo.u32 %r2, %r4, 4, %r2; st.shared.u32 [%r2], %r3; fence.proxy.async.shared::cta; bar.sync 0;
    @%p0 cp.async.bulk.global.shared::cta.bulk_group [%d1], [s+128], 128;
    @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d2], [s+128], 128;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;
    """
    given = np.arange(100, 132, dtype=np.uint32)
    session = Session(kernel(body, "a", "b", "c"))
    buffers = [session.buffer("a", given), session.buffer("b", given * 0), session.buffer("c", given)]
    session.launch(*buffers)
    np.testing.assert_array_equal(session.values("b", np.uint32), given[::-1])
    np.testing.assert_array_equal(session.values("c", np.uint32), given + given[::-1])


def box(tensor: NDArray[Any], start: tuple[int, ...], sizes: tuple[int, ...], fill: Any) -> NDArray[Any]:
    """The box of a tensor that begins at a place; axes from the outermost."""
    found = np.full(sizes, fill, tensor.dtype)
    for index in np.ndindex(*sizes):
        at = tuple(a + b for a, b in zip(start, index, strict=True))
        if all(0 <= a < n for a, n in zip(at, tensor.shape, strict=True)):
            found[index] = tensor[at]
    return found


def swizzled(rows: NDArray[Any], span: int) -> NDArray[Any]:
    """Rows as they lie in memory that begins at a multiple of 1024."""
    data = rows.reshape(-1).view(np.uint8).reshape(-1, 16)
    found = data.copy()
    for chunk in range(len(data)):
        found[chunk ^ (chunk // 8 % (span // 16) if span else 0)] = data[chunk]
    return found.reshape(-1).view(np.uint32)


@pytest.mark.parametrize(("mode", "span"), [(0, 0), (1, 32), (2, 64), (3, 128)])
@pytest.mark.parametrize("place", [(0, 0), (5, 3), (-2, -3), (17, 30), (40, 0)])
def test_boxes_of_f32(mode: int, span: int, place: tuple[int, int]) -> None:
    """Boxes within a tensor and across its sides, in each swizzle; outside is 0."""
    width = (span or 64) // 4
    tensor = np.random.default_rng(1).standard_normal((20, 36), dtype=np.float32)
    made = replaced(2, 7, ["36", "20"], ["144"], [width, 8], swizzle_mode=mode)
    words = width * 8
    body = made + LOADED.format(size=words * 4, rank=2, place=f"{place[1]}, {place[0]}")
    session = Session(kernel(body + DUMPED.format(wait=WAIT, words=words), "t", "m", "out"))
    buffers = [session.buffer("t", tensor), session.buffer("m", np.zeros(32, np.uint32))]
    session.launch(*buffers, session.buffer("out", np.zeros(words, np.uint32)))
    expected = swizzled(box(tensor, place, (8, width), 0), span)
    np.testing.assert_array_equal(session.values("out", np.uint32), expected)


@pytest.mark.parametrize("rank", [1, 3, 4, 5])
def test_boxes_of_other_ranks(rank: int) -> None:
    """One to five axes, with NaN for what is outside."""
    shape = (2, 3, 3, 4, 8)[-rank:]
    tensor = np.random.default_rng(2).integers(0, 1000, shape).astype(np.float16)
    sizes, place = (1, 2, 2, 2, 8)[-rank:], (1, -1, 2, 3, 5)[-rank:]
    strides = [str(int(np.prod(shape[axis:])) * 2) for axis in range(rank - 1, 0, -1)]
    made = replaced(rank, 6, [str(n) for n in shape[::-1]], strides, list(sizes[::-1]), fill_mode=1)
    words = int(np.prod(sizes)) // 2
    body = made + LOADED.format(size=words * 4, rank=rank, place=", ".join(map(str, place[::-1])))
    session = Session(kernel(body + DUMPED.format(wait=WAIT, words=words), "t", "m", "out"))
    buffers = [session.buffer("t", tensor), session.buffer("m", np.zeros(32, np.uint32))]
    session.launch(*buffers, session.buffer("out", np.zeros(max(words, 32), np.uint32)))
    expected = box(tensor, place, sizes, np.uint16(0x7FFF).view(np.float16))
    found = session.values("out", np.uint16)[: expected.size]
    np.testing.assert_array_equal(found, expected.reshape(-1).view(np.uint16))


@pytest.mark.parametrize("place", [(0, 0), (13, 30), (-3, -4)])
@pytest.mark.parametrize("how", ["store", "add", "max"])
def test_boxes_go_back(place: tuple[int, int], how: str) -> None:
    """What of a box is inside the tensor is stored, or combined with it; the rest is left out."""
    tensor = np.random.default_rng(3).integers(-50, 50, (20, 36)).astype(np.int32)
    made = replaced(2, 3, ["36", "20"], ["144"], [16, 8], swizzle_mode=2)
    go = "" if how == "store" else f".{how}"
    name = f"cp{'.reduce' if go else ''}.async.bulk.tensor.2d.global.shared::cta{go}.tile.bulk_group"
    body = f"""
    {made}
    mov.u32 %r1, %r0;
    F: mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; sub.u32 %r3, %r1, 60; st.shared.u32 [%r2], %r3;
    add.u32 %r1, %r1, 32; setp.lt.u32 %p1, %r1, 128; @%p1 bra F;
    fence.proxy.async.shared::cta; bar.sync 0;
    @%p0 {name} [%d1, {{{place[1]}, {place[0]}}}], [s];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; ret;
    """
    session = Session(kernel(body, "t", "m"))
    session.launch(session.buffer("t", tensor), session.buffer("m", np.zeros(32, np.uint32)))
    numbers = (np.arange(128) - 60).astype(np.int32)
    chunks = numbers.reshape(-1, 4)
    order = np.arange(32) ^ (np.arange(32) // 8 % 4)
    rows = chunks[order].reshape(8, 16)
    expected = tensor.copy()
    combine = {"store": lambda a, b: b, "add": np.add, "max": np.maximum}[how]
    for index in np.ndindex(8, 16):
        at = place[0] + index[0], place[1] + index[1]
        if 0 <= at[0] < 20 and 0 <= at[1] < 36:
            expected[at] = combine(expected[at], rows[index])
    np.testing.assert_array_equal(session.values("t", np.int32).reshape(20, 36), expected)


BULK = "@%p0 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0; @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{BULK} [s], [%d0], 144, [bar]; ret;", "went out of bounds: a load of 144 bytes"),
        (
            f"{BULK} [s+4000], [%d0], 128, [bar]; ret;",
            "went out of bounds: a store of 128 bytes in shared memory",
        ),
        (f"{BULK} [s+8], [%d0], 16, [bar]; ret;", "the target of a bulk copy at 0x8 must be aligned to 16"),
        (f"{BULK} [s], [%d0+4], 16, [bar]; ret;", "must be aligned to 16"),
        (
            f"mov.u32 %r5, 20; {BULK} [s], [%d0], %r5, [bar]; ret;",
            "copies 20 bytes in bulk, which is no multiple of 16",
        ),
        (f"{BULK} [s], [%d0], 16, [s+64]; ret;", "uses an mbarrier that is not initialised"),
    ],
)
def test_bulk_copies_are_checked(body: str, message: str) -> None:
    """A copy outside of its memory, off its alignment or without an mbarrier is a fault of its lane."""
    session = Session(kernel(body, "a", shared=4096))
    with pytest.raises(LaunchError) as caught:
        session.launch(session.buffer("a", np.zeros(32, np.uint32)))
    assert message in str(caught.value)
    assert caught.value.context[0] == "by thread (0, 0, 0) of block (0, 0, 0)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dims": ["36", "21"]}, "went out of bounds"),
        (
            {"box": [64, 8], "swizzle_mode": 3},
            "rows of 256 bytes in a box, more than the 128 that are swizzled",
        ),
        ({"strides": ["140"]}, "sets global_stride of a tensor map to 140, not to multiples of 16"),
        ({"box": [6, 8]}, "rows of 24 bytes in a box; they must be a multiple of 16"),
        ({"interleave_layout": 1}, "an interleaved layout"),
        ({"box": [0, 8]}, "sets box_dim of a tensor map to 0, not to 1 to 256"),
        ({"box": [8, 257]}, "sets box_dim of a tensor map to 257, not to 1 to 256"),
        ({"dims": ["0", "20"]}, "sets global_dim of a tensor map to 0"),
    ],
)
def test_maps_are_checked(changes: dict[str, Any], message: str) -> None:
    """A map that leads out of its tensor's memory, or that cannot be, is told when it is used."""
    fields = {"dims": ["36", "20"], "strides": ["144"], "box": [16, 8]} | changes
    more = {name: value for name, value in fields.items() if name not in ("dims", "strides", "box")}
    made = replaced(2, 7, fields["dims"], fields["strides"], fields["box"], **more)
    body = made + LOADED.format(size=512, rank=2, place="0, 16") + "ret;"
    session = Session(kernel(body, "t", "m", "out"))
    buffers = [
        session.buffer(name, np.zeros(n, np.float32)) for name, n in (("t", 720), ("m", 32), ("out", 32))
    ]
    with pytest.raises(LaunchError) as caught:
        session.launch(*buffers)
    assert message in str(caught.value)
