"""The corpus on a GPU: tensor core and TMA kernels, and the same bytes from both devices."""

from __future__ import annotations

import pytest

from tests.kernels.agreement import agreement
from tests.kernels.processes import Processes
from tests.kernels.table import CASES, CORPUS, Case

pytestmark = pytest.mark.cuda


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


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        *((f"matmul_f16.sm{arch}", _matmul(m, 128, 64, 64)) for arch in (80, 90) for m in (64, 192, 512)),
        *((f"matmul_128.sm{arch}", _matmul(m, 256, 128, 128)) for arch in (80, 90) for m in (128, 384)),
        ("matmul_tma.sm90", _matmul(512, 512, 512, 128)),
        ("matmul_tma.sm90", _matmul(1024, 512, 768, 128)),
        *((f"attention.sm{arch}", _attention(n)) for arch in (80, 90) for n in (64, 512)),
    ],
)
def test_triton_kernels_compute(kernel: str, words: list[str], processes: Processes) -> None:
    """Tensor cores, TMA with its scratch, large shared memory, at larger sizes than the emulator gets."""
    ended = processes.run(["launch", str(CORPUS / "triton" / f"{kernel}.ptx"), *words], "cuda")
    assert ended.code == 0, ended.output + ended.errors


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_devices_agree(case: Case, processes: Processes) -> None:
    """A kernel leaves what numpy says, and the same bytes on both devices, but for what is set free."""
    row = agreement(case, processes, ("cpu", "cuda"))
    assert not row.cpu
    assert row.cuda == ""
    assert row.both is not None
    assert not row.both.wrong
