"""ldmatrix, stmatrix and movmatrix, against the same indices in numpy."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from teenycuda_cli.errors import LaunchError, UnsupportedError
from tests.emulator.harness import INDEX, Session, entry

ROWS = 96  # in shared memory, of 16 bytes
SHARED = f".shared .align 128 .b8 s[{ROWS * 16}];"
PARAMS = ".param .u64 out, .param .u64 rows, .param .u64 data"
FILL = (
    INDEX
    + """
ld.param.u64 %d1, [rows]; mul.wide.u32 %d2, %r79, 4; add.u64 %d1, %d1, %d2; ld.global.u32 %r1, [%d1];
shl.b32 %r1, %r1, 4; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;
ld.param.u64 %d3, [data]; mul.lo.u32 %r3, %r78, """
    + f"{ROWS * 4}"
    + """; add.u32 %r4, %r3, %r76;
mov.u32 %r5, %r76;
fill: setp.ge.u32 %p1, %r5, """
    + f"{ROWS * 4}"
    + """; @%p1 bra filled;
add.u32 %r6, %r3, %r5; mul.wide.u32 %d4, %r6, 4; add.u64 %d4, %d3, %d4; ld.global.u32 %r7, [%d4];
shl.b32 %r8, %r5, 2; add.u32 %r8, %r8, %r2; st.shared.u32 [%r8], %r7;
add.u32 %r5, %r5, %r77; bra fill;
filled: bar.sync 0;
mov.u32 %r10, 7; mov.u32 %r11, 7; mov.u32 %r12, 7; mov.u32 %r13, 7;
"""
)
"""%r1 and %d10 (generic) hold the address of the row that `rows` gives the thread; `data` lies in `s` of each block."""
STORE = """
mul.wide.u32 %d5, %r79, 16; add.u64 %d5, %out, %d5; st.global.v4.u32 [%d5], {%r10, %r11, %r12, %r13};
"""
REGISTERS = {1: "{%r10}", 2: "{%r10, %r11}", 4: "{%r10, %r11, %r12, %r13}"}


def module(body: str, before: str = "") -> str:
    """A kernel with shared memory filled from `data`, and what `body` leaves in four registers stored."""
    generic = "cvt.u64.u32 %d10, %r1; cvta.shared.u64 %d10, %d10;\n"
    return entry(FILL + generic + body + STORE, PARAMS, before=SHARED + before)


def launch(
    body: str,
    rows: NDArray[Any],
    data: NDArray[Any],
    grid: tuple[int, ...],
    block: tuple[int, ...],
    before: str = "",
) -> Any:
    """Four registers a thread, as (blocks, warps, 32, 4)."""
    session = Session(module(body, before))
    out = session.buffer("out", np.zeros((rows.size, 4), np.uint32))
    arguments = out, session.buffer("rows", rows.astype(np.uint32)), session.buffer("data", data)
    session.launch(*arguments, grid=grid, block=block)
    return session.values("out", np.uint32).reshape(len(data), -1, 32, 4)


def expected(rows: NDArray[Any], data: NDArray[Any], count: int, transposes: bool) -> Any:
    """What lane t holds of matrix j: elements 2(t % 4) and the next of row t / 4."""
    found = np.full((*rows.shape, 4), 7, np.uint32)
    for block, warp, lane, matrix in np.ndindex(*rows.shape, count):
        elements = (
            data[block].view(np.uint16).reshape(ROWS, 8)[rows[block, warp, 8 * matrix : 8 * matrix + 8]]
        )
        if transposes:
            elements = elements.T
        low, high = elements[lane // 4, lane % 4 * 2 : lane % 4 * 2 + 2]
        found[block, warp, lane, matrix] = int(low) | int(high) << 16
    return found


def inputs(seed: int, blocks: int, warps: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Random rows for each lane, and the blocks' data."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, ROWS, (blocks, warps, 32))
    return rows, random.integers(0, 1 << 32, (blocks, ROWS * 4), np.uint32)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposes", [False, True])
@pytest.mark.parametrize(("space", "register"), [(".shared", "%r1"), (".shared::cta", "%r1"), ("", "%d10")])
def test_ldmatrix_brings_rows_from_the_addresses_of_its_lanes(
    count: int, transposes: bool, space: str, register: str
) -> None:
    """Rows anywhere in shared memory, for several blocks and warps, in blocks of several dimensions."""
    rows, data = inputs(1, 3, 4)
    name = f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposes else ''}{space}.b16"
    found = launch(f"{name} {REGISTERS[count]}, [{register}];", rows, data, (3,), (16, 4, 2))
    np.testing.assert_array_equal(found, expected(rows, data, count, transposes))


def test_an_offset_counts_and_elements_may_be_dropped() -> None:
    """`[r+16]` is the next row; `_` takes what nobody wants."""
    rows, data = inputs(2, 1, 1)
    rows %= ROWS - 1
    found = launch(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, _, %r12, _}, [%r1+16];", rows, data, (1,), (32,)
    )
    wanted = expected(rows + 1, data, 4, False)
    wanted[..., (1, 3)] = 7
    np.testing.assert_array_equal(found, wanted)


def test_addresses_of_other_lanes_do_not_matter() -> None:
    """For one matrix, lanes 8 to 31 may hold any address, for two, lanes 16 to 31."""
    rows, data = inputs(3, 2, 2)
    body = """
    and.b32 %r20, %r76, 31; setp.ge.u32 %p2, %r20, 8; mov.u32 %r21, %r1; @%p2 mov.u32 %r21, 0xfffffff1;
    setp.ge.u32 %p3, %r20, 16; @%p3 mov.u32 %r1, 3;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12}, [%r21];
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r1];
    """
    found = launch(body, rows, data, (2,), (64,))
    wanted = expected(rows, data, 2, False)
    np.testing.assert_array_equal(found[..., :2], wanted[..., :2])
    np.testing.assert_array_equal(found[..., 2], wanted[..., 0])


def test_a_warp_may_take_part_while_another_does_not() -> None:
    """Under a predicate, or in a branch, that holds for whole warps, the others keep their registers."""
    rows, data = inputs(4, 2, 4)
    wanted = expected(rows, data, 4, True)
    wanted[:, (0, 2)] = 7
    odd = "and.b32 %r20, %r76, 32; setp.eq.u32 %p2, %r20, 0;\n"
    load = f"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {REGISTERS[4]}, [%r1];"
    for body in (f"@!%p2 {load}", f"@%p2 bra over;\n{load}\nover:"):
        np.testing.assert_array_equal(launch(odd + body, rows, data, (2,), (128,)), wanted)


def test_lanes_that_diverged_before_come_together() -> None:
    """What waits for a warp waits for all its lanes."""
    rows, data = inputs(5, 1, 2)
    body = f"""
    and.b32 %r20, %r76, 3; mov.u32 %r21, 0;
    more: setp.ge.u32 %p2, %r21, %r20; @%p2 bra done; add.u32 %r21, %r21, 1; bra more;
    done: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {REGISTERS[4]}, [%r1];
    """
    np.testing.assert_array_equal(launch(body, rows, data, (1,), (64,)), expected(rows, data, 4, False))


def test_warps_may_loop_different_numbers_of_times() -> None:
    """Warp w loads w times, each time the next row, in a function that it calls."""
    rows, data = inputs(8, 1, 16)
    rows %= ROWS - 16
    body = """
    shr.u32 %r20, %r76, 5; mov.u32 %r21, 0;
    more: setp.ge.u32 %p2, %r21, %r20; @%p2 bra done; add.u32 %r1, %r1, 16; add.u32 %r21, %r21, 1;
    call (%r10, %r11, %r12, %r13), f, (%r1); bra more;
    done:
    """
    function = """
    .func (.reg .b32 q0, .reg .b32 q1, .reg .b32 q2, .reg .b32 q3) f(.reg .b32 a) {
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {q0, q1, q2, q3}, [a]; ret; }
    """
    wanted = np.full((1, 16, 32, 4), 7, np.uint32)
    for warp in range(1, 16):
        wanted[:, warp] = expected(rows[:, warp : warp + 1] + warp, data, 4, False)[:, 0]
    found = launch(body, rows, data, (1,), (512,), before=function)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("count", [1, 4])
def test_all_rows_may_be_the_same(count: int) -> None:
    """A constant address is that of every row."""
    rows, data = inputs(9, 2, 2)
    name = f"ldmatrix.sync.aligned.m8n8.x{count}.trans.shared.b16"
    found = launch(f"{name} {REGISTERS[count]}, [s+32];", rows, data, (2,), (64,))
    np.testing.assert_array_equal(found, expected(np.full_like(rows, 2), data, count, True))


@pytest.mark.parametrize("transposes", [False, True])
@pytest.mark.parametrize(
    ("count", "space", "register"), [(1, ".shared", "%r1"), (2, ".shared::cta", "%r1"), (4, "", "%d10")]
)
def test_stmatrix_is_the_opposite_of_ldmatrix(
    transposes: bool, count: int, space: str, register: str
) -> None:
    """Registers go to the rows of their lanes, and no other row changes."""
    random = np.random.default_rng(6)
    rows = random.permuted(np.tile(np.arange(64), (2, 1)), axis=1).reshape(2, 2, 32)
    data = random.integers(0, 1 << 32, (2, ROWS * 4), np.uint32)
    name = f"stmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposes else ''}{space}.b16"
    registers = "".join(f"mad.lo.u32 %r{10 + k}, %r79, 65539, {k << 28};\n" for k in range(4))
    dump = """
    bar.sync 0; mul.lo.u32 %r20, %r76, 16; add.u32 %r20, %r20, %r2; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r20];
    """
    found = launch(f"{registers}{name} [{register}], {REGISTERS[count]};{dump}", rows, data, (2,), (64,))
    wanted = data.view(np.uint16).reshape(2, ROWS, 8).copy()
    lanes = np.arange(128).reshape(2, 2, 32)
    for block, warp, lane, matrix in np.ndindex(2, 2, 32, count):
        value = int(lanes[block, warp, lane]) * 65539 + (matrix << 28)
        for part in range(2):
            row, column = lane // 4, lane % 4 * 2 + part
            if transposes:
                row, column = column, row
            wanted[block, rows[block, warp, 8 * matrix + row], column] = value >> (16 * part) & 0xFFFF
    np.testing.assert_array_equal(found.reshape(2, -1), wanted[:, :64].reshape(2, -1).view(np.uint32))


def test_movmatrix_turns_a_matrix_over() -> None:
    """Element (i, j) goes to (j, i)."""
    rows, data = inputs(7, 2, 2)
    body = """
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r1];
    movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10; movmatrix.sync.aligned.m8n8.trans.b16 %r12, %r11;
    """
    found = launch(body, rows, data, (2,), (64,))
    np.testing.assert_array_equal(found[..., 1], expected(rows, data, 1, True)[..., 0])
    np.testing.assert_array_equal(found[..., 2], expected(rows, data, 1, False)[..., 0])


def fault(body: str, block: tuple[int, ...] = (64,)) -> LaunchError:
    """The error of a kernel in which lane t has the address of row t % 32."""
    rows = np.tile(np.arange(32), 2).reshape(1, 2, 32)
    with pytest.raises(LaunchError) as caught:
        launch(body, rows, np.zeros((1, ROWS * 4), np.uint32), (1,), block)
    return caught.value


LANE_34 = "setp.eq.u32 %p2, %r76, 34;\n"


def test_every_row_is_checked() -> None:
    """A row's address must be a multiple of 16, and in shared memory."""
    load = f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {REGISTERS[4]}, [%r1];"
    error = fault(LANE_34 + "@%p2 add.u32 %r1, %r1, 8;\n" + load)
    assert error.message == (
        "the kernel k used a misaligned address: a load of 16 bytes in shared memory at 0x28 must be aligned to 16"
    )
    assert error.context[0] == "by thread (34, 0, 0) of block (0, 0, 0)"
    error = fault(LANE_34 + f"@%p2 add.u32 %r1, %r2, {ROWS * 16};\n" + load)
    assert "a load of 16 bytes in shared memory at offset 1536, begins 0 bytes past the end" in error.message
    store = f"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {REGISTERS[1]};"
    error = fault(LANE_34 + "@%p2 mov.u32 %r1, -16;\n" + store)
    assert (
        "a store of 16 bytes in shared memory at offset -16, begins 16 bytes before the start"
        in error.message
    )


