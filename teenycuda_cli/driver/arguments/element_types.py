"""The element types that a command line can name: spellings, sizes, ranges. Plain data, no numpy."""

from __future__ import annotations

from dataclasses import dataclass

from teenycuda_cli.driver.nearest import nearest


@dataclass(frozen=True, slots=True)
class ElementType:
    """A type of a scalar argument or of a buffer's elements.

    `kind` is "int", "uint", "bool", "float" or "complex"; `rtol` is the
    default relative (and absolute) tolerance, 0 for what must be exact.
    """

    name: str
    kind: str
    size: int
    rtol: float = 0.0
    scalar: bool = True  # may be given as TYPE:NUMBER

    @property
    def bits(self) -> int:
        """Width in bits."""
        return self.size * 8

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned integer (bool is neither)."""
        return self.kind in {"int", "uint"}

    @property
    def is_poison_a_value(self) -> bool:
        """Whether kernels write the poison pattern by chance: of narrow integers, 0xCD tells nothing."""
        return self.is_integer and self.size < 4

    @property
    def lowest(self) -> int:
        """The least value of an integer type or bool."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def highest(self) -> int:
        """The greatest value of an integer type or bool."""
        if self.kind == "bool":
            return 1
        return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1


ELEMENT_TYPES = {
    element.name: element
    for element in (
        *(ElementType(f"i{bits}", "int", bits // 8) for bits in (8, 16, 32, 64)),
        *(ElementType(f"u{bits}", "uint", bits // 8) for bits in (8, 16, 32, 64)),
        ElementType("f16", "float", 2, 1e-3),
        ElementType("bf16", "float", 2, 1e-2),
        ElementType("f32", "float", 4, 1e-5),
        ElementType("f64", "float", 8, 1e-12),
        ElementType("bool", "bool", 1),
        ElementType("tf32", "float", 4, 1e-3, scalar=False),
        ElementType("e4m3", "float", 1, 0.1, scalar=False),
        ElementType("e5m2", "float", 1, 0.1, scalar=False),
        ElementType("c64", "complex", 8, 1e-5, scalar=False),
        ElementType("c128", "complex", 16, 1e-12, scalar=False),
    )
}

SPELLINGS = {
    **{f"{word}{bits}": f"{letter}{bits}" for word, letter in (("int", "i"), ("uint", "u"), ("s", "i"))
       for bits in (8, 16, 32, 64)},
    **{f"{word}{bits}": f"f{bits}" for word in ("fp", "float") for bits in (16, 32, 64)},
    "bfloat16": "bf16",
    "half": "f16",
    "float": "f32",
    "double": "f64",
    "int": "i32",
    "uint": "u32",
    "i1": "bool",
    "u1": "bool",
    "complex64": "c64",
    "complex128": "c128",
    "fp8e4m3": "e4m3",
    "fp8e5m2": "e5m2",
    "fp8e4nv": "e4m3",
    "fp8e5": "e5m2",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
}  # fmt: skip


def element_type(word: str) -> ElementType | None:
    """The type that a word names in any accepted spelling, or None."""
    return ELEMENT_TYPES.get(SPELLINGS.get(word, word))


def suggest(word: str, *, scalar: bool = False) -> str:
    """A hint for a word that names no type: the nearest spelling, or the list."""
    names = [name for name, element in ELEMENT_TYPES.items() if element.scalar or not scalar]
    spellings = [word for word, name in SPELLINGS.items() if name in names]
    near = nearest(word.lower(), [*names, *spellings])
    if near:
        return f"did you mean {near}?"
    return f"the types are {', '.join(names)}"
