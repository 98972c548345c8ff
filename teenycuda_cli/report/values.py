"""Values as people and scripts see them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from teenycuda_cli.driver.arguments.element_types import ElementType

DIGITS = {"f16": 5, "bf16": 4, "tf32": 5, "f32": 9, "f64": 17, "e4m3": 4, "e5m2": 4, "c64": 9, "c128": 17}
SHORT = 6  # digits of a number that only gives an idea


def value_text(value: Any, element: ElementType) -> str:
    """A number with as many digits as tell it from its neighbours in its type."""
    if isinstance(value, (complex, float)):
        return f"{value:.{DIGITS.get(element.name, 17)}g}"
    return str(value)


def short(value: float, beside: float | int | None = None) -> str:
    """A number of a summary: integers whole, others to six digits, or to two behind integers `beside` it."""
    if isinstance(value, int):
        return str(value)
    if isinstance(beside, int) and math.isfinite(value):
        return f"{value:.{min(17, max(SHORT, len(str(int(abs(value)))) + 2))}g}"
    return f"{value:.{SHORT}g}"


def poison_hex(element: ElementType) -> str:
    """The pattern of what was never written, of an integer."""
    return "0x" + "cd" * element.size


def json_number(value: float | int | None) -> float | int | None:
    """A number that JSON has; infinities and NaN are not among them."""
    return value if value is None or math.isfinite(value) else None
