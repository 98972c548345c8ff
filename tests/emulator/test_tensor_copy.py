"""Copies of boxes of tensors, as tensor maps tell."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError, UnsupportedError
from tests.emulator.copies import (
    DUMPED,
    LOADED,
    WAIT,
    Array,
    Place,
    bits,
    kernel,
    loaded,
    mapped,
    replaced,
    stored,
    swizzled,
)
from tests.emulator.harness import Session


def box(tensor: Array, start: Place, sizes: Place, fill: Any = 0, steps: Place = ()) -> Array:
    """The box of a tensor that begins at a place; axes from the outermost."""
    steps = steps or (1,) * len(sizes)
    counts = [-(-size // step) for size, step in zip(sizes, steps, strict=True)]
    found = np.full(counts, fill, tensor.dtype)
    for index in np.ndindex(*counts):
        at = tuple(first + step * i for first, step, i in zip(start, steps, index, strict=True))
        if all(0 <= a < n for a, n in zip(at, tensor.shape, strict=True)):
            found[index] = tensor[at]
    return found


@pytest.mark.parametrize(("mode", "span"), [(0, 0), (1, 32), (2, 64), (3, 128)])
@pytest.mark.parametrize("place", [(0, 0), (5, 4), (-2, -4), (17, 32), (40, 0)])
def test_boxes_of_f32(mode: int, span: int, place: Place) -> None:
    """Boxes within a tensor and across its sides, in each swizzle; outside is 0."""
    tensor = np.random.default_rng(1).standard_normal((20, 36), dtype=np.float32)
    sizes = (8, (span or 64) // 4)
    found = loaded(tensor, 7, place, sizes, swizzle_mode=mode)
    np.testing.assert_array_equal(found, swizzled(box(tensor, place, sizes), span))


@pytest.mark.parametrize(("mode", "span"), [(1, 32), (2, 64), (3, 128)])
@pytest.mark.parametrize("rows", [1, 9, 16])
def test_rows_shorter_than_what_is_swizzled(mode: int, span: int, rows: int) -> None:
    """They lie one after the other; chunks are exchanged within the lines of 128 bytes that they are in."""
    tensor, sizes = bits((20, 32), np.uint32, 1), (rows, span // 8)
    found = loaded(tensor, 2, (1, 8), sizes, swizzle_mode=mode)
    given = box(tensor, (1, 8), sizes).reshape(-1, 4)
    order = np.arange(len(given))
    order ^= order // 8 % (span // 16)
    inside = order < len(given)  # the last line may be left for one that is half empty
    np.testing.assert_array_equal(found.view(np.uint32).reshape(-1, 4)[order[inside]], given[inside])


@pytest.mark.parametrize("rank", [1, 3, 4, 5])
def test_boxes_of_other_ranks(rank: int) -> None:
    """One to five axes, with NaN for what is outside."""
    tensor = bits((2, 3, 3, 4, 16)[-rank:], np.uint16, 2)
    sizes, place = (1, 2, 2, 2, 16)[-rank:], (1, -1, 2, 3, 8)[-rank:]
    found = loaded(tensor, 6, place, sizes, fill_mode=1)
    np.testing.assert_array_equal(found.view(np.uint16), box(tensor, place, sizes, 0x7FF7).reshape(-1))


def rounded(numbers: Array) -> Array:
    """Finite f32 as tf32, by their bits: to nearest, ties to even."""
    return (numbers + 0xFFF + (numbers >> 13 & 1)) & 0xFFFFE000


F32_NAN = 0x7FF77FF7
# element type, bytes, NaN
ELEMENTS = [(0, 1, 0), (1, 2, 0), (2, 4, 0), (3, 4, 0), (4, 8, 0), (5, 8, 0)]
ELEMENTS += [(6, 2, 0x7FF7), (7, 4, F32_NAN), (8, 4, F32_NAN), (9, 8, 0x7FF77FF77FF77FF7), (10, 2, 0x7FF7)]
ELEMENTS += [(11, 4, F32_NAN), (12, 4, F32_NAN)]
CHANGES = {11: rounded, 12: rounded}


@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize(("kind", "size", "nan"), ELEMENTS)
def test_element_types(kind: int, size: int, nan: int, fill: int) -> None:
    """Elements come bit by bit, but for f32 that is rounded; integers are never filled with NaN."""
    tensor = bits((9, 64 // size), f"u{size}", kind)
    if kind in CHANGES:  # finite, a third subnormal, ties of the rounding to tf32
        tensor &= 0xBFFFFFFF
        tensor[::3] &= 0x807FFFFF
        tensor[1::3] = tensor[1::3] & 0xFFFFE000 | 0x1000
    place, sizes = (6, -16 // size), (5, 64 // size)
    expected = box(
        CHANGES.get(kind, lambda numbers: numbers)(tensor).astype(tensor.dtype), place, sizes, nan * fill
    )
    found = loaded(tensor, kind, place, sizes, fill_mode=fill)
    np.testing.assert_array_equal(found.view(tensor.dtype), expected.reshape(-1))


@pytest.mark.parametrize("place", [(0, 0, 0), (-3, 1, 4), (2, -4, -8)])
@pytest.mark.parametrize("steps", [(1, 2, 1), (2, 3, 1), (3, 1, 1), (8, 8, 1)])
def test_every_so_many_elements(place: Place, steps: Place) -> None:
    """Along the outer axes, elements are left out between those that are copied."""
    tensor = bits((9, 11, 16), np.uint32, 5)
    sizes = (5, 7, 12)
    found = loaded(tensor, 2, place, sizes, steps)
    np.testing.assert_array_equal(found.view(np.uint32), box(tensor, place, sizes, 0, steps).reshape(-1))


def test_maps_as_parameters() -> None:
    """A map that the host gives by value, as one that a kernel made."""
    tensor = bits((20, 32), np.uint32, 6)
    session = Session(kernel(mapped(tensor, 2, (8, 16)) + "ret;", "t", "m"))
    session.launch(session.buffer("t", tensor), session.buffer("m", np.zeros(32, np.uint32)))
    data = bytes(session.device.read(session.buffers["m"].address, 128))
    body = "mov.b64 %d1, map0; cvta.param.u64 %d1, %d1;" + LOADED.format(size=512, rank=2, place="16, 5")
    text = kernel(body + DUMPED.format(wait=WAIT, words=128), "t", "m", "out")
    text = text.replace(".param .u64 m,", ".param .align 64 .b8 map0[128],").replace(
        "ld.param.u64 %d1, [m]; cvta.to.global.u64 %d1, %d1;", ""
    )
    other = Session(text)
    # The tensor lies at the same address in both.
    buffers = [other.buffer("t", tensor), data, other.buffer("out", np.zeros(128, np.uint32))]
    assert other.buffers["t"].address == session.buffers["t"].address
    other.launch(*buffers)
    found = other.values("out", np.uint32)
    np.testing.assert_array_equal(found, box(tensor, (5, 16), (8, 16)).reshape(-1))


@pytest.mark.parametrize(("blocks", "ranks"), [(4, 0b1011), (16, 0x8001), (16, 0xFFFF)])
def test_boxes_go_to_several_blocks(blocks: int, ranks: int) -> None:
    """One block's copy, with what it counts, comes to the blocks whose ranks the mask has."""
    tensor = bits((20, 32), np.uint32, 7)
    name = (
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
    )
    body = f"""
    mov.u32 %r30, %cluster_ctarank; setp.eq.u32 %p2, %r30, 1; and.pred %p3, %p0, %p2;
    mov.b32 %r31, {ranks}; shr.u32 %r32, %r31, %r30; and.b32 %r32, %r32, 1; setp.eq.u32 %p4, %r32, 0;
    mul.lo.u32 %r33, %r30, 128; cvt.u64.u32 %d10, %r33; add.u64 %d1, %d1, %d10;
    {mapped(tensor, 2, (8, 16))}
    @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;
    barrier.cluster.arrive; barrier.cluster.wait;
    .reg .b16 %h1; cvt.u16.u32 %h1, %r31;
    @%p3 {name} [s], [%d1, {{16, -3}}], [bar], %h1;
    @%p4 bra.uni E;
    {WAIT}
    E: barrier.cluster.arrive; barrier.cluster.wait;
    mul.lo.u32 %r33, %r30, 512; cvt.u64.u32 %d10, %r33; add.u64 %d2, %d2, %d10;
    """
    dumped = DUMPED.replace("{wait}\n", "").format(words=128)
    session = Session(kernel(body + dumped, "t", "m", "out"))
    buffers = [session.buffer("t", tensor), session.buffer("m", np.zeros(32 * blocks, np.uint32))]
    out = session.buffer("out", np.zeros((blocks, 128), np.uint32))
    session.launch(*buffers, out, grid=(blocks,), cluster=(blocks, 1, 1))
    found = session.values("out", np.uint32).reshape(blocks, 128)
    chosen = [rank for rank in range(blocks) if ranks >> rank & 1]
    np.testing.assert_array_equal(
        found[chosen], np.tile(box(tensor, (-3, 16), (8, 16)).reshape(-1), (len(chosen), 1))
    )


