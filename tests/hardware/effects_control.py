"""Trials of branches, calls and what functions have: parameters and memory on the stack."""

from __future__ import annotations

from collections.abc import Iterator

from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.effects_bulk import tail
from tests.hardware.forms import Skipped
from tests.hardware.trials import Output, Trial

_LANES = 64
_RESULT = "mad.wide.u32 %d1, %lane, 4, %b0; st.global.u32 [%d1], %r8;"


def _trial(text: str, form: Form, body: str, before: str = "") -> Trial:
    return Trial(text, form, body, (), (Output(4, _LANES),), before, block=(_LANES, 1, 1))


# -------------------------------------------------------------------- branches


def branch(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """A loop of as many rounds as each lane needs; where lanes may not part, of as many for all."""
    first = "mov.u32 %r1, 27;" if ".uni" in name else "add.u32 %r1, %tx, 1;"
    body = f"""
    {first} mov.u32 %r8, 0;
    LOOP: setp.eq.u32 %p1, %r1, 1; @%p1 {name} DONE; and.b32 %r2, %r1, 1; setp.eq.u32 %p2, %r2, 0;
    @%p2 {name} EVEN; mad.lo.u32 %r1, %r1, 3, 1; {name} NEXT; EVEN: shr.u32 %r1, %r1, 1;
    NEXT: add.u32 %r8, %r8, 1; {name} LOOP;
    DONE: {_RESULT}
    """
    yield _trial(f"{name} target", form, body)


def table_branch(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Each lane to one of four places, several times; where lanes may not part, all to the same."""
    chosen = "mov.u32 %r1, 0;" if ".uni" in name else "mov.u32 %r1, %tx;"
    body = f"""
    {chosen} mov.u32 %r2, 0; mov.u32 %r8, 1;
    TABLE: .branchtargets FIRST, SECOND, THIRD, FOURTH;
    LOOP: and.b32 %r3, %r1, 3; {name} %r3, TABLE;
    FIRST: add.u32 %r8, %r8, 5; bra NEXT;
    SECOND: mul.lo.u32 %r8, %r8, 3; bra NEXT;
    THIRD: xor.b32 %r8, %r8, 0x55; bra NEXT;
    FOURTH: mad.lo.u32 %r8, %r8, 7, 1;
    NEXT: add.u32 %r2, %r2, 1; shr.u32 %r4, %r1, 1; add.u32 %r1, %r4, %r2;
    setp.lt.u32 %p1, %r2, 6; @%p1 bra LOOP; {_RESULT}
    """
    yield _trial(f"{name} index, table", form, body)


def end(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Some lanes end early, one warp's all: what they wrote stays, the others meet without them."""
    body = f"""
    mad.wide.u32 %d1, %lane, 4, %b0; and.b32 %r1, %tx, 3; setp.eq.u32 %p1, %r1, 1;
    setp.ge.u32 %p2, %tx, 32; or.pred %p1, %p1, %p2; st.global.u32 [%d1], %tx; @%p1 {name};
    bar.sync 0; mad.lo.u32 %r8, %tx, 1000, 7; st.global.u32 [%d1], %r8; {name}; st.global.u32 [%d1], 0;
    """
    yield _trial(name, form, body)


def back(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Lanes leave a function early or late; where lanes may not part, all at the same place."""
    early = "setp.lt.u32 q, a, 100;" if ".uni" in name else "setp.lt.u32 q, a, 40;"
    before = f"""
    .func (.reg .u32 r) NAMEf(.reg .u32 a)
    {{ .reg .pred q; {early} mad.lo.u32 r, a, 3, 1; @q {name}; mul.lo.u32 r, r, 5; {name}; }}
    """
    yield _trial(name, form, f"call (%r8), NAMEf, (%tx); {_RESULT}", before)


# ----------------------------------------------------------------------- calls

_FUNCTIONS = """
.global .u32 NAMEg[64];
.func (.reg .u32 r) NAMErun(.reg .u32 a, .reg .u32 b) { mad.lo.u32 r, a, 31, b; ret; }
.func (.reg .u32 r) NAMEalso(.reg .u32 a, .reg .u32 b) { mad.lo.u32 r, b, 77, a; ret; }
.func NAMEput(.reg .u32 a)
{ .reg .u32 i; .reg .u64 p; mov.u32 i, %tid.x; mov.u64 p, NAMEg; mad.wide.u32 p, i, 4, p;
st.global.u32 [p], a; ret; }
.func NAMEmore(.reg .u32 a)
{ .reg .u32 i; .reg .u64 p; mov.u32 i, %tid.x; mov.u64 p, NAMEg; mad.wide.u32 p, i, 4, p; add.u32 i, a, 9;
  st.global.u32 [p], i; ret; }
.func NAMEset()
{ .reg .u32 i, j; .reg .u64 p; mov.u32 i, %tid.x; mov.u64 p, NAMEg; mad.wide.u32 p, i, 4, p;
mad.lo.u32 j, i, i, 3;
  st.global.u32 [p], j; ret; }
.func NAMEclear()
{ .reg .u32 i; .reg .u64 p; mov.u32 i, %tid.x; mov.u64 p, NAMEg; mad.wide.u32 p, i, 4, p;
st.global.u32 [p], i; ret; }
"""
_FOUND = "mov.u64 %d5, NAMEg; mad.wide.u32 %d5, %tx, 4, %d5; ld.global.u32 %r8, [%d5];"


def call(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """By name and by address; by address each lane one of two functions, unless lanes may not part."""
    operands = tail(form)
    text = f"{name} {operands}"
    direct = {
        "f": (f"{name} NAMEset;", _FOUND),
        "f, a": (f"mad.lo.u32 %r1, %tx, 5, 2; {name} NAMEput, (%r1);", _FOUND),
        "r, f, a": (f"{name} (%r8), NAMErun, (%tx, 12);", ""),
    }
    if operands in direct:
        go, found = direct[operands]
        yield _trial(text, form, f"{go} {found} {_RESULT}", _FUNCTIONS)
        if operands == "r, f, a":
            yield _recursive(form, name)
        return
    targets, prototype, go, found = {
        "p, t": ("NAMEset NAMEclear", "_ ()", f"{name} %d4, KIND;", _FOUND),
        "p, a, t": ("NAMEput NAMEmore", "_ (.reg .u32 a)", f"{name} %d4, (%tx), KIND;", _FOUND),
        "r, p, a, t": (
            "NAMErun NAMEalso",
            "(.reg .u32 r) _ (.reg .u32 a, .reg .u32 b)",
            f"{name} (%r8), %d4, (%tx, 12), KIND;",
            "",
        ),
    }[operands]
    first, second = targets.split()
    chosen = "mov.u32 %r1, %bx;" if ".uni" in name else "and.b32 %r1, %tx, 1;"
    body = f"""
    mov.u64 %d2, {first}; mov.u64 %d3, {second}; {chosen} setp.eq.u32 %p1, %r1, 1;
    selp.b64 %d4, %d3, %d2, %p1; KIND: .callprototype {prototype}; {go} {found} {_RESULT}
    """
    yield _trial(text, form, body, _FUNCTIONS)


def _recursive(form: Form, name: str) -> Trial:
    """The numbers of Fibonacci, to a depth of its own in each lane, or the same in all."""
    given = "mov.u32 %r1, 11;" if ".uni" in name else "rem.u32 %r1, %tx, 12;"
    before = f"""
    .func (.reg .u32 r) NAMEf(.reg .u32 n)
    {{ .reg .pred q; .reg .u32 a, b, c; mov.u32 r, n; setp.lt.u32 q, n, 2; @q ret; sub.u32 c, n, 1;
    {name} (a), NAMEf, (c); sub.u32 c, n, 2; {name} (b), NAMEf, (c); add.u32 r, a, b; ret; }}
    """
    body = f"{given} {name} (%r8), NAMEf, (%r1); {_RESULT}"
    return _trial(f"{name} {tail(form)}; of itself", form, body, before)


# ------------------------------------------------------------------- the stack


def stack(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Memory that each lane takes keeps what it wrote; given back, it is taken again."""
    kind = bound["type"]
    reg = "%r" if kind == "u32" else "%d"
    bits = kind[1:]
    align = ", 64" if tail(form).endswith(", b") else ""
    address = "mad.lo.u32 {0}, %r2, 4, %r40;" if kind == "u32" else "mad.wide.u32 {0}, %r2, 4, %d20;"
    base = f"{reg}{40 if kind == 'u32' else 20}"
    at = f"{reg}{41 if kind == 'u32' else 21}"
    sized = f"and.b32 %r1, %tx, 15; add.u32 %r1, %r1, 3; {_wide('%r1', 4, kind, f'{reg}30')}"
    body = f"""
    {sized} mov.u32 %r8, 0;
    stacksave.{kind} {reg}31; alloca.{kind} {base}, {reg}30{align}; mov.u32 %r2, 0;
    WRITE: {address.format(at)} mad.lo.u32 %r3, %r2, 77, %tx; st.local.u32 [{at}], %r3; add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1; @%p1 bra WRITE;
    alloca.{kind} {reg}32, {reg}30{align}; st.local.u32 [{reg}32], 5; mov.u32 %r2, 0;
    READ: {address.format(at)} ld.local.u32 %r3, [{at}]; mad.lo.u32 %r8, %r8, 31, %r3; add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1; @%p1 bra READ;
    stackrestore.{kind} {reg}31; alloca.{kind} {reg}33, {reg}30{align};
    setp.eq.{kind} %p2, {reg}33, {base}; setp.lt.{kind} %p3, {reg}32, {base};
    and.b{bits} {reg}34, {base}, {63 if align else 7}; setp.eq.{kind} %p4, {reg}34, 0;
    selp.u32 %r3, 1, 0, %p2; mad.lo.u32 %r8, %r8, 2, %r3; selp.u32 %r3, 1, 0, %p3;
    mad.lo.u32 %r8, %r8, 2, %r3;
    selp.u32 %r3, 1, 0, %p4; mad.lo.u32 %r8, %r8, 2, %r3; {_RESULT}
    """
    yield _trial(f"{name} {tail(form)}", form, body)


def _wide(number: str, factor: int, kind: str, result: str) -> str:
    how = "lo" if kind == "u32" else "wide"
    return f"mul.{how}.u32 {result}, {number}, {factor};"


def old_shuffle(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Skipped]:
    """Without `.sync` there is none any more."""
    yield Skipped(name, "only for targets before sm_70")


RECIPES = {
    "bra": branch,
    "brx": table_branch,
    "exit": end,
    "ret": back,
    "call": call,
    "alloca": stack,
    "stacksave": stack,
    "stackrestore": stack,
    "shfl.up.b32": old_shuffle,
    "shfl.down.b32": old_shuffle,
    "shfl.bfly.b32": old_shuffle,
    "shfl.idx.b32": old_shuffle,
}
