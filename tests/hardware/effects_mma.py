"""Trials of mma, dense and sparse: whole warps of registers in, registers out."""

from __future__ import annotations

from collections.abc import Iterator

from teenycuda_cli.emulator.opcodes.fragments import sizes
from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.matrix_inputs import BITS, KINDS, MatrixForm, warps_of
from tests.hardware.trials import THREADS, Output, Trial

EACH = 8
"""Warps of every kind of input."""

WARP = 32


def mma(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Every kind of input; of sparse forms every selector."""
    del plain
    m, n, k = sizes(bound["shape"])
    types = (bound["atype"], bound["btype"], bound["ctype"], bound["dtype"])
    selectors: tuple[int | None, ...] = tuple(range(_selectors(types[0], k))) if "way" in bound else (None,)
    for selector in selectors:
        matrix_form = MatrixForm(name, m, n, k, *types, selector=selector)
        inputs = warps_of(matrix_form, EACH)
        count = len(KINDS) * EACH * WARP * matrix_form.registers[3]
        yield Trial(
            f"{name} d, a, b, c" + ("" if selector is None else f", e, {selector}"),
            form,
            _body(matrix_form),
            inputs=(inputs,),
            outputs=(Output(8 if matrix_form.wide else 4, count),),
            grid=(len(KINDS) * EACH * WARP // THREADS, 1, 1),
        )


def _selectors(type_name: str, k: int) -> int:
    """How many there are: the lanes of four that tell the metadata of a row are one, two or all."""
    bits = k * 2 if type_name == "tf32" else k // 2 if BITS[type_name] == 4 else k
    return 4 // (bits * 2 // WARP)


def _body(form: MatrixForm) -> str:
    """Registers are stored as (warp, register, lane)."""
    unit, size, letter = ("b64", 8, "d") if form.wide else ("b32", 4, "r")
    na, nb, nc, nd = form.registers
    total = na + nb + nc + (0 if form.selector is None else 1)
    names = [f"%{letter}{10 + index}" for index in range(total)]
    results = [f"%{letter}{10 + index}" for index in range(total, total + nd)]
    lines = ["and.b32 %r1, %lane, 31; shr.u32 %r2, %lane, 5;"]
    for base, count in (("%b0", total), ("%b1", nd)):
        lines.append(f"mul.wide.u32 %d1, %r1, {size}; add.u64 {base}, {base}, %d1;")
        lines.append(f"mul.wide.u32 %d1, %r2, {WARP * size * count}; add.u64 {base}, {base}, %d1;")
    lines += [f"ld.global.{unit} {each}, [%b0+{WARP * size * index}];" for index, each in enumerate(names)]
    groups = (results, names[:na], names[na : na + nb], names[na + nb : na + nb + nc])
    operands = ["{" + ", ".join(group) + "}" for group in groups]
    if form.selector is not None:
        operands += [names[-1], str(form.selector)]
    lines.append(f"{form.text} {', '.join(operands)};")
    lines += [f"st.global.{unit} [%b1+{WARP * size * index}], {each};" for index, each in enumerate(results)]
    return "\n".join(lines)


RECIPES = {"mma": mma}
