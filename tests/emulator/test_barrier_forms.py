"""bar, barrier and barrier.cluster: every form, the fences, and instructions without effect."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import HEAD, INDEX, Session, entry, run, store

SHARED = ".shared .align 16 .b32 box[1024];\n"
NEW = HEAD.replace("sm_80", "sm_90").replace("8.3", "8.7")
MIRROR = """
mov.u32 %r1, box; shl.b32 %r2, %r76, 2; add.u32 %r2, %r1, %r2; st.shared.u32 [%r2], %r79;
mov.u32 %r3, 0; mov.u32 %r4, {threads}; mov.u32 %r5, 5; mov.u32 %r6, 0;
{barrier}
sub.u32 %r2, {threads}-1, %r76; shl.b32 %r2, %r2, 2; add.u32 %r2, %r1, %r2; ld.shared.u32 %r7, [%r2];
"""


def kernel(body: str) -> str:
    """A kernel for sm_90 with a box in shared memory."""
    return entry(INDEX + body, before=SHARED).replace(HEAD, NEW)


@pytest.mark.parametrize(
    "barrier",
    [
        "bar.sync 0;",
        "bar.cta.sync 15;",
        "bar.sync 0, {threads};",
        "bar.sync %r5;",
        "bar.cta.sync %r5, %r4;",
        "barrier.sync 0;",
        "barrier.cta.sync.aligned 1, {threads};",
        "barrier.sync.aligned %r5, %r4;",
        "bar.red.popc.u32 %r6, 0, %p1;",
        "barrier.cta.red.popc.aligned.u32 %r6, 0, {threads}, %p1;",
        "barrier.red.or.pred %p2, %r5, %r4, !%p1;",
        "barrier.cluster.arrive; barrier.cluster.wait;",
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;",
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
    ],
)
@pytest.mark.parametrize("threads", [32, 160])
def test_all_threads_meet(barrier: str, threads: int) -> None:
    """Behind a barrier of the whole block each thread sees what every other wrote before it."""
    body = MIRROR.format(
        barrier="setp.lt.u32 %p1, %r76, 7;" + barrier.format(threads=threads), threads=threads
    )
    got = run(kernel(body + store("%r7")), 3 * threads, grid=(3,), block=(threads,))
    np.testing.assert_array_equal(got.reshape(3, -1), np.arange(3 * threads).reshape(3, -1)[:, ::-1])


REDUCTIONS = {
    "bar.red.popc.u32 %r6, 0, %p1;": 7,
    "bar.cta.red.popc.u32 %r6, 3, !%p1;": 57,
    "barrier.red.popc.u32 %r6, 0, 64, %p1;": 7,
    "barrier.cta.red.popc.aligned.u32 %r6, 0, 64, !%p1;": 57,
    "bar.red.and.pred %p2, 0, %p1; selp.u32 %r6, 1, 0, %p2;": 0,
    "bar.red.or.pred %p2, 0, 64, %p1; selp.u32 %r6, 1, 0, %p2;": 1,
    "barrier.red.and.pred %p2, 0, 64, %p3; selp.u32 %r6, 1, 0, %p2;": 1,
    "barrier.red.or.aligned.pred %p2, 0, 64, !%p3; selp.u32 %r6, 1, 0, %p2;": 0,
    "barrier.cta.red.and.aligned.pred %p2, 0, !%p1; selp.u32 %r6, 1, 0, %p2;": 0,
}


@pytest.mark.parametrize("barrier", REDUCTIONS)
def test_reductions(barrier: str) -> None:
    """Each thread gets how many of the block's predicates hold, or whether all or any do."""
    body = "setp.lt.u32 %p1, %r76, 7; setp.lt.u32 %p3, %r76, 100;" + barrier + store("%r6")
    np.testing.assert_array_equal(
        run(kernel(body), 128, grid=(2,), block=(64,)), np.full(128, REDUCTIONS[barrier])
    )


@pytest.mark.parametrize("name", ["bar", "bar.cta", "barrier", "barrier.cta"])
def test_arriving_threads_do_not_wait(name: str) -> None:
    """Producers count at one barrier and wait at another; consumers the other way round."""
    body = f"""
    mov.u32 %r1, box; and.b32 %r2, %r76, 31; shl.b32 %r2, %r2, 2; add.u32 %r2, %r1, %r2;
    mov.u32 %r20, 0; mov.u32 %r7, 0; setp.ge.u32 %p1, %r76, 32; @%p1 bra CONSUME;
    PRODUCE: mad.lo.u32 %r5, %r20, 100, %r76; st.shared.u32 [%r2], %r5;
    {name}.arrive 1, 64; {name}.sync 2, 64;
    add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 5; @%p2 bra PRODUCE; bra END;
    CONSUME: {name}.sync 1, 64; ld.shared.u32 %r5, [%r2]; add.u32 %r7, %r7, %r5; {name}.arrive 2, 64;
    add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 5; @%p2 bra CONSUME;
    END:
    """
    got = run(kernel(body + store("%r7")), 128, grid=(2,), block=(64,)).reshape(2, 64)
    np.testing.assert_array_equal(got[:, 32:], np.tile(1000 + 5 * np.arange(32), (2, 1)))


