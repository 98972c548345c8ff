"""Kernels of wgmma, and matrices laid out for it in shared memory and registers, as the ISA has them."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teenycuda_cli.driver.assembly.assembler import assemble
from tests.emulator.harness import Session

Array = NDArray[Any]
GROUP = 128
SIZE = 24 << 10
B_START = 8 << 10
BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1, "b1": 0, "f32": 4, "s32": 4}
RANGES = {"s8": (-128, 128), "u8": (0, 256), "b1": (0, 2), "s32": (-(1 << 30), 1 << 30)}
WIDTH = {0: 16, 1: 128, 2: 64, 3: 32}
"""Bytes of a swizzle by its number in a descriptor."""


def encoded(values: Array, kind: str) -> Array:
    """Whole numbers as elements of a type, by their bits."""
    if kind == "b1":
        return np.packbits(values.astype(np.uint8), axis=-1, bitorder="little")
    if kind in ("bf16", "e5m2"):  # the upper half of a larger float
        larger, half = (np.float32, np.uint16) if kind == "bf16" else (np.float16, np.uint8)
        return values.astype(larger).view(half).reshape(*values.shape, 2)[..., 1]
    if kind == "e4m3":
        halves = values.astype(np.float16).view(np.uint16).astype(np.int64)
        code = ((halves & 0x7FFF) >> 7) - (8 << 3)
        return np.where(values == 0, 0, code | (halves >> 8 & 0x80)).astype(np.uint8)
    names = {"f16": "f2", "tf32": "f4", "f32": "f4", "s32": "i4", "s8": "i1", "u8": "u1"}
    return values.astype(names[kind])


def numbers(rng: np.random.Generator, kind: str, *shape: int) -> Array:
    """Whole numbers that every sum of products of which is exact in all types."""
    low, high = RANGES.get(kind, (-2, 3))
    return rng.integers(low, high, shape)


def place(
    image: Array, start: int, rows: Array, swizzle: int, leading: int, stride: int, base: int = 0
) -> None:
    """Put lines of bytes, (lines, bytes), where a descriptor of that start and these offsets has them."""
    width = WIDTH[swizzle]
    for line, values in enumerate(rows):
        for chunk, part in enumerate(values.reshape(-1, 16)):
            at = start + line // 8 * stride + line % 8 * width
            at += chunk * 16 // width * leading + chunk * 16 % width
            at ^= ((at >> 7) - base) % (width // 16) << 4
            image[at : at + 16] = part


def descriptor(leading: int, stride: int, swizzle: int, base: int = 0) -> int:
    """All but the start address."""
    return leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62


@dataclass
class Factor:
    """A factor in shared memory: how it lies there."""

    swizzle: int = 0
    transposed: bool = False
    shift: int = 0

    def fill(self, image: Array, start: int, elements: Array) -> int:
        """Put a matrix, (side, depth), into memory; the descriptor but for the memory's own address."""
        width = WIDTH[self.swizzle]
        lines = np.ascontiguousarray(elements.T if self.transposed else elements)
        rows = lines.view(np.uint8).reshape(len(lines), -1)
        leading, stride = 128, 272
        if self.swizzle:
            leading, stride = len(lines) * width, 8 * width
        first, second = (stride, leading) if self.transposed and not self.swizzle else (leading, stride)
        base = self.shift // 128 % 8
        place(image, start + self.shift, rows, self.swizzle, first, second, base)
        return descriptor(leading, stride, self.swizzle, base) | (start + self.shift) >> 4


