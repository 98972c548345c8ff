"""The kernels compiled for these tests from `sources`, and those of the corpus that need tensor cores."""

from __future__ import annotations

from pathlib import Path

from tests.kernels.launches import Kernel
from tests.kernels.nvcc_calls import CALLS
from tests.kernels.nvcc_groups import GROUPS
from tests.kernels.nvcc_numbers import NUMBERS
from tests.kernels.nvcc_parallel import PARALLEL
from tests.kernels.other_compilers import NUMBA, NVRTC, RUST
from tests.kernels.triton_arrays import ARRAYS
from tests.kernels.triton_matrices import CORPUS_MATRICES, MATRICES

PTX = Path(__file__).parent / "ptx"
CORPUS = Path(__file__).parents[1] / "corpus"
_BY_FOLDER = (
    (PTX / "triton", (*MATRICES, *ARRAYS)),
    (PTX / "nvcc", (*GROUPS, *CALLS, *NUMBERS, *PARALLEL)),
    (PTX / "nvrtc", NVRTC),
    (PTX / "numba", NUMBA),
    (PTX / "rust", RUST),
    (CORPUS / "triton", CORPUS_MATRICES),
)

MADE: tuple[tuple[Path, Kernel], ...] = tuple(
    (folder / f"{name}.ptx", kernel) for folder, rows in _BY_FOLDER for name, kernel in rows
)
