"""Random kernels, whole: as an H200 ran them, as a plain interpreter does, and however the work is cut."""

from __future__ import annotations

import numpy as np
import pytest

from teenycuda_cli.driver.assembly.assembler import assemble
from teenycuda_cli.emulator.device import EmulatedDevice, Options
from tests.kernels.differential.assembled import OPEN, as_assembled
from tests.kernels.differential.kernels import judged, made
from tests.kernels.differential.recording import FILE, kernel_digest, read
from tests.kernels.differential.running import launched

SEEDS = range(1, 41)
PARTS = 12
RECORDED = read(FILE)
CUTS = (
    Options(few_lanes=0),
    Options(few_lanes=1 << 30),
    Options(lanes=1),
    Options(lanes=100, few_lanes=10),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_assembler_takes_each(seed: int) -> None:
    """What is made is legal PTX."""
    kernel = made(seed)
    assembly = assemble(kernel.text.encode(), arch=f"sm_{kernel.sm}")
    assert assembly.ok, assembly.error_log


@pytest.mark.parametrize("seed", SEEDS)
def test_each_does_as_the_interpreter_does(seed: int) -> None:
    """Kernels without floats leave what threads leave that run one instruction after the other."""
    kernel = made(seed)
    if kernel.nodes is None:
        return
    np.testing.assert_array_equal(launched(EmulatedDevice(), kernel), judged(kernel))


@pytest.mark.parametrize("seed", SEEDS)
def test_cuts_make_no_difference(seed: int) -> None:
    """Batches of any size, loops lane by lane or not: the same bytes."""
    kernel = made(seed)
    wanted = launched(EmulatedDevice(), kernel)
    for options in CUTS:
        np.testing.assert_array_equal(
            launched(EmulatedDevice(options), kernel), wanted, err_msg=repr(options)
        )


@pytest.mark.parametrize("part", range(PARTS))
def test_each_does_as_the_hardware_did(part: int) -> None:
    """Every kernel that an H200 ran leaves the same bytes."""
    wrong = {}
    for seed in sorted(RECORDED)[part::PARTS]:
        kernel, known = made(seed), RECORDED[seed]
        assert kernel_digest(kernel) == known.kernel, f"seed {seed} makes another kernel: record it again"
        assert not known.failure, f"seed {seed} failed on the GPU: {known.failure}"
        if text := known.difference(launched(EmulatedDevice(), as_assembled(kernel))):
            wrong[seed] = text
    assert wrong.keys() == {seed for seed in OPEN if seed in sorted(RECORDED)[part::PARTS]}, wrong
