"""A two-dimensional array as a picture in the terminal; in characters where there is no colour."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from teenycuda_cli.driver.arguments.dtypes import Array

RAMP = " .:-=+*#%@"
WIDEST = 96
HIGHEST = 48


def ascii_lines(values: Array) -> Iterator[str]:
    """One character an element (or a patch of them): blank is the least, @ the greatest, ? is NaN."""
    import numpy as np  # noqa: PLC0415  (a launch has it)

    from teenycuda_cli.driver.png import scaled  # noqa: PLC0415  (as above)

    levels = scaled(_shrunk(values, WIDEST, HIGHEST // 2))
    steps = np.where(np.isnan(levels), 0, levels) * (len(RAMP) - 1)
    places = np.rint(steps).astype(int)
    for row, nans in zip(places.tolist(), np.isnan(levels).tolist(), strict=True):
        characters = ["?" if nan else RAMP[place] for place, nan in zip(row, nans, strict=True)]
        yield "  " + "".join(characters).rstrip()


def print_colours(values: Array) -> None:
    """Print the picture in colour, two rows a line of half blocks."""
    from rich.console import Console  # noqa: PLC0415  (only a terminal needs it)
    from rich.text import Text  # noqa: PLC0415  (as above)

    from teenycuda_cli.driver.png import colours  # noqa: PLC0415  (numpy)

    width = min(WIDEST, shutil.get_terminal_size().columns - 4)
    small = _shrunk(values, max(8, width), HIGHEST)
    pixels = colours(small)
    console = Console(file=sys.stdout, highlight=False)
    for top in range(0, pixels.shape[0], 2):
        line = Text("  ")
        for column in range(pixels.shape[1]):
            upper = _hex(pixels[top, column])
            lower = f" on {_hex(pixels[top + 1, column])}" if top + 1 < pixels.shape[0] else ""
            line.append("▀", style=f"{upper}{lower}")
        console.print(line, no_wrap=True, crop=False)


def _hex(pixel: Array) -> str:
    red, green, blue = pixel.tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"


def _shrunk(values: Array, columns: int, rows: int) -> Array:
    """Means over patches, so that it fits; NaN only where a whole patch is NaN."""
    import numpy as np  # noqa: PLC0415  (a launch has it)

    wide = np.asarray(values, dtype=np.float64)
    height, width = wide.shape
    down, across = -(-height // rows), -(-width // columns)
    if down == 1 and across == 1:
        return wide
    filled = np.full((-(-height // down) * down, -(-width // across) * across), np.nan)
    filled[:height, :width] = wide
    patches = filled.reshape(filled.shape[0] // down, down, filled.shape[1] // across, across)
    known = ~np.isnan(patches)
    counts = known.sum(axis=(1, 3))
    with np.errstate(all="ignore"):
        return np.asarray(np.where(known, patches, 0).sum(axis=(1, 3)) / np.where(counts, counts, np.nan))
