"""The kernels compiled for these tests from `sources`, and those of the corpus that need tensor cores."""

from __future__ import annotations

from dataclasses import replace
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
Row = tuple[str, Kernel]


def _compiled_again(rows: tuple[Row, ...], **endings: str) -> tuple[Row, ...]:
    """The kernels of files that nvcc compiled otherwise as well, at their last size alone."""
    return tuple(
        (f"{name}.{endings[name]}", replace(kernel, sizes=kernel.sizes[-1:]))
        for name, kernel in rows
        if name in endings
    )


def _for_hopper(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The kernels that Triton compiled for sm_90 as well, if not in the table, at their last size."""
    there = {name for name, _ in rows}
    other = [(f"{name.partition('.')[0]}.sm90", kernel) for name, kernel in rows if not name.endswith("sm90")]
    return tuple(
        (name, replace(kernel, sizes=kernel.sizes[-1:])) for name, kernel in other if name not in there
    )


TRITON = (*MATRICES, *ARRAYS)
NVCC = (*GROUPS, *CALLS, *NUMBERS, *PARALLEL)
_PLAIN = dict.fromkeys(("groups", "calls", "parallel"), "unoptimized")
_BY_FOLDER = (
    (PTX / "triton", (*TRITON, *_for_hopper(TRITON))),
    (PTX / "nvcc", (*NVCC, *_compiled_again(NVCC, numbers="sm90", **_PLAIN))),
    (PTX / "nvrtc", NVRTC),
    (PTX / "numba", NUMBA),
    (PTX / "rust", RUST),
    (CORPUS / "triton", CORPUS_MATRICES),
)

MADE: tuple[tuple[Path, Kernel], ...] = tuple(
    (folder / f"{name}.ptx", kernel) for folder, rows in _BY_FOLDER for name, kernel in rows
)
