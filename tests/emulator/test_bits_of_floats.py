"""Registers that hold floats, read as integers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.harness import INDEX, entry, run, store


@pytest.mark.parametrize("opcode", ["xor", "and", "or"])
@pytest.mark.parametrize("other", ["%r2", "%r79"])
def test_bitwise_instructions_take_floats_with_integers(opcode: str, other: str) -> None:
    """A register computed as f32 goes into a bitwise instruction beside another of any kind."""
    body = f"""{INDEX}
cvt.rn.f32.u32 %r1, %r79; add.f32 %r1, %r1, 0f3F000000; mul.f32 %r2, %r1, %r1;
{opcode}.b32 %r3, %r1, {other};
{store("%r3")}ret;"""
    half = np.arange(64, dtype=np.float32) + np.float32(0.5)
    right = (half * half).view(np.uint32) if other == "%r2" else np.arange(64, dtype=np.uint32)
    operation = {"xor": np.bitwise_xor, "and": np.bitwise_and, "or": np.bitwise_or}[opcode]
    result = run(entry(body), 64, grid=(2,))
    np.testing.assert_array_equal(result, operation(half.view(np.uint32), right))
