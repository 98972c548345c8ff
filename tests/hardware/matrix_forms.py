"""Every form of mma: its text, its types, how many registers a lane gives for each matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64}
BITS |= {"e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
QUAD_PRODUCTS = 4
"""How many products of 8 × 8 × 4 a warp makes at once."""


@dataclass(frozen=True)
class MatrixForm:
    """One spelling. `selector` is that of a sparse form; None: it is dense."""

    text: str
    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    d: str
    selector: int | None = None
    version: str = "8.4"
    target: str = "sm_80"

    @property
    def name(self) -> str:
        """Unique among all."""
        return self.text if self.selector is None else f"{self.text} selector {self.selector}"

    @property
    def wide(self) -> bool:
        """Whether the registers are of 64 bits."""
        return self.a == "f64"

    @property
    def registers(self) -> tuple[int, int, int, int]:
        """Of a lane, for a, b, c and d."""
        if (self.m, self.n, self.k) == (8, 8, 4) and self.a == "f16":
            return 2, 2, QUAD_PRODUCTS * BITS[self.c] // 16, QUAD_PRODUCTS * BITS[self.d] // 16
        unit = 64 if self.wide else 32
        elements = (self.m * self.k, self.k * self.n, self.m * self.n, self.m * self.n)
        counts = [
            count * BITS[kind] // (32 * unit)
            for count, kind in zip(elements, (self.a, self.b, self.c, self.d), strict=True)
        ]
        if self.selector is not None:
            counts[0] //= 2
        return counts[0], counts[1], counts[2], counts[3]


def _dense() -> Iterator[MatrixForm]:
    half = "mma.sync.aligned.m8n8k4"
    for x, y in product(("row", "col"), repeat=2):
        for d, c in (("f16", "f16"), ("f32", "f32"), ("f32", "f16")):
            yield MatrixForm(f"{half}.{x}.{y}.{d}.f16.f16.{c}", 8, 8, 4, "f16", "f16", c, d, target="sm_75")

    def plain(
        m: int,
        n: int,
        k: int,
        a: str,
        b: str,
        acc: str,
        tail: str = "",
        version: str = "8.4",
        target: str = "sm_80",
    ) -> MatrixForm:
        text = f"mma.sync.aligned.m{m}n{n}k{k}.row.col{tail}.{acc}.{a}.{b}.{acc}"
        return MatrixForm(text, m, n, k, a, b, acc, acc, version=version, target=target)

    for k in (8, 16):
        for acc in ("f16", "f32"):
            yield plain(16, 8, k, "f16", "f16", acc)
        yield plain(16, 8, k, "bf16", "bf16", "f32")
    for k in (4, 8):
        yield plain(16, 8, k, "tf32", "tf32", "f32")
    for rounding in ("", ".rn", ".rz", ".rm", ".rp"):
        yield _rounded(8, 8, 4, rounding)
        for k in (4, 8, 16):
            yield _rounded(16, 8, k, rounding)
    for a, b in product(("e4m3", "e5m2"), repeat=2):
        for k in (16, 32):
            for acc in ("f32", "f16"):
                yield plain(16, 8, k, a, b, acc, version="8.7", target="sm_89")
    for kinds, shapes in (
        (("s8", "u8"), ((8, 8, 16), (16, 8, 16), (16, 8, 32))),
        (("s4", "u4"), ((8, 8, 32), (16, 8, 32), (16, 8, 64))),
    ):
        for (m, n, k), a, b, tail in product(shapes, kinds, kinds, ("", ".satfinite")):
            yield plain(m, n, k, a, b, "s32", tail)
    for (m, n, k), op in product(((8, 8, 128), (16, 8, 128), (16, 8, 256)), ("xor", "and")):
        text = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.s32.b1.b1.s32.{op}.popc"
        yield MatrixForm(text, m, n, k, "b1", "b1", "s32", "s32")


def _rounded(m: int, n: int, k: int, rounding: str) -> MatrixForm:
    text = f"mma.sync.aligned.m{m}n{n}k{k}.row.col{rounding}.f64.f64.f64.f64"
    return MatrixForm(text, m, n, k, "f64", "f64", "f64", "f64", target="sm_80" if m == 8 else "sm_90")


def _sparse() -> Iterator[MatrixForm]:
    def forms(
        k: int, a: str, b: str, acc: str, selectors: int, tail: str = "", **more: str
    ) -> Iterator[MatrixForm]:
        for way, selector in product(("sp", "sp::ordered_metadata"), range(selectors)):
            text = f"mma.{way}.sync.aligned.m16n8k{k}.row.col{tail}.{acc}.{a}.{b}.{acc}"
            version = more.get("version", "8.5")
            yield MatrixForm(
                text, 16, 8, k, a, b, acc, acc, selector, version=version, target=more.get("target", "sm_80")
            )

    for acc in ("f16", "f32"):
        yield from forms(16, "f16", "f16", acc, 4)
        yield from forms(32, "f16", "f16", acc, 2)
    yield from forms(16, "bf16", "bf16", "f32", 4)
    yield from forms(32, "bf16", "bf16", "f32", 2)
    yield from forms(8, "tf32", "tf32", "f32", 4)
    yield from forms(16, "tf32", "tf32", "f32", 2)
    for a, b, tail in product(("s8", "u8"), ("s8", "u8"), ("", ".satfinite")):
        yield from forms(32, a, b, "s32", 2, tail)
        yield from forms(64, a, b, "s32", 1, tail)
    for a, b, tail in product(("s4", "u4"), ("s4", "u4"), ("", ".satfinite")):
        yield from forms(64, a, b, "s32", 2, tail)
        yield from forms(128, a, b, "s32", 1, tail)
    for a, b in product(("e4m3", "e5m2"), repeat=2):
        yield from forms(64, a, b, "f32", 1, version="8.7", target="sm_89")


FORMS = (*_dense(), *_sparse())


def kernel(form: MatrixForm) -> str:
    """A module whose entry `k` runs one instruction a warp on registers from memory.

    Parameters: inputs and outputs, arrays of registers (warp, register, lane); the inputs of a warp are those
    of a, b, c and, of a sparse form, the metadata.
    """
    unit, bits = ("b64", 8) if form.wide else ("b32", 4)
    na, nb, nc, nd = form.registers
    extra = 0 if form.selector is None else 1
    total = na + nb + nc + extra
    names = [f"%x{index}" for index in range(total)]
    groups = (names[:na], names[na : na + nb], names[na + nb : na + nb + nc])
    lines = [f".version {form.version}", f".target {form.target}", ".address_size 64"]
    lines += [".visible .entry k(.param .u64 in, .param .u64 out) {"]
    lines += [f".reg .{unit} %x<{total}>, %d<{nd}>;", ".reg .b32 %w, %l, %c;", ".reg .b64 %p, %q, %t;"]
    lines += [
        "ld.param.u64 %p, [in];",
        "ld.param.u64 %q, [out];",
        "mov.u32 %c, %ctaid.x;",
        "mov.u32 %w, %tid.x;",
    ]
    lines += [
        "mov.u32 %l, %ntid.x;",
        "mad.lo.u32 %c, %c, %l, %w;",
        "and.b32 %l, %c, 31;",
        "shr.u32 %w, %c, 5;",
    ]
    lines += [f"mul.wide.u32 %t, %l, {bits};", "add.u64 %p, %p, %t;", "add.u64 %q, %q, %t;"]
    lines += [f"mul.wide.u32 %t, %w, {32 * bits * total};", "add.u64 %p, %p, %t;"]
    lines += [f"mul.wide.u32 %t, %w, {32 * bits * nd};", "add.u64 %q, %q, %t;"]
    lines += [f"ld.global.{unit} {name}, [%p+{32 * bits * index}];" for index, name in enumerate(names)]
    vectors = ["{" + ", ".join(group) + "}" for group in groups]
    destination = "{" + ", ".join(f"%d{index}" for index in range(nd)) + "}"
    tail = "" if form.selector is None else f", {names[-1]}, {form.selector:#x}"
    lines += [f"{form.text} {destination}, {', '.join(vectors)}{tail};"]
    lines += [f"st.global.{unit} [%q+{32 * bits * index}], %d{index};" for index in range(nd)]
    return "\n".join((*lines, "ret;", "}")) + "\n"
