"""Copies in bulk, which one lane makes and an mbarrier counts, and reductions by them."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

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


# ---------------------------------------------------------------- reductions

OPERATIONS: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "inc": lambda old, new: np.where(old >= new, 0, old + np.uint32(1)).astype(np.uint32),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - np.uint32(1)),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
DTYPES = {
    "u32": np.uint32,
    "s32": np.int32,
    "b32": np.uint32,
    "u64": np.uint64,
    "s64": np.int64,
    "b64": np.uint64,
}
BOTH = [(name, kind) for name in ("min", "max") for kind in ("u32", "s32")]
BOTH += [("inc", "u32"), ("dec", "u32"), ("add", "u32"), ("add", "s32"), ("add", "u64")]
BOTH += [(name, "b32") for name in ("and", "or", "xor")]
GLOBAL = [(name, kind) for name in ("min", "max") for kind in ("u64", "s64")]
GLOBAL += [(name, "b64") for name in ("and", "or", "xor")]
SIZE = 512


def bits(dtype: Any, seed: int, name: str = "") -> NDArray[Any]:
    """Numbers of random bits; few different ones for inc and dec, with their borders."""
    found = np.random.default_rng(seed).integers(0, 256, SIZE, np.uint8).view(dtype)
    return found % 4 if name in ("inc", "dec") else found


GIVEN = """
mov.u32 %r2, s; mad.lo.u32 %r2, %r0, 16, %r2; mul.wide.u32 %d9, %r0, 16; add.u64 %d9, %d0, %d9;
ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d9]; st.shared.v4.u32 [%r2], {%r4, %r5, %r6, %r7};
fence.proxy.async.shared::cta; bar.sync 0;
"""


def reduced(name: str, kind: str, old: NDArray[Any], new: NDArray[Any], more: str = "") -> NDArray[Any]:
    """What a reduction leaves of `old` in global memory."""
    body = f"""{GIVEN}
    @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.{name}{more}.{kind} [%d1], [s], {SIZE};
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;
    """
    session = Session(kernel(body, "new", "old"))
    session.launch(session.buffer("new", new), session.buffer("old", old))
    return session.values("old", old.dtype)


@pytest.mark.parametrize(("name", "kind"), BOTH + GLOBAL)
def test_reductions_of_integers(name: str, kind: str) -> None:
    """Each operation with each integer type in global memory."""
    old, new = bits(DTYPES[kind], 1, name), bits(DTYPES[kind], 2, name)
    np.testing.assert_array_equal(reduced(name, kind, old, new), OPERATIONS[name](old, new))


@pytest.mark.parametrize(
    ("kind", "dtype", "more"),
    [("f16", np.float16, ".noftz"), ("f32", np.float32, ""), ("f64", np.float64, "")],
)
def test_sums_of_floats(kind: str, dtype: Any, more: str) -> None:
    """They are rounded once; subnormal halves stay."""
    rng = np.random.default_rng(3)
    count = SIZE // np.dtype(dtype).itemsize
    old, new = (rng.standard_normal(count).astype(dtype) for _ in range(2))
    if kind == "f16":
        old[::2], new[::2] = old[::2] * dtype(2**-14), new[::2] * dtype(2**-14)
    np.testing.assert_array_equal(reduced("add", kind, old, new, more), old + new)


def test_sums_of_subnormals() -> None:
    """They stay what they are in f32, which the atomic addition in global memory takes for zero."""
    one, other = (bits(np.uint32, seed) & 0x807FFFFF for seed in (7, 8))
    found = reduced("add", "f32", one.view(np.float32), other.view(np.float32))
    np.testing.assert_array_equal(found, one.view(np.float32) + other.view(np.float32))
    assert np.any(found)


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_halves(name: str) -> None:
    """A number wins over NaN."""
    old, new = bits(np.float16, 4), bits(np.float16, 5)
    old[:3], new[1:4] = np.nan, np.nan
    expected = {"min": np.fmin, "max": np.fmax}[name](old, new)
    found = reduced(name, "f16", old, new)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("name", "more"), [("add", ".noftz"), ("min", ""), ("max", "")])
def test_reductions_of_bf16(name: str, more: str) -> None:
    """The upper halves of f32, sums rounded to nearest, ties to even."""
    rng = np.random.default_rng(6)
    old, new = (
        (rng.standard_normal(SIZE // 2, np.float32).view(np.uint32) >> 16).astype(np.uint16) for _ in range(2)
    )
    wide = [(half.astype(np.uint32) << 16).view(np.float32) for half in (old, new)]
    exact = OPERATIONS[name](*wide).view(np.uint32)
    expected = ((exact + 0x7FFF + (exact >> 16 & 1)) >> 16).astype(np.uint16)
    np.testing.assert_array_equal(reduced(name, "bf16", old, new, more), expected)


# ---------------------------------------------------------------- to other blocks of a cluster

NEIGHBOUR = f"""
mov.u32 %r30, %cluster_ctarank; mov.u32 %r31, %cluster_nctarank; add.u32 %r32, %r30, 1; rem.u32 %r32, %r32, %r31;
mul.wide.u32 %d10, %r30, {SIZE}; add.u64 %d0, %d0, %d10; add.u64 %d1, %d1, %d10;
mov.u32 %r33, s+1024; mov.u32 %r34, bar; mad.lo.u32 %r35, %r0, 16, %r33;
mul.wide.u32 %d9, %r0, 16; add.u64 %d11, %d1, %d9;
ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d11]; st.shared.v4.u32 [%r35], {{%r4, %r5, %r6, %r7}};
@%p0 mbarrier.init.shared::cta.b64 [bar], 1;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {SIZE};
barrier.cluster.arrive; barrier.cluster.wait;
mapa.shared::cluster.u32 %r36, %r33, %r32; mapa.shared::cluster.u32 %r37, %r34, %r32;
"""
LEFT = f"""
{WAIT}
ld.shared.v4.u32 {{%r4, %r5, %r6, %r7}}, [%r35]; st.global.v4.u32 [%d11], {{%r4, %r5, %r6, %r7}};
barrier.cluster.arrive; barrier.cluster.wait; ret;
"""


@pytest.mark.parametrize(("name", "kind"), [*BOTH, ("", "")])
def test_into_the_next_block(name: str, kind: str) -> None:
    """A block copies into the shared memory of the next one, or combines with what is there; its mbarrier counts."""
    form = f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{name}.{kind}"
    form = form if name else "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
    body = f"{NEIGHBOUR}{GIVEN}@%p0 {form} [%r36], [s], {SIZE}, [%r37];{LEFT}"
    blocks, dtype = 3, DTYPES.get(kind, np.uint32)
    old, new = (np.stack([bits(dtype, 10 * side + rank, name) for rank in range(blocks)]) for side in (1, 2))
    session = Session(kernel(body, "new", "old"))
    session.launch(
        session.buffer("new", new), session.buffer("old", old), grid=(blocks,), cluster=(blocks, 1, 1)
    )
    sent = np.roll(new, 1, 0)
    expected = OPERATIONS[name](old, sent) if name else sent
    np.testing.assert_array_equal(session.values("old", dtype).reshape(old.shape), expected)


@pytest.mark.parametrize(("blocks", "ranks"), [(2, 0b10), (5, 0b10110), (16, 0x8001), (16, 0xFFFF)])
def test_copies_go_to_several_blocks(blocks: int, ranks: int) -> None:
    """One block's copy, with what it counts, comes to the blocks whose ranks the mask has."""
    form = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
    chosen = [rank for rank in range(blocks) if ranks >> rank & 1]
    body = f"""
    {NEIGHBOUR}
    .reg .b16 %h1; mov.b16 %h1, {ranks}; mov.b32 %r20, {ranks}; shr.u32 %r20, %r20, %r30; and.b32 %r20, %r20, 1;
    setp.eq.u32 %p2, %r30, 1; and.pred %p3, %p2, %p0; setp.eq.u32 %p4, %r20, 0;
    @%p3 {form} [s+1024], [%d0], {SIZE}, [bar], %h1;
    @%p4 bra.uni E;
    {LEFT}
    E: barrier.cluster.arrive; barrier.cluster.wait; ret;
    """
    old, new = (bits(np.uint32, seed).reshape(1, -1).repeat(blocks, 0) for seed in (1, 2))
    new[1] ^= 0xFFFF
    expected = old.copy()
    expected[chosen] = new[1]
    session = Session(kernel(body, "new", "old"))
    session.launch(
        session.buffer("new", new), session.buffer("old", old), grid=(blocks,), cluster=(blocks, 1, 1)
    )
    np.testing.assert_array_equal(session.values("old", np.uint32).reshape(old.shape), expected)


