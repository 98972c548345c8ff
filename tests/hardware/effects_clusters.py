"""Trials of addresses in the shared memory of a cluster's blocks: mapa, getctarank, isspacep and cvta."""

from __future__ import annotations

from collections.abc import Iterator

from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware import effects_others
from tests.hardware.effects_bulk import MEET
from tests.hardware.forms import Skipped
from tests.hardware.trials import Output, Trial

_SHARED = ".shared .align 16 .b8 NAMEs[256];"
_CLUSTER = (2, 2, 1)
_BLOCKS = 8
_GRID = (4, 2, 1)
_SIZE = 4
_THREADS = 32
_PLACE = """
mov.u32 %r20, %cluster_ctarank; mov.u32 %r1, %ctaid.y; mad.lo.u32 %r21, %r1, 4, %bx;
and.b32 %r22, %tx, 3; mov.u64 %d20, NAMEs; cvt.u32.u64 %r23, %d20; cvta.shared.u64 %d21, %d20;
"""
"""%r20: the block's rank; %r21: its number; %r22: a rank for each lane; then NAMEs in 32 bits and generic."""
_RESULT = f"""
mad.lo.u32 %r1, %r21, {_THREADS}, %tx; mad.wide.u32 %d1, %r1, 4, %b0; st.global.u32 [%d1], %r8;
"""


def _trial(text: str, form: Form, body: str) -> Trial:
    outputs = (Output(4, _BLOCKS * _THREADS),)
    whole = f"{_PLACE} {body} {_RESULT} {MEET}"
    grid, block = _GRID, (_THREADS, 1, 1)
    return Trial(text, form, whole, (), outputs, _SHARED, grid=grid, block=block, cluster=_CLUSTER)


def _own(name: str) -> tuple[str, str]:
    """The variable's own address and the register for another one, as the instruction takes them."""
    if name.endswith("u32"):
        return "%r23", "%r24"
    return ("%d20" if "shared::cluster" in name else "%d21"), "%d24"


def mapa(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Each lane writes through an address in a block of its own choice, and there it is; then the numbers."""
    own, other = _own(name)
    space = ".shared::cluster" if bound["space"] else ""
    wide = {"%r24": "cvt.u64.u32 %d24, %r24;", "%d24": ""}[other]
    generic = "" if space or other == "%d24" else "cvta.shared::cluster.u64 %d24, %d24;"
    body = f"""
    mad.wide.u32 %d22, %tx, 4, %d20; st.shared.u32 [%d22], 0; {MEET}
    {name} {other}, {own}, %r22; {wide} {generic} mad.lo.u32 %r25, %r20, 4, %r22;
    mad.wide.u32 %d24, %r25, 8, %d24;
    mad.lo.u32 %r2, %r21, 100, %r22; add.u32 %r2, %r2, 7; setp.lt.u32 %p1, %tx, {_SIZE};
    @%p1 st{space}.u32 [%d24], %r2; {MEET} ld.shared.u32 %r8, [%d22];
    """
    yield _trial(f"{name} d, a, b; written through", form, body)


def rank(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Of addresses in each block of the cluster, and of a block's own variable."""
    own, other = _own(name)
    space = ".shared::cluster" if bound["space"] else ""
    yield _trial(
        f"{name} d, a", form, f"mapa{space}.{bound['type']} {other}, {own}, %r22; {name} %r8, {other};"
    )
    yield _trial(f"{name} d, a; of its own", form, f"{name} %r8, {own};")


def isspacep(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Of addresses in each space, and in each block of a cluster."""
    yield from effects_others.isspacep(form, name, bound, plain)
    body = f"mapa.u64 %d24, %d21, %r22; {name} %p1, %d24; selp.u32 %r8, 1, 0, %p1;"
    yield _trial(f"{name} p, a; in blocks of a cluster", form, body)
    body = f"{name} %p1, %d21; selp.u32 %r8, 1, 0, %p1;"
    yield _trial(f"{name} p, a; in a block of a cluster", form, body)


def cvta(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial | Skipped]:
    """To a generic address and back; of a parameter, which is read through both."""
    if bound["type"] == "u32":
        yield Skipped(name, "ptxas has no addresses of 32 bits from sm_90 on")
        return
    if not bound["space"].startswith("param"):
        yield from effects_others.cvta(form, name, bound, plain)
        return
    there, back = f"cvta.{bound['space']}.u64", f"cvta.to.{bound['space']}.u64"
    body = f"""
    mov.b64 %d1, given; {there} %d2, %d1; {back} %d3, %d2; mad.wide.u32 %d4, %tx, 4, %d2;
    ld.u32 %r1, [%d4]; ld.param.u32 %r2, [%d3+8]; mad.lo.u32 %r8, %r2, 31, %r1;
    sub.u64 %d5, %d3, %d1; cvt.u32.u64 %r3, %d5; add.u32 %r8, %r8, %r3;
    mad.wide.u32 %d6, %tx, 4, %b0; st.global.u32 [%d6], %r8;
    """
    params = ((".param .align 16 .b8 given[128]", bytes(range(100, 228))),)
    outputs = (Output(4, _THREADS),)
    yield Trial(f"{name} d, a", form, body, (), outputs, block=(_THREADS, 1, 1), params=params)


RECIPES = {"mapa": mapa, "getctarank": rank, "isspacep": isspacep, "cvta": cvta}
