"""Occupancy without a GPU, held to what an H200's driver answered."""

from __future__ import annotations

import pytest

from teenycuda_cli.driver.assembly.theoretical_occupancy import largest_block, theoretical_occupancy

H200 = {  # cuOccupancyMaxActiveBlocksPerMultiprocessor: (registers, threads, shared bytes) -> blocks
    (4, 31, 100): 32, (4, 33, 49152): 4, (4, 192, 231000): 1,
    (4, 768, 70000): 2, (8, 32, 100100): 2, (10, 31, 5000): 32,
    (10, 1000, 1): 2, (12, 1, 150000): 1, (12, 64, 150000): 1,
    (12, 256, 50176): 4, (12, 384, 50176): 4, (12, 544, 231000): 1,
    (12, 1024, 20000): 2, (14, 128, 20000): 11, (14, 192, 5000): 10,
    (14, 512, 49152): 4, (14, 512, 70000): 3, (14, 544, 0): 3,
    (16, 128, 20000): 11, (16, 128, 70000): 3, (16, 1024, 100000): 2,
    (20, 31, 100): 32, (20, 96, 100): 21, (20, 192, 5000): 10,
    (20, 512, 33000): 4, (20, 544, 5000): 3, (24, 1024, 70000): 2,
    (26, 1, 74224): 3, (26, 1, 104224): 2, (26, 33, 0): 32,
    (26, 384, 37224): 5, (26, 1000, 1): 2, (29, 32, 100000): 2,
    (29, 512, 231000): 1, (31, 288, 22048): 7, (31, 512, 7048): 4,
    (38, 31, 35048): 6, (38, 64, 100000): 2, (38, 96, 51200): 4,
    (38, 160, 150000): 1, (38, 768, 33000): 2, (38, 1024, 152048): 1,
    (56, 33, 5000): 18, (68, 1, 33000): 6, (68, 32, 150000): 1,
    (109, 288, 33000): 1, (109, 1024, 100000): 0, (117, 32, 150000): 1,
}  # fmt: skip


@pytest.mark.parametrize("shape", H200, ids=str)
def test_blocks_as_an_h200_answers(shape: tuple[int, int, int]) -> None:
    """Registers, threads, shared memory: whichever runs out first bounds the blocks."""
    registers, threads, shared = shape
    occupancy = theoretical_occupancy(90, registers, threads, shared)
    assert occupancy is not None
    assert (occupancy.blocks_per_sm, occupancy.threads, occupancy.shared_bytes) == (
        H200[shape],
        threads,
        shared,
    )
    assert occupancy.percent == 100 * H200[shape] * -(-threads // 32) / 64


@pytest.mark.parametrize(("registers", "threads"), [(109, 512), (117, 512), (68, 896), (90, 640), (26, 1024)])
def test_registers_bound_the_block(registers: int, threads: int) -> None:
    """The largest block is the one that an H200's driver gives for kernels of so many registers."""
    assert largest_block(90, registers) == threads


def test_what_does_not_fit() -> None:
    """A block that is too large has no blocks; an architecture that is not known has no answer."""
    assert theoretical_occupancy(90, 32, 2048, 0).blocks_per_sm == 0  # type: ignore[union-attr]
    assert theoretical_occupancy(90, 32, 128, 300_000).percent == 0  # type: ignore[union-attr]
    assert theoretical_occupancy(35, 32, 128, 0) is None
    assert largest_block(35, 32) is None
