"""What the table consists of: a row, what it computes, and an instruction decoded by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

Modifiers: TypeAlias = Mapping[str, str]
Evaluate: TypeAlias = Callable[..., Any]
Fragment: TypeAlias = Callable[[Modifiers], tuple[str, ...]]
"""The types of a vector operand's elements, for one choice of modifiers."""


@dataclass(frozen=True, slots=True)
class Value:
    """How a value instruction computes, for one choice of modifiers; see `Operation` for the fields."""

    evaluate: Evaluate
    lane: str | None = None
    affine: str | None = None
    raw_nan: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A row of the table: one syntax line and what stands behind it."""

    syntax: str
    opcode: str
    isa: str
    kind: str  # "value" or "effect"
    build: Callable[..., Any]
    alternatives: Mapping[str, tuple[str, ...]]
    types: Mapping[str, str]
    where: Callable[[Modifiers], bool] | None
    reads_carry: bool
    vectors: Mapping[str, Fragment] = field(default_factory=dict)  # operands whose length the modifiers tell


OTHER_KINDS = frozenset(
    {
        "address",
        "pointer",
        "tensor",
        "label",
        "table",
        "function",
        "prototype",
        "arguments",
        "amount",
        "nothing",
    }
)
"""What operands may be besides values of a type; a `pointer` is an integer of 32 or 64 bits,
an `amount` one of 32 or a predicate (cp.async: how many bytes to read, or whether none), a `tensor`
the address of a tensor map and coordinates, `nothing` is `_` alone."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What may stand at one place of an operation: elements of these types, or one of `OTHER_KINDS`."""

    types: tuple[str, ...]
    widths: tuple[int, ...]  # in bits
    is_destination: bool
    is_vector: bool  # several elements or `p|q`
    wider: bool  # registers may be wider than the type
    is_sink: bool  # `_` may stand there
    is_fixed: bool  # a constant alone may stand there


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction that the table knows, ready for the code generator."""

    form: Form
    modifiers: Modifiers
    destinations: tuple[str, ...]
    sources: tuple[str, ...]
    evaluate: Evaluate | None
    ufunc: np.ufunc | None
    lane: str | None
    affine: str | None
    reads_carry: bool
    writes_carry: bool
    raw_nan: bool
    expected: tuple[Expected, ...] = ()  # an operand each


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Why an instruction is not in the table."""

    reason: str
