"""What a kernel must not do: each fault with all that its message says."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import INDEX, Session, entry

ADDRESS = (
    INDEX + "ld.param.u64 %d1, [x]; ld.param.s32 %r1, [n]; cvt.s64.s32 %d2, %r1; add.s64 %d1, %d1, %d2;\n"
)
PARAMS = ".param .u64 x, .param .s32 n"


def fault(
    body: str, offset: int, *, block: tuple[int, ...] = (32,), size: int = 64, before: str = ""
) -> LaunchError:
    """The error of a kernel that touches `x + n` bytes in `body`, its address in %d1."""
    session = Session(entry(ADDRESS + body, PARAMS, before=before))
    y = session.buffer("y", np.zeros(16, np.uint8))
    x = session.buffer("x", np.zeros(size, np.uint8))
    assert y.address < x.address
    with pytest.raises(LaunchError) as caught:
        session.launch(x, offset, block=block)
    return caught.value


def per_thread(instruction: str) -> str:
    """The instruction with %d3 = %d1 + 4 × thread."""
    return f"mul.wide.u32 %d3, %r76, 4; add.u64 %d3, %d1, %d3;\n{instruction}"


def test_a_store_past_the_end_says_everything() -> None:
    """Kernel, place, what, address, thread, how many more, instruction, buffer and distance."""
    error = fault(per_thread("st.global.u32 [%d3], %r76;"), 0, block=(20,))
    assert error.message.startswith("the kernel k went out of bounds: a store of 4 bytes at 0x")
    assert (error.file, error.column) == ("k.ptx", 1)
    assert error.context[0] == "by thread (16, 0, 0) of block (0, 0, 0) (and 3 more threads at once)"
    assert error.context[1] == "at st.global.u32 [%d3], %r76;"
    assert error.context[2].startswith("begins 0 bytes past the end of x (64 bytes at 0x")


def test_the_source_line_of_the_last_loc_is_named() -> None:
    """`.loc` and `.file` give the source's file and line."""
    text = entry(ADDRESS + ".loc 1 42 7\nst.global.u32 [%d1], %r1;", PARAMS) + '.file 1 "/src/kernel.cu"\n'
    session = Session(text)
    x = session.buffer("x", np.zeros(4, np.uint8))
    with pytest.raises(LaunchError) as caught:
        session.launch(x, 400, block=(1,))
    assert "from /src/kernel.cu:42:7" in caught.value.context
    assert any("begins 396 bytes past the end of x" in line for line in caught.value.context)


def test_a_load_before_the_start() -> None:
    """The nearest buffer may lie behind the address."""
    error = fault("ld.global.u32 %r5, [%d1]; st.global.u32 [%d1], %r5;", -8, block=(1,))
    assert "a load of 4 bytes" in error.message
    assert error.context[-1].startswith("begins 8 bytes before the start of x (64 bytes at 0x")


def test_an_access_across_the_end() -> None:
    """A wide access that begins inside and ends outside is a fault too."""
    error = fault("ld.global.v2.u32 {%r5, %r6}, [%d1]; st.global.u32 [%d1], %r5;", 56, block=(1,), size=60)
    assert "a load of 8 bytes" in error.message
    assert error.context[-1].startswith("its last 4 bytes past the end of x")


def test_the_guard_zone_around_a_buffer_is_no_buffer() -> None:
    """Inside an allocation that holds a named buffer, all the rest is out of bounds."""
    session = Session(entry(ADDRESS + per_thread("st.global.u32 [%d3], %r76;"), PARAMS))
    whole = session.device.allocate(1024, "x with guards")
    inner = type(whole)(whole.address + 256, 512, "x")
    session.buffers["x"] = inner
    session.launch(inner, 0, block=(128,))
    for offset, text in (
        (512, "begins 0 bytes past the end of x"),
        (-4, "begins 4 bytes before the start of x"),
    ):
        with pytest.raises(LaunchError) as caught:
            session.launch(inner, offset, block=(1,))
        assert caught.value.context[-1].startswith(text)


def test_a_null_pointer() -> None:
    """An address in the first page is called null."""
    error = fault("mov.u64 %d1, 0; st.global.u32 [%d1+8], %r1;", 0)
    assert error.message == "the kernel k used a null pointer: a store of 4 bytes at 0x8"
    assert error.context[0] == "by thread (0, 0, 0) of block (0, 0, 0) (and 31 more threads at once)"


