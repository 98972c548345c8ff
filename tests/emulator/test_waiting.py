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


def test_spinning_in_a_function_lets_others_run() -> None:
    """A lock taken by an atomic in a function of its own is handed on as fast as one taken in the loop."""
    before = """
    .func (.param .b32 r) take(.param .b64 a) {
        .reg .b32 %r; .reg .b64 %d;
        ld.param.u64 %d, [a]; atom.global.cas.b32 %r, [%d], 0, 1; st.param.b32 [r], %r; ret;
    }
    .func (.param .b32 r) outer(.param .b64 a) {
        .reg .b32 %r; .reg .b64 %d;
        ld.param.u64 %d, [a];
        { .param .b64 p; .param .b32 q; st.param.b64 [p], %d; call (q), take, (p); ld.param.b32 %r, [q]; }
        st.param.b32 [r], %r; ret;
    }
    """
    body = """
    AGAIN:
    { .param .b64 p; .param .b32 q; st.param.b64 [p], %out; call (q), outer, (p); ld.param.b32 %r1, [q]; }
    setp.ne.u32 %p0, %r1, 0; @%p0 bra AGAIN;
    ld.volatile.global.u32 %r2, [%out+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%out+4], %r2;
    membar.gl; atom.global.exch.b32 %r3, [%out], 0;
    """
    got = run(entry(body, before=before), 2, grid=(2,), block=(64,), watchdog=1 << 14)
    np.testing.assert_array_equal(got, [0, 128])
