"""How the work is cut makes no difference: batches of any size, loops lane by lane or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emulator.harness import Session
from tests.kernels.launches import NVCC, TRITON, Kernel, Launch

CORPUS = Path(__file__).parents[1] / "corpus"
SETTINGS = ({"few_lanes": 1 << 30}, {"few_lanes": 0}, {"lanes": 1}, {"lanes": 300, "few_lanes": 10})
_DTYPES = {"i32": np.int32, "u32": np.uint32, "f32": np.float32, "f64": np.float64}
ORDERED = [
    kernel for kernel in NVCC if kernel.entry != "reduce_sum"
]  # whose sum is in the order of the blocks


def left_behind(path: Path, kernel: Kernel, launch: Launch, settings: dict[str, int]) -> dict[str, bytes]:
    """The bytes that a launch leaves in its buffers."""
    session = Session(path.read_text(), **settings)
    arguments: list[object] = []
    for name, value in launch.arguments.items():
        if isinstance(value, np.ndarray):
            arguments.append(session.buffer(name, value))
        elif value.startswith("ptr:"):
            *extents, kind = value[4:].split("=")[0].split("x")
            zeros = np.zeros(int(np.prod([int(extent) for extent in extents])), _DTYPES[kind])
            arguments.append(session.buffer(name, zeros))
        elif value.startswith("bytes:"):
            arguments.append(bytes.fromhex(value[6:]))
        else:
            kind, number = value.split(":")
            arguments.append(float(number) if kind[0] == "f" else int(number))
    entry = next(entry for entry in session.module.module.entries if entry.name == kernel.entry)
    arguments += [0] * (len(entry.params) - len(arguments))
    block = launch.block.split(",") if launch.block else [str(n) for n in entry.directives.reqntid or ()]
    session.launch(
        *arguments,  # type: ignore[arg-type]
        grid=[int(n) for n in launch.grid.split(",")],
        block=[int(n) for n in block],
        shared=launch.shared or (1 << 14 if path.parent.name == "triton" else 0),
        name=kernel.entry,
    )
    return {name: session.values(name, np.uint8).tobytes() for name in session.buffers}


@pytest.mark.parametrize(
    ("path", "kernel"),
    [(CORPUS / "nvcc" / "kernels.sm80.ptx", kernel) for kernel in ORDERED]
    + [(CORPUS / "triton" / f"{kernel.entry}.sm90.ptx", kernel) for kernel in TRITON],
    ids=lambda value: getattr(value, "entry", None),
)
def test_settings_make_no_difference(path: Path, kernel: Kernel) -> None:
    """Every kernel of the corpus leaves the same bytes, however its lanes are run."""
    launch = kernel.launch(kernel.sizes[-2], np.random.default_rng(7))
    wanted = left_behind(path, kernel, launch, {})
    for settings in SETTINGS:
        assert left_behind(path, kernel, launch, settings) == wanted, settings
