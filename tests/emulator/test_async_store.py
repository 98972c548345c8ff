"""st.async and red.async: lanes' own stores and reductions in a cluster, which an mbarrier counts."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from teenycuda_cli.errors import LaunchError
from tests.emulator.copies import WAIT, kernel
from tests.emulator.harness import Session

BLOCKS = 3
TX = "mbarrier::complete_tx::bytes"


def ring(code: str, size: int) -> str:
    """A kernel in which lanes work on `size` bytes each in the next block, at %r36 (mbarrier: %r37), with those at %d12.

    The block's own, at %r35, come from and go to %d11.
    """
    moves = [
        (
            f"ld.global.u32 %r4, [%d11+{at}]; st.shared.u32 [%r35+{at}], %r4;",
            f"ld.shared.u32 %r4, [%r35+{at}]; st.global.u32 [%d11+{at}], %r4;",
        )
        for at in range(0, size, 4)
    ]
    return kernel(
        f"""
    mov.u32 %r30, %cluster_ctarank; mov.u32 %r31, %cluster_nctarank; add.u32 %r32, %r30, 1; rem.u32 %r32, %r32, %r31;
    mad.lo.u32 %r33, %r30, 32, %r0; mul.wide.u32 %d10, %r33, {size}; add.u64 %d11, %d0, %d10; add.u64 %d12, %d1, %d10;
    mov.u32 %r34, bar; mov.u32 %r35, s; mad.lo.u32 %r35, %r0, {size}, %r35;
    {" ".join(load for load, _ in moves)}
    @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {32 * size};
    barrier.cluster.arrive; barrier.cluster.wait;
    mapa.shared::cluster.u32 %r36, %r35, %r32; mapa.shared::cluster.u32 %r37, %r34, %r32;
    cvt.u64.u32 %d5, %r35; cvta.shared.u64 %d5, %d5; mapa.u64 %d6, %d5, %r32;
    cvt.u64.u32 %d7, %r34; cvta.shared.u64 %d7, %d7; mapa.u64 %d8, %d7, %r32;
    {code}
    {WAIT}
    {" ".join(store for _, store in moves)}
    barrier.cluster.arrive; barrier.cluster.wait; ret;
    """,
        "old",
        "new",
    )


def run(text: str, old: NDArray[Any], new: NDArray[Any], **options: int) -> NDArray[Any]:
    """What a ring leaves of `old`, block by block."""
    session = Session(text, **options)
    session.launch(
        session.buffer("old", old), session.buffer("new", new), grid=(BLOCKS,), cluster=(BLOCKS, 1, 1)
    )
    return session.values("old", old.dtype).reshape(old.shape)


def bits(dtype: Any, count: int, seed: int) -> NDArray[Any]:
    """Numbers of random bits for each lane of each block."""
    size = BLOCKS * 32 * count * np.dtype(dtype).itemsize
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8).view(dtype).reshape(BLOCKS, -1)


PLACES = {
    "shared": ("[%r36]", "[%r37]", ".shared::cluster"),
    "generic": ("[%d6]", "[%d8]", ""),
    "offset": ("[%r38+16]", "[%r39+-8]", ".shared::cluster"),
}
STORED = [(kind, count) for kind in ("b32", "u32", "s32", "f32") for count in (1, 2, 4)]
STORED += [(kind, count) for kind in ("b64", "u64", "s64", "f64") for count in (1, 2)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("kind", "count"), STORED)
def test_stores(kind: str, count: int, place: str) -> None:
    """Each lane's registers come into the shared memory of the next block; its mbarrier counts the bytes."""
    size = int(kind[1:]) // 8 * count
    letter = {"b32": "r", "b64": "d"}[f"b{kind[1:]}"]
    registers = [f"%{letter}{13 + number}" for number in range(count)]
    given = registers[0] if count == 1 else f"{{{', '.join(registers)}}}"
    vector = "" if count == 1 else f".v{count}"
    target, barrier, space = PLACES[place]
    code = f"""
    sub.u32 %r38, %r36, 16; add.u32 %r39, %r37, 8;
    ld.global{vector}.b{kind[1:]} {given}, [%d12];
    st.async.weak{space}.{TX}{vector}.{kind} {target}, {given}, {barrier};
    """
    new = bits(np.uint32, size // 4, 2)
    np.testing.assert_array_equal(run(ring(code, size), new * 0, new), np.roll(new, 1, 0))


def test_stores_of_computed_nans() -> None:
    """A NaN that was computed has PTX's bits, and one that was loaded its own."""
    code = f"""
    .reg .f32 %f<3>; mov.f32 %f1, 0f7F800000; sub.f32 %f1, %f1, %f1; ld.global.f32 %f2, [%d12];
    st.async.shared::cluster.{TX}.v2.f32 [%r36], {{%f1, %f2}}, [%r37];
    """
    new = np.full((BLOCKS, 64), 0x7FC12345, np.uint32)
    found = run(ring(code, 8), new * 0, new)
    np.testing.assert_array_equal(found, np.tile(np.array([0x7FFFFFFF, 0x7FC12345], np.uint32), (BLOCKS, 32)))


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
DTYPES = {"u32": np.uint32, "s32": np.int32, "b32": np.uint32, "u64": np.uint64, "s64": np.int64}
REDUCED = [(name, kind) for name in ("min", "max") for kind in ("u32", "s32")]
REDUCED += [("inc", "u32"), ("dec", "u32")] + [("add", kind) for kind in ("u32", "s32", "u64", "s64")]
REDUCED += [(name, "b32") for name in ("and", "or", "xor")]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("name", "kind"), REDUCED)
def test_reductions(name: str, kind: str, place: str) -> None:
    """Each lane's register is combined with what is in the shared memory of the next block."""
    old, new = (bits(DTYPES[kind], 1, seed) for seed in (3, 4))
    if name in ("inc", "dec"):
        old, new = old % 4, new % 4
    size = old.itemsize
    register = "%r13" if size == 4 else "%d13"
    target, barrier, space = PLACES[place]
    code = f"""
    sub.u32 %r38, %r36, 16; add.u32 %r39, %r37, 8;
    ld.global.b{8 * size} {register}, [%d12];
    red.async.relaxed.cluster{space}.{TX}.{name}.{kind} {target}, {register}, {barrier};
    """
    expected = OPERATIONS[name](old, np.roll(new, 1, 0))
    np.testing.assert_array_equal(run(ring(code, size), old, new), expected)