@pytest.mark.parametrize("lead", ["", "cvt.u64.u32 %d4, %r76; and.b64 %d4, %d4, 0; add.u64 %d1, %d1, %d4;"])
def test_a_misaligned_address(lead: str) -> None:
    """An access must be aligned to its size, a vector to the whole of it."""
    error = fault(lead + "ld.global.v2.u32 {%r5, %r6}, [%d1]; st.global.u32 [%d1], %r5;", 4, block=(1,))
    assert "used a misaligned address: a load of 8 bytes at 0x" in error.message
    assert "must be aligned to 8" in error.message
    assert error.context[-1] == "x + 4 bytes"


def test_constant_memory_is_read_only() -> None:
    """A store to a `.const` variable names it."""
    error = fault("mov.u64 %d3, c; st.global.u32 [%d3], %r1;", 0, before=".const .u32 c = 5;")
    assert "wrote to read-only memory: a store of 4 bytes" in error.message
    assert error.message.endswith("in c")


def test_shared_memory_ends_at_its_size() -> None:
    """Static and dynamic shared memory together bound an access."""
    text = entry(
        INDEX + "mov.u32 %r0, d; shl.b32 %r1, %r76, 2; add.u32 %r0, %r0, %r1;\nst.shared.u32 [%r0], %r1;",
        before=".extern .shared .align 4 .b8 d[]; .shared .align 4 .b8 s[12];",
    )
    session = Session(text.replace("add.u32 %r0, %r0, %r1;", "add.u32 %r0, %r0, %r1; mov.u32 %r5, s;"))
    out = session.buffer("out", np.zeros(4, np.uint8))
    session.launch(out, block=(5,), shared=20)
    with pytest.raises(LaunchError) as caught:
        session.launch(out, block=(6,), shared=20)
    assert caught.value.message == (
        "the kernel k went out of bounds: a store of 4 bytes in shared memory at offset 32, begins 0 bytes past the end"
    )
    assert caught.value.context[-1] == "a block has 32 bytes of shared memory, of which --shared gives 20"


@pytest.mark.parametrize("space", ["global", "shared", "local"])
@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (-8, "begins 8 bytes before the start"),
        (28, "its last 4 bytes past the end"),
        (32, "begins 0 bytes past the end"),
        (48, "begins 16 bytes past the end"),
    ],
)
def test_a_distance_means_the_same_in_each_space(space: str, offset: int, said: str) -> None:
    """A distance is from the end of the buffer, or its start, to where the access begins."""
    text = entry(
        f".{space} .align 8 .b8 own[32];\nmov.u64 %d3, own; st.{space}.v2.u32 [%d3+{offset}], {{%r1, %r1}};"
        if space != "global"
        else f"ld.param.u64 %d3, [x]; st.global.v2.u32 [%d3+{offset}], {{%r1, %r1}};",
        ".param .u64 x",
    )
    session = Session(text)
    x = session.buffer("x", np.zeros(32, np.uint8))
    with pytest.raises(LaunchError) as caught:
        session.launch(x, block=(1,))
    assert said in (caught.value.context[-1] if space == "global" else caught.value.message)


def test_local_memory_ends_at_the_frame() -> None:
    """A local array cannot be left."""
    error = fault(".local .align 8 .b8 a[32]; mov.u64 %d3, a; st.local.u32 [%d3+32], %r1;", 0, block=(1,))
    assert "a store of 4 bytes in local memory at offset 32, begins 0 bytes past the end" in error.message


def test_a_fault_under_a_mask_names_an_active_lane() -> None:
    """Lanes that do not take part may hold any address."""
    body = per_thread("setp.ge.u32 %p0, %r76, 30;\n@%p0 ld.global.u32 %r5, [%d3];\nst.global.u32 [%d1], %r5;")
    error = fault(body, 0)
    assert error.context[0] == "by thread (30, 0, 0) of block (0, 0, 0) (and 1 more thread at once)"


