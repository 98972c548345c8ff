"""What `launch` shows: the JSON document, and the lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from teenycuda_cli.report.bench import document as bench_document
from teenycuda_cli.report.bench import lines as bench_lines
from teenycuda_cli.report.checks import comparison_document, comparison_lines
from teenycuda_cli.report.messages import passage
from teenycuda_cli.report.paint import Paint
from teenycuda_cli.report.values import DIGITS, json_number, poison_hex, short
from teenycuda_cli.wording import counted, plural, visible

if TYPE_CHECKING:
    from teenycuda_cli.driver.arguments.matching import Binding
    from teenycuda_cli.driver.buffers import Overwritten
    from teenycuda_cli.driver.device import Finding
    from teenycuda_cli.driver.results import ArgumentResult, LaunchReport, Shown
    from teenycuda_cli.driver.saving import Saved

BYTES_SHOWN = 32


# ------------------------------------------------------------------ JSON


def document(report: LaunchReport) -> dict[str, Any]:
    """The JSON document of a launch; `params`, as packed, are those of a dry run."""
    timing = report.timing
    return {
        "schema": "teenycuda.launch/1",
        "device": {"kind": report.device.kind, "name": report.device.name, "arch": report.device.arch},
        "kernel": report.kernel,
        "grid": list(report.geometry.grid),
        "block": list(report.geometry.block),
        "cluster": list(report.geometry.cluster) if report.geometry.cluster else None,
        "shared_bytes": report.geometry.shared_bytes,
        "scratch": {
            "global_bytes": report.global_scratch_bytes,
            "profile_bytes": report.profile_scratch_bytes,
        },
        "args": [_argument_document(argument) for argument in report.arguments],
        "expect": [comparison_document(comparison) for comparison in report.comparisons],
        "guards_ok": not report.overwritten,
        "findings": [_finding_document(finding) for finding in report.findings],
        "printf": report.printf,
        "printf_dropped": report.printf_dropped,
        "saved": [_saved_document(save) for save in report.saved],
        "timing": {
            "load_ms": json_number(timing.load_ms) if timing else None,
            "kernel_ms": json_number(timing.kernel_ms) if timing else None,
            "total_ms": json_number(timing.total_ms) if timing else None,
        },
        "bench": bench_document(report.bench),
        "dry_run": timing is None,
        "params": None if timing else [_binding_document(binding) for binding in report.bindings],
        "overwritten": [_overwritten_document(found) for found in report.overwritten],
        "shown": [_shown_document(each) for each in report.shown],
        "error": None,
        "exit_code": report.exit_code,
    }


def _argument_document(argument: ArgumentResult) -> dict[str, Any]:
    found = argument.statistics
    return {
        "name": argument.name,
        "index": argument.index,
        "kind": argument.kind,
        "type": argument.type,
        "shape": list(argument.shape) if argument.shape is not None else None,
        "changed": argument.changed,
        "min": json_number(found.least) if found else None,
        "max": json_number(found.greatest) if found else None,
        "mean": json_number(found.mean) if found else None,
        "nan_count": found.nan_count if found else None,
        "poison_count": found.poison_count if found else None,
        "value": json_number(argument.value),
    }


def _saved_document(save: Saved) -> dict[str, Any]:
    return {"name": save.name, "path": save.path, "format": save.format, "type": save.type}


def _shown_document(shown: Shown) -> dict[str, Any]:
    from teenycuda_cli.report.shown_buffers import json_values  # noqa: PLC0415  (most launches show nothing)

    return {
        "name": shown.name,
        "type": shown.element.name,
        "shape": list(shown.stored.shape),
        "values": json_values(shown),
    }


def _finding_document(finding: Finding) -> dict[str, Any]:
    return {"kind": finding.kind, "message": finding.message, "line": finding.line, "column": finding.column}


def _overwritten_document(found: Overwritten) -> dict[str, Any]:
    return {"name": found.name, "offset": found.offset, "value": found.value, "count": found.count}


def _binding_document(binding: Binding) -> dict[str, Any]:
    parameter = binding.parameter
    return {
        "index": parameter.index,
        "name": parameter.name,
        "offset": parameter.offset,
        "size": parameter.size,
        "role": binding.role,
        "bytes": binding.packed.hex() if binding.packed is not None else None,
        "buffer": binding.buffer,
        "buffer_offset": binding.offset if binding.buffer else None,
    }


# ------------------------------------------------------------------ text


def lines(report: LaunchReport, paint: Paint) -> Iterator[str]:
    """The report for people: what ran, the buffers, checks, guards, findings, files."""
    yield _headline(report, paint)
    yield from _table(report, paint)
    if report.timing is None:
        yield from _packed_lines(report)
    for comparison in report.comparisons:
        yield from comparison_lines(comparison, paint)
    for found in report.overwritten:
        yield _overwritten_line(found, paint)
    if report.bench:
        yield from bench_lines(report.bench, paint)
    for finding in report.findings:
        place = f"line {finding.line}: " if finding.line is not None else ""
        yield f"{paint.bad(finding.kind)}: {place}{passage(finding.message)}"
    for save in report.saved:
        yield f"saved {save.name} to {visible(save.path)}{_saved_note(save)}"


def _saved_note(save: Saved) -> str:
    """What a file's name does not tell."""
    if save.format == "raw":
        return f" (raw {save.element.name}, {counted(save.count, 'element')})"
    if save.format == "npy" and save.type != save.element.name:
        return f" (as float32: numpy has no {save.element.name})"
    return ""


