"""All kernels that are launched against numpy: those of the corpus, and those compiled from `sources`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from tests.kernels import launches
from tests.kernels.launches import Kernel
from tests.kernels.numba_warps import NUMBA_WARPS
from tests.kernels.nvcc_bulk import BULK
from tests.kernels.nvcc_calls import CALLS
from tests.kernels.nvcc_groups import GROUPS
from tests.kernels.nvcc_libraries import LIBRARIES
from tests.kernels.nvcc_numbers import NUMBERS
from tests.kernels.nvcc_parallel import PARALLEL
from tests.kernels.other_compilers import NUMBA, NVRTC, RUST
from tests.kernels.triton_arrays import ARRAYS
from tests.kernels.triton_descriptors import DESCRIPTORS, TMA_DESCRIPTORS
from tests.kernels.triton_elements import ELEMENTS
from tests.kernels.triton_matrices import CORPUS_MATRICES, MATRICES, TMA_MATRICES

PTX = Path(__file__).parent / "ptx"
CORPUS = Path(__file__).parents[1] / "corpus"
Row = tuple[str, Kernel]


@dataclass(frozen=True)
class Case:
    """A kernel of a file, at one of its sizes."""

    path: Path
    kernel: Kernel
    size: int

    @property
    def compiler(self) -> str:
        """The compiler that made the file."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """The file and the kernel; the file alone where it is named after its only one."""
        entry = self.kernel.entry
        return self.path.stem if self.path.stem.startswith(entry) else f"{self.path.stem}:{entry}"

    def __str__(self) -> str:
        """The case as pytest names it."""
        return f"{self.compiler}-{self.name}-{self.size}"


def _at_last_size(kernel: Kernel) -> Kernel:
    return replace(kernel, sizes=kernel.sizes[-1:])


def _in_files(files: Iterable[str], kernels: Iterable[Kernel]) -> tuple[Row, ...]:
    return tuple(product(files, kernels))


def _compiled_again(rows: tuple[Row, ...], **endings: str) -> tuple[Row, ...]:
    """The kernels of files that nvcc compiled otherwise as well, at their last size alone."""
    return tuple(
        (f"{name}.{endings[name]}", _at_last_size(kernel)) for name, kernel in rows if name in endings
    )


_NVCC = (*GROUPS, *CALLS, *NUMBERS, *PARALLEL, *LIBRARIES)
_PLAIN = dict.fromkeys(("groups", "calls", "parallel"), "unoptimized")
_BY_FOLDER = (
    (CORPUS / "nvcc", _in_files(("kernels.sm75", "kernels.sm80", "kernels.sm90"), launches.NVCC)),
    (CORPUS / "nvcc", _in_files(("kernels.lineinfo",), map(_at_last_size, launches.NVCC))),
    (CORPUS / "nvcc", _in_files(("kernels.debug",), launches.NVCC_DEBUG)),
    (CORPUS / "rust", _in_files(("axpy", "axpy.debug"), launches.RUST)),
    (CORPUS / "triton", tuple((f"{k.entry}.sm{arch}", k) for arch in (80, 90) for k in launches.TRITON)),
    (CORPUS / "triton", _in_files(("vector_add_cluster2.sm90",), launches.TRITON_CLUSTERS)),
    (CORPUS / "triton", (*CORPUS_MATRICES, *TMA_MATRICES)),
    (PTX / "triton", (*MATRICES, *ARRAYS, *ELEMENTS, *DESCRIPTORS, *TMA_DESCRIPTORS)),
    (PTX / "nvcc", (*_NVCC, *BULK, *_compiled_again(_NVCC, numbers="sm90", **_PLAIN))),
    (PTX / "nvrtc", NVRTC),
    (PTX / "numba", (*NUMBA, *NUMBA_WARPS)),
    (PTX / "rust", RUST),
)

CASES = tuple(
    Case(folder / f"{file}.ptx", kernel, size)
    for folder, rows in _BY_FOLDER
    for file, kernel in rows
    for size in kernel.sizes
)