def test_an_address_that_wraps_around_is_a_fault() -> None:
    """Offsets near 2⁶⁴ do no harm."""
    error = fault("mov.u64 %d1, -4; st.global.u64 [%d1+-4], %d2;", 0)
    assert "at 0xfffffffffffffff8" in error.message


def test_a_scattered_address_is_checked_lane_by_lane() -> None:
    """An address that is read from memory is checked as well."""
    body = """
    mul.wide.u32 %d3, %r76, 8; add.u64 %d3, %d1, %d3; ld.global.u64 %d4, [%d3]; add.u64 %d4, %d4, %d1;
    st.global.u8 [%d4], %r76;
    """
    session = Session(entry(ADDRESS + body, PARAMS))
    x = session.buffer("x", np.array([3, 60, 64, 5, 1 << 40], np.uint64))
    with pytest.raises(LaunchError) as caught:
        session.launch(x, 0, block=(5,))
    assert caught.value.context[0] == "by thread (1, 0, 0) of block (0, 0, 0) (and 2 more threads at once)"
    assert caught.value.context[-1].startswith("begins 20 bytes past the end of x (40 bytes at 0x")


def test_division_by_zero_is_no_fault() -> None:
    """x / 0 and x % 0 are all ones."""
    session = Session(
        entry(
            INDEX
            + "mov.u32 %r0, 0; div.u32 %r1, %r76, %r0; rem.s32 %r2, %r76, %r0; st.global.v2.u32 [%out], {%r1, %r2};"
        )
    )
    out = session.buffer("out", np.zeros(2, np.uint32))
    session.launch(out, block=(1,))
    np.testing.assert_array_equal(session.values("out", np.uint32), [0xFFFFFFFF, 0xFFFFFFFF])


def test_assertions_name_file_and_line() -> None:
    """`__assertfail` gives the text of the assertion."""
    text = entry(
        """
        { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
        mov.u64 %d0, message; st.param.b64 [a], %d0; mov.u64 %d0, file; st.param.b64 [b], %d0;
        st.param.b32 [c], 12; mov.u64 %d0, name; st.param.b64 [d], %d0; st.param.b64 [e], 1;
        call __assertfail, (a, b, c, d, e); }
        """,
        before=".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);"
        ".global .b8 message[6] = {105, 32, 60, 32, 110, 0}; .global .b8 file[5] = {97, 46, 99, 117, 0};"
        ".global .b8 name[2] = {107, 0};",
    )
    session = Session(text)
    out = session.buffer("out", np.zeros(2, np.uint32))
    with pytest.raises(LaunchError, match="the kernel k failed an assertion: i < n") as caught:
        session.launch(out, block=(3,))
    assert caught.value.context[-1] == "a.cu:12: k"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block": (2048,)}, "a block of 2048 threads; the limit is 1024"),
        ({"shared": 1 << 20}, "1048576 bytes of shared memory a block; the limit is 232448"),
    ],
)
def test_limits_are_checked(change: dict[str, object], message: str) -> None:
    """A launch beyond the device's limits says which."""
    session = Session(entry("ret;"))
    out = session.buffer("out", np.zeros(2, np.uint32))
    with pytest.raises(LaunchError, match=message):
        session.launch(out, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("few", [0, 1 << 30])
def test_a_fault_in_the_turns_of_a_few_lanes(few: int) -> None:
    """A lane that goes astray after most have left the loop is named as any other."""
    text = entry(
        INDEX
        + """
        mov.u32 %r0, 0; mul.wide.u32 %d0, %r76, 4; add.u64 %d0, %out, %d0;
        L: setp.ge.u32 %p0, %r0, %r76; @%p0 bra OUT;
        add.u32 %r0, %r0, 1; add.u64 %d0, %d0, 4;
        st.global.u32 [%d0], %r0;
        bra L;
        OUT: ret;
        """
    )
    session = Session(text, few_lanes=few)
    out = session.buffer("out", np.zeros(60, np.uint32))
    with pytest.raises(LaunchError) as caught:
        session.launch(out, block=(31,))
    assert caught.value.message.startswith("the kernel k went out of bounds: a store of 4 bytes at 0x")
    assert caught.value.context[0] == "by thread (30, 0, 0) of block (0, 0, 0)"
    assert caught.value.context[-1].startswith("begins 0 bytes past the end of out (240 bytes at 0x")
