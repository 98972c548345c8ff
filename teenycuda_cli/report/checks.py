"""What came of each `--expect`: its entry in the JSON document, and the lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from teenycuda_cli.report.paint import Paint
from teenycuda_cli.report.values import json_number, poison_hex, value_text
from teenycuda_cli.wording import counted, plural, visible

if TYPE_CHECKING:
    from teenycuda_cli.driver.checks.comparison import Comparison, Extreme, Pair


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """An entry of the document's `expect`."""

    def error(extreme: Extreme | None) -> float | int | None:
        return json_number(extreme.error) if extreme else 0.0 if comparison.ok else None

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
        "part": comparison.part or None,
        "expression": comparison.what,
        "rtol": comparison.tolerance.rtol,
        "atol": comparison.tolerance.atol,
        "ulp": comparison.tolerance.ulp,
    }


def comparison_lines(comparison: Comparison, paint: Paint) -> Iterator[str]:
    """What came of an expectation: one line, and of one that fails counts, errors and the first few."""
    what = f"{paint.name(comparison.name + visible(comparison.part))} = {visible(comparison.what)}"
    tolerance = comparison.tolerance
    limits = [f"rtol {tolerance.rtol:g}, atol {tolerance.atol:g}"] if tolerance.rtol or tolerance.atol else []
    limits += [f"{tolerance.ulp:g} ULP"] if tolerance.ulp is not None else []
    near = " or ".join(limits)
    if comparison.ok:
        told = f"{near}, largest error {_error_text(comparison.max_abs)}" if near else "equal"
        yield f"{paint.good('ok')}      {what}  ({_elements(comparison)}, {told})"
        return
    verb = plural(comparison.mismatches, "differs", "differ")
    wrong = f"{comparison.mismatches} of {counted(comparison.count, 'element')} {verb}"
    told = near or "must be equal"
    told += f"; {_elements(comparison)} checked" if comparison.part else ""
    yield f"{paint.bad('FAILED')}  {what}: {wrong} ({told})"
    for label, extreme in (
        ("absolute error", comparison.max_abs),
        ("relative error", comparison.max_rel),
        ("ULP error", comparison.max_ulp),
    ):
        if extreme:
            index, got, expected = _pair_texts(comparison, extreme.pair)
            number = f"{extreme.error:.0f}" if extreme is comparison.max_ulp else f"{extreme.error:.6g}"
            yield f"  largest {label} {number} at [{index}]: got {got}, expected {expected}"
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


def _elements(comparison: Comparison) -> str:
    """How many elements were looked at: `996 of 1000 elements`."""
    total = counted(comparison.total, "element")
    return f"{comparison.count} of {total}" if comparison.part else total


def _error_text(extreme: Extreme | None) -> str:
    return f"{extreme.error:.3g}" if extreme else "0"


def _poison_line(comparison: Comparison) -> str:
    count = comparison.untouched
    if comparison.element.is_poison_a_value:
        holds = plural(count, "holds", "hold")
        return (
            f"{counted(count, 'element')} {holds} the poison value {poison_hex(comparison.element)}: "
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
