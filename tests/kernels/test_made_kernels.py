"""Kernels of five compilers, launched from the command line, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from teenycuda_cli.cli import run
from tests.kernels.launches import Kernel
from tests.kernels.made import MADE
from tests.kernels.test_corpus_kernels import _command


def _cases() -> list[ParameterSet]:
    return [
        pytest.param(path, kernel, size, id=f"{path.parent.name}-{path.stem}-{kernel.entry}-{size}")
        for path, kernel in MADE
        for size in kernel.sizes
    ]


@pytest.mark.parametrize(("path", "kernel", "size"), _cases())
def test_kernel_computes_what_numpy_says(
    path: Path, kernel: Kernel, size: int, device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kernel leaves in its buffers what its source says, at every size."""
    launch = kernel.launch(size, np.random.default_rng(size))
    code = run([*_command(path, kernel.entry, launch, tmp_path), "--device", device])
    assert code == 0, capsys.readouterr().err
    for name, expected in launch.expected.items():
        result = np.load(tmp_path / f"{name}.result.npy")
        if name in launch.any_order:
            result = np.sort(result)
            expected = np.sort(expected)
        rtol, atol = launch.tolerance.get(name, (0, 0))
        np.testing.assert_allclose(result, expected, rtol, atol, err_msg=name)
