"""Lanes that wait for what lanes of another block do, and launches that take longer than they may."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import TimeoutExpired
from tests.emulator.harness import INDEX, Session, entry, run, store

SIGNAL = """
    setp.ne.u32 %p0, %r78, 0; @%p0 bra SENDER;
    setp.ne.u32 %p1, %r76, 0; @%p1 bra MET;
    WAIT: ld.volatile.global.u32 %r1, [%out]; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;
    MET: bar.sync 0; bra END;
    SENDER:
    {barrier}
    setp.ne.u32 %p3, %r76, 0; @%p3 bra END;
    atom.global.exch.b32 %r2, [%out], 1;
    END:
"""


@pytest.mark.parametrize("barrier", ["bar.sync 0;", "bar.sync 1, 64;", "bar.red.popc.u32 %r5, 0, %p0;"])
@pytest.mark.parametrize("blocks", [2, 5])
def test_a_spinning_thread_is_sent_what_comes_after_a_barrier(barrier: str, blocks: int) -> None:
    """A thread spins on a flag that another block sets only behind a barrier of its own."""
    body = INDEX + SIGNAL.format(barrier=barrier) + store("1")
    np.testing.assert_array_equal(
        run(entry(body), 64 * blocks, grid=(blocks,), block=(64,), watchdog=1 << 14), np.ones(64 * blocks)
    )


def test_a_spinning_thread_does_not_let_its_own_block_pass_a_barrier() -> None:
    """Threads of the block of one that spins stay at their barrier until it comes."""
    body = (
        INDEX
        + """
        mov.u32 %r3, 0;
        setp.ne.u32 %p0, %r78, 0; @%p0 bra SENDER;
        setp.ne.u32 %p1, %r76, 0; @%p1 bra MET;
        WAIT: ld.volatile.global.u32 %r1, [%out+512]; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;
        st.global.u32 [%out+516], 7;
        MET: bar.sync 0;
        ld.global.u32 %r3, [%out+516]; bra END;
        SENDER: bar.sync 0; bar.sync 0; bar.sync 0;
        setp.ne.u32 %p3, %r76, 0; @%p3 bra END;
        atom.global.exch.b32 %r2, [%out+512], 1;
        END:
        """
        + store("%r3")
    )
    got = run(entry(body), 130, grid=(2,), block=(64,), watchdog=1 << 14)
    np.testing.assert_array_equal(got[:64], np.full(64, 7))


def test_a_grid_of_empty_blocks_ends_at_the_timeout() -> None:
    """A launch of very many blocks that each take no time at all is over when the time is."""
    session = Session(entry("ret;", params=""))
    with pytest.raises(TimeoutExpired):
        session.launch(grid=(2**31 - 1, 65535, 65535), block=(1024,), timeout=0.3)
