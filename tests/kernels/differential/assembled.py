"""Where ptxas takes a kernel in another way than the ISA has it, and which differences are open."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.kernels.differential.kernels import Kernel

_BEYOND = re.compile(r"(bfe\.s32) (%r[0-9]+), (%r[0-9]+), ([0-9]+), ([0-9]+);")
OPEN = (96, 102, 366, 384)
"""Seeds whose kernels left other bytes on the H200, nobody knows why yet."""


def as_assembled(kernel: Kernel) -> Kernel:
    """The kernel as ptxas 13.0 takes it: `bfe.s32` from a constant position beyond 31 gives ones.

    By the ISA, and where the position is in a register, that is the sign, 32 times.
    """

    def folded(match: re.Match[str]) -> str:
        beyond = int(match[4]) > 31 and int(match[5]) > 0
        return f"mov.b32 {match[2]}, -1;" if beyond else match[0]

    return replace(kernel, text=_BEYOND.sub(folded, kernel.text))