def test_a_thread_may_work_between_arriving_at_the_cluster_and_waiting() -> None:
    """One that arrived sends the others on before it waits itself, round after round."""
    body = """
    mov.u32 %r1, box; mov.u32 %r20, 0; mov.u32 %r7, 0; setp.eq.u32 %p1, %r76, 0;
    @%p1 st.volatile.shared.u32 [%r1], %r7; bar.sync 0;
    ROUND: barrier.cluster.arrive; @!%p1 bra WAIT;
    SPIN: ld.volatile.shared.u32 %r5, [%r1]; setp.le.u32 %p2, %r5, %r20; @%p2 bra SPIN;
    WAIT: barrier.cluster.wait;
    setp.eq.u32 %p3, %r76, 40; add.u32 %r6, %r20, 1; @%p3 st.volatile.shared.u32 [%r1], %r6;
    add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 4; @%p2 bra ROUND;
    """
    np.testing.assert_array_equal(
        run(kernel(body + store("%r20")), 128, grid=(2,), block=(64,), watchdog=1 << 12), np.full(128, 4)
    )


def test_waiting_for_a_cluster_that_does_not_arrive_is_a_fault() -> None:
    """Threads that wait without having arrived are stuck."""
    with pytest.raises(LaunchError, match="stuck"):
        run(kernel("barrier.cluster.wait;"), 1)


@pytest.mark.parametrize(
    "nothing",
    [
        "membar.cta; membar.gl; membar.sys; membar.proxy.alias;",
        "fence.cta; fence.cluster; fence.gpu; fence.sys; fence.sc.cta; fence.sc.sys; fence.acq_rel.cluster;",
        "fence.acquire.gpu; fence.release.sys; fence.acquire.sync_restrict::shared::cluster.cluster;",
        "fence.release.sync_restrict::shared::cta.cluster; fence.mbarrier_init.release.cluster;",
        "fence.proxy.alias; fence.proxy.async; fence.proxy.async.global; fence.proxy.async.shared::cta;",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
        "fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.sys [%out], 128;",
        "prefetch.global.L1 [%out]; prefetch.L2 [%out]; prefetch.global.L2::evict_last [%out];",
        "prefetchu.L1 [%out]; prefetch.tensormap [%out];",
        "applypriority.global.L2::evict_normal [%out], 128; discard.L2 [%out+1024], 128;",
        "griddepcontrol.wait; griddepcontrol.launch_dependents; nanosleep.u32 20; pmevent 3; pmevent.mask 7;",
    ],
)
def test_fences_and_hints_do_nothing(nothing: str) -> None:
    """They run, and what the kernel computes stays the same."""
    np.testing.assert_array_equal(run(kernel(nothing + store("%r79")), 64, grid=(2,)), np.arange(64))


POLICIES = {
    "fractional.L2::evict_last.b64 %d4, 1.0": 0x14F0000000000000,
    "fractional.L2::evict_first.b64 %d4": 0x12F0000000000000,
    "fractional.L2::evict_normal.b64 %d4, 0.5": 0x1670000000000000,
    "fractional.L2::evict_unchanged.b64 %d4, %f1": 0x1040000000000000,
    "fractional.L2::evict_last.L2::evict_first.b64 %d4, 0.0625": 0x1500000000000000,
    "range.global.L2::evict_last.L2::evict_first.b64 %d4, [%d5], 0x100000, 0x200000": 0x1D24080000000000,
    "cvt.L2.b64 %d4, %d5": 0x100000,
}


@pytest.mark.parametrize("form", POLICIES)
def test_policies_are_words_of_an_sm_90(form: str) -> None:
    """A policy has the bits that ptxas's own code for sm_90 gives it (0.3 is four sixteenths)."""
    body = f"mov.f32 %f1, 0f3E99999A; mov.b64 %d5, 0x100000; createpolicy.{form}; st.global.b64 [%out], %d4;"
    session = Session(kernel(body))
    session.launch(session.buffer("out", np.zeros(1, np.uint64)))
    assert hex(session.values("out", np.uint64)[0]) == hex(POLICIES[form])


@pytest.mark.parametrize("threads", [1, 33, 70])
def test_a_part_of_a_warp_counts_as_a_warp(threads: int) -> None:
    """A barrier with a thread count is over when all warps have come, the last one with fewer threads too."""
    body = "mov.u32 %r6, 7; setp.ge.u32 %p1, %r76, 0; setp.lt.u32 %p2, %r76, 32; @!%p2 bra LATE;"
    count = -(-threads // 32) * 32
    body += f"bar.sync 1, {count}; bra END; LATE: bar.sync 1, {count}; END:"
    body += f"barrier.cta.red.popc.u32 %r6, 3, {count}, %p1;"
    got = run(kernel(body + store("%r6")), 2 * threads, grid=(2,), block=(threads,))
    np.testing.assert_array_equal(got, np.full(2 * threads, threads))


def test_a_warp_some_of_whose_threads_have_ended_counts_as_a_warp() -> None:
    """Those that are left come for all 32."""
    body = "and.b32 %r1, %r76, 3; setp.eq.u32 %p1, %r1, 0; @%p1 exit; bar.sync 1, 64;"
    got = run(kernel(body + store("%r79")), 64, block=(64,))
    np.testing.assert_array_equal(got, np.where(np.arange(64) % 4 == 0, 0, np.arange(64)))
