"""Matrix descriptors of wgmma: where in shared memory the elements of a factor lie.

The unit is a chunk of 16 bytes. A matrix consists of lines of chunks, along k,
or, where it is transposed, along its own side. Lines come in eights: a line is
as many bytes behind the one before as the swizzle is wide (none: 16), and eight
lines are the stride behind the eight before. What of a line is beyond that
width follows at the leading offset. Without a swizzle, both offsets change
places for a transposed matrix. The swizzle then exchanges the chunks within
its width, by the number of the 128 bytes in which they lie.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

CHUNK = 16
_LINES = 8
_WIDTHS = (1, 8, 4, 2)  # in chunks: no swizzle, 128, 64 and 32 bytes
_FIELD = (1 << 14) - 1
_LAYOUTS_KEPT = 1024


@lru_cache(_LAYOUTS_KEPT)
def chunks(descriptor: int, lines: int, length: int, transposed: bool) -> Any:
    """The numbers of the chunks of shared memory, (lines, length), that a descriptor means."""
    start, leading, stride = (descriptor >> shift & _FIELD for shift in (0, 16, 32))
    base = descriptor >> 49 & 7
    width = _WIDTHS[descriptor >> 62 & 3]
    if transposed and width == 1:
        leading, stride = stride, leading
    line, chunk = np.arange(lines)[:, None], np.arange(length)
    found = start + line // _LINES * stride + line % _LINES * width
    found = found + chunk // width * leading + chunk % width
    found &= _FIELD
    return found ^ ((found // _LINES - base) & (width - 1))
