"""Kernels of five compilers, launched from the command line, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from teenycuda_cli.cli import run
from tests.kernels.commands import command, results
from tests.kernels.launches import Kernel
from tests.kernels.made import MADE


def made_cases() -> list[ParameterSet]:
    """Each kernel at each of its sizes."""
    return [
        pytest.param(path, kernel, size, id=f"{path.parent.name}-{path.stem}-{kernel.entry}-{size}")
        for path, kernel in MADE
        for size in kernel.sizes
    ]


@pytest.mark.parametrize(("path", "kernel", "size"), made_cases())
def test_kernel_computes_what_numpy_says(
    path: Path, kernel: Kernel, size: int, device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kernel leaves in its buffers what its source says, at every size."""
    launch = kernel.launch(size, np.random.default_rng(size))
    code = run([*command(path, kernel.entry, launch, tmp_path), "--device", device])
    assert code == 0, capsys.readouterr().err
    for name, (result, expected) in results(launch, tmp_path).items():
        rtol, atol = launch.tolerance.get(name, (0, 0))
        np.testing.assert_allclose(result, expected, rtol, atol, err_msg=name)
