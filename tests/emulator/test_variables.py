"""A module's variables with no first value."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from teenycuda_cli.driver.image import image_of
from teenycuda_cli.errors import PtxSyntaxError
from tests.emulator.harness import Session, entry, run


def test_a_large_variable_takes_no_memory() -> None:
    """A variable with no first value is zero, and costs nothing where it is not touched."""
    before = ".global .align 4 .b8 large[4000000000];"
    text = entry("ld.global.u32 %r0, [large+3999999996]; st.global.u32 [%out], %r0;", before=before)
    before_it = _resident_bytes()
    np.testing.assert_array_equal(run(text, 1), [0])
    assert _resident_bytes() - before_it < 1 << 28


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_variable_is_zero_where_another_was() -> None:
    """Memory that another module's variable left is zeroed for the next."""
    session = Session(entry("mov.u32 %r0, 7; st.global.u32 [v], %r0;", params="", before=".global .u32 v;"))
    session.launch()
    address = session.module.addresses["v"]
    session.module.__exit__(None, None, None)
    again = session.device.load(image_of(entry("ret;", before=".global .u32 v;").encode(), "k.ptx"))
    assert again.addresses["v"] == address
    assert bytes(session.device.read(address, 4)) == bytes(4)


def test_constants_end_at_64_kib() -> None:
    """All of a file's together, used or not, as ptxas has it."""
    before = ".const .align 4 .b8 a[40000];\n.const .u32 b[{}];"
    text = entry("mov.u32 %r0, 7; st.global.u32 [%out], %r0;", before=before.format(6384))
    np.testing.assert_array_equal(run(text, 1), [7])
    message = "constant variables up to here take 65540 bytes; a file has 65536"
    with pytest.raises(PtxSyntaxError, match=message) as caught:
        Session(entry("ret;", before=before.format(6385)))
    assert caught.value.line == 5


@pytest.mark.parametrize(
    ("variables", "taken"),
    [
        ("a[1] b[65535]:8", 65543),
        ("b[65535]:8 a[1]", 0),
        ("a[1] b[8]:8 c[1] d[65512]:8", 0),
        ("a[1] b[8]:8 c[1] d[65513]:8", 65537),
        ("a[65533] b[4]:4", 65540),
        ("a[1] b[4]:256 c[65276]", 0),
        ("a[1] b[4]:256 c[65277]", 65537),
    ],
)
def test_what_lies_between_constants_counts(variables: str, taken: int) -> None:
    """They lie in the file's order, each as aligned; the sums are those of ptxas, 0 where it takes them."""
    declared = [variable.partition(":")[::2] for variable in variables.split()]
    before = "\n".join(f".const .align {align or 1} .b8 {name};" for name, align in declared)
    text = entry("ret;", before=before)
    if not taken:
        Session(text)
        return
    with pytest.raises(PtxSyntaxError, match=f"up to here take {taken} bytes"):
        Session(text)