def test_all_lanes_of_a_cluster_reduce_at_one_place() -> None:
    """None of their reductions is lost, and the bytes of all are counted."""
    code = f"""
    mapa.shared::cluster.u32 %r36, %r35, 0; mapa.shared::cluster.u32 %r37, %r34, 0;
    mov.u32 %r20, s; mapa.shared::cluster.u32 %r20, %r20, 0; ld.global.u32 %r13, [%d12];
    red.async.relaxed.cluster.{TX}.shared::cluster.add.u32 [%r20], %r13, [%r37];
    setp.ne.u32 %p2, %r30, 0; @%p2 bra.uni E;
    """
    more = (BLOCKS - 1) * 32 * 4
    text = ring(code, 4).replace(
        "barrier.cluster.arrive; barrier.cluster.wait; ret;",
        "E: barrier.cluster.arrive; barrier.cluster.wait; ret;",
    )
    text = text.replace("_, [bar], 128;", f"_, [bar], {128 + more};")
    old, new = bits(np.uint32, 1, 5), bits(np.uint32, 1, 6)
    found = run(text, old, new)
    assert found[0, 0] == (int(old[0, 0]) + int(new.astype(np.uint64).sum())) % (1 << 32)
    np.testing.assert_array_equal(found.reshape(-1)[1:], old.reshape(-1)[1:])


@pytest.mark.parametrize("how", ["@%p2 {}", "@!%p2 bra N; {} N:"])
@pytest.mark.parametrize("few_lanes", [0, 30])
def test_some_lanes_store_and_reduce(how: str, few_lanes: int) -> None:
    """Those that an instruction leaves out, or that go elsewhere, count nothing."""
    store = f"st.async.shared::cluster.{TX}.u32 [%r36], %r13, [%r37];"
    add = f"red.async.relaxed.cluster.shared::cluster.{TX}.add.u32 [%r36], %r13, [%r37];"
    code = "ld.global.u32 %r13, [%d12]; and.b32 %r20, %r0, 3; setp.eq.u32 %p2, %r20, {}; {}"
    code = code.format(1, how.format(store)) + code.format(2, how.format(add).replace("N", "O"))
    text = ring(code, 4).replace("_, [bar], 128;", "_, [bar], 64;")
    old, new = bits(np.uint32, 1, 9), bits(np.uint32, 1, 10)
    sent = np.roll(new, 1, 0)
    expected = old.copy()
    expected[:, 1::4] = sent[:, 1::4]
    expected[:, 2::4] += sent[:, 2::4]
    np.testing.assert_array_equal(run(text, old, new, few_lanes=few_lanes), expected)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            f"add.u32 %r36, %r36, 2; st.async.shared::cluster.{TX}.u32 [%r36], %r4, [%r37];",
            "used a misaligned address",
        ),
        (
            f"st.async.shared::cluster.{TX}.v4.u32 [%r36], {{%r4, %r4, %r4, %r4}}, [%r37];",
            "used a misaligned address: a store of 16 bytes",
        ),
        (
            f"st.async.shared::cluster.{TX}.u32 [%r36+65536], %r4, [%r37];",
            "went out of bounds: a store of 4 bytes in shared memory",
        ),
        (f"st.async.shared::cluster.{TX}.u32 [%r36], %r4, [%r20+4];", "used a misaligned address"),
        (
            f"st.async.shared::cluster.{TX}.u32 [%r36], %r4, [%r20+8];",
            "uses an mbarrier that is not initialised",
        ),
        (
            f"st.async.shared::cluster.{TX}.u32 [%d6], %r4, [%r37];",
            "used a generic address of shared memory as one of shared memory",
        ),
        (f"st.async.{TX}.u32 [%d12], %r4, [%d8];", "in shared memory"),
        (f"red.async.relaxed.cluster.{TX}.add.u32 [%d12], %r4, [%d8];", "in shared memory"),
        (
            f"red.async.relaxed.cluster.shared::cluster.{TX}.add.u32 [%r36+2], %r4, [%r37];",
            "used a misaligned address",
        ),
        (
            f"red.async.relaxed.cluster.shared::cluster.{TX}.add.u32 [%r36], %r4, [%r20+2048];",
            "uses an mbarrier that is not initialised",
        ),
    ],
)
def test_places_are_checked(code: str, message: str) -> None:
    """The place and the mbarrier must be in shared memory of the cluster, aligned, and an mbarrier."""
    new = bits(np.uint32, 1, 7)
    with pytest.raises(LaunchError) as caught:
        run(ring(f"mov.u32 %r20, s; mapa.shared::cluster.u32 %r20, %r20, %r32; {code}", 4), new, new * 0)
    assert message in str(caught.value)


def test_bytes_that_do_not_come() -> None:
    """A block that expects more than its neighbour stores waits for ever."""
    code = f"@%p0 st.async.shared::cluster.{TX}.u32 [%r36], %r4, [%r37];"
    new = bits(np.uint32, 1, 8)
    with pytest.raises(LaunchError, match="waits for a phase of an mbarrier that does not end"):
        run(ring(code, 4), new, new)
