"""`--show NAME`: values, and for two dimensions a heatmap."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from teenycuda_cli.report.array_table import table_lines
from teenycuda_cli.report.heatmap import ascii_lines, print_colours

if TYPE_CHECKING:
    from teenycuda_cli.driver.results import Shown
    from teenycuda_cli.report.paint import Paint

LEAST = 3  # rows and columns from which a heatmap says more than the numbers


def print_shown(shown: Sequence[Shown], paint: Paint) -> None:
    """Print each buffer to standard output; in colour where `paint` is on."""
    import numpy as np  # noqa: PLC0415  (a launch has it)

    from teenycuda_cli.driver.arguments.dtypes import decode, is_poison  # noqa: PLC0415  (as above)

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for each in shown:
        sys.stdout.write("".join(f"{line}\n" for line in table_lines(each, width)))
        if each.stored.ndim != 2 or min(each.stored.shape) < LEAST or each.element.kind == "complex":
            continue
        with np.errstate(all="ignore"):
            values = decode(each.element, each.stored).astype(np.float64)
        if each.poisoned and not each.element.is_poison_a_value:
            values[is_poison(each.element, each.stored)] = np.nan
        if paint.enabled:
            sys.stdout.flush()
            print_colours(values)
        else:
            sys.stdout.write("".join(f"{line}\n" for line in ascii_lines(values)))
