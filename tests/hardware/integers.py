"""Integers worth trying, as bits, and those that a place in an instruction asks for: amounts, offsets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.hardware.counter import Bits, Counter

_PATTERNS = (
    0x5555555555555555,
    0xAAAAAAAAAAAAAAAA,
    0x0123456789ABCDEF,
    0xFEDCBA9876543210,
    0x00FF00FF00FF00FF,
)
_POWERS = (3, 4, 7, 8, 15, 16, 23, 24, 25, 31, 32, 33, 47, 52, 53, 54, 62, 63)
_BYTES = (0x7F7F7F7F7F7F7F7F, 0x8080808080808080, 0x8000800080008000, 0x7FFF7FFF7FFF7FFF, 0x80FF017F80FF017F)


def few(width: int) -> list[int]:
    """The dozen values that matter most, to be crossed with one another."""
    top = 1 << (width - 1)
    values = [0, 1, 2, 3, -1, -2, top, top - 1, top + 1, top - 2, top >> 1, 0x55, 0x80, 0xFF]
    return list(dict.fromkeys(value & (1 << width) - 1 for value in values))


def edges(width: int) -> list[int]:
    """All edge cases: `few`, powers of two and their neighbours, patterns of bits and bytes."""
    values = [*few(width), *_PATTERNS, *_BYTES, 5, 7, 10, 100, 1000, -3, -10, -100]
    for power in _POWERS:
        if power < width:
            for number in (1 << power, -(1 << power)):
                values += [number - 1, number, number + 1]
    return list(dict.fromkeys(value & (1 << width) - 1 for value in values))


def draw(width: int, counter: Counter, count: int) -> Bits:
    """Random integers of many kinds: any bits, every length, either sign, ties for floats, edge cases."""
    mask = np.uint64((1 << width) - 1)
    raw = counter.bits(count)
    length = counter.below(width, count)
    short = (raw & mask) >> length
    negative = (np.uint64(0) - short) & mask
    kept = counter.choice(np.array((2, 3, 7, 8, 11, 24, 53), np.uint64), count)
    tied = raw | np.uint64(1 << 63)
    kept_mask = ~(np.uint64(0xFFFFFFFFFFFFFFFF) >> kept)
    tie = (tied & kept_mask) | (np.uint64(1 << 63) >> kept)
    tie = (tie >> np.uint64(64 - width) >> (length >> np.uint64(1))) + counter.below(3, count) - np.uint64(1)
    listed = counter.choice(np.array(edges(width), np.uint64), count)
    kind = counter.below(20, count)
    chosen: Bits = np.select(
        [kind < 6, kind < 10, kind < 13, kind < 15, kind < 16], [raw, short, negative, tie, ~tie], listed
    )
    chosen &= mask
    return chosen


def amounts(counter: Counter, count: int) -> Bits:
    """Shift amounts, positions, lengths: within the width, at it, beyond it, bits above the low byte."""
    listed = np.array(
        [0, 1, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 288, 2**31, 2**32 - 1], np.uint64
    )
    kind = counter.below(10, count)
    within = counter.below(72, count)
    any_bits = counter.bits(count) >> np.uint64(32)
    above = within | counter.below(256, count) << np.uint64(8)
    return np.select([kind < 6, kind < 8, kind < 9], [within, counter.choice(listed, count), above], any_bits)


def within_word(counter: Counter, count: int) -> Bits:
    """Places in a word: 0 to 31."""
    return counter.below(32, count)


def offsets(counter: Counter, count: int) -> Bits:
    """Small numbers of either sign, as 32 bits: -34 to 34."""
    return (counter.below(69, count) - np.uint64(34)) & np.uint64(0xFFFFFFFF)


ROLES: dict[str, Callable[[Counter, int], Bits]] = {
    "amount": amounts,
    "place": within_word,
    "offset": offsets,
}
