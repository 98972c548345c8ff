"""Trials of fences, by what another block reads behind them, and of hints, which leave all as it is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.effects_bulk import tail
from tests.hardware.trials import Output, Trial, drawn

_WORDS = 16
_PAIR = (2, 1, 1)
_MAP = 128

# ---------------------------------------------------------------------- fences


def fence(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Behind a flag another thread reads all that was written before it: of the block, or of another one."""
    scope = bound.get("scope") or {"cta": "cta", "gl": "gpu", "sys": "sys"}.get(bound.get("level", ""), "gpu")
    scope = "cluster" if name.endswith(".cluster") else scope
    within = scope == "cta"
    other = f"fence.acq_rel.{scope};"
    operands = " [%b1], 128" if "[a]" in form.syntax else ""
    own = f"{name}{operands};"
    semantics = bound.get("sem", "")
    if any(word in name for word in ("proxy", "restrict", "mbarrier_init")):
        writer = reader = f"{own} {other} {own}"
    else:
        writer = other if semantics == "acquire" else own
        reader = other if semantics == "release" else own
    places = [(77 * number + 5, 4 * number) for number in range(_WORDS)]
    written = " ".join(f"mov.u32 %r3, {value}; st.global.u32 [%b2+{at}], %r3;" for value, at in places)
    read = " ".join(f"ld.global.u32 %r3, [%b2+{at}]; st.global.u32 [%b3+{at}], %r3;" for _, at in places)
    who = "shr.u32 %r1, %tx, 5;" if within else "mov.u32 %r1, %bx;"
    body = f"""
    {who} and.b32 %r2, %tx, 31; setp.ne.u32 %p1, %r2, 0; @%p1 bra OUT;
    setp.eq.u32 %p2, %r1, 1; @%p2 bra READER;
    {written}
    {writer} st.relaxed.{scope}.global.u32 [%b0], 1; bra OUT;
    READER: ld.relaxed.{scope}.global.u32 %r4, [%b0]; setp.eq.u32 %p3, %r4, 0; @%p3 bra READER; {reader}
    {read}
    OUT:
    """
    data = (np.zeros(1, np.uint32), np.zeros(_MAP // 4, np.uint32))
    yield Trial(
        f"{name}{' [a], size' if operands else ''}; before and behind a flag",
        form,
        body,
        data,
        (Output(4, _WORDS),) * 2,
        grid=(1, 1, 1) if within else _PAIR,
        block=(64, 1, 1) if within else (32, 1, 1),
        cluster=_PAIR if scope == "cluster" else None,
    )


# ----------------------------------------------------------------------- hints


def _unharmed(
    text: str,
    form: Form,
    code: str,
    *,
    before: str = "",
    params: tuple[tuple[str, bytes], ...] = (),
    directives: str = "",
) -> Trial:
    """Registers and memory that are the same before and behind a hint; %d1 is where a lane's memory is."""
    compared = " ".join(
        f"ld.global.b32 %r3, [%d1+{4 * at}]; xor.b32 %r{11 + at}, %r3, %r{11 + at};" for at in range(16)
    )
    body = f"""
    shr.u32 %r1, %tx, 5; mad.wide.u32 %d1, %tx, 128, %b1; mad.wide.u32 %d2, %tx, 4, %b0;
    ld.global.b32 %r10, [%d2];
    {" ".join(f"mad.lo.u32 %r{11 + at}, %r{10 + at}, 31, %tx;" for at in range(16))}
    {" ".join(f"st.global.b32 [%d1+{4 * at}], %r{10 + at};" for at in range(16))}
    {code}
    {compared}
    {" ".join(f"st.global.b32 [%d1+{64 + 4 * at}], %r{11 + at};" for at in range(16))}
    """
    lanes = 256
    return Trial(
        text,
        form,
        body,
        (drawn("unharmed", lanes),),
        (Output(4, lanes * 32),),
        before,
        block=(lanes, 1, 1),
        params=params,
        directives=directives,
    )


def hint(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """One on the memory where a lane is at work, or none."""
    operands = tail(form)
    text = f"{name} {operands}".strip()
    if bound.get("space") == "local":
        code = (
            f".local .align 16 .b8 NAMEl[16]; mov.u64 %d3, NAMEl; st.local.b32 [%d3+4], %r12; {name} [%d3];"
        )
        yield _unharmed(text, form, f"{code} ld.local.b32 %r12, [%d3+4];")
        return
    given = {
        "": ("",),
        "[a]": ("[%d1]",),
        "[a], size": ("[%d1], 128",),
        "a": ("3",),
        "t": ("100", "%r1"),
    }[operands]
    yield _unharmed(text, form, " ".join(f"{name} {each};" for each in given))


def map_hint(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Of a map in a parameter, in constant memory, and in global memory by a generic address."""
    places = {"param": "mov.b64 %d3, given;", "const": "mov.u64 %d3, NAMEc;", "": "mov.u64 %d3, %b1;"}
    before = f".const .align 128 .b8 NAMEc[{_MAP}];" if bound["space"] == "const" else ""
    given = (f".param .align 64 .b8 given[{_MAP}]", bytes(_MAP))
    params = (given,) if bound["space"] == "param" else ()
    code = f"{places[bound['space']]} {name} [%d3];"
    yield _unharmed(f"{name} [a]", form, code, before=before, params=params)


def discard(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """What is around stays; what is discarded is written anew."""
    body = f"""
    mad.wide.u32 %d1, %tx, 256, %b0; mov.u32 %r1, 0;
    FILL: mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d1, %d2; mad.lo.u32 %r2, %tx, 77, %r1;
    st.global.u32 [%d2], %r2;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 64; @%p1 bra FILL;
    {name} [%d1+128], 128; mov.u32 %r1, 32;
    AGAIN: mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d1, %d2; mad.lo.u32 %r2, %tx, 99, %r1;
    st.global.u32 [%d2], %r2;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 64; @%p1 bra AGAIN;
    """
    yield Trial(f"{name} [a], size", form, body, (), (Output(4, 32 * 64),), block=(32, 1, 1))


def registers(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """One warpgroup gives registers back, the other one takes more; both keep what is in theirs."""
    less, more = "setmaxnreg.dec.sync.aligned.u32 40", "setmaxnreg.inc.sync.aligned.u32 152"
    code = f"setp.ge.u32 %p1, %r1, 4; @%p1 bra MORE; {less}; bra ON; MORE: {more}; ON:"
    yield _unharmed(f"{name} count", form, code, directives=".reqntid 256 .maxnreg 96")


# -------------------------------------------------------------------- policies

_RANGES = 64


def policy(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """The words themselves: of fractions, of ranges, and of words."""
    makers = {"fractional": _fractions, "range": _ranges, "cvt": _words}
    operands = tail(form)
    for text, data, code in makers[name.split(".")[1]](name):
        body = f"{code} mad.wide.u32 %d2, %tx, 8, %bOUT; st.global.b64 [%d2], %d9;"
        yield Trial(
            f"{name} {text or operands}",
            form,
            body.replace("%bOUT", f"%b{len(data)}"),
            data,
            (Output(8, _RANGES),),
            block=(_RANGES, 1, 1),
        )


_Made = Iterator[tuple[str, tuple[np.ndarray, ...], str]]


def _fractions(name: str) -> _Made:
    fractions = np.linspace(0, 1, _RANGES + 1, dtype=np.float32)[1:]
    fractions[:6] = [1e-6, 0.0624, 0.0625, 0.0626, 0.99, 0.9999999]
    yield "d", (), f"{name} %d9;"
    read = "mad.wide.u32 %d1, %tx, 4, %b0; ld.global.f32 %f1, [%d1];"
    yield "d, f", (fractions.view(np.uint32),), f"{read} {name} %d9, %f1;"


def _ranges(name: str) -> _Made:
    numbers = drawn("ranges", _RANGES, 8)
    addresses = numbers >> np.uint64(17)
    bits = np.arange(_RANGES) % 32
    totals = (drawn("totals", _RANGES) | np.uint32(1 << 31)) >> bits.astype(np.uint32)
    totals = np.maximum(totals, np.uint32(2))
    firsts = np.maximum(totals // np.uint32(3), 1).astype(np.uint32)
    firsts[::4] = totals[::4]
    firsts[1::8] = 1
    read = """
    mad.wide.u32 %d1, %tx, 8, %b0; ld.global.b64 %d3, [%d1]; mad.wide.u32 %d1, %tx, 4, %b1;
    ld.global.b32 %r1, [%d1];
    mad.wide.u32 %d1, %tx, 4, %b2; ld.global.b32 %r2, [%d1];
    """
    yield "", (addresses, firsts, totals), f"{read} {name} %d9, [%d3], %r1, %r2;"


def _words(name: str) -> _Made:
    read = "mad.wide.u32 %d1, %tx, 8, %b0; ld.global.b64 %d3, [%d1];"
    yield "", (drawn("words", _RANGES, 8),), f"{read} {name} %d9, %d3;"


RECIPES = {
    "fence": fence,
    "membar": fence,
    "prefetch": hint,
    "prefetch.tensormap": map_hint,
    "prefetch.const.tensormap": map_hint,
    "prefetch.param.tensormap": map_hint,
    "prefetchu": hint,
    "applypriority": hint,
    "pmevent": hint,
    "nanosleep": hint,
    "griddepcontrol": hint,
    "discard": discard,
    "setmaxnreg": registers,
    "createpolicy": policy,
}
