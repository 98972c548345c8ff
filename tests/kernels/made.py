"""The kernels compiled for these tests from `sources`, by file."""

from __future__ import annotations

from pathlib import Path

from tests.kernels.launches import Kernel
from tests.kernels.triton_arrays import ARRAYS
from tests.kernels.triton_matrices import CORPUS_MATRICES, MATRICES

PTX = Path(__file__).parent / "ptx"
CORPUS = Path(__file__).parents[1] / "corpus"

MADE: tuple[tuple[Path, Kernel], ...] = (
    *((PTX / "triton" / f"{name}.ptx", kernel) for name, kernel in (*MATRICES, *ARRAYS)),
    *((CORPUS / "triton" / f"{name}.ptx", kernel) for name, kernel in CORPUS_MATRICES),
)