# ---------------------------------------------------------------- faults

INIT = "@%p0 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0; @%p0"
BULK = f"{INIT} cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
MULTICAST = f"{BULK}.multicast::cluster"
OUT = "@%p0 cp.async.bulk.global.shared::cta.bulk_group"
REDUCE = "@%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"
GENERIC = """mov.u32 %r5, s; cvt.u64.u32 %d5, %r5; cvta.shared.u64 %d5, %d5;
mov.u32 %r5, bar; cvt.u64.u32 %d6, %r5; cvta.shared.u64 %d6, %d6;"""


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
        (f"{BULK} [s], [%d0], 16, [bar+4]; ret;", "an mbarrier at 0x"),
        (
            f"{GENERIC} {BULK} [%d5], [%d0], 16, [bar]; ret;",
            "used a generic address of shared memory as one of shared memory",
        ),
        (
            f"{GENERIC} {BULK} [s], [%d0], 16, [%d6]; ret;",
            "used a generic address of shared memory as one of shared memory",
        ),
        (
            f"{GENERIC} {OUT} [%d0], [%d5], 16; ret;",
            "used a generic address of shared memory as one of shared memory",
        ),
        (
            f"{GENERIC} {OUT} [%d5], [s], 16; ret;",
            "used a generic address of shared memory as one of global memory",
        ),
        (
            f"mov.u64 %d5, 0x100000000; {OUT} [%d0], [%d5], 16; ret;",
            "went out of bounds: a load of 16 bytes in shared memory",
        ),
        (f"mov.u64 %d5, -16; {OUT} [%d0], [%d5], 16; ret;", "begins 16 bytes before the start"),
        (f"mov.u32 %r5, -16; {OUT} [%d0], [%r5], 16; ret;", "begins 16 bytes before the start"),
        (
            f"mov.u32 %r5, s; mapa.shared::cluster.u32 %r5, %r5, 0; add.u32 %r5, %r5, 0x1000000; {OUT} [%d0], [%r5], 16; ret;",
            "went out of bounds",
        ),
        (f"{OUT} [%d0], [s+8192], 16; ret;", "went out of bounds: a load of 16 bytes in shared memory"),
        (f"{OUT} [%d0+120], [s], 16; ret;", "the target of a bulk copy at 0x"),
        (f"{REDUCE} [%d0], [s+4], 16; ret;", "the source of a bulk copy at 0x4 must be aligned to 16"),
        (f"{REDUCE} [%d0], [s], 4; ret;", "copies 4 bytes in bulk, which is no multiple of 16"),
        (f"{REDUCE} [%d0+112], [s], 32; ret;", "went out of bounds: a store of 32 bytes"),
        (
            f"mov.b16 %h1, 3; {MULTICAST} [s], [%d0], 16, [bar], %h1; ret;",
            "copies to the block of rank 1, which its cluster does not have",
        ),
        (
            f"mov.b16 %h1, 0x8000; {MULTICAST} [s], [%d0], 16, [bar], %h1; ret;",
            "copies to the block of rank 15",
        ),
    ],
)
def test_bulk_copies_are_checked(body: str, message: str) -> None:
    """A copy outside of its memory, off its alignment or without an mbarrier is a fault of its lane."""
    session = Session(kernel(".reg .b16 %h1; " + body, "a"))
    with pytest.raises(LaunchError) as caught:
        session.launch(session.buffer("a", np.zeros(32, np.uint32)))
    assert message in str(caught.value)
    assert caught.value.context[0] == "by thread (0, 0, 0) of block (0, 0, 0)"


@pytest.mark.parametrize("expected", ["", "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 112;"])
def test_bytes_that_nobody_expects(expected: str) -> None:
    """A phase that waits for other bytes than were copied never ends."""
    body = f"{BULK} [s], [%d0], 128, [bar]; {expected or '@%p0 mbarrier.arrive.shared::cta.b64 _, [bar];'} {WAIT} ret;"
    session = Session(kernel(body, "a"), watchdog=1 << 12)
    with pytest.raises(LaunchError) as caught:
        session.launch(session.buffer("a", np.zeros(32, np.uint32)))
    assert "is stuck: it waits for a phase of an mbarrier that does not end" in str(caught.value)
