"""mbarrier objects: phases, counts, waiting, and what is no use of one."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError, TimeoutExpired
from tests.emulator.harness import HEAD, INDEX, Session, entry, run, store

SHARED = ".shared .align 8 .b64 bar[4]; .shared .align 16 .b32 box[2048];\n"
BAR = (
    INDEX
    + "mov.u32 %r1, bar; mov.u32 %r2, box; shl.b32 %r3, %r76, 2; add.u32 %r3, %r2, %r3;"
    + "setp.eq.u32 %p9, %r76, 0;\n"
)


def init(count: object) -> str:
    """Thread 0 makes the first object."""
    return f"@%p9 mbarrier.init.shared.b64 [%r1], {count}; bar.sync 0;\n"


def kernel(body: str) -> str:
    """A kernel with objects and a box in shared memory."""
    return entry(BAR + body, before=SHARED).replace(
        HEAD, HEAD.replace("sm_80", "sm_90").replace("8.3", "8.7")
    )


WAIT_STATE = "AGAIN: mbarrier.{wait}.shared.b64 %p1, [%r1], %d4; @!%p1 bra AGAIN;"
WAIT_PARITY = "AGAIN: mbarrier.{wait}.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra AGAIN;"


@pytest.mark.parametrize("wait", ["test_wait", "try_wait"])
@pytest.mark.parametrize("form", [WAIT_STATE, WAIT_PARITY])
@pytest.mark.parametrize("threads", [32, 96, 200])
def test_all_threads_see_what_was_written_before_the_others_arrived(
    wait: str, form: str, threads: int
) -> None:
    """An object for all threads of a block is a barrier: each sees what its mirror image stored."""
    body = (
        init(threads)
        + f"""
        st.shared.u32 [%r3], %r79;
        mbarrier.arrive.shared.b64 %d4, [%r1];
        {form.format(wait=wait)}
        sub.u32 %r4, {threads - 1}, %r76; shl.b32 %r4, %r4, 2;
        add.u32 %r4, %r2, %r4; ld.shared.u32 %r5, [%r4];
        """
        + store("%r5")
    )
    got = run(kernel(body), 3 * threads, grid=(3,), block=(threads,))
    np.testing.assert_array_equal(got.reshape(3, -1), np.arange(3 * threads).reshape(3, -1)[:, ::-1])


@pytest.mark.parametrize("space", ["shared", "shared::cta", "shared::cluster", ""])
def test_addresses_of_every_space(space: str) -> None:
    """An object is found by an address of shared memory or a generic one."""
    dot = f".{space}" if space else ""
    address = "%r1" if space else "%d5"
    sink = "_" if space == "shared::cluster" else "%d4"
    body = init(64) + (
        f"cvt.u64.u32 %d5, %r1; cvta.shared.u64 %d5, %d5; mbarrier.arrive{dot}.b64 {sink}, [{address}];"
        "AGAIN: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra AGAIN;"
    )
    np.testing.assert_array_equal(run(kernel(body + store("7")), 64, block=(64,)), np.full(64, 7))


@pytest.mark.parametrize("semantics", ["", ".release.cta", ".release.cluster", ".relaxed.cta"])
@pytest.mark.parametrize("how", ["arrive", "arrive_drop", "arrive.expect_tx"])
def test_semantics_change_nothing(how: str, semantics: str) -> None:
    """Each order of memory that an arrival may name gives the same result."""
    count = ", 0" if "tx" in how else ""
    body = init(32) + (
        f"mbarrier.{how}{semantics}.shared::cta.b64 %d4, [%r1]{count};"
        "AGAIN: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], 0, 1000; @!%p1 bra AGAIN;"
    )
    np.testing.assert_array_equal(run(kernel(body + store("7")), 32), np.full(32, 7))


def test_pending_counts_go_down_by_the_threads_of_a_warp() -> None:
    """The threads of a warp find one count, as on an H200; warps find what those before them left."""
    body = init(70) + "mbarrier.arrive.shared.b64 %d4, [%r1]; mbarrier.pending_count.b64 %r5, %d4;"
    got = run(kernel(body + store("%r5")), 96, grid=(2,), block=(48,))
    np.testing.assert_array_equal(got.reshape(2, -1), np.tile([70] * 32 + [38] * 16, (2, 1)))


def test_counts_of_arrivals() -> None:
    """An arrival may count for several; the phase ends with the last of them."""
    body = (
        init(32 * 33 // 2)
        + "add.u32 %r5, %r76, 1; mbarrier.arrive.shared.b64 %d4, [%r1], %r5;"
        + "mbarrier.pending_count.b64 %r6, %d4;"
        + "mbarrier.test_wait.shared.b64 %p1, [%r1], %d4; selp.u32 %r7, 1000, 0, %p1; add.u32 %r6, %r6, %r7;"
    )
    got = run(kernel(body + store("%r6")), 32)
    np.testing.assert_array_equal(got, 1000 + 528 - np.concatenate(([0], np.cumsum(np.arange(1, 32)))))


def test_arrivals_may_end_many_phases_at_once() -> None:
    """With a count of one, each arrival of a warp ends a phase."""
    body = init(1) + (
        "mbarrier.arrive.shared.b64 %d4, [%r1]; mbarrier.pending_count.b64 %r5, %d4; bar.warp.sync -1;"
        "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1; selp.u32 %r6, 10, 0, %p1; add.u32 %r5, %r5, %r6;"
    )
    np.testing.assert_array_equal(run(kernel(body + store("%r5")), 32), np.full(32, 11))


def test_no_complete_leaves_the_phase_open() -> None:
    """`.noComplete` counts, and a test right after it says that the phase goes on."""
    body = init(65) + (
        "mbarrier.arrive.noComplete.shared.b64 %d4, [%r1], 2; mbarrier.pending_count.b64 %r5, %d4;"
        "mbarrier.test_wait.shared.b64 %p1, [%r1], %d4; selp.u32 %r6, 1000, 0, %p1; add.u32 %r5, %r5, %r6;"
    )
    np.testing.assert_array_equal(np.sort(run(kernel(body + store("%r5")), 32)), np.arange(3, 66, 2))


def test_threads_that_drop_are_expected_no_more() -> None:
    """Half of the threads leave after the first phase; the second ends without them."""
    body = (
        init(64)
        + """
        setp.lt.u32 %p2, %r76, 32; @%p2 bra STAY;
        mbarrier.arrive_drop.shared.b64 %d4, [%r1]; bra END;
        STAY:
        mbarrier.arrive.shared.b64 %d4, [%r1];
        ONE: mbarrier.try_wait.shared.b64 %p1, [%r1], %d4; @!%p1 bra ONE;
        mbarrier.arrive.shared.b64 %d4, [%r1]; mbarrier.pending_count.b64 %r5, %d4;
        TWO: mbarrier.try_wait.shared.b64 %p1, [%r1], %d4; @!%p1 bra TWO;
        """
        + store("%r5")
        + "END:"
    )
    got = run(kernel(body), 64, block=(64,))
    np.testing.assert_array_equal(got, [32] * 32 + [0] * 32)


def test_transactions_hold_a_phase_open() -> None:
    """A phase ends when all have arrived and all transactions that were expected are complete."""
    body = (
        init(1)
        + """
        mov.u32 %r5, 0; setp.ne.u32 %p2, %r76, 0; @%p2 bra MEET;
        mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 100;
        mbarrier.arrive.expect_tx.shared.b64 %d4, [%r1], 28;
        mbarrier.test_wait.shared.b64 %p1, [%r1], %d4; @%p1 add.u32 %r5, %r5, 1;
        mbarrier.complete_tx.shared.b64 [%r1], 127;
        mbarrier.test_wait.shared.b64 %p1, [%r1], %d4; @%p1 add.u32 %r5, %r5, 10;
        mbarrier.complete_tx.shared.b64 [%r1], 1;
        mbarrier.test_wait.shared.b64 %p1, [%r1], %d4; @%p1 add.u32 %r5, %r5, 100;
        MEET: bar.sync 0;
        """
        + store("%r5")
    )
    np.testing.assert_array_equal(run(kernel(body), 32), [100] + [0] * 31)


PIPELINE = """
    @%p9 mbarrier.init.shared.b64 [%r1], 32; @%p9 mbarrier.init.shared.b64 [%r1+8], {consumers}; bar.sync 0;
    mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r22, 0;
    setp.ge.u32 %p2, %r76, 32; @%p2 bra CONSUME;
    PRODUCE:
    xor.b32 %r23, %r21, 1;
    EMPTY: mbarrier.{wait}.parity.shared.b64 %p1, [%r1+8], %r23; @!%p1 bra EMPTY;
    mad.lo.u32 %r24, %r20, %r20, %r78; st.shared.u32 [%r3], %r24;
    mbarrier.arrive.shared.b64 _, [%r1];
    xor.b32 %r21, %r21, 1; add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, {turns}; @%p3 bra PRODUCE;
    bra END;
    CONSUME:
    and.b32 %r25, %r76, 31; shl.b32 %r25, %r25, 2; add.u32 %r25, %r25, %r2;
    FULL: mbarrier.{wait}.parity.shared.b64 %p1, [%r1], %r21; @!%p1 bra FULL;
    ld.shared.u32 %r24, [%r25]; add.u32 %r22, %r22, %r24;
    mbarrier.arrive.shared.b64 _, [%r1+8];
    xor.b32 %r21, %r21, 1; add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, {turns}; @%p3 bra FULL;
    END:
