"""Additions and products with the carry flag CC.CF in and out: numbers of many words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.integers import multiply_high
from teenycuda_cli.emulator.numerics.types import highest, lowest


def _sum(a: Any, b: Any, carry: Any) -> tuple[Any, Any]:
    total = np.add(a, b)
    over = total < a
    if carry is None:
        return total, over
    with_carry = np.add(total, carry, dtype=total.dtype)
    return with_carry, over | (with_carry < total)


def _difference(a: Any, b: Any, carry: Any) -> tuple[Any, Any]:
    """a + ~b + carry, as the hardware subtracts: CC.CF is 1 where there is no borrow."""
    rest = np.subtract(a, b)
    enough = a >= b
    if carry is None:
        return rest, enough
    with_borrow = np.subtract(rest, np.logical_not(carry), dtype=rest.dtype)
    return with_borrow, enough & (with_borrow <= rest)


def _signature(
    compute: Callable[..., tuple[Any, Any]], sources: int, reads: bool, writes: bool
) -> Callable[..., Any]:
    """An evaluate that takes CC.CF last where it is read and returns it last where it is written."""

    def evaluate(*given: Any, out: Any = None) -> Any:
        value, carry = compute(*given[:sources], given[sources] if reads else None)
        return (value, carry) if writes else value

    return evaluate


def add(reads: bool, writes: bool) -> Callable[..., Any]:
    """a + b (+ CC.CF), the carry out being CC.CF."""
    return _signature(_sum, 2, reads, writes)


def subtract(reads: bool, writes: bool) -> Callable[..., Any]:
    """a − b (− 1 where CC.CF is 0), CC.CF being 1 where there is no borrow."""
    return _signature(_difference, 2, reads, writes)


def multiply_add(name: str, high: bool, reads: bool, writes: bool) -> Callable[..., Any]:
    """One half of a × b, plus c (+ CC.CF), the carry of the sum being CC.CF."""
    multiply = multiply_high(name) if high else np.multiply

    def compute(a: Any, b: Any, c: Any, carry: Any) -> tuple[Any, Any]:
        return _sum(multiply(a, b).view(c.dtype), c, carry)

    return _signature(compute, 3, reads, writes)


def _saturated(value: Any) -> Any:
    return np.clip(value, lowest("s32"), highest("s32")).astype(np.int32)


def add_saturated(a: Any, b: Any, carry: Any, out: Any = None) -> Any:
    """a + b + CC.CF, clamped to s32."""
    return _saturated(np.add(a, b, dtype=np.int64) + carry)


def subtract_saturated(a: Any, b: Any, carry: Any, out: Any = None) -> Any:
    """a − b, − 1 where CC.CF is 0, clamped to s32."""
    return _saturated(np.subtract(a, b, dtype=np.int64) - np.logical_not(carry))
