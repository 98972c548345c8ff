"""Copies in bulk, which one lane makes and an mbarrier counts, and reductions by them."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.copies import WAIT, kernel
from tests.emulator.harness import Session


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
