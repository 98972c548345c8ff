"""What `launch` shows: the JSON document, and the lines for people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from teenycuda_cli.report.bench import document as bench_document
from teenycuda_cli.report.bench import lines as bench_lines
from teenycuda_cli.report.messages import passage
from teenycuda_cli.report.paint import Paint
from teenycuda_cli.wording import counted, plural, visible

if TYPE_CHECKING:
    from teenycuda_cli.driver.arguments.element_types import ElementType
    from teenycuda_cli.driver.arguments.matching import Binding
    from teenycuda_cli.driver.buffers import Overwritten
    from teenycuda_cli.driver.checks.comparison import Comparison, Extreme, Pair
    from teenycuda_cli.driver.device import Finding
    from teenycuda_cli.driver.results import ArgumentResult, LaunchReport

DIGITS = {"f16": 5, "bf16": 4, "tf32": 5, "f32": 9, "f64": 17, "e4m3": 4, "e5m2": 4, "c64": 9, "c128": 17}
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
        "expect": [_comparison_document(comparison) for comparison in report.comparisons],
        "guards_ok": not report.overwritten,
        "findings": [_finding_document(finding) for finding in report.findings],
        "printf": report.printf,
        "printf_dropped": report.printf_dropped,
        "saved": [{"name": save.name, "path": save.path} for save in report.saved],
        "timing": {
            "load_ms": _number(timing.load_ms) if timing else None,
            "kernel_ms": _number(timing.kernel_ms) if timing else None,
            "total_ms": _number(timing.total_ms) if timing else None,
        },
        "bench": bench_document(report.bench),
        "dry_run": timing is None,
        "params": None if timing else [_binding_document(binding) for binding in report.bindings],
        "overwritten": [_overwritten_document(found) for found in report.overwritten],
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
        "min": _number(found.least) if found else None,
        "max": _number(found.greatest) if found else None,
        "mean": _number(found.mean) if found else None,
        "nan_count": found.nan_count if found else None,
        "poison_count": found.poison_count if found else None,
    }


def _comparison_document(comparison: Comparison) -> dict[str, Any]:
    def error(extreme: Extreme | None) -> float | int | None:
        return _number(extreme.error) if extreme else 0.0 if comparison.ok else None

    has_steps = comparison.element.kind in {"float", "complex"}
    return {
        "name": comparison.name,
        "ok": comparison.ok,
        "count": comparison.count,
        "mismatches": comparison.mismatches,
        "max_abs": error(comparison.max_abs),
        "max_rel": error(comparison.max_rel),
        "max_ulp": error(comparison.max_ulp) if has_steps else None,
        "worst_index": list(comparison.worst.index) if comparison.worst else None,
        "nan_count": comparison.nan_got,
        "poison_count": comparison.untouched,
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


def _number(value: float | int | None) -> float | int | None:
    """A number that JSON has; infinities and NaN are not among them."""
    return value if value is None or math.isfinite(value) else None


# ------------------------------------------------------------------ text


def lines(report: LaunchReport, paint: Paint) -> Iterator[str]:
    """The report for people: what ran, the buffers, checks, guards, findings, files."""
    yield _headline(report, paint)
    yield from _table(report, paint)
    if report.timing is None:
        yield from _packed_lines(report)
    for comparison in report.comparisons:
        yield from _comparison_lines(comparison, paint)
    for found in report.overwritten:
        yield _overwritten_line(found, paint)
    if report.bench:
        yield from bench_lines(report.bench, paint)
    for finding in report.findings:
        place = f"line {finding.line}: " if finding.line is not None else ""
        yield f"{paint.bad(finding.kind)}: {place}{passage(finding.message)}"
    for save in report.saved:
        yield f"saved {save.name} to {visible(save.path)}"


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
        parts.append(f"min {found.least:.6g}  max {found.greatest:.6g}")
    if found.mean is not None:
        parts.append(f"mean {found.mean:.6g}")
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
        return f"{count} {plural(count, 'holds', 'hold')} the poison value {_poison_hex(element)}"
    return f"{count} untouched"


def _poison_hex(element: ElementType) -> str:
    return "0x" + "cd" * element.size


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


def _comparison_lines(comparison: Comparison, paint: Paint) -> Iterator[str]:
    what = f"{paint.name(comparison.name)} = {visible(comparison.what)}"
    tolerance = comparison.tolerance
    limits = [f"rtol {tolerance.rtol:g}, atol {tolerance.atol:g}"] if tolerance.rtol or tolerance.atol else []
    limits += [f"{tolerance.ulp:g} ULP"] if tolerance.ulp is not None else []
    near = " or ".join(limits) or "exactly"
    if comparison.ok:
        errors = _error(comparison, "", comparison.max_abs, with_place=False)
        yield f"{paint.good('ok')}      {what}  ({counted(comparison.count, 'element')}, {near}{errors})"
        return
    verb = plural(comparison.mismatches, "differs", "differ")
    wrong = f"{comparison.mismatches} of {counted(comparison.count, 'element')} {verb}"
    yield f"{paint.bad('FAILED')}  {what}: {wrong} ({near})"
    for label, extreme in (
        ("absolute error", comparison.max_abs),
        ("relative error", comparison.max_rel),
        ("ULP error", comparison.max_ulp),
    ):
        if extreme:
            yield f"  largest {label} {_error(comparison, label, extreme, with_place=True)}"
    if comparison.untouched:
        yield f"  {_poison_line(comparison)}"
    if comparison.unfit:
        yield f"  {_unfit_line(comparison)}"
    written = comparison.nan_got - min(comparison.untouched, comparison.nan_got)
    if written or comparison.nan_expected:
        yield f"  NaN: {written} written, {comparison.nan_expected} expected"
    for pair in comparison.first:
        index, got, expected = _pair_texts(comparison, pair)
        yield f"    [{index}]  got {got}  expected {expected}"
    if comparison.mismatches > len(comparison.first):
        yield f"    … {comparison.mismatches - len(comparison.first)} more"


def _error(comparison: Comparison, label: str, extreme: Extreme | None, *, with_place: bool) -> str:
    if extreme is None:
        return ""
    if not with_place:
        return f", largest error {extreme.error:.3g}"
    index, got, expected = _pair_texts(comparison, extreme.pair)
    number = f"{extreme.error:.0f}" if label.startswith("ULP") else f"{extreme.error:.6g}"
    return f"{number} at [{index}]: got {got}, expected {expected}"


def _poison_line(comparison: Comparison) -> str:
    count = comparison.untouched
    if comparison.element.is_poison_a_value:
        holds = plural(count, "holds", "hold")
        return (
            f"{counted(count, 'element')} {holds} the poison value {_poison_hex(comparison.element)}: "
            "written so, or never written"
        )
    return f"{counted(count, 'element')} {plural(count, 'was', 'were')} never written (still poison)"


def _unfit_line(comparison: Comparison) -> str:
    element = comparison.element
    numpy_name = f"{'u' if element.kind == 'uint' else ''}int{element.bits}"
    modulo = f" or % 2**{element.bits}" if element.kind == "uint" else ""
    fit = plural(comparison.unfit, "does", "do")
    return (
        f"{counted(comparison.unfit, 'expected value')} {fit} not fit {element.name}: "
        f"where the kernel wraps, say so by .astype({numpy_name}){modulo}"
    )


def _pair_texts(comparison: Comparison, pair: Pair) -> tuple[str, str, str]:
    """Index, what was there and what was expected."""
    index = ",".join(map(str, pair.index))
    got = "untouched" if pair.untouched else value_text(pair.got, comparison.element)
    return index, got, value_text(pair.expected, comparison.element)


def value_text(value: Any, element: ElementType) -> str:
    """A number with as many digits as tell it from its neighbours in its type."""
    if isinstance(value, complex):
        return f"{value:.{DIGITS.get(element.name, 17)}g}"
    if isinstance(value, float):
        return f"{value:.{DIGITS.get(element.name, 17)}g}"
    return str(value)


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
