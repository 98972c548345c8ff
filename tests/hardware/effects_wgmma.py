"""Trials of wgmma: shared memory full of elements and registers of two warpgroups in, registers out.

What lies where in shared memory needs no thought: all of it is full of numbers,
and which of them a descriptor names shows in every element of the result.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from teenycuda_cli.emulator.opcodes.fragments import sizes
from teenycuda_cli.emulator.opcodes.table import Form
from teenycuda_cli.emulator.opcodes.wgmma_descriptors import CHUNK, chunks
from tests.hardware.inputs import Array
from tests.hardware.matrix_inputs import BITS, KINDS, metadata_of, words_of
from tests.hardware.trials import THREADS, Output, Trial

GROUP = 128
GROUPS = THREADS // GROUP
WIDTHS = (8, 24, 64, 128, 256)
"""Values of n that stand for all."""
SPARSE_WIDTHS = (8, 64, 256)
FEW_WIDTHS = (8, 64)

_ROWS = 64
_STEP = 32  # bytes of a dense factor along k
_PATTERN = 1024  # bytes after which every swizzle has come round
_NAMES = ("no swizzle", "128B", "64B", "32B")
_BYTES = (16, 128, 64, 32)


@dataclass(frozen=True)
class Layout:
    """How a factor lies in shared memory; `shift` is where its pattern begins, in bytes."""

    swizzle: int
    transposed: bool = False
    shift: int = 0

    def __str__(self) -> str:
        """As a part of a trial's name."""
        shift = f" + {self.shift}" if self.shift else ""
        return f"{_NAMES[self.swizzle]}{' transposed' if self.transposed else ''}{shift}"

    def descriptor(self, side: int) -> int:
        """Without the start address of shared memory; the offsets are such that no elements meet."""
        width = _BYTES[self.swizzle]
        leading, stride = 8 * width, 4 * 8 * width + CHUNK
        if self.swizzle:
            leading, stride = (4 if self.transposed else side // 8) * 8 * width, 8 * width
        fields = (self.shift, leading, stride)
        packed = sum(field // CHUNK << position for field, position in zip(fields, (0, 16, 32), strict=True))
        return packed | self.shift // 128 % 8 << 49 | self.swizzle << 62

    def size(self, side: int, depth_bytes: int) -> int:
        """Bytes that the descriptor reaches, up to whole patterns."""
        if self.transposed:
            reached = chunks(self.descriptor(side), depth_bytes // 2, max(side * 2 // CHUNK, 1), True)
        else:
            reached = chunks(self.descriptor(side), side, depth_bytes // CHUNK, False)
        return -(-(int(reached.max()) + 1) * CHUNK // _PATTERN) * _PATTERN


@dataclass(frozen=True)
class Situation:
    """How an instruction is used."""

    b: Layout
    a: Layout | None = None  # None: it is in registers
    signs: tuple[int, int] = (1, 1)
    scaled: str = "1"
    selector: int | None = None

    def __str__(self) -> str:
        """As a part of a trial's name."""
        a = "in registers" if self.a is None else str(self.a)
        parts = [f"a {a}", f"b {self.b}"]
        if self.signs != (1, 1):
            parts.append(f"signs {self.signs[0]} {self.signs[1]}")
        if self.scaled != "1":
            parts.append(f"scale-d {self.scaled}")
        if self.selector is not None:
            parts.append(f"selector {self.selector}")
        return ", ".join(parts)


def wgmma(form: Form, name: str, bound: dict[str, str], plain: bool) -> Iterator[Trial]:
    """Each type in some widths, and some of those in all layouts."""
    del plain
    if "shape" not in bound:
        return
    for situation in _situations("adesc" in form.syntax, bound):
        yield _trial(form, name, bound, situation)


def _situations(shared: bool, bound: dict[str, str]) -> Iterator[Situation]:
    _, n, _ = sizes(bound["shape"])
    sparse, halves = "sp" in bound, bound["atype"] in ("f16", "bf16")
    first = bound["atype"] == bound["btype"] and not bound.get("satfinite")
    widths = FEW_WIDTHS if not first else SPARSE_WIDTHS if sparse else WIDTHS
    if n not in widths:
        return
    swizzle = (WIDTHS.index(n) * 3 if sparse else WIDTHS.index(n)) % (3 if sparse else 4)
    start = Situation(Layout(swizzle), Layout((swizzle + 1) % 3 if sparse else swizzle) if shared else None)
    selectors = (0, 1) if BITS[bound["atype"]] > 8 else (0,)
    yield from ([replace(start, selector=each) for each in selectors] if sparse else [start])
    if sparse:
        start = replace(start, selector=0)
    is_float = bound["atype"] not in ("s8", "u8", "b1")
    if n == 8 and is_float:
        yield replace(start, signs=(-1, 1))
        yield replace(start, signs=(1, -1), scaled="0")
    if n == 8 and first:
        yield replace(start, scaled="%p1")
        yield replace(start, scaled="!%p1")
    if n == 64 and first:
        yield from _layouts(start, bound)
    elif n in (8, 24, 256) and halves and bound["dtype"] == "f32":
        for kind in range(4) if n < 64 else (1,):
            yield replace(start, b=Layout(kind, transposed=True))


def _layouts(start: Situation, bound: dict[str, str]) -> Iterator[Situation]:
    """All swizzles, and all ways of transposing; patterns that begin elsewhere."""
    full = bound["atype"] == "f16" and bound["dtype"] == "f32"
    both = ((False, False), (True, True)) if bound["atype"] == "bf16" else ((False, False),)
    turns = tuple(itertools.product((False, True), repeat=2)) if full else both
    for kind, (a_turned, b_turned) in itertools.product(range(4), turns):
        found = replace(start, a=start.a and Layout(kind, a_turned), b=Layout(kind, b_turned))
        if found != start and (start.a or not a_turned or not full):
            yield found
    if not full:
        return
    for kind, shift in ((1, 256), (1, 640), (2, 128), (3, 128)):
        yield replace(start, b=Layout(kind, shift=shift))
    if start.a:
        yield replace(start, a=Layout(2, shift=384), b=Layout(1, True, shift=128))


def _trial(form: Form, name: str, bound: dict[str, str], situation: Situation) -> Trial:
    _, n, _ = sizes(bound["shape"])
    sparse = situation.selector is not None
    text = f"{name} d, a, b; {situation}"
    rng = np.random.Generator(np.random.PCG64(zlib.crc32(text.encode())))
    a_size = situation.a.size(_ROWS, _STEP) if situation.a else 0
    b_size = situation.b.size(n, 2 * _STEP if sparse else _STEP)
    results = n * BITS[bound["dtype"]] // 64
    a_registers = 0 if situation.a else 4
    images, registers = [], []
    for kind in KINDS:
        images.append(words_of(kind, bound["atype"], (GROUPS * a_size // 4,), rng))
        images.append(words_of(kind, bound["btype"], (b_size // 4,), rng))
        parts = [words_of(kind, bound["dtype"], (GROUPS, results, GROUP), rng)]
        parts.append(words_of(kind, bound["atype"], (GROUPS, a_registers, GROUP), rng))
        if sparse:
            parts.append(metadata_of(bound["atype"], (GROUPS, 1, GROUP), rng))
        registers.append(np.concatenate(parts, axis=1))
    inputs: tuple[Array, ...] = (np.concatenate(images), np.concatenate(registers))
    return Trial(
        text,
        form,
        _body(name, bound, situation, a_size, b_size),
        inputs=inputs,
        outputs=(Output(4, len(KINDS) * GROUPS * GROUP * results),),
        before=f".shared .align 1024 .b8 NAMEs[{GROUPS * a_size + b_size}];",
        grid=(len(KINDS), 1, 1),
    )


def _body(name: str, bound: dict[str, str], situation: Situation, a_size: int, b_size: int) -> str:
    """A block has an a for each warpgroup, and one b; registers are stored as (warpgroup, register, lane)."""
    _, n, _ = sizes(bound["shape"])
    size = GROUPS * a_size + b_size
    results = n * BITS[bound["dtype"]] // 64
    held = [f"%w{results + number}" for number in range(0 if situation.a else 4)]
    sums = [f"%w{number}" for number in range(results)]
    given = [*sums, *held, *(["%w140"] if situation.selector is not None else [])]
    lines = [
        f"""
        .reg .b32 %w<141>;
        mul.wide.u32 %d1, %bx, {size}; add.u64 %b0, %b0, %d1; mov.u32 %r1, NAMEs; mov.u32 %r2, %tx;
        FILL: mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %b0, %d1; mad.lo.u32 %r3, %r2, 4, %r1;
        ld.global.b32 %r4, [%d1]; st.shared.b32 [%r3], %r4; add.u32 %r2, %r2, {THREADS};
        setp.lt.u32 %p1, %r2, {size // 4}; @%p1 bra FILL;
        fence.proxy.async.shared::cta; bar.sync 0;
        and.b32 %r2, %lane, {GROUP - 1}; shr.u32 %r3, %lane, 7; shr.u32 %r4, %tx, 7; shr.u32 %r1, %r1, 4;
        setp.lt.u32 %p1, %tx, {THREADS};
        """
    ]
    for base, count in (("%b1", len(given)), ("%b2", results)):
        lines.append(f"mul.wide.u32 %d1, %r2, 4; add.u64 {base}, {base}, %d1;")
        lines.append(f"mul.wide.u32 %d1, %r3, {4 * GROUP * count}; add.u64 {base}, {base}, %d1;")
    lines += [f"ld.global.b32 {each}, [%b1+{4 * GROUP * index}];" for index, each in enumerate(given)]
    if situation.a:
        lines.append(f"mad.lo.u32 %r5, %r4, {a_size // CHUNK}, %r1; cvt.u64.u32 %d2, %r5;")
        lines.append(f"add.u64 %d2, %d2, {situation.a.descriptor(_ROWS):#x};")
    lines.append(f"add.u32 %r5, %r1, {GROUPS * a_size // CHUNK}; cvt.u64.u32 %d3, %r5;")
    lines.append(f"add.u64 %d3, %d3, {situation.b.descriptor(n):#x};")
    operands = ["{" + ", ".join(sums) + "}", "%d2" if situation.a else "{" + ", ".join(held) + "}", "%d3"]
    if situation.selector is not None:
        operands += [given[-1], str(situation.selector)]
    operands.append(situation.scaled)
    if bound["atype"] not in ("s8", "u8", "b1"):
        operands += [str(sign) for sign in situation.signs]
    if bound["atype"] in ("f16", "bf16"):
        layouts = [layout for layout in (situation.a, situation.b) if layout]
        operands += [str(int(layout.transposed)) for layout in layouts]
    lines.append("wgmma.fence.sync.aligned;")
    lines.append(f"{name} {', '.join(operands)};")
    lines.append("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;")
    lines += [f"st.global.b32 [%b2+{4 * GROUP * index}], {each};" for index, each in enumerate(sums)]
    return "\n".join(lines)


RECIPES = {"wgmma": wgmma}