@pytest.mark.parametrize("place", [(0, 1, -2), (1, 0, 5), (0, 0, 40), (0, 0, -1)])
def test_boxes_begin_at_whole_chunks(place: Place) -> None:
    """Hardware takes a copy from a coordinate of the innermost axis off 16 bytes for an illegal instruction."""
    tensor, sizes = bits((2, 8, 32), np.uint16, 3), (1, 4, 8)
    for offset in (0, 1):
        start = (*place[:2], place[2] // 8 * 8 + offset)
        for run in (
            lambda start=start: loaded(tensor, 1, start, sizes),
            lambda start=start: stored(tensor, 1, start, bits(sizes, np.uint16, 4)),
        ):
            if not offset:
                run()
                continue
            with pytest.raises(LaunchError) as caught:
                run()
            told = (
                f"copies a box from coordinate {start[2]} of the innermost axis on, byte {2 * start[2]} of it"
            )
            assert told in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dims": [36, 21]}, "went out of bounds"),
        (
            {"box": [64, 8], "swizzle_mode": 3},
            "rows of 256 bytes in a box, more than the 128 that are swizzled",
        ),
        ({"strides": [140]}, "sets global_stride of a tensor map to 140, not to multiples of 16"),
        ({"box": [6, 8]}, "rows of 24 bytes in a box; they must be a multiple of 16"),
        ({"interleave_layout": 1}, "an interleaved layout"),
        ({"box": [0, 8]}, "sets box_dim of a tensor map to 0, not to 1 to 256"),
        ({"box": [8, 257]}, "sets box_dim of a tensor map to 257, not to 1 to 256"),
        ({"dims": [0, 20]}, "sets global_dim of a tensor map to 0"),
        ({"steps": [1, 9]}, "sets element_stride of a tensor map to 9, not to 1 to 8"),
        (
            {"dims": [36, 20, 1], "strides": [144, 2880], "box": [16, 8, 1]},
            "copies 2 axes with a tensor map of 3",
        ),
        ({"box": [64, 256]}, "went out of bounds: a store of 65536 bytes in shared memory"),
    ],
)
def test_maps_are_checked(changes: dict[str, Any], message: str) -> None:
    """A map that leads out of its tensor's memory, or that cannot be, is told when it is used."""
    fields = {"dims": [36, 20], "strides": [144], "box": [16, 8]} | changes
    fault = faulted(replaced(7, **fields) + LOADED.format(size=512, rank=2, place="0, 16"))
    assert message in fault


