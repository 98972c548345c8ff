"""Shared memory of a cluster's blocks: mapa, getctarank, and what reaches another block."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import HEAD, INDEX, Session, entry, store

SHARED = ".shared .align 16 .b32 box[64];\n"
RANK = "mov.u32 %r60, %cluster_ctarank; mov.u32 %r61, %cluster_nctarank; mov.u32 %r62, box;\n"
MEET = "barrier.cluster.arrive; barrier.cluster.wait;\n"


def launch(
    body: str, count: int, grid: tuple[int, ...], cluster: tuple[int, int, int], few_lanes: int = 0
) -> NDArray[np.uint32]:
    """What a kernel of 32 threads a block leaves in its buffer."""
    text = entry(INDEX + RANK + body, before=SHARED)
    text = text.replace(HEAD, ".version 8.7\n.target sm_90\n.address_size 64\n")
    session = Session(text, **({"few_lanes": few_lanes} if few_lanes else {}))
    out = session.buffer("out", np.zeros(count, np.uint32))
    session.launch(out, grid=grid, block=(32,), cluster=cluster)
    return session.values("out", np.uint32)


def mates(grid: tuple[int, ...], cluster: tuple[int, int, int]) -> NDArray[np.int64]:
    """For each block its cluster's blocks, by rank."""
    gx, gy, gz = (*grid, 1, 1)[:3]
    z, y, x = np.unravel_index(np.arange(gx * gy * gz), (gz, gy, gx))
    cx, cy, cz = cluster
    rz, ry, rx = np.unravel_index(np.arange(cx * cy * cz), (cz, cy, cx))
    x, y, z = (x - x % cx)[:, None] + rx, (y - y % cy)[:, None] + ry, (z - z % cz)[:, None] + rz
    return np.asarray((z * gy + y) * gx + x)


NEXT = "add.u32 %r1, %r60, 1; rem.u32 %r1, %r1, %r61;\n"
SHAPES = [((4,), (2, 1, 1)), ((4, 6), (2, 3, 1)), ((2, 4, 4), (1, 2, 4)), ((3,), (1, 1, 1))]
READS = {
    "32 bits": "mapa.shared::cluster.u32 %r3, %r62, %r1; ld.shared::cluster.u32 %r4, [%r3+8];",
    "64 bits": "cvt.u64.u32 %d3, %r62; mapa.shared::cluster.u64 %d3, %d3, %r1; ld.shared::cluster.u32 %r4, [%d3+8];",
    "generic": "cvt.u64.u32 %d3, %r62; cvta.shared.u64 %d3, %d3; mapa.u64 %d3, %d3, %r1; ld.u32 %r4, [%d3+8];",
    "atomic": "mapa.shared::cluster.u32 %r3, %r62, %r1; atom.shared::cluster.add.u32 %r4, [%r3+8], 0;",
}


@pytest.mark.parametrize("how", READS)
@pytest.mark.parametrize(("grid", "cluster"), SHAPES)
def test_blocks_read_one_anothers_shared_memory(
    how: str, grid: tuple[int, ...], cluster: tuple[int, int, int]
) -> None:
    """An address that mapa made reads what the block of that rank wrote."""
    body = f"st.shared.u32 [%r62+8], %r78; {MEET}{NEXT}{READS[how]}{MEET}" + store("%r4")
    blocks = int(np.prod(grid))
    got = launch(body, 32 * blocks, grid, cluster).reshape(blocks, 32)
    table = mates(grid, cluster)
    rank = (table == np.arange(blocks)[:, None]).argmax(1)
    wanted = table[np.arange(blocks), (rank + 1) % table.shape[1]]
    np.testing.assert_array_equal(got, np.tile(wanted[:, None], 32))


def test_each_lane_may_write_to_another_block() -> None:
    """Lanes of a block store to blocks of different ranks in one instruction."""
    body = (
        "and.b32 %r1, %r76, 3; mapa.shared::cluster.u32 %r3, %r62, %r1; shr.u32 %r5, %r76, 2;"
        "mad.lo.u32 %r5, %r60, 8, %r5; shl.b32 %r5, %r5, 2; add.u32 %r3, %r3, %r5;"
        f"st.shared::cluster.u32 [%r3], %r79; {MEET}"
        "shl.b32 %r5, %r76, 2; add.u32 %r5, %r5, %r62; ld.shared.u32 %r4, [%r5];" + store("%r4")
    )
    got = launch(body, 32 * 8, (8,), (4, 1, 1)).reshape(2, 4, 32)
    cluster, rank, source, lane = np.indices((2, 4, 4, 8))
    wanted = ((cluster * 4 + source) * 32 + lane * 4 + rank).reshape(2, 4, 32)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("width", [32, 64])
