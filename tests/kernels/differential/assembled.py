"""Where ptxas takes a kernel in another way than the ISA has it, and which differences are open."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.kernels.differential.kernels import Kernel

_BEYOND = re.compile(r"(bfe\.s32) (%r[0-9]+), (%r[0-9]+), ([0-9]+), ([0-9]+);")
_GUARDED = re.compile(r"@(%q[0-9]+) (testp\.subnormal\.f(?:32|64)) (%p[0-9]), (%\w+);")
OPEN = (384,)
"""The seed whose kernel left other bytes on the H200.

There, some lanes read behind `barrier.cta.sync.aligned` what was in shared memory before it. They come to
it out of a loop that is entered at several places, and maybe apart, which `.aligned` does not allow.
"""


def as_assembled(kernel: Kernel) -> Kernel:
    """The kernel as ptxas 13.0 takes it, in two things against the ISA.

    `bfe.s32` from a constant position beyond 31 gives ones; by the ISA, and where the position is in a
    register, that is the sign, 32 times. `testp.subnormal` under a predicate gives false where that does
    not hold; by the ISA it then leaves its result as it was.
    """

    def folded(match: re.Match[str]) -> str:
        beyond = int(match[4]) > 31 and int(match[5]) > 0
        return f"mov.b32 {match[2]}, -1;" if beyond else match[0]

    text = _GUARDED.sub(r"\2 \3, \4; and.pred \3, \3, \1;", _BEYOND.sub(folded, kernel.text))
    return replace(kernel, text=text)
