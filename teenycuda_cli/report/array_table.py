"""`--show`: the values of a buffer as a table, cut in the middle when it is large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from teenycuda_cli.report.launch import DIGITS, value_text

if TYPE_CHECKING:
    from teenycuda_cli.driver.dtypes import Array
    from teenycuda_cli.driver.element_types import ElementType

ROWS = 16
COLUMNS = 8
LONGEST = 64  # elements of one dimension shown in full
SHORT = 6  # digits in a table


def table_lines(name: str, element: ElementType, stored: Array) -> Iterator[str]:
    """The buffer's name and shape, then its values; the first and last rows and columns of a large one."""
    from teenycuda_cli.driver.dtypes import decode, is_poison  # noqa: PLC0415  (numpy, which a launch has)

    shape = "x".join(map(str, stored.shape))
    yield f"{name}: {shape}x{element.name}"
    rows = stored.reshape(-1, stored.shape[-1]) if stored.ndim > 1 else stored.reshape(1, -1)
    if stored.ndim == 1:
        yield from _one_dimension(element, stored)
        return
    picked_rows = _picked(rows.shape[0], ROWS)
    picked_columns = _picked(rows.shape[1], COLUMNS)
    cells = []
    for row in picked_rows:
        if row is None:
            cells.append(["⋮"] + ["⋮"] * len(picked_columns))
            continue
        line = [_row_label(row, stored.shape)]
        values = decode(element, rows[row])
        poisoned = is_poison(element, rows[row])
        line += [
            "…" if at is None else "·" if poisoned[at] else _cell(values[at].item(), element)
            for at in picked_columns
        ]
        cells.append(line)
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    for line in cells:
        label = f"{line[0]:>{widths[0]}}"
        yield f"  {label}  " + "  ".join(
            f"{text:>{width}}" for text, width in zip(line[1:], widths[1:], strict=True)
        )


def _one_dimension(element: ElementType, stored: Array) -> Iterator[str]:
    from teenycuda_cli.driver.dtypes import decode, is_poison  # noqa: PLC0415  (as above)

    size = stored.size
    starts = range(0, size, COLUMNS)
    shown = list(starts) if size <= LONGEST else [*starts[:4], None, *starts[-4:]]
    texts: dict[int, list[str]] = {}
    for start in shown:
        if start is not None:
            part = stored[start : start + COLUMNS]
            marks = is_poison(element, part)
            values = decode(element, part).tolist()
            texts[start] = [
                "·" if mark else _cell(value, element) for value, mark in zip(values, marks, strict=True)
            ]
    width = max((len(text) for row in texts.values() for text in row), default=1)
    label = len(str(max(texts, default=0)))
    for start in shown:
        if start is None:
            yield f"  {'⋮':>{label}}"
        else:
            yield f"  {start:>{label}}  " + "  ".join(f"{text:>{width}}" for text in texts[start])


def _picked(count: int, most: int) -> list[int | None]:
    """The rows or columns shown; None stands for those left out."""
    if count <= most:
        return list(range(count))
    half = most // 2
    return [*range(half), None, *range(count - half, count)]


def _row_label(row: int, shape: tuple[int, ...]) -> str:
    if len(shape) == 2:
        return str(row)
    index = []
    for extent in reversed(shape[:-1]):
        row, at = divmod(row, extent)
        index.append(str(at))
    return ",".join(reversed(index))


def _cell(value: object, element: ElementType) -> str:
    if isinstance(value, float):
        return f"{value:.{min(SHORT, DIGITS.get(element.name, SHORT))}g}"
    return value_text(value, element)
