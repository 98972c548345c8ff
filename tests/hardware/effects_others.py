"""Trials of barriers that reduce, addresses, matrices and copies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.forms import Skipped
from tests.hardware.inputs import Array
from tests.hardware.trials import Output, Trial, drawn

ROUNDS = 12
WARP = 32

# ------------------------------------------------------------------- barriers

_BLOCK = 96


def barrier(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Reductions over a block, and over two warps of three where the row takes a number of threads."""
    operands = form.syntax.partition(" ")[2]
    if "{!}c" not in operands:
        return
    numbers = drawn("barrier", ROUNDS * _BLOCK).reshape(ROUNDS, _BLOCK) % 256
    limits = np.array([0, 256, 2, 254, 128, 64])[np.arange(ROUNDS) % 6]
    holds = (numbers < limits[:, None]).astype(np.uint32)
    counted = ", b" in operands
    threads = 64 if counted else _BLOCK
    target = "%p2" if "pred" in name else "%r4"
    for sign in ("", "!"):
        body = f"""
        setp.ge.u32 %p19, %tx, {threads}; @%p19 bra OUT;
        mov.u32 %r11, 0;
        AGAIN: mad.lo.u32 %r12, %r11, {_BLOCK}, %tx;
        mad.wide.u32 %d1, %r12, 4, %b0; ld.global.u32 %r1, [%d1]; setp.ne.u32 %p1, %r1, 0;
        {name} {target}, 2, {"64, " if counted else ""}{sign}%p1;
        {"selp.u32 %r4, 1, 0, %p2;" if target == "%p2" else ""}
        mad.wide.u32 %d1, %r12, 4, %b1; st.global.u32 [%d1], %r4;
        add.u32 %r11, %r11, 1; setp.lt.u32 %p18, %r11, {ROUNDS}; @%p18 bra AGAIN;
        OUT:
        """
        text = f"{name} {operands.replace('{!}', sign)}"
        yield Trial(text, form, body, (holds.reshape(-1),), (Output(4, holds.size),), block=(_BLOCK, 1, 1))


# ------------------------------------------------------------------ addresses

_ADDRESSES = {
    "global": ("", "", "mov.u64 %d2, %b0;"),
    "shared": (".shared .align 16 .b8 NAMEs[64];", "", "mov.u64 %d1, NAMEs; cvta.shared.u64 %d2, %d1;"),
    "local": ("", ".local .align 16 .b8 NAMEl[64];", "mov.u64 %d1, NAMEl; cvta.local.u64 %d2, %d1;"),
    "const": (
        ".const .align 16 .b32 NAMEc[4] = {1, 2, 3, 4};",
        "",
        "mov.u64 %d1, NAMEc; cvta.const.u64 %d2, %d1;",
    ),
}


