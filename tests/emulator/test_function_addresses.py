"""Functions' addresses, in variables and in calls."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import INDEX, entry, run, store

TABLE = """
.func (.reg .u32 r) one(.reg .u32 a) { mov.u32 r, a; ret; }
.func (.reg .u32 r) two(.reg .u32 a) { add.u32 r, a, a; ret; }
.global .align 8 .u64 table[2] = {one, two};
.global .align 8 .u64 alone = two;
"""
ENTRIES = "ld.global.u64 %d0, [table]; ld.global.u64 %d1, [table+8]; ld.global.u64 %d2, [alone];"


def test_a_table_of_functions_leaves_other_kernels_be() -> None:
    """A kernel that does not touch a variable with functions' addresses runs."""
    text = entry(INDEX + store("%r79"), before=TABLE)
    np.testing.assert_array_equal(run(text, 32), np.arange(32))


def test_addresses_of_functions_are_told_apart() -> None:
    """Each function has an address of its own, the same everywhere, and it is not null."""
    body = (
        INDEX
        + ENTRIES
        + """
        setp.eq.u64 %p0, %d1, %d2; setp.ne.u64 %p1, %d0, %d1; setp.ne.u64 %p2, %d0, 0;
        and.pred %p0, %p0, %p1; and.pred %p0, %p0, %p2; selp.u32 %r0, 1, 0, %p0;
        """
        + store("%r0")
    )
    np.testing.assert_array_equal(run(entry(body, before=TABLE), 32), np.ones(32))


def test_no_memory_is_at_a_functions_address() -> None:
    """Reading code as data is a fault."""
    with pytest.raises(LaunchError):
        run(entry(ENTRIES + "ld.global.u32 %r0, [%d0]; st.global.u32 [%out], %r0;", before=TABLE), 1)
