"""What a barrier's operands may be."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import INDEX, entry, run, store


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("bar.sync 16;", "16"),
        ("mov.u32 %r0, 77; bar.sync %r0;", "77"),
        ("add.u32 %r0, %r76, 3; bar.sync %r0;", "16"),
        ("bar.sync 0, 7;", "multiple of 32: 7"),
        ("mov.u32 %r0, 40; bar.sync 0, %r0;", "multiple of 32: 40"),
    ],
)
def test_numbers_that_no_barrier_has_are_faults(body: str, said: str) -> None:
    """There are sixteen barriers, and they count whole warps."""
    with pytest.raises(LaunchError, match=said):
        run(entry(INDEX + body), 1, grid=(2,), block=(64,))


def test_barriers_by_register() -> None:
    """Each warp may meet the other of its pair at a barrier of its own."""
    body = INDEX + "shr.u32 %r0, %r76, 6; mov.u32 %r1, 64; bar.sync %r0, %r1;" + store("%r0")
    wanted = np.tile(np.repeat(np.arange(16), 64), 2)
    np.testing.assert_array_equal(run(entry(body), 2048, grid=(2,), block=(1024,)), wanted)
