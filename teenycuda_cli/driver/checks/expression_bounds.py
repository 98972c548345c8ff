"""What one expression may use, so that none can fill the memory or hang."""

from __future__ import annotations

from dataclasses import dataclass

from teenycuda_cli.driver.memory_size import memory_bytes
from teenycuda_cli.wording import counted

USUAL_ELEMENTS = 1 << 26
MEMORY_SHARE = 64  # bytes of memory there must be for each: a few temporaries of float64


class TooLarge(Exception):
    """An array or an amount of work beyond the bounds."""


@dataclass(slots=True)
class Bounds:
    """Elements of one array, elements altogether, products of matrix multiplications altogether."""

    elements: int
    work: int
    products: int = 1 << 38

    @classmethod
    def for_arguments(cls, largest: int) -> Bounds:
        """Bounds that leave room for what is done with buffers of up to `largest` elements."""
        usual = min(USUAL_ELEMENTS, memory_bytes() // MEMORY_SHARE)
        elements = max(usual, 2 * largest)
        return cls(elements, 32 * elements)

    def allow(self, elements: int) -> None:
        """Refuse an array before it is made."""
        if elements > self.elements:
            raise TooLarge(f"an array of {counted(elements, 'element')}; the limit here is {self.elements}")

    def spend(self, elements: int) -> None:
        """Count an array that was made."""
        self.allow(elements)
        self.work -= elements
        if self.work < 0:
            raise TooLarge("more work than an expression may do")

    def multiply(self, products: int) -> None:
        """Count the products of a matrix multiplication before it is done."""
        self.products -= products
        if self.products < 0:
            raise TooLarge("a matrix product larger than an expression may do")