def _headline(report: LaunchReport, paint: Paint) -> str:
    geometry = report.geometry
    words = [f"grid {_extents(geometry.grid)}", f"block {_extents(geometry.block)}"]
    if geometry.cluster:
        words.append(f"cluster {_extents(geometry.cluster)}")
    if geometry.shared_bytes:
        words.append(f"{counted(geometry.shared_bytes, 'byte')} of dynamic shared memory")
    for size, name in ((report.global_scratch_bytes, "global"), (report.profile_scratch_bytes, "profile")):
        if size:
            words.append(f"{counted(size, 'byte')} of {name} scratch")
    layout = ", ".join(words)
    device = f"{report.device.name} ({report.device.arch})" if report.device.name else report.device.kind
    if report.timing is None:
        return f"{paint.strong(report.kernel)} would run on {device}: {layout}"
    return f"{paint.strong(report.kernel)} on {device}: {layout}, {_duration(report.timing.kernel_ms)}"


def _duration(milliseconds: float) -> str:
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.2f} s"


def _extents(values: tuple[int, ...]) -> str:
    shown = list(values)
    while len(shown) > 1 and shown[-1] == 1:
        shown.pop()
    return "×".join(map(str, shown))


def _table(report: LaunchReport, paint: Paint) -> Iterator[str]:
    rows = []
    dry = report.timing is None
    for argument in report.arguments:
        found = argument.statistics
        if found is None or argument.shape is None:
            continue
        shape = "x".join(map(str, argument.shape))
        state = "" if dry else "changed" if argument.changed else "as it was"
        rows.append((argument.name, f"{shape}x{argument.type}", state, _summary(argument)))
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, shape, state, summary in rows:
        first = f"{name:{widths[0]}}"
        yield f"  {paint.name(first)}  {shape:{widths[1]}}  {state:{widths[2]}}  {summary}".rstrip()


def _summary(argument: ArgumentResult) -> str:
    found = argument.statistics
    if found is None:
        return ""
    parts = []
    if found.least is not None and found.greatest is not None:
        parts.append(f"min {short(found.least)}  max {short(found.greatest)}")
    if found.mean is not None:
        parts.append(f"mean {short(found.mean, beside=found.least)}")
    written_nans = found.nan_count - found.poison_count if argument.type in DIGITS else found.nan_count
    if written_nans > 0:
        parts.append(f"{written_nans} NaN")
    if found.poison_count:
        parts.append(_poison_words(argument, found.poison_count))
    return "  ".join(parts)


def _poison_words(argument: ArgumentResult, count: int) -> str:
    from teenycuda_cli.driver.arguments.element_types import ELEMENT_TYPES  # noqa: PLC0415  (as below)

    element = ELEMENT_TYPES[argument.type or ""]
    if element.is_poison_a_value:
        return f"{count} {plural(count, 'holds', 'hold')} the poison value {poison_hex(element)}"
    return f"{count} untouched"


def _packed_lines(report: LaunchReport) -> Iterator[str]:
    from teenycuda_cli.driver.arguments.packing import declaration  # noqa: PLC0415  (needs numpy, which a launch has)

    yield "parameters:"
    for binding in report.bindings:
        if binding.packed is not None:
            hexed = binding.packed[:BYTES_SHOWN].hex(" ") + (
                " …" if len(binding.packed) > BYTES_SHOWN else ""
            )
        elif binding.buffer:
            hexed = f"address of {binding.buffer}" + (f" + {binding.offset}" if binding.offset else "")
        else:
            size = (
                report.global_scratch_bytes
                if binding.role == "global_scratch"
                else report.profile_scratch_bytes
            )
            hexed = (
                f"address of {counted(size, 'byte')} of {binding.role.replace('_', ' ')}"
                if size
                else "null (no scratch)"
            )
        yield f"  {binding.parameter.index}  {declaration(binding.parameter)}  =  {hexed}"


def _overwritten_line(found: Overwritten, paint: Paint) -> str:
    if found.offset >= found.size:
        place = f"{counted(found.offset - found.size, 'byte')} past its end"
    else:
        place = f"{counted(-found.offset, 'byte')} before its start"
    more = f", {counted(found.count, 'byte')} in all" if found.count > 1 else ""
    return (
        f"{paint.bad('GUARD')}   {paint.name(found.name)}: the guard zone was overwritten "
        f"at offset {found.offset} ({place}) with 0x{found.value:02x}{more}"
    )
