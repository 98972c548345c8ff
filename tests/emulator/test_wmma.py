"""wmma in all shapes, types and layouts, against products in numpy that are exact."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from teenycuda_cli.errors import LaunchError, UnsupportedError
from tests.emulator.harness import INDEX, Session, entry

WARPS = 3
SQUARE = "m16n16k16"
SIZES = {
    SQUARE: (16, 16, 16),
    "m8n32k16": (8, 32, 16),
    "m32n8k16": (32, 8, 16),
    "m16n16k8": (16, 16, 8),
    "m8n8k4": (8, 8, 4),
    "m8n8k32": (8, 8, 32),
    "m8n8k128": (8, 8, 128),
}
BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "s32": 32,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}
RANGES = {
    "s8": (-128, 128),
    "u8": (0, 256),
    "s4": (-8, 8),
    "u4": (0, 16),
    "b1": (0, 2),
    "s32": (-(1 << 30), 1 << 30),
}


def count(shape: str, matrix: str, kind: str) -> int:
    """How many registers a fragment has, by the ISA's tables."""
    m, n, k = SIZES[shape]
    if matrix in "ab" and kind == "f16":
        return 8
    elements = {"a": m * k, "b": k * n}.get(matrix, m * n)
    return elements * BITS[kind] // max(BITS[kind], 32) // 32


def packed(values: NDArray[Any], kind: str, layout: str, stride: int) -> NDArray[Any]:
    """Matrices (warps, rows, columns) as memory has them: bytes by warp; `stride` in elements."""
    rows = values if layout == "row" else values.swapaxes(1, 2)
    padded = np.zeros((*rows.shape[:2], stride), np.int64)
    padded[:, :, : rows.shape[2]] = rows
    if kind == "b1":
        return np.packbits(padded.astype(np.uint8), axis=2, bitorder="little").reshape(len(values), -1)
    if kind in ("s4", "u4"):
        low = padded.astype(np.uint8) & 15
        return (low[:, :, ::2] | low[:, :, 1::2] << 4).reshape(len(values), -1)
    if kind == "bf16":
        whole = (padded.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        whole = padded.astype(
            {"f16": "f2", "tf32": "f4", "f32": "f4", "f64": "f8", "s32": "i4", "s8": "i1", "u8": "u1"}[kind]
        )
    return whole.view(np.uint8).reshape(len(values), -1)


def unpacked(data: NDArray[np.uint8], kind: str, layout: str, stride: int, size: tuple[int, int]) -> Any:
    """The opposite, for results."""
    outer, inner = size if layout == "row" else size[::-1]
    values = data.view({"f16": "f2", "f32": "f4", "f64": "f8", "s32": "i4"}[kind]).reshape(-1, outer, stride)
    rows = values[:, :, :inner].astype(np.float64)
    return rows if layout == "row" else rows.swapaxes(1, 2)


@dataclass(frozen=True)
class Case:
    """One wmma product."""

    shape: str
    factor: str
    c: str
    d: str
    layouts: tuple[str, str, str, str] = ("row", "col", "row", "row")  # of a, b, c, d
    space: str = "global"
    operation: str = ""  # xor.popc
    suffix: str = ""
    pad: int = 0  # elements more than a row or column has; none: no stride is given

    @property
    def kinds(self) -> dict[str, str]:
        """The type of each matrix."""
        return {"a": self.factor, "b": self.factor, "c": self.c, "d": self.d}

    def size(self, matrix: str) -> tuple[int, int]:
        """Rows and columns."""
        m, n, k = SIZES[self.shape]
        return {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))

    def layout(self, matrix: str) -> str:
        """Row or col."""
        return self.layouts["abcd".index(matrix)]

    def stride(self, matrix: str) -> int:
        """In elements."""
        size = self.size(matrix)
        return size[1 if self.layout(matrix) == "row" else 0] + self.pad

    def bytes(self, matrix: str) -> int:
        """Of a warp's matrix in memory."""
        size = self.size(matrix)
        return (
            size[0 if self.layout(matrix) == "row" else 1]
            * self.stride(matrix)
            * BITS[self.kinds[matrix]]
            // 8
        )


def registers(case: Case, matrix: str) -> tuple[str, str]:
    """Their declaration, and the vector of them."""
    kind = case.kinds[matrix]
    number = count(case.shape, matrix, kind)
    held = kind if kind in ("f32", "f64") else "b32"
    names = ", ".join(f"%{matrix}_{k}" for k in range(number))
    return f".reg .{held} %{matrix}_<{number}>;", f"{{{names}}}"