"""


@pytest.mark.parametrize("wait", ["test_wait", "try_wait"])
@pytest.mark.parametrize("turns", [1, 2, 37])
def test_a_producer_and_consumers_take_turns(wait: str, turns: int) -> None:
    """One warp fills a box that others empty, by two objects and their parities."""
    body = PIPELINE.format(wait=wait, turns=turns, consumers=96) + store("%r22")
    got = run(kernel(body), 4 * 128, grid=(4,), block=(128,), watchdog=1 << 13).reshape(4, 128)
    wanted = np.zeros((4, 128))
    wanted[:, 32:] = (sum(k * k for k in range(turns)) + turns * np.arange(4))[:, None]
    np.testing.assert_array_equal(got, wanted)


def test_waiting_threads_do_not_hold_up_a_barrier_of_others() -> None:
    """Warps meet at a named barrier while another waits for the object at which they arrive behind it."""
    body = (
        init(64)
        + """
        setp.lt.u32 %p2, %r76, 32; @%p2 bra WAIT;
        bar.sync 1, 64; mbarrier.arrive.shared.b64 _, [%r1]; bra END;
        WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra WAIT;
        END: bar.sync 0;
        """
        + store("5")
    )
    np.testing.assert_array_equal(run(kernel(body), 192, grid=(2,), block=(96,)), np.full(192, 5))


def test_copies_arrive_at_an_object() -> None:
    """`cp.async.mbarrier.arrive.noinc` arrives for the thread, without `.noinc` one more has to."""
    body = (
        init(32)
        + """
        mul.wide.u32 %d5, %r79, 4; add.u64 %d5, %d5, %out; cp.async.ca.shared.global [%r3], [%d5], 4;
        cp.async.mbarrier.arrive.shared.b64 [%r1];
        mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; selp.u32 %r6, 100, 0, %p1;
        cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];
        AGAIN: mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra AGAIN;
        ld.shared.u32 %r5, [%r3]; add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, 1;
        """
        + store("%r5")
    )
    session = Session(kernel(body))
    session.launch(session.buffer("out", np.arange(32, dtype=np.uint32)))
    np.testing.assert_array_equal(session.values("out", np.uint32), np.arange(1, 33))


MISUSES = {
    "mbarrier.arrive.shared.b64 _, [%r1];": "not initialised",
    "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0;": "not initialised",
    init(1) + "mbarrier.inval.shared.b64 [%r1]; mbarrier.arrive.shared.b64 _, [%r1];": "not initialised",
    "mov.b64 %d5, 0; st.shared.b64 [%r1], %d5; mbarrier.arrive.shared.b64 _, [%r1];": "not initialised",
    "mbarrier.init.shared.b64 [%r1+4], 1;": "misaligned",
    "mbarrier.init.shared.b64 [%r1+100000], 1;": "out of bounds",
    "mbarrier.init.b64 [%out], 1;": "out of bounds",
    "mbarrier.init.shared.b64 [%r1], 0;": "for 0 arrivals",
    "mbarrier.init.shared.b64 [%r1], 1048576;": "for 1048576 arrivals",
    init(40)
    + "mbarrier.arrive.shared.b64 _, [%r1], 30;": "arrives 30 times at an mbarrier that waits for 10",
    init(32) + "mbarrier.arrive.noComplete.shared.b64 %d4, [%r1], 1;": "noComplete",
    init(1) + "mbarrier.expect_tx.shared.b64 [%r1], 1048575;": "transactions",
}


@pytest.mark.parametrize("body", MISUSES)
def test_misuse_is_a_fault(body: str) -> None:
    """What no object can take names the thread and the line."""
    with pytest.raises(LaunchError, match=MISUSES[body]) as caught:
        run(kernel(body), 32)
    assert caught.value.line


@pytest.mark.parametrize("wait", ["test_wait", "try_wait"])
def test_a_phase_that_never_ends_is_told(wait: str) -> None:
    """Threads that wait for an arrival that cannot come are said to be stuck, soon."""
    body = init(33) + "mbarrier.arrive.shared.b64 %d4, [%r1];" + WAIT_STATE.format(wait=wait)
    with pytest.raises(LaunchError, match="phase of an mbarrier that does not end"):
        run(kernel(body), 32)


def test_waiting_ends_at_the_timeout() -> None:
    """A launch with a timeout is over when its time is, whatever its threads wait for."""
    body = init(33) + "AGAIN: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; bra AGAIN;"
    session = Session(kernel(body))
    with pytest.raises(TimeoutExpired):
        session.launch(session.buffer("out", np.zeros(32, np.uint32)), timeout=0.002)


def test_lanes_of_a_warp_wait_for_those_at_an_object() -> None:
    """A vote waits for lanes whose phase is over, and has them wait for nothing but themselves."""
    body = """
    setp.ge.u32 %p1, %r76, 16; @%p1 bra LATE;
    mbarrier.arrive.shared.b64 %d4, [%r1];
    AGAIN: mbarrier.test_wait.shared.b64 %p2, [%r1], %d4; @!%p2 bra AGAIN; bra BOTH;
    LATE: mbarrier.arrive.shared.b64 %d4, [%r1];
    BOTH: vote.sync.ballot.b32 %r7, %p1, 0xffffffff;
    """
    got = run(kernel(init(32) + body + store("%r7")), 64, grid=(2,))
    np.testing.assert_array_equal(got, np.full(64, 0xFFFF0000, np.uint32))
