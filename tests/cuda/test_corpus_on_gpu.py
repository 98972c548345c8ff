"""The corpus on a GPU: tensor core and TMA kernels, and the same bytes from both devices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from teenycuda_cli.cli import run
from tests.kernels.commands import command, results
from tests.kernels.launches import Array, Kernel
from tests.kernels.test_corpus_kernels import cases
from tests.kernels.test_made_kernels import made_cases

pytestmark = pytest.mark.cuda
TRITON = Path(__file__).parents[1] / "corpus" / "triton"
# The order of a float sum over blocks is the scheduler's; ptxas may contract a product and a sum.
FREE_TO_DIFFER = {"reduce_sum": 1e-4, "math": 1e-4, "layernorm": 1e-5, "mandelbrot": None}


def _matmul(m: int, n: int, k: int, tile: int) -> list[str]:
    words = ["--grid", f"{m // tile},{n // tile}", "--arg", f"a=ptr:{m}x{k}xf16=randn"]
    words += ["--arg", f"b=ptr:{k}x{n}xf16=randn", "--arg", f"c=ptr:{m}x{n}xf16"]
    words += ["--arg", f"M={m}", "--arg", f"N={n}", "--arg", f"K={k}"]
    return [*words, "--expect", "c=a@b", "--tol", "c:rtol=2e-3,atol=2e-2"]


def _attention(n: int) -> list[str]:
    words = ["--grid", str(n // 64)]
    for name in "qkv":
        words += ["--arg", f"{name}=ptr:{n}x64xf16=randn"]
    words += ["--arg", f"o=ptr:{n}x64xf16", "--arg", f"N={n}", "--arg", "scale=0.125"]
    scores = "exp(q@k.T*0.125-max(q@k.T*0.125,axis=1,keepdims=True))"
    expected = f"o=({scores}/sum({scores},axis=1,keepdims=True))@v"
    return [*words, "--expect", expected, "--tol", "o:rtol=5e-3,atol=2e-3"]


def _add(n: int) -> list[str]:
    words = ["--grid", str(2 * -(-n // 1024)), "--cluster", "2"]
    words += ["--arg", f"x=ptr:{n}xf32=randn", "--arg", f"y=ptr:{n}xf32=randn", "--arg", f"out=ptr:{n}xf32"]
    return [*words, "--arg", f"n={n}", "--expect", "out=x+y"]


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        *((f"matmul_f16.sm{arch}", _matmul(m, 128, 64, 64)) for arch in (80, 90) for m in (64, 192, 512)),
        *((f"matmul_128.sm{arch}", _matmul(m, 256, 128, 128)) for arch in (80, 90) for m in (128, 384)),
        ("matmul_tma.sm90", _matmul(512, 512, 512, 128)),
        ("matmul_tma.sm90", _matmul(1024, 512, 768, 128)),
        *((f"attention.sm{arch}", _attention(n)) for arch in (80, 90) for n in (64, 512)),
        *(("vector_add_cluster2.sm90", _add(n)) for n in (1, 2048, 5000)),
    ],
)
def test_triton_kernels_compute(kernel: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Tensor cores, TMA with its scratch, large shared memory and clusters, against numpy."""
    code = run(["launch", str(TRITON / f"{kernel}.ptx"), *words, "--device", "cuda"])
    shown = capsys.readouterr()
    assert code == 0, shown.out + shown.err


def _on_both(
    path: Path, kernel: Kernel, size: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> dict[str, tuple[Array, Array]]:
    """What the emulator and the GPU leave in each buffer."""
    left = {}
    for device in ("cpu", "cuda"):
        (folder / device).mkdir()
        launch = kernel.launch(size, np.random.default_rng(size))
        code = run([*command(path, kernel.entry, launch, folder / device), "--device", device])
        assert code == 0, capsys.readouterr().err
        left[device] = {name: result for name, (result, _) in results(launch, folder / device).items()}
    return {name: (ours, left["cuda"][name]) for name, ours in left["cpu"].items()}


def _hold_to_bytes(name: str, ours: Array, theirs: Array) -> None:
    assert ours.tobytes() == theirs.tobytes(), f"{name}: {np.sum(ours != theirs)} elements differ"


@pytest.mark.parametrize(("path", "kernel", "size"), cases())
def test_both_devices_agree(
    path: Path, kernel: Kernel, size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same command leaves the same bytes on the GPU and on the emulator."""
    for name, (ours, theirs) in _on_both(path, kernel, size, tmp_path, capsys).items():
        if kernel.entry not in FREE_TO_DIFFER:
            _hold_to_bytes(name, ours, theirs)
        elif (rtol := FREE_TO_DIFFER[kernel.entry]) is not None:
            np.testing.assert_allclose(ours, theirs, rtol, atol=1e-6)
        else:
            assert np.mean(ours != theirs) < 0.02


@pytest.mark.parametrize(("path", "kernel", "size"), made_cases())
def test_both_devices_agree_on_made_kernels(
    path: Path, kernel: Kernel, size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kernels of five compilers leave the same bytes on both devices, but for what their table sets free."""
    for name, (ours, theirs) in _on_both(path, kernel, size, tmp_path, capsys).items():
        if freedom := kernel.free.get(name):
            np.testing.assert_allclose(ours, theirs, freedom.rtol, freedom.atol, err_msg=freedom.reason)
        else:
            _hold_to_bytes(name, ours, theirs)