def address(case: Case, matrix: str) -> str:
    """The address of the warp's matrix in the register of its name, in the space of the case."""
    size = case.bytes(matrix)
    text = f"ld.param.u64 %at_{matrix}, [{matrix}]; mad.wide.u32 %at_{matrix}, %warp, {size}, %at_{matrix};\n"
    if case.space != "global" and case.space:
        text += (
            f"mov.u64 %sh_{matrix}, s_{matrix}; mad.wide.u32 %sh_{matrix}, %local, {size}, %sh_{matrix};\n"
        )
    return text


def copy(case: Case, matrix: str, source: str, target: str) -> str:
    """The warp's matrix from global to shared memory or back, four bytes a lane at a time."""
    sides = {"at": "global", "sh": "shared"}
    label = f"copy_{matrix}"
    return f"""
    mov.u32 %r1, %lane;
    {label}: mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %{source}_{matrix}, %d1; add.u64 %d3, %{target}_{matrix}, %d1;
    ld.{sides[source]}.u32 %r2, [%d2]; st.{sides[target]}.u32 [%d3], %r2;
    add.u32 %r1, %r1, 32; setp.lt.u32 %p1, %r1, {case.bytes(matrix) // 4}; @%p1 bra {label}; bar.warp.sync -1;
    """


def kernel(case: Case) -> str:
    """Load, multiply, store."""
    shared = case.space not in ("global", "")
    space = f".{case.space}" if case.space else ""
    declared = "".join(registers(case, matrix)[0] for matrix in "abcd")
    body = (
        INDEX
        + declared
        + ".reg .b64 %at_a, %at_b, %at_c, %at_d, %sh_a, %sh_b, %sh_c, %sh_d; .reg .b32 %warp, %lane, %local;\n"
    )
    body += "shr.u32 %warp, %r79, 5; shr.u32 %local, %r76, 5; and.b32 %lane, %r79, 31;\n"
    body += "".join(address(case, matrix) for matrix in "abcd")
    held = "sh" if shared else "at"
    for matrix in "abc":
        body += copy(case, matrix, "at", "sh") if shared else ""
        stride = f", {case.stride(matrix)}" if case.pad else ""
        body += f"wmma.load.{matrix}.sync.aligned.{case.layout(matrix)}.{case.shape}{space}.{case.kinds[matrix]} {registers(case, matrix)[1]}, [%{held}_{matrix}]{stride};\n"
    types = f"{case.d}.{case.c}" if case.factor == "f16" else f"{case.d}.{case.factor}.{case.factor}.{case.c}"
    operation = f".{case.operation}" if case.operation else ""
    vectors = ", ".join(registers(case, matrix)[1] for matrix in "dabc")
    body += f"wmma.mma{operation}.sync.aligned.{case.layout('a')}.{case.layout('b')}.{case.shape}.{types}{case.suffix} {vectors};\n"
    stride = "mov.u32 %r5, " + f"{case.stride('d')};\n" if case.pad else ""
    body += f"{stride}wmma.store.d.sync.aligned.{case.layout('d')}.{case.shape}{space}.{case.d} [%{held}_d], {registers(case, 'd')[1]}{', %r5' if case.pad else ''};\n"
    body += "bar.warp.sync -1;" + copy(case, "d", "sh", "at") if shared else ""
    variables = (
        "".join(f".shared .align 128 .b8 s_{matrix}[{case.bytes(matrix) * WARPS}];" for matrix in "abcd")
        if shared
        else ""
    )
    return entry(body, ".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d", before=variables)


def inputs(case: Case, seed: int = 1) -> dict[str, NDArray[Any]]:
    """Whole numbers, small where the type is a float."""
    random = np.random.default_rng(seed)
    return {
        matrix: random.integers(*RANGES.get(case.kinds[matrix], (-8, 9)), (WARPS, *case.size(matrix)))
        for matrix in "abc"
    }


def product(case: Case, given: dict[str, NDArray[Any]]) -> Any:
    """What comes out."""
    session = Session(kernel(case))
    buffers = [
        session.buffer(m, packed(given[m], case.kinds[m], case.layout(m), case.stride(m))) for m in "abc"
    ]
    buffers.append(session.buffer("d", np.zeros(WARPS * case.bytes("d"), np.uint8)))
    session.launch(*buffers, block=(32 * WARPS,))
    return unpacked(session.values("d", np.uint8), case.d, case.layout("d"), case.stride("d"), case.size("d"))


