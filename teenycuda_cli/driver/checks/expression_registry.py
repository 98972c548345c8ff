"""The table of the functions that an expression can call, and how one is called.

Each takes plain values and keyword parameters out of a fixed set; none reaches
`out=`, a file or an object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from teenycuda_cli.driver.checks.expression_bounds import Bounds
from teenycuda_cli.driver.checks.expression_values import plain_index
from teenycuda_cli.wording import plural

Body: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Function:
    """A callable of the language: how many positional values, which keywords."""

    name: str
    body: Body
    least: int
    most: int
    keywords: frozenset[str]

    def __call__(self, bounds: Bounds, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Check the values' number and the keywords' names, and call; raises what the body does."""
        count = len(positional)
        if not self.least <= count <= self.most:
            wanted = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
            raise TypeError(f"{self.name} takes {wanted} {plural(self.most, 'value')}, not {count}")
        for keyword in keywords:
            if keyword not in self.keywords:
                known = f"; it takes {', '.join(sorted(self.keywords))}" if self.keywords else ""
                raise TypeError(f"{self.name} has no parameter {keyword!r}{known}")
        return self.body(bounds, *positional, **keywords)


FUNCTIONS: dict[str, Function] = {}


def function(names: str, least: int, most: int, keywords: str = "") -> Callable[[Body], Body]:
    """Enter a body under each of the names; it gets the bounds, then the values."""

    def register(body: Body) -> Body:
        for name in names.split():
            FUNCTIONS[name] = Function(name, body, least, most, frozenset(keywords.split()))
        return body

    return register


def plain_axis(axis: Any) -> Any:
    """An axis, several, or None."""
    if isinstance(axis, np.ndarray):
        raise ValueError(
            "an axis is a whole number; for two arrays there are maximum(a, b) and minimum(a, b)"
        )
    return None if axis is None else plain_index(tuple(axis) if isinstance(axis, list) else axis)
