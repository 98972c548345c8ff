"""How far an approximate result may be off, as the PTX ISA says it, judged against float64.

Where the ISA gives no bound (`rcp.approx.ftz.f64`, `rsqrt.approx.f64`), it is
the one that the hardware was seen to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.hardware.floats import FORMATS, Format
from tests.hardware.forms import Case
from tests.hardware.inputs import Array


@dataclass(frozen=True, slots=True)
class Bound:
    """A result is within a relative error, an absolute one, or so many units of the correctly rounded one.

    `reach` is how far from zero the first operand (`of_last`: the last one)
    may be, from and to; outside there is no guarantee.
    """

    relative: float = 0.0
    absolute: float = 0.0
    ulps: int = 0
    reach: tuple[float, float] = (0.0, np.inf)
    of_last: bool = False


BOUNDS: dict[tuple[str, str], tuple[Bound, ...]] = {
    ("rcp.approx", "f32"): (Bound(ulps=1),),
    ("rcp.approx", "f64"): (Bound(relative=2.0**-20),),
    ("sqrt.approx", "f32"): (Bound(relative=2.0**-23),),
    ("rsqrt.approx", "f32"): (Bound(relative=2.0**-22.9),),
    ("rsqrt.approx", "f64"): (Bound(relative=2.0**-20),),
    ("sin.approx", "f32"): (
        Bound(absolute=2.0**-20.5, reach=(0, 2 * np.pi)),
        Bound(absolute=2.0**-14.7, reach=(2 * np.pi, 100 * np.pi)),
    ),
    ("lg2.approx", "f32"): (
        Bound(absolute=2.0**-22, reach=(0.5, 2.0)),
        Bound(relative=2.0**-22, reach=(0.0, 0.5)),
        Bound(relative=2.0**-22, reach=(2.0, np.inf)),
    ),
    ("ex2.approx", "f32"): (Bound(ulps=2),),
    ("ex2.approx", "f16"): (Bound(relative=2.0**-9.9),),
    ("ex2.approx", "bf16"): (Bound(relative=2.0**-7),),
    ("tanh.approx", "f32"): (Bound(relative=2.0**-11),),
    ("tanh.approx", "f16"): (Bound(absolute=2.0**-10.987),),
    ("tanh.approx", "bf16"): (Bound(absolute=2.0**-8),),
    ("div.approx", "f32"): (Bound(ulps=2, reach=(2.0**-126, 2.0**126), of_last=True),),
    ("div.full", "f32"): (Bound(ulps=2),),
}
BOUNDS["cos.approx", "f32"] = BOUNDS["sin.approx", "f32"]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "rcp": lambda a: 1.0 / a,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1.0 / np.sqrt(a),
    "sin": np.sin,
    "cos": np.cos,
    "lg2": np.log2,
    "ex2": np.exp2,
    "tanh": np.tanh,
    "div": lambda a, b: a / b,
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of a result, lane by lane: whether it is outside its bound, and how far from the hardware's."""

    outside: Array
    distance: Array  # in units in the last place of the format; NaN and NaN are 0 apart


def bounds(case: Case) -> tuple[Bound, ...]:
    """The ISA's bounds for an approximate instruction; KeyError where there are none."""
    kind = "full" if "full" in case.operation.modifiers.values() else "approx"
    return BOUNDS[f"{case.form.opcode}.{kind}", _element(case)]


def judge(case: Case, read: Sequence[Array], result: Array, hardware: Array) -> Judgement:
    """Hold a result to the ISA's bound, and compare it with the hardware's."""
    format = FORMATS[_element(case)]
    count = 2 if case.destinations[0].endswith("x2") else 1
    outside = np.zeros(result.shape, np.bool_)
    distance = np.zeros(result.shape, np.int64)
    for index in range(count):
        shift = index * format.width
        sources = [_part(_bits(array), format, shift) for array in read]
        own, other = _part(result, format, shift), _part(hardware, format, shift)
        outside |= _outside(case, format, sources, own, other)
        apart = np.abs(_ordered(own, format) - _ordered(other, format))
        distance = np.maximum(distance, apart)
    return Judgement(outside, distance)


def _element(case: Case) -> str:
    return case.destinations[0].removesuffix("x2")


def _bits(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


def _part(bits: Array, format: Format, shift: int) -> Array:
    return (bits.astype(np.uint64) >> np.uint64(shift)) & np.uint64((1 << format.width) - 1)


def _ordered(bits: Array, format: Format) -> Array:
    """Numbers in the order of the floats, one apart where the floats are neighbours; all NaNs alike."""
    sign = np.int64(1) << np.int64(format.width - 1) if format.width < 64 else np.int64(-(2**63))
    magnitude = (bits & np.uint64((1 << (format.width - 1)) - 1)).astype(np.int64)
    infinity = ((1 << format.exponent) - 1) << format.mantissa
    magnitude = np.where(magnitude > infinity, infinity + 1, magnitude)
    negative = (bits.astype(np.int64) & sign) != 0
    return np.where(negative & (magnitude <= infinity), -magnitude, magnitude)


def value(bits: Array, format: Format) -> Array:
    """Bits of a format as float64."""
    if format.width == 64:
        return bits.view(np.float64)
    if format.exponent == 8:
        with np.errstate(invalid="ignore"):
            return (
                (bits << np.uint64(32 - format.width)).astype(np.uint32).view(np.float32).astype(np.float64)
            )
    return bits.astype(np.uint16).view(np.float16).astype(np.float64)


def _flushed(numbers: Array, format: Format) -> Array:
    tiny = 2.0 ** (1 - format.bias)
    return np.where(np.abs(numbers) < tiny, np.copysign(0.0, numbers), numbers)


def _outside(case: Case, format: Format, sources: Sequence[Array], own: Array, other: Array) -> Array:
    """Which lanes keep none of the bounds that hold for them, or are not of the hardware's kind."""
    ftz = bool(case.operation.modifiers.get("ftz"))
    given = [value(source, format) for source in sources]
    with np.errstate(all="ignore"):
        if ftz:
            given = [_flushed(numbers, format) for numbers in given]
        exact = FUNCTIONS[case.form.opcode](*given)
        if ftz:
            exact = _flushed(exact, format)
        result, hardware = value(own, format), value(other, format)
        unit = np.maximum(np.spacing(np.abs(exact)) * 2.0 ** (52 - format.mantissa), _least(format))
        error = np.abs(result - exact)
        good = own == other  # whatever the hardware gives cannot be called wrong
        for bound in bounds(case):
            place = np.abs(given[-1 if bound.of_last else 0])
            inside = (place >= bound.reach[0]) & (place <= bound.reach[1])
            allowed = np.maximum(bound.relative * np.abs(exact), bound.absolute)
            allowed = np.maximum(allowed, bound.ulps * unit) + unit * 0.5
            good |= inside & (error <= allowed)
        reaches = [bound.reach for bound in bounds(case)]
        place = np.abs(given[-1 if bounds(case)[0].of_last else 0])
        promised = np.any([(place >= low) & (place <= high) for low, high in reaches], axis=0)
        same_kind = (np.isnan(result) == np.isnan(hardware)) & (np.isinf(result) == np.isinf(hardware))
        good = np.where(np.isfinite(exact) & np.isfinite(hardware), good | ~promised, own == other)
    wrong: Array = ~(good & same_kind)
    return wrong


def _least(format: Format) -> float:
    return float(2.0 ** max(1 - format.bias - format.mantissa, -1074))
