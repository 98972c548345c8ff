"""What a GPU left of each kernel, in a file small enough for a repository: hashes, and the first words."""

from __future__ import annotations

import hashlib
import json
import lzma
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tests.kernels.differential.kernels import Kernel
from tests.kernels.differential.running import Words

FILE = Path(__file__).with_name("recorded.xz")
FIRST = 8
CHUNKS = 8


def kernel_digest(kernel: Kernel) -> str:
    """A hash of all that a kernel is and is given, to notice when a seed makes another one."""
    shape = (kernel.grid, kernel.block, kernel.cluster, kernel.words, kernel.dynamic)
    return hashlib.sha256(kernel.text.encode() + kernel.inputs.tobytes() + repr(shape).encode()).hexdigest()[
        :8
    ]


@dataclass(frozen=True)
class Recorded:
    """One kernel's output: the first words, and a hash of each eighth; or why there is none."""

    kernel: str
    first: list[int]
    hashes: list[str]
    failure: str = ""

    def difference(self, words: Words) -> str:
        """Where an output differs from the recorded one, in words; "" where it does not."""
        own = recorded(self.kernel, words)
        parts = [n for n in range(CHUNKS) if own.hashes[n] != self.hashes[n]]
        if not parts:
            return ""
        first = [n for n in range(len(self.first)) if own.first[n] != self.first[n]]
        shown = ", ".join(f"word {n} is {own.first[n]:#x}, not {self.first[n]:#x}" for n in first)
        return f"eighths {parts} of {len(words)} words differ" + (f": {shown}" if shown else "")


def recorded(kernel: str, words: Words) -> Recorded:
    """An output as it is recorded."""
    hashes = [hashlib.sha256(part.tobytes()).hexdigest()[:8] for part in np.array_split(words, CHUNKS)]
    return Recorded(kernel, [int(word) for word in words[:FIRST]], hashes)


def write(file: Path, kernels: dict[int, Recorded]) -> None:
    """Write all, by seed."""
    document = {str(seed): asdict(kernels[seed]) for seed in sorted(kernels)}
    part = file.with_suffix(".part")
    part.write_bytes(lzma.compress(json.dumps(document).encode(), preset=9))
    part.replace(file)


def read(file: Path) -> dict[int, Recorded]:
    """All of a file, by seed."""
    document = json.loads(lzma.decompress(file.read_bytes()))
    return {int(seed): Recorded(**each) for seed, each in document.items()}