def test_boxes_larger_than_memory() -> None:
    """They are refused before anything is made of their size."""
    made = replaced(7, [8] * 5, [32, 256, 2048, 16384], [256] * 5)
    fault = faulted(made + LOADED.format(size=512, rank=5, place="0, 0, 0, 0, 0"))
    assert "went out of bounds: a store of 4398046511104 bytes in shared memory" in fault


def faulted(body: str) -> str:
    """What is told of a kernel with a tensor of 720 floats."""
    session = Session(kernel(body + "ret;", "t", "m", "out"))
    sizes = {"t": 720, "m": 32, "out": 32}
    buffers = [session.buffer(name, np.zeros(size, np.float32)) for name, size in sizes.items()]
    with pytest.raises(LaunchError) as caught:
        session.launch(*buffers)
    return str(caught.value)


MAP = replaced(7, [36, 20], [144], [16, 8])
LOAD = LOADED.format(size=512, rank=2, place="0, 0")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"add.u64 %d0, %d0, 4; {MAP}{LOAD}", "a tensor at"),
        (MAP + LOAD.replace("[s]", "[s+64]"), "a box in shared memory at 0x40 must be aligned to 128"),
        (f"{MAP}add.u64 %d1, %d1, 32; {LOAD}", "a tensor map at"),
        (f"{MAP}mov.u64 %d1, %d0; {LOAD}", "uses a tensor map with rows of"),
        (f"{MAP}add.u64 %d1, %d1, 4096; {LOAD}", "went out of bounds: a load of 128 bytes"),
        (
            MAP + LOAD.replace("init", "inval").replace("[bar], 1;", "[bar];", 1),
            "an mbarrier that is not initialised",
        ),
        (
            f"mov.u32 %r9, s; cvt.u64.u32 %d4, %r9; cvta.shared.u64 %d4, %d4; {MAP}{LOAD.replace('[s]', '[%d4]')}",
            "used a generic address of shared memory as one of shared memory",
        ),
    ],
)
def test_addresses_are_checked(body: str, message: str) -> None:
    """The map, the tensor, the box and the mbarrier lie where they may."""
    assert message in faulted(body)


@pytest.mark.parametrize("coordinates", ["{%r1}", "{%r1, %r2, %r3}", "%r1"])
def test_there_is_a_coordinate_for_each_axis(coordinates: str) -> None:
    """Others are refused before a launch."""
    body = f"cp.async.bulk.prefetch.tensor.2d.L2.global [%d0, {coordinates}]; ret;"
    session = Session(kernel(body, "t"))
    with pytest.raises(UnsupportedError, match="takes a vector of coordinates, one for each axis of 2d"):
        session.launch(session.buffer("t", np.zeros(32, np.uint32)))


def test_all_of_a_map_is_copied() -> None:
    """ptxas takes no other size than 128."""
    name = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
    session = Session(kernel(f"{name} [%d0], [map], 64; ret;", "t"))
    with pytest.raises(UnsupportedError, match="is 64, not 128"):
        session.launch(session.buffer("t", np.zeros(32, np.uint32)))


def test_im2col_is_named() -> None:
    """What no instruction of PTX tells the layout of is refused by name."""
    body = "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%d0, {%r1, %r2, %r3}], {%h1}; ret;"
    session = Session(kernel(".reg .b16 %h1; " + body, "t"))
    with pytest.raises(UnsupportedError) as caught:
        session.launch(session.buffer("t", np.zeros(32, np.uint32)))
    assert "im2col" in caught.value.instructions[0].reason