def text_of(
    name: str, operands: str, registers: int, more: str = "", before: str = "", threads: int = GROUP
) -> str:
    """A kernel `k(image, given, out)`: shared memory filled, registers of each lane read, all of d written."""
    names = [f"%w{number}" for number in range(registers)]
    loads = "\n".join(f"ld.global.b32 {each}, [%g+{number * 512}];" for number, each in enumerate(names))
    stores = "\n".join(f"st.global.b32 [%o+{number * 512}], {each};" for number, each in enumerate(names))
    return f"""
.version 8.7
.target sm_90a
.address_size 64
.shared .align 1024 .b8 s[{SIZE}];
.visible .entry k(.param .u64 image, .param .u64 given, .param .u64 out)
{{
.reg .pred %p<9>; .reg .b32 %w<200>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .b64 %i, %g, %o, %s;
ld.param.u64 %i, [image]; ld.param.u64 %g, [given]; ld.param.u64 %o, [out];
mov.u32 %r1, %tid.x; mov.u32 %r9, s; shr.u32 %r9, %r9, 4; cvt.u64.u32 %s, %r9;
mov.u32 %r2, %r1;
FILL: mul.wide.u32 %d1, %r2, 16; add.u64 %d2, %i, %d1; mov.u64 %d3, s; add.u64 %d3, %d3, %d1;
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d2]; st.shared.v4.b32 [%d3], {{%r4, %r5, %r6, %r7}};
add.u32 %r2, %r2, {threads}; setp.lt.u32 %p1, %r2, {SIZE // 16}; @%p1 bra FILL;
fence.proxy.async.shared::cta; bar.sync 0;
shr.u32 %r3, %r1, 7; and.b32 %r2, %r1, 127;
mul.wide.u32 %d1, %r3, {512 * registers}; add.u64 %g, %g, %d1; add.u64 %o, %o, %d1;
mul.wide.u32 %d1, %r2, 4; add.u64 %g, %g, %d1; add.u64 %o, %o, %d1;
{loads}
setp.lt.u32 %p1, %r1, 4096; setp.gt.u32 %p2, %r1, 4096;
{before}
wgmma.fence.sync.aligned;
{name} {operands};
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
{stores}
{more}
ret;
}}
"""


def launched(text: str, image: Array, given: Array, groups: int = 1, threads: int = 0) -> Array:
    """What the kernel leaves of its registers, (warpgroups, registers, 128), by their bits."""
    assert assemble(text.encode(), arch="sm_90a").ok
    session = Session(text)
    out = session.buffer("out", np.zeros(given.shape, np.uint32))
    session.launch(
        session.buffer("image", image),
        session.buffer("given", given),
        out,
        block=(threads or GROUP * groups,),
    )
    return session.values("out", np.uint32).reshape(given.shape)


LANE = np.arange(GROUP)


def sum_places(register: int, part: int, parts: int) -> tuple[Array, Array]:
    """Row and column of d that a part of a register of each lane of a warpgroup is."""
    pair, low = divmod(register * parts + part, 2)
    tile, upper = divmod(pair, 2)
    return LANE // 32 * 16 + upper * 8 + LANE % 32 // 4, tile * 8 + LANE % 4 * 2 + low


def factor_places(register: int, part: int, parts: int) -> tuple[Array, Array]:
    """The same of a in registers."""
    column, upper = divmod(register, 2)
    return LANE // 32 * 16 + upper * 8 + LANE % 32 // 4, column * 4 * parts + LANE % 4 * parts + part


def registers_of(elements: Array, parts: int, places: Any) -> Array:
    """A matrix of elements as registers, (registers, 128)."""
    count = elements.size // GROUP // parts
    found = np.empty((count, GROUP, parts), elements.dtype)
    for register in range(count):
        for part in range(parts):
            found[register, :, part] = elements[places(register, part, parts)]
    return found.view(np.uint32).reshape(count, GROUP)


def matrix_of(registers: Array, n: int, dtype: Any) -> Array:
    """Registers of d as a matrix."""
    parts = 4 // np.dtype(dtype).itemsize
    values = np.ascontiguousarray(registers).view(dtype).reshape(len(registers), GROUP, parts)
    found = np.empty((64, n), dtype)
    for register in range(len(registers)):
        for part in range(parts):
            found[sum_places(register, part, parts)] = values[register, :, part]
    return found


def braced(first: int, count: int) -> str:
    return "{" + ", ".join(f"%w{first + number}" for number in range(count)) + "}"


def address(desc: int, register: str) -> str:
    """A descriptor with the address of shared memory added."""
    return f"add.u64 {register}, %s, {desc:#x};"
