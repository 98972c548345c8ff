"""Trials of barriers: threads of a block, a part of it, a warp and a cluster wait for one another."""

from __future__ import annotations

from collections.abc import Iterator

from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.effects_others import barrier as reduction
from tests.hardware.trials import Output, Trial

_SHARED = ".shared .align 16 .b8 NAMEs[4096];"
_BLOCK = 96
_ROUNDS = 6


def _exchange(wait: str, threads: int, other: str) -> str:
    """Rounds in which a thread writes a number, waits, and reads another thread's: %r8 tells them all.

    Rounds take turns in memory, so that one wait in each is enough.
    """
    return f"""
    mov.u64 %d6, NAMEs; mov.u32 %r1, 0; mov.u32 %r8, 0; {other}
    ROUND: and.b32 %r2, %r1, 1; mad.lo.u32 %r3, %r2, {threads}, %tx; mad.wide.u32 %d7, %r3, 4, %d6;
    mad.lo.u32 %r4, %tx, 1000, %r1; st.shared.u32 [%d7], %r4;
    {wait}
    mad.lo.u32 %r3, %r2, {threads}, %r10; mad.wide.u32 %d7, %r3, 4, %d6; ld.shared.u32 %r4, [%d7];
    mad.lo.u32 %r8, %r8, 31, %r4;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, {_ROUNDS}; @%p3 bra ROUND;
    """


_RESULT = "mad.wide.u32 %d1, %lane, 4, %b0; st.global.u32 [%d1], %r8;"


def _trial(text: str, form: Form, body: str, threads: int = _BLOCK) -> Trial:
    return Trial(text, form, body, (), (Output(4, threads),), _SHARED, block=(threads, 1, 1))


