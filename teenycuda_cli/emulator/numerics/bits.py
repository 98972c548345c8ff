"""Bits counted, found, moved, extracted, inserted and combined.

Shifts by the width and more give zero (or the sign), in numpy as in PTX.
Each function takes arrays or numpy scalars that broadcast, and `out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.types import dtype, width

_NONE = np.uint32(0xFFFFFFFF)


def shift_left_16(a: Any, b: Any, out: Any = None) -> Any:
    """u16 a << u32 b; numpy alone would widen a."""
    return np.left_shift(a, np.minimum(b, 16).astype(np.uint16), out=out)


def shift_right_16(a: Any, b: Any, out: Any = None) -> Any:
    """u16 a >> u32 b; numpy alone would widen a."""
    return np.right_shift(a, np.minimum(b, 16).astype(np.uint16), out=out)


def shift_right_signed(name: str) -> Callable[..., Any]:
    """Signed a >> u32 b: numpy clamps amounts of the width and more, but mixes no signs."""
    result = dtype(name)
    most = 8 * result.itemsize - 1

    def shift(a: Any, b: Any, out: Any = None) -> Any:
        return np.right_shift(a, np.minimum(b, most).astype(result), out=out)

    return shift


def _u32(value: Any, out: Any) -> Any:
    if out is None:
        return value.astype(np.uint32)
    np.copyto(out, value, casting="unsafe")
    return out


def count_ones(a: Any, out: Any = None) -> Any:
    """popc: the number of ones, as u32."""
    return _u32(np.bitwise_count(a), out)


def _exponent(a: Any) -> Any:
    """⌊log₂ a⌋ of an unsigned a, and −1023 for 0: the f64's exponent, with the bit below the first
    one cleared so that no rounding can carry into it."""
    top = np.bitwise_and(a, np.bitwise_not(a >> a.dtype.type(1)))
    return (np.asarray(top.astype(np.float64)).view(np.int64) >> 52) - 1023


def count_leading_zeros(a: Any, out: Any = None) -> Any:
    """clz: zeros above the first one, the width for 0, as u32."""
    bits = 8 * a.dtype.itemsize
    return _u32(np.minimum(bits - 1 - _exponent(a), bits), out)


def find_first(shift_amount: bool) -> Callable[..., Any]:
    """bfind: the place of the highest bit that is not the sign, or the shift that brings it to the top."""

    def evaluate(a: Any, out: Any = None) -> Any:
        bits = 8 * a.dtype.itemsize
        if a.dtype.kind == "i":
            a = np.bitwise_xor(a, a >> a.dtype.type(bits - 1)).view(f"u{a.dtype.itemsize}")
        place = _exponent(a)
        found = np.where(a == 0, -1, bits - 1 - place if shift_amount else place)
        return _u32(found[()], out)

    return evaluate


def find_nth(mask: Any, base: Any, offset: Any, out: Any = None) -> Any:
    """fns: the place of the |offset|-th one from bit `base` on, up or (offset < 0) down; else all ones."""
    mask, base, offset = np.broadcast_arrays(mask, base.astype(np.int64), offset.astype(np.int64))
    step = np.where(offset < 0, -1, 1)
    left = np.maximum(np.abs(offset) - 1, 0)
    found = np.full(mask.shape, _NONE, np.uint32)
    place, open_ = base.copy(), np.ones(mask.shape, np.bool_)
    for _ in range(32):
        inside = open_ & (place >= 0) & (place < 32)
        one = inside & ((mask >> (place & 31).astype(np.uint32)) & np.uint32(1)).astype(np.bool_)
        hit = one & (left == 0)
        found[hit] = place[hit]
        open_ = inside & ~hit & (offset != 0)
        left = left - one
        place = place + step
    return _u32(found[()], out)


_SWAPS: dict[int, tuple[tuple[int, int], ...]] = {
    4: ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F)),
    8: ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)),
}


def reverse(a: Any, out: Any = None) -> Any:
    """brev: the bits in reverse order."""
    kind = a.dtype.type
    value = a
    for shift, mask in _SWAPS[a.dtype.itemsize]:
        value = ((value >> kind(shift)) & kind(mask)) | ((value & kind(mask)) << kind(shift))
    value = value.byteswap()
    if out is None:
        return value
    np.copyto(out, value)
    return out


def _field(value: Any, kind: np.dtype[Any]) -> Any:
    """A position or length as an amount to shift by: of 32 bits its low byte counts, of 64 bits all of it."""
    return (np.bitwise_and(value, np.uint32(0xFF)) if kind.itemsize == 4 else value).astype(kind)


def extract(name: str) -> Callable[..., Any]:
    """bfe: `length` bits of a from `position` on, extended with zeros or their sign."""
    kind = dtype(name)
    bits = kind.type(width(name))

    def unsigned(a: Any, position: Any, length: Any, out: Any = None) -> Any:
        field = np.right_shift(a, _field(position, kind))
        return np.bitwise_and(
            field, np.left_shift(kind.type(1), _field(length, kind)) - kind.type(1), out=out
        )

    def signed(a: Any, position: Any, length: Any, out: Any = None) -> Any:
        field = np.right_shift(a, _field(position, kind))
        unused = bits - np.minimum(_field(length, kind), bits)
        return np.right_shift(np.left_shift(field, unused), unused, out=out)

    return signed if name[0] == "s" else unsigned


def insert(name: str) -> Callable[..., Any]:
    """bfi: b with `length` bits from `position` on replaced by the low bits of a."""
    kind = dtype(name)
    one = kind.type(1)

    def evaluate(a: Any, b: Any, position: Any, length: Any, out: Any = None) -> Any:
        place = _field(position, kind)
        mask = np.left_shift(np.left_shift(one, _field(length, kind)) - one, place)
        return np.bitwise_xor(b, np.bitwise_and(np.bitwise_xor(np.left_shift(a, place), b), mask), out=out)

    return evaluate


def _amount(value: Any, wrap: bool) -> Any:
    return np.bitwise_and(value, np.uint32(31)) if wrap else np.minimum(value, np.uint32(32))


def mask_of(wrap: bool) -> Callable[..., Any]:
    """bmsk: b ones from bit a on; amounts wrap at 32 or stop there."""

    def evaluate(a: Any, b: Any, out: Any = None) -> Any:
        ones = np.bitwise_not(np.left_shift(_NONE, _amount(b, wrap)))
        return np.left_shift(ones, _amount(a, wrap), out=out)

    return evaluate


def extend(name: str, wrap: bool) -> Callable[..., Any]:
    """szext: the low b bits of a, extended with zeros or their sign."""
    field = extract(name)

    def evaluate(a: Any, b: Any, out: Any = None) -> Any:
        return field(a, np.uint32(0), _amount(b, wrap), out=out)

    return evaluate


def funnel(left: bool, wrap: bool) -> Callable[..., Any]:
    """shf: b above a, shifted left (the upper half counts) or right (the lower one)."""
    whole = np.uint32(32)

    def evaluate(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        amount = _amount(c, wrap)
        rest = whole - amount
        upper = np.left_shift(b, amount if left else rest)
        return np.bitwise_or(upper, np.right_shift(a, rest if left else amount), out=out)

    return evaluate


def is_zero(a: Any, out: Any = None) -> Any:
    """cnot: 1 where a is 0, else 0."""
    if out is None:
        return np.equal(a, 0).astype(a.dtype)
    np.copyto(out, np.equal(a, 0), casting="unsafe")
    return out


def _two(table: int, b: Any, c: Any) -> Any:
    """The function of two bits that a table of four says (bit 2b + c), but for 0 and 15."""
    functions: dict[int, Callable[[], Any]] = {
        1: lambda: np.bitwise_not(b | c),
        2: lambda: np.bitwise_not(b) & c,
        3: lambda: np.bitwise_not(b),
        4: lambda: b & np.bitwise_not(c),
        5: lambda: np.bitwise_not(c),
        6: lambda: b ^ c,
        7: lambda: np.bitwise_not(b & c),
        8: lambda: b & c,
        9: lambda: np.bitwise_not(b ^ c),
        10: lambda: c,
        11: lambda: np.bitwise_not(b) | c,
        12: lambda: b,
        13: lambda: b | np.bitwise_not(c),
        14: lambda: b | c,
    }
    return functions[table]()


def logic_3(a: Any, b: Any, c: Any, table: Any, out: Any = None) -> Any:
    """lop3: the function of three bits that a table of eight says (bit 4a + 2b + c).

    f(0, b, c) ^ (a & (f(0, b, c) ^ f(1, b, c))), each part a function of two bits.
    """
    table = int(table) & 0xFF
    without, change = table & 15, (table & 15) ^ (table >> 4)
    shape = np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(c))
    base = _NONE if without == 15 else _two(without, b, c) if without else np.uint32(0)
    if change:
        changed = a if change == 15 else np.bitwise_and(a, _two(change, b, c))
        base = np.bitwise_xor(base, changed, out=out)
    elif out is not None:
        np.copyto(out, base)
        return out
    made = np.shape(base) == shape and ((base is not b and base is not c) or not shape)
    return base if made else np.broadcast_to(base, shape).copy()


def logic_3_test(operator: str) -> Callable[..., Any]:
    """lop3 with a predicate: d, and (d ≠ 0) combined with q."""
    combine = np.logical_or if operator == "or" else np.logical_and

    def evaluate(a: Any, b: Any, c: Any, table: Any, q: Any, out: Any = None) -> Any:
        value = logic_3(a, b, c, table)
        return value, combine(value != 0, q)

    return evaluate


_MODES: dict[str, tuple[int, int, int, int]] = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


def _constant_permutation(a: Any, b: Any, selector: int, spread: bool) -> Any:
    """The bytes that a known selector picks: those that move alike are moved together."""
    masks: dict[tuple[bool, int], int] = {}
    total: Any = np.uint32(0)
    for place in range(4):
        choice = selector >> (4 * place) & (15 if spread else 7)
        upper, shift = bool(choice & 4), place - (choice & 3)
        if choice & 8:
            sign = ((b if upper else a) >> np.uint32(8 * (choice & 3) + 7)) & np.uint32(1)
            total = total | sign * np.uint32(0xFF << (8 * place))
        else:
            masks[upper, shift] = masks.get((upper, shift), 0) | 0xFF << (8 * place)
    for (upper, shift), mask in masks.items():
        source = b if upper else a
        moved = source << np.uint32(8 * shift) if shift >= 0 else source >> np.uint32(-8 * shift)
        total = total | (moved & np.uint32(mask))
    return total


def _permutation(a: Any, b: Any, selector: Any, spread: bool) -> Any:
    """The bytes that selectors pick, each lane its own."""
    both = np.left_shift(b, np.uint64(32), dtype=np.uint64) | a
    total: Any = np.uint64(0)
    for index in range(4):
        choice = np.right_shift(selector, np.uint32(4 * index)).astype(np.uint64)
        byte = (both >> ((choice & np.uint64(7)) << np.uint64(3))) & np.uint64(0xFF)
        if spread:
            sign = (byte >> np.uint64(7)) * np.uint64(0xFF)
            byte = np.where(choice & np.uint64(8), sign, byte)
        total = total | (byte << np.uint64(8 * index))
    return total


def permute(mode: str) -> Callable[..., Any]:
    """prmt: four bytes chosen among the eight of b above a; selector bit 3 spreads the byte's sign."""
    selectors = np.array(_MODES[mode], np.uint32) if mode else None

    def evaluate(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        selector = c if selectors is None else selectors[c & np.uint32(3)]
        if np.ndim(selector):
            return _u32(_permutation(a, b, selector, not mode), out)
        result = _constant_permutation(a, b, int(selector), not mode)
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
        return _u32(result if np.shape(result) == shape else np.broadcast_to(result, shape), out)

    return evaluate
