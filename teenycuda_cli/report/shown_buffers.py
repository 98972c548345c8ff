"""`--show NAME`: values, and for two dimensions a heatmap."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from teenycuda_cli.report.array_table import table_lines
from teenycuda_cli.report.heatmap import ascii_lines, print_colours

if TYPE_CHECKING:
    from teenycuda_cli.driver.results import Shown
    from teenycuda_cli.report.paint import Paint

LEAST = 3  # rows and columns from which a heatmap says more than the numbers


def json_values(shown: Shown) -> Any:
    """The values as lists in the buffer's shape: null for what was never written, a pair for a complex one.

    What JSON has no number for is "nan", "inf" or "-inf".
    """
    import numpy as np  # noqa: PLC0415  (a launch has it)

    from teenycuda_cli.driver.arguments.dtypes import decode, is_poison  # noqa: PLC0415  (as above)

    values = decode(shown.element, shown.stored)
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag], axis=-1)
    listed = values
    if values.dtype.kind == "f":
        odd = ~np.isfinite(values)
        if odd.any():
            listed = values.astype(object)
            listed[odd] = [str(value) for value in values[odd].tolist()]
    if shown.poisoned and not shown.element.is_poison_a_value:
        listed = listed.astype(object)
        listed[is_poison(shown.element, shown.stored)] = None
    return listed.tolist()


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
