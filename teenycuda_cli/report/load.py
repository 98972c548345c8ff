"""What `load` shows: a table of entries, the assembler's messages, the JSON document."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from teenycuda_cli.errors import AssembleError
from teenycuda_cli.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from teenycuda_cli.driver.assembly.diagnostics import Diagnostic
    from teenycuda_cli.driver.assembly.loading import LoadedKernel, LoadResult

MESSAGES_SHOWN = 20
_ASSEMBLERS = {"nvjitlink": "nvJitLink", "driver": "the driver"}
_COLUMNS = (
    ("kernel", "left"),
    ("registers", "right"),
    ("stack", "right"),
    ("spilled", "right"),
    ("shared", "right"),
    ("const", "right"),
    ("threads", "right"),
    ("occupancy", "right"),
)


def document(result: LoadResult, exit_code: int) -> dict[str, Any]:
    """The JSON document of a load, also of one that failed."""
    return {
        "schema": "teenycuda.load/1",
        "file": result.image.name,
        "kind": result.image.kind,
        "device": result.device,
        "arch": result.arch,
        "assembler": result.assembler,
        "assembler_version": result.assembler_version,
        "ok": result.ok,
        "jit_ms": None if result.ms is None else round(result.ms, 3),
        "cached": result.cached,
        "log": {"info": result.info_log, "error": result.error_log, "truncated": result.truncated},
        "diagnostics": [_diagnostic_document(each) for each in result.diagnostics],
        "kernels": [_kernel_document(each) for each in result.kernels],
        "notes": list(result.notes),
        "error": _error_document(result),
        "exit_code": exit_code,
    }


def _diagnostic_document(diagnostic: Diagnostic) -> dict[str, Any]:
    fields = dataclasses.asdict(diagnostic)
    del fields["length"]
    return fields


def _kernel_document(kernel: LoadedKernel) -> dict[str, Any]:
    usage = kernel.usage
    fields = dataclasses.asdict(usage)
    fields["params"] = [{"offset": each.offset, "size": each.size} for each in usage.params]
    fields["occupancy"] = None if kernel.occupancy is None else dataclasses.asdict(kernel.occupancy)
    return fields


def _error_document(result: LoadResult) -> dict[str, Any] | None:
    """The first error, in the shape that every failing command's document has."""
    if result.ok:
        return None
    first = next((each for each in result.diagnostics if each.severity == "error"), None)
    return AssembleError(
        first.message if first else "the assembler failed",
        file=result.image.name,
        line=first.line if first else None,
        column=first.column if first else None,
        hint=first.hint if first else None,
    ).document


def messages(result: LoadResult) -> Iterator[str]:
    """Notes and diagnostics as lines for standard error, as compilers show them: place, line, caret, hint."""
    yield from (f"{result.image.name}: {note}" for note in result.notes)
    hints: set[str] = set()
    for diagnostic in result.diagnostics[:MESSAGES_SHOWN]:
        yield from _message(result, diagnostic, hints)
    more = len(result.diagnostics) - MESSAGES_SHOWN
    if more > 0:
        yield f"… and {more} more; --json lists all of them"
    if result.truncated:
        yield "the assembler's log was truncated"


def _message(result: LoadResult, diagnostic: Diagnostic, hints: set[str]) -> Iterator[str]:
    place = ":".join(str(each) for each in (diagnostic.line, diagnostic.column) if each is not None)
    where = f"{result.image.name}:{place}" if place else result.image.name
    yield f"{where}: {diagnostic.severity}: {diagnostic.message}"
    if diagnostic.line is not None:
        snippet = result.image.source.snippet(diagnostic.line, diagnostic.column or 1, diagnostic.length)
        yield from snippet if diagnostic.column is not None else snippet[:1]
    if diagnostic.hint and diagnostic.hint not in hints:
        hints.add(diagnostic.hint)
        yield f"hint: {diagnostic.hint}"


def headline(result: LoadResult) -> str:
    """One line: what was loaded, for what, by what, in what time."""
    return visible(_headline(result))


def _headline(result: LoadResult) -> str:
    if result.device and result.assembler is None:
        return f"{result.image.name}: {result.device} takes it whole, every instruction"
    if result.assembler is None:
        return f"{result.image.name}: {result.image.kind}, machine code for {result.arch}"
    by = _ASSEMBLERS.get(result.assembler, result.assembler)
    if result.device and result.image.kind != "ptx":
        return f"{result.image.name}: {result.image.kind}, loaded on {result.device} ({result.arch})"
    version = f" {result.assembler_version}" if result.assembler_version else ""
    time = f" in {result.ms:.0f} ms" if result.ms is not None else ""
    cached = " (from the driver's cache: no log)" if result.cached else ""
    where = f"{result.device} ({result.arch})" if result.device else result.arch
    return f"{result.image.name}: assembled for {where} by {by}{version}{time}{cached}"


def plain_table(result: LoadResult, *, stacked: bool = False) -> Iterator[str]:
    """The entries, one a line, in columns; `stacked` puts each name on a line of its own above."""
    rows = [tuple(name for name, _ in _COLUMNS), *(_row(each) for each in result.kernels)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(_COLUMNS))]
    for row in rows:
        cells = [
            cell.ljust(width) if side == "left" else cell.rjust(width)
            for cell, width, (_, side) in zip(row, widths, _COLUMNS, strict=True)
        ]
        if stacked:
            yield row[0]
            cells[0] = ""
        yield "  ".join(cells).rstrip()


def print_rich_table(result: LoadResult) -> None:
    """The entries as a table, for a terminal; in one too narrow for it each takes two plain lines."""
    from rich.console import Console  # noqa: PLC0415  (rich is for a terminal only)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(highlight=False)
    if max(map(len, plain_table(result))) > console.width:
        print("\n".join(plain_table(result, stacked=True)))
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name, side in _COLUMNS:
        table.add_column(name, justify="left" if side == "left" else "right", no_wrap=True)
    for kernel in result.kernels:
        spilled = kernel.usage.spill_store_bytes or kernel.usage.spill_load_bytes
        table.add_row(*map(Text, _row(kernel)), style="yellow" if spilled else None)
    console.print(table)


def _row(kernel: LoadedKernel) -> tuple[str, ...]:
    usage = kernel.usage
    spills = "-"
    if usage.spill_store_bytes is not None and usage.spill_load_bytes is not None:
        spills = f"{usage.spill_store_bytes}/{usage.spill_load_bytes}"
    numbers = (usage.registers, usage.stack_bytes)
    rest = (usage.shared_bytes, usage.const_bytes, usage.max_threads)
    occupancy = "-"
    if kernel.occupancy is not None:
        occupancy = (
            f"{kernel.occupancy.blocks_per_sm} × {kernel.occupancy.threads} = {kernel.occupancy.percent:.0f}%"
        )
    return (visible(usage.name), *map(_number, numbers), spills, *map(_number, rest), occupancy)


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
