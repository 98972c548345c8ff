"""How near a value must come to the one expected: defaults by type, `--tol`."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.driver.arguments.numbers import parse_number
from teenycuda_cli.errors import UsageError

USAGE = "[NAME:]rtol=R,atol=A,ulp=U"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Near enough is |got − expected| ≤ atol + rtol·|expected|, or, where `ulp` is given, that many steps."""

    rtol: float
    atol: float
    ulp: float | None = None


@dataclass(frozen=True, slots=True)
class ToleranceOption:
    """One `--tol`, as given: for a buffer, or for all (name None); None is not given."""

    text: str
    name: str | None
    rtol: float | None
    atol: float | None
    ulp: float | None


def parse_tolerance(text: str) -> ToleranceOption:
    """Parse a `--tol`; raises UsageError.

    Example: `out:rtol=1e-3,ulp=2`, or `1e-3` for rtol and atol at once.
    """
    name, colon, rest = text.partition(":")
    if not colon:
        name, rest = "", text
    if colon and not name:
        raise UsageError(f"--tol {text}: the name before the colon is missing", hint=f"expected {USAGE}")
    given: dict[str, float] = {}
    plain = parse_number(rest)
    if plain is not None:
        given = {"rtol": _checked(text, rest), "atol": _checked(text, rest)}
    for part in rest.split(",") if plain is None else ():
        key, equals, number = part.partition("=")
        if not equals or key not in {"rtol", "atol", "ulp"}:
            raise UsageError(f"--tol {text}: {part!r} is no tolerance", hint=f"expected {USAGE}")
        if key in given:
            raise UsageError(f"--tol {text}: {key} stands twice", hint=f"expected {USAGE}")
        given[key] = _checked(text, number)
    return ToleranceOption(text, name or None, given.get("rtol"), given.get("atol"), given.get("ulp"))


def _checked(text: str, number: str) -> float:
    value = parse_number(number)
    if value is None or isinstance(value, complex) or not 0 <= value < math.inf:
        raise UsageError(f"--tol {text}: {number!r} is no tolerance", hint="expected a number from 0")
    return float(value)


def tolerance_for(name: str, element: ElementType, options: Sequence[ToleranceOption]) -> Tolerance:
    """What holds for a buffer: its own `--tol` before one for all, the later before the earlier.

    What none gives keeps the type's default, but `ulp` alone stands for itself.
    """
    chosen = {key: getattr(option, key) for key, option in _chosen(name, options).items()}
    default = 0.0 if set(chosen) == {"ulp"} else element.rtol
    return Tolerance(chosen.get("rtol", default), chosen.get("atol", default), chosen.get("ulp"))


def without_effect(options: Sequence[ToleranceOption], checked: Collection[str]) -> Iterator[str]:
    """A line for each `--tol` that holds for none of the buffers that are checked, with the reason."""
    used = [option for name in checked for option in _chosen(name, options).values()]
    for option in options:
        if any(option is each for each in used):
            continue
        if not checked:
            reason = "there is no --expect"
        elif option.name not in {None, *checked}:
            reason = f"no --expect is about {option.name}"
        else:
            reason = "another --tol counts before it"
        yield f"--tol {option.text} has no effect: {reason}"


def _chosen(name: str, options: Sequence[ToleranceOption]) -> dict[str, ToleranceOption]:
    """Which option tells the rtol, atol and ulp of a buffer."""
    chosen: dict[str, ToleranceOption] = {}
    for option in sorted(options, key=lambda option: option.name is not None):
        if option.name in {None, name}:
            chosen |= {key: option for key in ("rtol", "atol", "ulp") if getattr(option, key) is not None}
    return chosen