def barrier(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Reductions, waits of all and of some, and arrivals that others wait for."""
    if ".red." in name:
        yield from reduction(form, name, bound, plain)
    elif ".arrive" in name:
        yield from _arrivals(form, name)
    else:
        yield from _waits(form, name)


def _waits(form: Form, name: str) -> Iterator[Trial]:
    mirrored = f"sub.u32 %r10, {_BLOCK - 1}, %tx;"
    yield _trial(f"{name} a", form, _exchange(f"{name} 5;", _BLOCK, mirrored) + _RESULT)
    by_register = f"add.u32 %r11, %r1, 10; {name} %r11;"
    yield _trial(f"{name} a; of a register", form, _exchange(by_register, _BLOCK, mirrored) + _RESULT)
    whole = f"mov.u32 %r12, {_BLOCK}; {name} 15, %r12;"
    yield _trial(f"{name} a, b", form, _exchange(whole, _BLOCK, mirrored) + _RESULT)
    some = f"""
    mov.u32 %r8, 7; setp.ge.u32 %p1, %tx, 64; @%p1 bra OUT;
    {_exchange(f"{name} 1, 64;", 64, "xor.b32 %r10, %tx, 63;")}
    OUT: {_RESULT}
    """
    yield _trial(f"{name} a, b; of two warps", form, some)
    ended = f"""
    mov.u32 %r8, 7; setp.ge.u32 %p1, %tx, 64; mad.wide.u32 %d1, %lane, 4, %b0; @%p1 st.global.u32 [%d1], %r8;
    @%p1 exit;
    {_exchange(f"{name} 1;", 64, "xor.b32 %r10, %tx, 63;")} {_RESULT}
    """
    yield _trial(f"{name} a; where a warp has ended", form, ended)
    if name.startswith("barrier") and ".aligned" not in name:
        yield _apart(form, name)


def _apart(form: Form, name: str) -> Trial:
    """Lanes of each warp come by different ways."""
    odd = "and.b32 %r11, %tx, 1; setp.eq.u32 %p4, %r11, 1;"
    wait = f"@%p4 bra ODD; {name} 3; bra ON; ODD: {name} 3; ON:"
    body = _exchange(wait, _BLOCK, f"{odd} sub.u32 %r10, {_BLOCK - 1}, %tx;") + _RESULT
    return _trial(f"{name} a; by two ways", form, body)


def _arrivals(form: Form, name: str) -> Iterator[Trial]:
    """One warp writes and goes on, another one waits and reads; then the other way round."""
    wait = name.replace("arrive", "sync")
    body = f"""
    mov.u64 %d6, NAMEs; mad.wide.u32 %d7, %tx, 4, %d6; xor.b32 %r10, %tx, 63; mad.wide.u32 %d8, %r10, 4, %d6;
    add.u32 %r4, %tx, 100; mov.u32 %r8, %tx; mov.u32 %r11, 2; mov.u32 %r12, 64;
    setp.ge.u32 %p1, %tx, 64; @%p1 bra OUT; setp.ge.u32 %p2, %tx, 32; @%p2 bra SECOND;
    st.shared.u32 [%d7], %r4; {name} 1, 64; {wait} %r11, 64; ld.shared.u32 %r8, [%d8]; bra OUT;
    SECOND: {wait} 1, 64; ld.shared.u32 %r8, [%d8]; st.shared.u32 [%d7], %r4; {name} %r11, %r12;
    OUT: {_RESULT}
    """
    yield _trial(f"{name} a, b", form, body)


_MASKS = {"all lanes": 0xFFFFFFFF, "some lanes": 0x5A3C0FF1, "one lane": 0x00020000}


def warp_sync(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Lanes of a mask read what a lane of the mask wrote, having come by one way or by two."""
    for where, mask in _MASKS.items():
        for way in ("", "; by two ways"):
            odd = "and.b32 %r11, %tx, 3; setp.eq.u32 %p4, %r11, 1;"
            wait = f"{name} {mask:#x};"
            if way:
                wait = f"@%p4 bra ODD; {wait} bra ON; ODD: add.u32 %r8, %r8, 5; {wait} ON:"
            others = f"""{odd} mov.u32 %r13, {mask:#x};
            shr.u32 %r11, %r13, %tx; and.b32 %r11, %r11, 1; setp.eq.u32 %p5, %r11, 0; mov.u32 %r10, %tx;
            SEEK: add.u32 %r10, %r10, 1; and.b32 %r10, %r10, 31; shr.u32 %r11, %r13, %r10;
            and.b32 %r11, %r11, 1; setp.eq.u32 %p6, %r11, 0; @%p6 bra SEEK; @%p5 bra OUT;
            """
            body = f"{_exchange(wait, 32, others)} OUT: {_RESULT}"
            yield _trial(f"{name} membermask; {where}{way}", form, body, 32)
    yield _trial(f"{name} membermask; two parts", form, _parts(name), 32)


def _parts(name: str) -> str:
    """The even and the odd lanes, each for themselves."""
    others = """
    and.b32 %r11, %tx, 1; setp.eq.u32 %p4, %r11, 1; selp.b32 %r13, 0xaaaaaaaa, 0x55555555, %p4;
    xor.b32 %r10, %tx, 30; @%p4 bra ROUND; mov.u32 %r8, 3;
    """
    return _exchange(f"{name} %r13;", 32, others) + _RESULT


_CLUSTERS = {"two blocks": (2, 1, 1), "four blocks": (2, 2, 1)}


def cluster_barrier(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Blocks of a cluster read what the next one wrote into its shared memory."""
    arrive, wait = name, name
    after = "fence.acq_rel.cluster;" if "relaxed" in name else ""
    if ".arrive" in name:
        wait = "barrier.cluster.wait" + (".aligned" if ".aligned" in name else "")
    else:
        arrive = "barrier.cluster.arrive" + (".aligned" if ".aligned" in name else "")
    meet = f"{after} {arrive}; {wait}; {after}"
    for where, cluster in _CLUSTERS.items():
        size = cluster[0] * cluster[1]
        body = f"""
        mov.u32 %r20, %cluster_ctarank; add.u32 %r21, %r20, 1; rem.u32 %r21, %r21, {size};
        mov.u32 %r22, NAMEs; mad.lo.u32 %r23, %tx, 4, %r22; mapa.shared::cluster.u32 %r24, %r23, %r21;
        mov.u32 %r1, 0; mov.u32 %r8, 0;
        ROUND: mad.lo.u32 %r4, %r20, 1000, %tx; mad.lo.u32 %r4, %r4, 7, %r1; st.shared.u32 [%r23], %r4;
        {meet} ld.shared::cluster.u32 %r5, [%r24]; mad.lo.u32 %r8, %r8, 31, %r5; {meet}
        add.u32 %r1, %r1, 1; setp.lt.u32 %p3, %r1, {_ROUNDS}; @%p3 bra ROUND;
        mad.wide.u32 %d1, %tx, 4, %b0; mul.wide.u32 %d2, %r20, 256; add.u64 %d1, %d1, %d2;
        st.global.u32 [%d1], %r8;
        """
        yield Trial(
            f"{name}; {where}",
            form,
            body,
            (),
            (Output(4, 64 * size),),
            _SHARED,
            grid=cluster,
            block=(64, 1, 1),
            cluster=cluster,
        )


RECIPES = {
    "bar": barrier,
    "barrier": barrier,
    "bar.warp.sync": warp_sync,
    "barrier.cluster": cluster_barrier,
}
