"""Buffers filled before a launch: words, numbers, random numbers, files, or poison."""

from __future__ import annotations

from math import isfinite, prod
from typing import Any, NoReturn

import numpy as np

from teenycuda_cli.driver.arguments.dtypes import Array, encode, greatest, poison, storage_dtype
from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.driver.arguments.initializers import Initializer
from teenycuda_cli.driver.arguments.numbers import Number, whole
from teenycuda_cli.errors import UsageError
from teenycuda_cli.wording import counted


def fill(
    element: ElementType,
    shape: tuple[int, ...],
    initializer: Initializer | None,
    *,
    seed: int,
    index: int,
    name: str,
) -> Array:
    """Stored elements as the initializer says; None gives the poison pattern.

    Random numbers come from numpy's default generator, seeded by (seed,
    index), so the same command gives the same bytes everywhere. Raises
    UsageError, naming the buffer, for values that do not fit the type.
    """
    if initializer is None:
        return poison(element, shape)
    return _Fill(element, shape, name).make(initializer, seed, index)


_CONSTANTS: dict[str, Number] = {"zeros": 0, "ones": 1, "nan": float("nan")}


class _Fill:
    """One buffer being filled: what the single kinds of fills have in common."""

    def __init__(self, element: ElementType, shape: tuple[int, ...], name: str) -> None:
        self.element = element
        self.shape = shape
        self.name = name

    def make(self, initializer: Initializer, seed: int, index: int) -> Array:
        """Stored elements of the buffer's shape."""
        kind, numbers = initializer.kind, initializer.numbers
        if self.element.kind not in {"float", "complex"}:
            numbers = tuple(whole(number) for number in numbers)
        if kind in _CONSTANTS:
            return self._constant(_CONSTANTS[kind])
        if kind == "number":
            return self._constant(numbers[0])
        if kind == "list":
            return self._list(numbers)
        if kind == "arange":
            return self._arange(*numbers)
        if kind == "eye":
            return self._eye()
        return self._random(kind, numbers, np.random.default_rng([seed, index]))

    def _constant(self, number: Number) -> Array:
        self._check(number)
        return np.full(self.shape, self._encoded([number])[0])

    def _list(self, numbers: tuple[Number, ...]) -> Array:
        count = prod(self.shape)
        if len(numbers) != count:
            self._refuse(
                f"{counted(len(numbers), 'value')} for {counted(count, 'element')}",
                "one number alone fills the whole buffer",
            )
        for number in numbers:
            self._check(number)
        return self._encoded(list(numbers)).reshape(self.shape)

    def _arange(self, start: Number, step: Number) -> Array:
        count = prod(self.shape)
        self._check(start)
        if self.element.kind not in {"float", "complex"}:
            self._check(step, of="step", ranged=False)
            first, stride = int(start.real), int(step.real)
            self._check(first + stride * (count - 1), of=f"element {count - 1}:")
            wide = np.arange(count, dtype=np.uint64) * np.uint64(stride % 2**64) + np.uint64(first % 2**64)
            return wide.astype(storage_dtype(self.element)).reshape(self.shape)
        self._check(step, of="step")
        values = np.arange(count, dtype=np.float64) * float(step.real) + float(start.real)
        return encode(self.element, values).reshape(self.shape)

    def _eye(self) -> Array:
        if len(self.shape) != 2:
            self._refuse(f"eye needs two dimensions, not {len(self.shape)}")
        return encode(self.element, np.eye(*self.shape))

    def _random(self, kind: str, numbers: tuple[Number, ...], generator: np.random.Generator) -> Array:
        if kind == "randint":
            low, high = (int(number.real) for number in numbers)
            self._check(low)
            self._check(high - 1)
            dtype: Any = np.int64 if high <= 2**63 else np.uint64
            if low < np.iinfo(dtype).min or high > 2**64:
                self._refuse(
                    f"randint from {low} below {high} is wider than 64 bits",
                    "LO and HI are between -2^63 and 2^63, or between 0 and 2^64",
                )
            return encode(self.element, generator.integers(low, high, self.shape, dtype))
        if self.element.kind not in {"float", "complex"}:
            self._refuse(
                f"{kind} makes fractions, which {self.element.name} cannot hold", "use randint:LO:HI"
            )
        first, second = (float(number.real) for number in numbers)
        if self.element.kind == "complex":
            parts = self._reals(kind, first, second, generator, (*self.shape, 2))
            return encode(self.element, parts.view(np.complex128).reshape(self.shape))
        return encode(self.element, self._reals(kind, first, second, generator, self.shape))

    @staticmethod
    def _reals(
        kind: str, first: float, second: float, generator: np.random.Generator, shape: tuple[int, ...]
    ) -> Array:
        if kind == "rand":
            return generator.random(shape) * (second - first) + first
        return generator.standard_normal(shape) * second + first

    def _encoded(self, numbers: list[Number]) -> Array:
        if self.element.is_integer or self.element.kind == "bool":
            return np.array(numbers, dtype=storage_dtype(self.element))
        wide = np.complex128 if self.element.kind == "complex" else np.float64
        return encode(self.element, np.array(numbers, dtype=wide))

    def _check(self, number: Number, *, of: str = "value", ranged: bool = True) -> None:
        """Refuse what the element type cannot hold."""
        element = self.element
        if element.kind == "complex":
            parts = (number.real, number.imag)
            if any(
                (isinstance(part, int) or isfinite(part)) and abs(part) > greatest(element) for part in parts
            ):
                self._refuse(
                    f"{of} {number} does not fit",
                    f"the greatest part of a {element.name} is {greatest(element):g}",
                )
            return
        if isinstance(number, complex):
            self._refuse(f"{of} {number} is complex", "use c64 or c128")
        if element.kind == "float":
            if (isinstance(number, int) or isfinite(number)) and abs(number) > greatest(element):
                self._refuse(
                    f"{of} {number} does not fit", f"the greatest {element.name} is {greatest(element):g}"
                )
            if element.name == "e4m3" and abs(number) == float("inf"):
                self._refuse("e4m3 has no infinity", "its greatest value is 448")
            return
        if not isinstance(number, int):
            self._refuse(f"{of} {number} is not a whole number")
        if ranged and not element.lowest <= number <= element.highest:
            self._refuse(
                f"{of} {number} does not fit", f"{element.name} holds {element.lowest} to {element.highest}"
            )

    def _refuse(self, what: str, hint: str | None = None) -> NoReturn:
        shape = "x".join(map(str, self.shape))
        raise UsageError(f"buffer {self.name!r} ({shape}x{self.element.name}): {what}", hint=hint)
