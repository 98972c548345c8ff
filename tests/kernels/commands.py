"""A launch as the words of a command line, and what the command leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.kernels.launches import Array, Launch


def _arguments(arguments: Mapping[str, str | Array], folder: Path) -> list[str]:
    words = []
    for name, value in arguments.items():
        if isinstance(value, str):
            words += ["--arg", f"{name}={value}"]
        else:
            np.save(folder / f"{name}.npy", value)
            words += ["--arg", f"{name}=ptr:@{folder / name}.npy"]
    return words


def command(path: Path, entry: str, launch: Launch, folder: Path) -> list[str]:
    """The words that launch a kernel, and save in the folder the buffers that are to be looked at."""
    words = ["launch", str(path), "--grid", launch.grid]
    if entry:
        words += ["--entry", entry]
    if launch.block:
        words += ["--block", launch.block]
    if launch.cluster:
        words += ["--cluster", launch.cluster]
    if launch.shared is not None:
        words += ["--shared", str(launch.shared)]
    words += _arguments(launch.arguments, folder)
    for name in launch.expected:
        words += ["--save", f"{name}={folder / name}.result.npy"]
    return words


def results(launch: Launch, folder: Path) -> dict[str, tuple[Array, Array]]:
    """What the command left in each buffer, and what is expected there; sorted where order says nothing."""
    pairs = {}
    for name, expected in launch.expected.items():
        pair = np.load(folder / f"{name}.result.npy"), expected
        pairs[name] = tuple(np.sort(array, axis=None) for array in pair) if name in launch.any_order else pair
    return pairs
