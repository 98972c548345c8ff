"""A driver that does nothing, for machines without a GPU: how its answers are taken is tested anywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def fake_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a libcuda.so.1 built from fake_driver.c."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("fake_driver")
    source = Path(__file__).with_name("fake_driver.c")
    command = [compiler, "-shared", "-fPIC", "-w", "-o", str(folder / "libcuda.so.1"), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture
def run_faked(fake_driver: Path) -> Run:
    """Run `teenycuda` on the driver that does nothing; keywords are its answers, `cuInit=100`."""

    def run(*arguments: str, **answers: int | str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"LD_LIBRARY_PATH": str(fake_driver), "PYTHONPATH": str(ROOT)}
        environment.pop("CUDA_CACHE_DISABLE", None)  # of a `load` that ran in this process
        environment |= {f"FAKE_{name}": str(value) for name, value in answers.items()}
        command = [sys.executable, "-m", "teenycuda_cli", *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    return run