def expected(case: Case, given: dict[str, NDArray[Any]]) -> Any:
    """The same in numpy."""
    a, b, c = given["a"], given["b"], given["c"]
    if case.operation:
        pairs = (
            a[:, :, :, None] ^ b[:, None] if case.operation[:3] == "xor" else a[:, :, :, None] & b[:, None]
        )
        return pairs.sum(axis=2) + c
    return a @ b + c


ROW_COL = ("row", "col")
LAYOUTS = [(a, b, c, d) for a in ROW_COL for b in ROW_COL for c, d in (("row", "col"), ("col", "row"))]
BROAD = [SQUARE, "m8n32k16", "m32n8k16"]
CASES = [
    *[
        Case(shape, "f16", c, d, layouts)
        for shape in BROAD
        for c in ("f16", "f32")
        for d in ("f16", "f32")
        for layouts in LAYOUTS[::3]
    ],
    *[Case(shape, "f16", "f16", "f32", layouts) for shape in BROAD for layouts in LAYOUTS],
    *[Case(shape, "bf16", "f32", "f32", layouts) for shape in BROAD for layouts in LAYOUTS],
    *[
        Case(shape, kind, "s32", "s32", layouts)
        for shape in BROAD
        for kind in ("s8", "u8")
        for layouts in LAYOUTS
    ],
    *[Case("m16n16k8", "tf32", "f32", "f32", layouts) for layouts in LAYOUTS],
    *[Case("m8n8k4", "f64", "f64", "f64", layouts) for layouts in LAYOUTS],
    *[
        Case("m8n8k32", kind, "s32", "s32", ("row", "col", c, d))
        for kind in ("s4", "u4")
        for c in ROW_COL
        for d in ROW_COL
    ],
    *[
        Case("m8n8k128", "b1", "s32", "s32", ("row", "col", c, "row"), operation=op)
        for op in ("xor.popc", "and.popc")
        for c in ROW_COL
    ],
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_product_is_that_of_numpy(case: Case) -> None:
    """Every shape, type and layout, a matrix a warp, with the strides that rows and columns have."""
    given = inputs(case)
    np.testing.assert_array_equal(product(case, given), expected(case, given))


@pytest.mark.parametrize("space", ["global", "shared", "shared::cta", ""])
@pytest.mark.parametrize(
    "case",
    [
        *[Case(SQUARE, "f16", "f32", "f16", ("col", "row", "col", "row"), pad=8)],
        *[Case("m8n32k16", "bf16", "f32", "f32", ("row", "row", "col", "col"), pad=8)],
        *[Case("m32n8k16", "s8", "s32", "s32", ("col", "row", "row", "col"), pad=16)],
        *[Case("m16n16k8", "tf32", "f32", "f32", ("col", "col", "row", "col"), pad=4)],
        *[Case("m8n8k4", "f64", "f64", "f64", ("row", "row", "row", "row"), pad=2)],
        *[Case("m8n8k32", "u4", "s32", "s32", pad=32)],
        *[Case("m8n8k128", "b1", "s32", "s32", pad=128, operation="xor.popc")],
    ],
    ids=str,
)
def test_a_stride_and_any_space(case: Case, space: str) -> None:
    """The stride, a constant or a register, counts elements."""
    case = Case(
        case.shape, case.factor, case.c, case.d, case.layouts, space, case.operation, case.suffix, case.pad
    )
    given = inputs(case)
    np.testing.assert_array_equal(product(case, given), expected(case, given))


@pytest.mark.parametrize("suffix", ["", ".satfinite"])
def test_integers_wrap_or_saturate(suffix: str) -> None:
    """With `.satfinite` a sum stays at the end of the range."""
    case = Case(SQUARE, "s8", "s32", "s32", suffix=suffix)
    given = inputs(case)
    given["c"] = np.where(given["c"] < 0, -(1 << 31), (1 << 31) - 1)
    exact = expected(case, given)
    wanted = (
        np.clip(exact, -(1 << 31), (1 << 31) - 1) if suffix else (exact + (1 << 31)) % (1 << 32) - (1 << 31)
    )
    assert (wanted != exact).any()
    np.testing.assert_array_equal(product(case, given), wanted)


@pytest.mark.parametrize(
    ("rounding", "toward"), [("rn", 1.0), ("rz", 1.0), ("rm", 1.0), ("rp", 1.0 + 2.0**-52)]
)
def test_doubles_are_rounded_as_asked(rounding: str, toward: float) -> None:
    """1 + 2⁻⁵⁴ goes up with `.rp` alone."""
    body = f"""
    .reg .f64 %c<2>, %e<2>; mov.f64 %c0, 0d3FF0000000000000; mov.f64 %c1, %c0; mov.f64 %g1, 0d3C90000000000000; mov.f64 %g2, 0d3FF0000000000000;
    mov.u32 %r1, %laneid; and.b32 %r1, %r1, 3; setp.ne.u32 %p1, %r1, 0; @%p1 mov.f64 %g1, 0d0000000000000000;
    wmma.mma.sync.aligned.row.col.m8n8k4.{rounding}.f64.f64.f64.f64 {{%e0, %e1}}, {{%g1}}, {{%g2}}, {{%c0, %c1}};
    mov.u32 %r2, %laneid; mul.wide.u32 %d1, %r2, 16; add.u64 %d1, %out, %d1; st.global.v2.f64 [%d1], {{%e0, %e1}};
    """
    session = Session(entry(body))
    session.launch(session.buffer("out", np.zeros(64)))
    np.testing.assert_array_equal(session.values("out", np.float64), toward)


def fragment(instruction: str, number: int, data: NDArray[Any]) -> Any:
    """The registers of each lane, (lanes, registers), after a load from `data`."""
    names = [f"%r{k + 1}" for k in range(number)]
    stores = "".join(f"st.global.u32 [%d2+{4 * k}], {name};\n" for k, name in enumerate(names))
    body = f"ld.param.u64 %d1, [data]; {instruction} {{{', '.join(names)}}}, [%d1];\nmov.u32 %r20, %tid.x; mad.wide.u32 %d2, %r20, {4 * number}, %out;\n{stores}"
    session = Session(entry(body, ".param .u64 out, .param .u64 data"))
    session.launch(session.buffer("out", np.zeros(32 * number, np.uint32)), session.buffer("data", data))
    return session.values("out", np.uint32).reshape(32, number)


@pytest.mark.parametrize("layout", ROW_COL)
def test_fragments_lie_as_those_of_mma(layout: str) -> None:
    """Of 16 × 16 × 16 in f16, a is that of mma.m16n8k16 and again, b two of its side by side, and so is c."""
    numbers = np.arange(256, dtype=np.uint16).reshape(16, 16)
    data = numbers if layout == "row" else np.ascontiguousarray(numbers.T)
    group, member = np.arange(32)[:, None] // 4, np.arange(32)[:, None] % 4
    k = np.arange(8)  # the elements of four registers
    rows, columns = group + 8 * (k // 2 % 2), member * 2 + k % 2 + 8 * (k // 4)
    found = fragment(f"wmma.load.a.sync.aligned.{layout}.m16n16k16.global.f16", 8, data).view(np.uint16)
    np.testing.assert_array_equal(found, np.tile(numbers[rows, columns], 2))
    rows, columns = member * 2 + k % 2 + 8 * (k // 2 % 2), group + 8 * (k // 4)
    found = fragment(f"wmma.load.b.sync.aligned.{layout}.m16n16k16.global.f16", 8, data).view(np.uint16)
    np.testing.assert_array_equal(found, np.tile(numbers[rows, columns], 2))
    rows, columns = group + 8 * (k // 2 % 2), member * 2 + k % 2 + 8 * (k // 4)
    found = fragment(f"wmma.load.c.sync.aligned.{layout}.m16n16k16.global.f32", 8, data.astype(np.uint32))
    np.testing.assert_array_equal(found, numbers[rows, columns])


LOAD = "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}"
STORE = "wmma.store.d.sync.aligned.row.m16n16k16.global.f32 {}, {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}}"


def fault(body: str, size: int = 256, block: int = 32) -> LaunchError:
    """The error of a kernel on a buffer of `size` floats."""
    session = Session(entry(INDEX + "mov.u32 %r1, 16;\n" + body))
    out = session.buffer("out", np.zeros(size, np.float32))
    with pytest.raises(LaunchError) as caught:
        session.launch(out, block=(block,))
    return caught.value


def test_every_element_is_checked() -> None:
    """Bounds and alignment, of loads and stores, with the lane whose element it is."""
    error = fault(f"{LOAD}, [%out], 24;")
    assert "went out of bounds: a load of 8 bytes at" in error.message
    assert error.context[0].startswith("by thread (12, 0, 0)")
    assert any("past the end of out (1024 bytes" in line for line in error.context)
    error = fault(STORE.format("[%out+32]") + ";")
    assert "went out of bounds: a store of 8 bytes at" in error.message
    error = fault(STORE.format("[%out+4]") + ", 8;", 512)
    assert "used a misaligned address: a store of 8 bytes at" in error.message
    assert "must be aligned to 8" in error.message


@pytest.mark.parametrize(
    ("start", "stride", "at"), [(8, 16, "0x8"), (0, 12, "0x18"), (16, 24, ""), (0, 8, "")]
)
def test_rows_in_shared_memory_begin_at_16_bytes(start: int, stride: int, at: str) -> None:
    """The hardware reads f16 factors there by rows, as ldmatrix does; out of global memory by words."""
    registers = "{" + ", ".join(f"%r{k}" for k in range(8)) + "}"
    load = "wmma.load.b.sync.aligned.row.m16n16k16.{}.f16 {}, [{}+{}], {};"
    body = INDEX + load.format("shared", registers, "s", start, stride)
    session = Session(entry(body, before=".shared .align 128 .b8 s[1024];"))
    out = session.buffer("out", np.zeros(256, np.float32))
    if at:
        with pytest.raises(LaunchError) as caught:
            session.launch(out)
        told = f"used a misaligned address: a load of 16 bytes in shared memory at {at} must be aligned to 16"
        assert caught.value.message == f"the kernel k {told}"
    else:
        session.launch(out)
    words = Session(entry(load.format("global", registers, "%out", start, stride)))
    words.launch(words.buffer("out", np.zeros(256, np.float32)))


def test_lanes_must_agree_on_address_and_stride() -> None:
    """What lanes of one warp give differently is a fault."""
    apart = "setp.eq.u32 %p1, %r76, 40; @%p1 {};\n"
    error = fault(apart.format("add.u64 %out, %out, 8") + f"{LOAD}, [%out];", 600, 64)
    assert (
        error.message == "the kernel k ran wmma with lanes of a warp that give another address than the first"
    )
    assert error.context[0] == "by thread (40, 0, 0) of block (0, 0, 0)"
    error = fault(apart.format("mov.u32 %r1, 18") + f"{LOAD}, [%out], %r1;", 600, 64)
    assert (
        error.message == "the kernel k ran wmma with lanes of a warp that give another stride than the first"
    )


def test_a_warp_without_all_its_lanes_is_a_fault() -> None:
    """Also for a block that is no multiple of 32 threads."""
    error = fault(f"{LOAD}, [%out];", block=48)
    assert error.message == "the kernel k ran wmma with 16 lanes of a warp, not all 32"
    error = fault("setp.eq.u32 %p1, %r76, 7; @!%p1 " + STORE.format("[%out]") + ";")
    assert error.message == "the kernel k ran wmma with 31 lanes of a warp, not all 32"


def test_a_warp_may_take_part_while_another_does_not() -> None:
    """Under a predicate of whole warps the others keep registers and memory."""
    body = INDEX + (
        "setp.ge.u32 %p1, %r76, 32; mov.f32 %f0, 0f40A00000;\n"
        + "".join(f"mov.f32 %f{k}, %f0;\n" for k in range(1, 8))
        + "shr.u32 %r1, %r76, 5; mad.wide.u32 %d1, %r1, 1024, %out;\n"
        + f"@%p1 {LOAD}, [%d1];\n{STORE.format('[%d1]')};"
    )
    session = Session(entry(body))
    data = np.arange(512, dtype=np.float32)
    session.launch(session.buffer("out", data), block=(64,))
    np.testing.assert_array_equal(session.values("out", np.float32), np.where(np.arange(512) < 256, 5, data))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2}, [%d1];",
            "8 elements of .u32 are expected",
        ),
        ("wmma.load.a.sync.aligned.row.m16n16k8.global.f16 {%r1, %r2}, [%d1];", "not in the form"),
        ("wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r1}, [%d1];", "not in the form"),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32 {%r1}, {%r1}, {%r1}, {%r1};",
            "not in the form",
        ),
        ("wmma.load.a.sync.aligned.row.m16n16k16.const.f16 {%r1, %r2}, [%d1];", "not in the form"),
    ],
)
def test_what_is_no_wmma_is_told(line: str, told: str) -> None:
    """Before anything runs."""
    session = Session(entry(line))
    with pytest.raises(UnsupportedError) as caught:
        session.launch(session.buffer("out", np.zeros(4, np.uint32)))
    assert told in str(caught.value.context)
