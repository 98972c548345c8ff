"""Trials of st.async and red.async: into the shared memory of another block, which counts the bytes."""

from __future__ import annotations

from collections.abc import Iterator

from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.table import Form
from tests.hardware.effects_bulk import BEGIN, MEET, PAIR, WAIT, moved
from tests.hardware.effects_memory import Shape, loaded
from tests.hardware.inputs import Array, Source, inputs
from tests.hardware.trials import Output, Trial, drawn

_LANES = 32
_SHARED = ".shared .align 16 .b8 NAMEs[512]; .shared .align 8 .b64 NAMEb;"
_BYTES = 512


def _addresses(space: str) -> str:
    """%d20 and %d21: the lanes' memory and the object, of the other block; of their own as `shared::cta`."""
    lines = "mov.u64 %d20, NAMEs; mov.u64 %d21, NAMEb;"
    if space == "shared::cta":
        return lines
    if not space:
        lines += "cvta.shared.u64 %d20, %d20; cvta.shared.u64 %d21, %d21;"
    dotted = f".{space}" if space else ""
    return lines + " ".join(f"mapa{dotted}.u64 {each}, {each}, %r3;" for each in ("%d20", "%d21"))


def _trial(form: Form, name: str, shape: Shape, data: tuple[Array, Array]) -> Trial:
    """Memory from the first buffer, registers from the second, memory into the last one."""
    _, prefix, size = next(iter(shape.registers()))
    body = f"""
    mov.u64 %d6, NAMEs; mov.u32 %r2, %cluster_ctarank; xor.b32 %r3, %r2, 1; {BEGIN}
    {moved("%d6", "shared", "%b0", "global", "FILL", _BYTES)}
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [NAMEb], {_LANES * shape.total}; {MEET}
    mad.lo.u32 %r4, %r2, {_LANES}, %tx; mad.wide.u32 %d1, %r4, {shape.total}, %b1;
    {loaded(prefix, size, shape.count)}
    {_addresses(shape.space)} mad.wide.u32 %d20, %tx, {shape.total}, %d20;
    {name} [%d20], {shape.group(prefix)}, [%d21]; {WAIT}
    mul.wide.u32 %d8, %r2, {_BYTES}; add.u64 %b2, %b2, %d8;
    {moved("%b2", "global", "%d6", "shared", "EMPTY", _BYTES)}
    {MEET}
    """
    outputs = (Output(4, 2 * _BYTES // 4),)
    text = f"{name} [a], b, [mbar]"
    return Trial(text, form, body, data, outputs, _SHARED, grid=PAIR, block=(_LANES, 1, 1), cluster=PAIR)


def store(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Over what is there."""
    shape = Shape(name, bound)
    values = drawn("async", 2 * _LANES * shape.total // 4)
    yield _trial(form, name, shape, (drawn("before", _BYTES // 4), values))


def reduce(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Combined with what is there."""
    kind = bound["type"]
    one, other = inputs((Source(kind), Source(kind)))
    count = _BYTES // dtype(kind).itemsize
    yield _trial(form, name, Shape(name, bound), (one[:count], other[: 2 * _LANES]))


RECIPES = {"st.async": store, "red.async": reduce}