def test_the_rank_of_an_address(width: int) -> None:
    """getctarank gives the rank that mapa was given, and a block's own for its own addresses."""
    address, letter = ("%r3", "r") if width == 32 else ("%d3", "d")
    body = f"{NEXT} cvt.u64.u32 %d2, %r62; mov.u32 %r2, %r62; mapa.shared::cluster.u{width} {address}, %{letter}2, %r1;"
    body += f"getctarank.shared::cluster.u{width} %r4, {address}; getctarank.shared::cluster.u{width} %r5, %{letter}2;"
    body += "mad.lo.u32 %r4, %r4, 10, %r5;" + store("%r4")
    got = launch(body, 32 * 6, (6,), (3, 1, 1)).reshape(6, 32)
    np.testing.assert_array_equal(got[:, 0], [10, 21, 2, 10, 21, 2])
    assert (got == got[:, :1]).all()


def test_a_single_lane_in_a_loop_reads_another_blocks_memory() -> None:
    """Where a loop runs lane by lane, addresses of other blocks are found too."""
    body = (
        f"st.shared.u32 [%r62], %r78; st.shared.u32 [%r62+4], 5; {MEET}{NEXT}"
        "mov.u32 %r4, 0; mov.u32 %r6, 0; setp.ne.u32 %p1, %r76, 3; @%p1 bra END;"
        "mapa.shared::cluster.u32 %r3, %r62, %r1;"
        "AGAIN: ld.shared::cluster.u32 %r5, [%r3]; add.u32 %r4, %r4, %r5;"
        "st.shared::cluster.u32 [%r3+8], %r4; ld.shared.u32 %r7, [%r62+4]; add.u32 %r4, %r4, %r7;"
        f"add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 50; @%p2 bra AGAIN; END: {MEET}" + store("%r4")
    )
    got = launch(body, 64, (2,), (2, 1, 1), few_lanes=32).reshape(2, 32)
    np.testing.assert_array_equal(got[:, 3], [50 * (1 + 5), 50 * 5])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("mapa.shared::cluster.u32 %r3, %r62, 2; ld.shared::cluster.u32 %r4, [%r3];", "went out of bounds"),
        (
            "mapa.shared::cluster.u32 %r3, %r62, 1; ld.shared::cluster.u32 %r4, [%r3+256];",
            "went out of bounds",
        ),
        ("mapa.shared::cluster.u32 %r3, %r62, 1; ld.shared::cluster.u32 %r4, [%r3+2];", "misaligned"),
        ("mapa.shared::cluster.u32 %r3, %r62, 77; st.shared::cluster.u32 [%r3], %r4;", "went out of bounds"),
    ],
)
def test_what_is_not_in_the_cluster_is_a_fault(body: str, told: str) -> None:
    """A rank that no block has, and a place that its memory lacks."""
    with pytest.raises(LaunchError, match=told) as caught:
        launch(MEET + body + MEET, 64, (2,), (2, 1, 1))
    assert caught.value.line


def test_a_block_is_at_the_cluster_s_barrier_while_another_waits_elsewhere() -> None:
    """The barrier ends once all have come to it, some after polls that are in vain."""
    body = """
    setp.eq.u32 %p1, %r60, 0; @%p1 bra MEET; mov.u32 %r5, 0;
    POLL: mbarrier.try_wait.parity.shared.b64 %p2, [object], 0; add.u32 %r5, %r5, 1;
    setp.lt.u32 %p3, %r5, 5; @%p3 bra POLL;
    MEET: barrier.cluster.arrive; barrier.cluster.wait;
    """
    before = "mov.u32 %r5, 9; mbarrier.init.shared.b64 [object], 1;\n"
    got = launch(".shared .align 8 .b64 object;" + before + body + store("%r5"), 64, (2,), (2, 1, 1))
    np.testing.assert_array_equal(got.reshape(2, 32), [[9] * 32, [5] * 32])


def test_a_cluster_that_is_stuck() -> None:
    """A block at the cluster's barrier and one that waits for ever elsewhere are told of, not waited for."""
    body = """
    mbarrier.init.shared.b64 [object], 1; setp.eq.u32 %p1, %r60, 0; @%p1 bra MEET;
    POLL: mbarrier.try_wait.parity.shared.b64 %p2, [object], 0; @!%p2 bra POLL;
    MEET: barrier.cluster.arrive; barrier.cluster.wait;
    """
    with pytest.raises(LaunchError, match="stuck: it waits for a phase of an mbarrier"):
        launch(".shared .align 8 .b64 object;" + body, 64, (2,), (2, 1, 1))