def test_a_generic_address_must_be_of_shared_memory() -> None:
    """A row in global memory is a fault that names the space."""
    error = fault(
        LANE_34 + f"@%p2 mov.u64 %d10, %out;\nldmatrix.sync.aligned.m8n8.x4.b16 {REGISTERS[4]}, [%d10];"
    )
    assert error.message == "the kernel k used ldmatrix with an address in global memory, not shared"
    assert error.context[0] == "by thread (34, 0, 0) of block (0, 0, 0)"


@pytest.mark.parametrize(
    ("body", "block", "count"),
    [
        ("setp.lt.u32 %p2, %r76, 40;\n@%p2 INSTRUCTION", (64,), 8),
        ("setp.ge.u32 %p2, %r76, 40;\n@%p2 exit;\nINSTRUCTION", (64,), 8),
        ("INSTRUCTION", (40,), 8),
        ("INSTRUCTION", (1,), 1),
    ],
)
@pytest.mark.parametrize(
    "instruction",
    [
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r1];",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r10};",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r11;",
    ],
)
def test_a_warp_without_all_its_lanes_is_a_fault(
    body: str, block: tuple[int, ...], count: int, instruction: str
) -> None:
    """Lanes that are predicated off, have ended or do not exist are missed."""
    error = fault(body.replace("INSTRUCTION", instruction), block)
    name = instruction.partition(".")[0]
    lanes = "1 lane" if count == 1 else f"{count} lanes"
    assert error.message == f"the kernel k ran {name} with {lanes} of a warp, not all 32"
    assert error.context[0].startswith(f"by thread ({0 if count == 1 else 32}, 0, 0) of block (0, 0, 0)")
    assert error.context[1].endswith(instruction)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r1];", "2 elements of .b32 are expected"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r1];", "a register for .b32 is expected"),
        ("ldmatrix.sync.aligned.m8n8.x1.global.b16 {%r1}, [%d1];", "not in the form"),
        ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r1];", "not in the form"),
    ],
)
def test_what_is_no_ldmatrix_is_told(line: str, told: str) -> None:
    """Before anything runs."""
    session = Session(module(line))
    with pytest.raises(UnsupportedError) as caught:
        session.launch(*[session.buffer(name, np.zeros(4, np.uint32)) for name in ("out", "rows", "data")])
    assert told in str(caught.value.context)
