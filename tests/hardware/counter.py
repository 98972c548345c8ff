"""Random bits that are the same on every machine and with every numpy: splitmix64 over a counter."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)

Bits = np.ndarray[Any, Any]


class Counter:
    """A stream of 64-bit numbers, told apart from others by its name."""

    def __init__(self, name: str) -> None:
        """The stream of that name, from its beginning."""
        digest = hashlib.sha256(name.encode()).digest()
        self._key = np.uint64(int.from_bytes(digest[:8], "little"))
        self._drawn = 0

    def bits(self, count: int) -> Bits:
        """The next `count` numbers of 64 random bits."""
        index = np.arange(self._drawn + 1, self._drawn + 1 + count, dtype=np.uint64)
        self._drawn += count
        value = index * _STEP + self._key
        value = (value ^ (value >> np.uint64(30))) * _FIRST
        value = (value ^ (value >> np.uint64(27))) * _SECOND
        return value ^ (value >> np.uint64(31))

    def below(self, limit: int, count: int) -> Bits:
        """The next `count` numbers from 0 up to `limit`, which is below 2³²."""
        return (self.bits(count) >> np.uint64(32)) * np.uint64(limit) >> np.uint64(32)

    def choice(self, values: Bits, count: int) -> Bits:
        """`count` of the values, each as likely as the next."""
        return values[self.below(len(values), count).astype(np.int64)]

    def order(self, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The numbers below `count` in random order."""
        return np.argsort(self.bits(count), kind="stable")
