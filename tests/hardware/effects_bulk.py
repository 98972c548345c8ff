"""Trials of copies that one thread begins: in bulk, between all spaces, and combined with what is there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.inputs import Array, Source, inputs
from tests.hardware.trials import Output, Trial, drawn

BYTES = 4096
SHARED = f".shared .align 1024 .b8 NAMEs[{BYTES}]; .shared .align 8 .b64 NAMEb;"
POLICY = "createpolicy.fractional.L2::evict_first.b64 %d39, 1.0;"
PAIR = (2, 1, 1)
MEET = "barrier.cluster.arrive; barrier.cluster.wait;"
WAIT = "WAIT: mbarrier.try_wait.parity.shared.b64 %p9, [NAMEb], 0; @!%p9 bra WAIT;"
BEGIN = """
setp.eq.u32 %p1, %tx, 0; @%p1 mbarrier.init.shared.b64 [NAMEb], 1; fence.mbarrier_init.release.cluster;
bar.sync 0;
"""
"""%p1: the thread that copies."""

_WARP = 32


def moved(to: str, to_space: str, origin: str, origin_space: str, label: str, size: int = BYTES) -> str:
    """Words between two addresses in registers of 64 bits, by all lanes of a warp."""
    return f"""
    mov.u32 %r50, %tx;
    {label}: setp.ge.u32 %p18, %r50, {size // 4}; @%p18 bra {label}_END;
    mul.wide.u32 %d30, %r50, 4; add.u64 %d31, {origin}, %d30; ld.{origin_space}.b32 %r51, [%d31];
    add.u64 %d31, {to}, %d30; st.{to_space}.b32 [%d31], %r51; add.u32 %r50, %r50, {_WARP}; bra {label};
    {label}_END:
    """


def given(name: str, *operands: str) -> str:
    """The instruction, with a policy as its last operand where it takes one."""
    hinted = ".L2::cache_hint" in name
    text = f"{name} {', '.join([*operands, *(['%d39'] if hinted else [])])};"
    return f"{POLICY} @%p1 {text}" if hinted else f"@%p1 {text}"


def tail(form: Form) -> str:
    """The operands as the form writes them."""
    return form.syntax.partition(" ")[2]


def _words() -> Array:
    return drawn("bulk", BYTES // 4)


_FILLED = moved("%d6", "shared", "%b0", "global", "FILL")


def _emptied(buffer: str) -> str:
    return moved(buffer, "global", "%d6", "shared", "EMPTY")


def copy(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Into shared memory, of the same block and of others of the cluster, and out of it."""
    if ".bulk_group" in name:
        yield from _copy_out(form, name, bound)
        return
    if ".multicast" in name:
        yield _multicast(form, name)
        return
    if ".shared::cluster.shared::cta" in name:
        yield _to_a_neighbour(form, name, drawn("neighbours", BYTES // 2))
        return
    for size, to, origin in ((16, 0, 0), (1008, 32, 2064), (BYTES, 0, 0)):
        where = given(name, f"[%d7+{to}]", f"[%b0+{origin}]", "%r1", "[NAMEb]")
        body = f"""
        mov.u64 %d6, NAMEs; {moved("%d6", "shared", "%b1", "global", "BEFORE")} {BEGIN}
        fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %r1, {size}; mov.u64 %d7, NAMEs;
        @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [NAMEb], %r1; {where} {WAIT} {_emptied("%b2")}
        """
        data = (_words(), drawn("before", BYTES // 4))
        outputs = (Output(4, BYTES // 4),)
        yield Trial(f"{name} {tail(form)}; {size} bytes", form, body, data, outputs, SHARED, block=(32, 1, 1))


def _multicast(form: Form, name: str) -> Trial:
    """One block copies for both."""
    body = f"""
    mov.u64 %d6, NAMEs; {BEGIN} {MEET} mov.u32 %r2, %cluster_ctarank; mov.u16 %h1, 3;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [NAMEb], {BYTES}; {MEET}
    setp.eq.u32 %p2, %r2, 0; and.pred %p1, %p1, %p2;
    {given(name, "[%d6]", "[%b0]", str(BYTES), "[NAMEb]", "%h1")} {WAIT}
    mul.wide.u32 %d8, %r2, {BYTES}; add.u64 %b1, %b1, %d8; {_emptied("%b1")} {MEET}
    """
    return _pair(form, f"{name} {tail(form)}; to two blocks", body, _words())


def _to_a_neighbour(form: Form, name: str, data: Array) -> Trial:
    """Each block copies the first half of its memory to the other's second half, whose mbarrier counts."""
    body = f"""
    mov.u64 %d6, NAMEs; {BEGIN} mov.u32 %r2, %cluster_ctarank; xor.b32 %r3, %r2, 1;
    mul.wide.u32 %d8, %r2, {BYTES}; add.u64 %b0, %b0, %d8; {_FILLED} bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [NAMEb], {BYTES // 2};
    fence.proxy.async.shared::cta; {MEET}
    mov.u32 %r4, NAMEs; mapa.shared::cluster.u32 %r5, %r4, %r3;
    mov.u32 %r6, NAMEb; mapa.shared::cluster.u32 %r6, %r6, %r3;
    {given(name, f"[%r5+{BYTES // 2}]", "[%r4]", str(BYTES // 2), "[%r6]")} {WAIT}
    mul.wide.u32 %d8, %r2, {BYTES}; add.u64 %b1, %b1, %d8; {_emptied("%b1")} {MEET}
    """
    return _pair(form, f"{name} {tail(form)}; to a neighbour", body, data)


def _pair(form: Form, text: str, body: str, data: Array) -> Trial:
    outputs = (Output(4, BYTES // 2),)
    return Trial(text, form, body, (data,), outputs, SHARED, grid=PAIR, block=(32, 1, 1), cluster=PAIR)


def reduce(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Into global memory and that of another block, combined with what is there."""
    if ".bulk_group" in name:
        yield from _copy_out(form, name, bound)
        return
    one, other = inputs((Source(bound["type"]), Source(bound["type"])))
    half = BYTES // 2 // one.itemsize
    parts = np.concatenate([one[:half], other[:half], one[half : 2 * half], other[half : 2 * half]])
    yield _to_a_neighbour(form, name, parts.view(np.uint32))


def _copy_out(form: Form, name: str, bound: dict[str, str]) -> Iterator[Trial]:
    kind = bound.get("type", "b32")
    data = inputs((Source(kind), Source(kind)))
    count = BYTES // dtype(kind).itemsize
    one, other = (column[:count].view(f"u{dtype(kind).itemsize}") for column in data)
    for size, to, origin in ((BYTES, 0, 0), (976, 32, 2064)):
        where = given(name, f"[%b2+{to}]", f"[%d6+{origin}]", "%r1")
        body = f"""
        mov.u64 %d6, NAMEs; {_FILLED} {moved("%b2", "global", "%b1", "global", "BEFORE")}
        fence.proxy.async; bar.sync 0; mov.u32 %r1, {size}; setp.eq.u32 %p1, %tx, 0;
        {where} cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
        """
        outputs = (Output(dtype(kind).itemsize, count),)
        text = f"{name} {tail(form)}; {size} bytes"
        yield Trial(text, form, body, (other, one), outputs, SHARED, block=(32, 1, 1))


def groups(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """A source is written anew when its group has been read, and copied again."""
    reads = name if ".wait_group" in name else "cp.async.bulk.wait_group.read"
    copy = "cp.async.bulk.global.shared::cta.bulk_group"
    body = f"""
    mov.u64 %d6, NAMEs; {_FILLED} fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %tx, 0;
    @%p1 bra OUT;
    {copy} [%b1], [%d6], 512; cp.async.bulk.commit_group;
    {copy} [%b1+512], [%d6+512], 512; cp.async.bulk.commit_group;
    {reads} 1; st.shared.b32 [%d6+4], 77; fence.proxy.async.shared::cta;
    {copy} [%b1+1024], [%d6], 512; cp.async.bulk.commit_group; {reads} 0;
    st.shared.b32 [%d6+516], 78; fence.proxy.async.shared::cta;
    {copy} [%b1+1536], [%d6+512], 512; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    OUT:
    """
    yield Trial(
        f"{name} {tail(form)}".strip(), form, body, (_words(),), (Output(4, 512),), SHARED, block=(32, 1, 1)
    )


def small_groups(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Copies of each lane in three groups, the last of which is waited for last."""
    copy = "cp.async.ca.shared.global"
    waits = [f"cp.async.wait_group {left};" for left in (2, 1, 0)]
    if name == "cp.async.wait_all":
        waits = [f"{name};"] * 3
    begin = " ".join(
        f"{copy} [%d7+{1024 * group}], [%d1+{1024 * group}], 16; {copy} [%d7+{1024 * group + 512}], "
        f"[%d1+{1024 * group + 512}], 16; cp.async.commit_group;"
        for group in range(3)
    )
    read = " ".join(
        f"{wait} ld.shared.v2.b32 {{%r1, %r2}}, [%d7+{1024 * group + 8}]; "
        f"ld.shared.v2.b32 {{%r3, %r4}}, [%d7+{1024 * group + 512}]; "
        f"st.global.v4.b32 [%d2+{512 * group}], {{%r1, %r2, %r3, %r4}};"
        for group, wait in enumerate(waits)
    )
    body = f"""
    mov.u64 %d6, NAMEs; mad.wide.u32 %d7, %tx, 16, %d6; mad.wide.u32 %d1, %tx, 16, %b0;
    mad.wide.u32 %d2, %tx, 16, %b1; {begin} {read}
    """
    yield Trial(
        f"{name} {tail(form)}".strip(), form, body, (_words(),), (Output(4, 384),), SHARED, block=(32, 1, 1)
    )


def prefetch(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Memory stays what it is."""
    body = f"""
    setp.eq.u32 %p1, %tx, 0;
    {given(name, "[%b0]", str(BYTES))} {moved("%b1", "global", "%b0", "global", "COPY")}
    """
    outputs = (Output(4, BYTES // 4),)
    yield Trial(f"{name} {tail(form)}", form, body, (_words(),), outputs, block=(32, 1, 1))


RECIPES = {
    "cp.async.commit_group": small_groups,
    "cp.async.wait_group": small_groups,
    "cp.async.wait_all": small_groups,
    "cp.async.bulk": copy,
    "cp.reduce.async.bulk": reduce,
    "cp.async.bulk.commit_group": groups,
    "cp.async.bulk.wait_group": groups,
    "cp.async.bulk.prefetch": prefetch,
}
