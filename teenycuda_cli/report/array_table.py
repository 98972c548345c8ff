"""`--show`: the values of a buffer as a table, cut in the middle when it is large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from teenycuda_cli.report.values import DIGITS, SHORT, value_text

if TYPE_CHECKING:
    from teenycuda_cli.driver.arguments.dtypes import Array
    from teenycuda_cli.driver.arguments.element_types import ElementType
    from teenycuda_cli.driver.results import Shown

ROWS = 16
LONGEST = 64  # elements of one dimension shown in full


def table_lines(shown: Shown, width: int | None = None) -> Iterator[str]:
    """The buffer's name and shape, then its values, cut in the middle; `·` is what was never written.

    A line has eight values, or fewer where they do not fit `width` characters.
    """
    stored = shown.stored
    shape = "x".join(map(str, stored.shape))
    yield f"{shown.name}: {shape}x{shown.element.name}"
    lines: list[str] = []
    for columns in (8, 4, 2) if stored.ndim == 1 else (8, 6, 4, 2):
        lines = list(_one_dimension(shown, columns) if stored.ndim == 1 else _rows(shown, columns))
        if width is None or max(map(len, lines), default=0) <= width:
            break
    yield from lines


def _rows(shown: Shown, most: int) -> Iterator[str]:
    rows = shown.stored.reshape(-1, shown.stored.shape[-1])
    columns = _picked(rows.shape[1], most)
    cells = []
    for row in _picked(rows.shape[0], ROWS):
        if row is None:
            cells.append(["⋮"] * (len(columns) + 1))
            continue
        texts = _cells(shown, rows[row], columns)
        cells.append([_row_label(row, shown.stored.shape), *texts])
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    for line in cells:
        yield "  " + "  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True))


def _one_dimension(shown: Shown, columns: int) -> Iterator[str]:
    size = shown.stored.size
    starts: list[int | None] = list(range(0, size, columns))
    if size > LONGEST:
        starts = [*starts[:4], None, *starts[-4:]]
    texts = {
        start: _cells(shown, shown.stored[start : start + columns], range(min(columns, size - start)))
        for start in starts
        if start is not None
    }
    width = max(len(text) for row in texts.values() for text in row)
    label = len(str(max(texts)))
    for start in starts:
        if start is None:
            yield f"  {'⋮':>{label}}"
        else:
            yield f"  {start:>{label}}  " + "  ".join(f"{text:>{width}}" for text in texts[start])


def _cells(shown: Shown, stored: Array, places: Iterable[int | None]) -> list[str]:
    from teenycuda_cli.driver.arguments.dtypes import decode, is_poison  # noqa: PLC0415  (numpy, which a launch has)

    values = decode(shown.element, stored)
    marked = shown.poisoned and not shown.element.is_poison_a_value
    marks = is_poison(shown.element, stored) if marked else None
    texts = []
    for place in places:
        if place is None:
            texts.append("…")
        elif marks is not None and marks[place]:
            texts.append("·")
        else:
            texts.append(_cell(values[place].item(), shown.element))
    return texts


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