def isspacep(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Of a generic address in each space."""
    for where, (before, inside, code) in _ADDRESSES.items():
        body = f"""
        {inside} {code} add.u64 %d2, %d2, 4; {name} %p1, %d2; selp.u32 %r1, 1, 0, %p1;
        mad.wide.u32 %d5, %lane, 4, %b0; st.global.u32 [%d5], %r1;
        """
        yield Trial(
            f"{name} p, a; in {where}", form, body, (), (Output(4, WARP),), before, block=(WARP, 1, 1)
        )


def cvta(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """To a generic address and back: the same one, through which the variable is reached."""
    space = bound["space"]
    where = "shared" if space.startswith("shared") else space
    if where not in _ADDRESSES:
        return
    before, inside, code = _ADDRESSES[where]
    out = "mad.wide.u32 %d5, %lane, 4, %b0;"
    if where == "global":
        body = f"{out} cvta.{space}.u64 %d6, %d5; cvta.to.{space}.u64 %d7, %d6; st.{space}.u32 [%d7], %lane;"
    else:
        write = "" if where == "const" else f"st.{where}.u32 [%d1], 77;"
        body = f"""
        {inside} {code} {write} cvta.{space}.u64 %d6, %d1; cvta.to.{space}.u64 %d7, %d6;
        ld.{where}.u32 %r1, [%d7]; ld.u32 %r2, [%d6]; sub.u64 %d7, %d7, %d1; cvt.u32.u64 %r3, %d7;
        mad.lo.u32 %r1, %r2, 1000, %r1; add.u32 %r1, %r1, %r3; {out} st.global.u32 [%d5], %r1;
        """
    yield Trial(f"{name} d, a", form, body, (), (Output(4, WARP),), before, block=(WARP, 1, 1))


# ------------------------------------------------------------------- matrices


def _matrix_input() -> Array:
    return drawn("matrix", 4 * WARP * 4)


def _registers(count: int, first: int) -> str:
    return "{" + ", ".join(f"%r{first + number}" for number in range(count)) + "}"


_SHARED = ".shared .align 16 .b8 NAMEs[4096];"


_ROWS = """
mov.u64 %d7, NAMEs; mul.lo.u32 %r50, %tx, 11; and.b32 %r50, %r50, 31; mad.wide.u32 %d6, %r50, 32, %d7;
"""
"""%d6: the row of a matrix that this thread names; rows lie apart, in no order."""


def _unloaded(count: int, step: int = 4) -> str:
    """Words of shared memory at %d2 into a buffer at %d1."""
    words = range(0, count * step, step)
    return " ".join(f"ld.shared.b32 %r1, [%d2+{at}]; st.global.b32 [%d1+{at}], %r1;" for at in words)


def ldmatrix(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Rows anywhere in shared memory, one a lane."""
    count = int(bound["num"][1:])
    generic = "" if bound["space"] else "cvta.shared.u64 %d6, %d6;"
    body = f"""
    mov.u64 %d7, NAMEs; mad.wide.u32 %d1, %tx, 32, %b0; mad.wide.u32 %d2, %tx, 32, %d7;
    {" ".join(f"ld.global.b32 %r1, [%d1+{at}]; st.shared.b32 [%d2+{at}], %r1;" for at in range(0, 32, 4))}
    bar.sync 0; {_ROWS} {generic}
    {name} {_registers(count, 10)}, [%d6];
    mad.wide.u32 %d1, %tx, 16, %b1;
    {" ".join(f"st.global.b32 [%d1+{4 * at}], %r{10 + at};" for at in range(count))}
    """
    outputs = (Output(4, 4 * WARP),)
    yield Trial(
        f"{name} d, [a]", form, body, (drawn("rows", 8 * WARP),), outputs, _SHARED, block=(WARP, 1, 1)
    )


def stmatrix(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """The other way round."""
    count = int(bound["num"][1:])
    generic = "" if bound["space"] else "cvta.shared.u64 %d6, %d6;"
    clear = " ".join(f"st.shared.b32 [%d2+{at}], 0;" for at in range(0, 32, 4))
    body = f"""
    mov.u64 %d7, NAMEs; mad.wide.u32 %d2, %tx, 32, %d7; {clear}
    mad.wide.u32 %d1, %tx, 16, %b0;
    {" ".join(f"ld.global.b32 %r{10 + at}, [%d1+{4 * at}];" for at in range(4))}
    bar.sync 0; {_ROWS} {generic} {name} [%d6], {_registers(count, 10)}; bar.sync 0;
    mad.wide.u32 %d1, %tx, 32, %b1;
    {_unloaded(8)}
    """
    outputs = (Output(4, 8 * WARP),)
    yield Trial(
        f"{name} [a], b", form, body, (_matrix_input()[: 4 * WARP],), outputs, _SHARED, block=(WARP, 1, 1)
    )


def movmatrix(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """A matrix of random bits."""
    body = f"""
    mad.wide.u32 %d1, %tx, 4, %b0; ld.global.b32 %r1, [%d1]; {name} %r2, %r1;
    mad.wide.u32 %d1, %tx, 4, %b1; st.global.b32 [%d1], %r2;
    """
    yield Trial(f"{name} d, a", form, body, (_matrix_input()[:WARP],), (Output(4, WARP),), block=(WARP, 1, 1))


# --------------------------------------------------------------------- copies


def cp_async(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial | Skipped]:
    """Bytes into shared memory, zeros behind the source's size; with every size of the source."""
    operands = form.syntax.partition(" ")[2]
    if not name.startswith("cp.async.c") or "[b]" not in operands:
        return
    if bound.get("hint") and bound["cop"] == "ca":
        yield Skipped(name, "an H200 takes it for an illegal instruction")
        return
    for size in (4, 8, 16) if bound["cop"] == "ca" else (16,):
        lists = [["%d5", "%d1", str(size)]]
        if "{, n}" in operands:
            lists = [lists[0], [*lists[0], "%r1"]]
        elif "{!}n" in operands:
            lists = [[*lists[0], "%p1"], [*lists[0], "!%p1"]]
        for to, origin, *rest in lists:
            given = ", ".join([f"[{to}]", f"[{origin}]", *rest, *(["%d39"] if bound.get("hint") else [])])
            policy = "createpolicy.fractional.L2::evict_first.b64 %d39, 1.0;" if bound.get("hint") else ""
            body = f"""
            mov.u64 %d6, NAMEs; mad.wide.u32 %d5, %tx, 16, %d6; mad.wide.u32 %d1, %tx, 16, %b0; {policy}
            {" ".join(f"st.shared.b32 [%d5+{at}], 0x5a5a5a5a;" for at in (0, 4, 8, 12))}
            rem.u32 %r1, %tx, {size + 1}; setp.lt.u32 %p1, %r1, {size // 2};
            {name} {given}; cp.async.wait_all;
            mad.wide.u32 %d1, %tx, 16, %b1;
            mov.b64 %d2, %d5; {_unloaded(4)}
            """
            yield Trial(
                f"{name} {given}",
                form,
                body,
                (_matrix_input()[: 4 * WARP],),
                (Output(4, 4 * WARP),),
                _SHARED,
                block=(WARP, 1, 1),
            )


RECIPES = {
    "ldmatrix": ldmatrix,
    "stmatrix": stmatrix,
    "movmatrix": movmatrix,
    "cp": cp_async,
}
