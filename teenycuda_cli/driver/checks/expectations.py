"""`--expect NAME=WHAT`: what a buffer must hold after the launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from teenycuda_cli.driver.arguments.array_files import MAGIC, load_array, parse_npy
from teenycuda_cli.driver.arguments.dtypes import Array, decode
from teenycuda_cli.driver.arguments.element_types import ElementType
from teenycuda_cli.driver.arguments.fills import fill
from teenycuda_cli.driver.arguments.initializers import (
    RANDOM,
    Initializer,
    InitializerError,
    is_initializer,
    parse_initializer,
)
from teenycuda_cli.driver.checks.expressions import evaluate, evaluate_part
from teenycuda_cli.errors import UsageError
from teenycuda_cli.files import read_input


@dataclass(frozen=True, slots=True)
class Expectation:
    """One `--expect`, split at its `=`; `part` is the index behind the name, `[2:998]`, or empty."""

    name: str
    what: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """The elements that an expectation is about; `index` is their argument's, which seeds random fills.

    `places` are their flat indices in the buffer, in the shape that the part
    has; None is all of it.
    """

    name: str
    element: ElementType
    buffer_shape: tuple[int, ...]
    index: int
    places: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents that expected values must have."""
        return self.buffer_shape if self.places is None else self.places.shape


def parse_expectation(text: str) -> Expectation:
    """Split `NAME=WHAT`; raises UsageError."""
    target, equals, what = _split(text)
    name, bracket, part = target.partition("[")
    if not equals or not name.strip() or not what.strip():
        raise UsageError(
            f"--expect {text}: expected NAME=WHAT",
            hint="e.g. out=x+y, out=@reference.npy or out=zeros; quote what the shell would change",
        )
    return Expectation(name.strip(), what.strip(), (bracket + part).strip())


def _split(text: str) -> tuple[str, str, str]:
    """At the first `=` outside of brackets: `y[x==0]=1` is about `y[x==0]`."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if character == "=" and depth <= 0:
            return text[:at], "=", text[at + 1 :]
    return text, "", ""


def part_of(
    expectation: Expectation, subject: Subject, values: Mapping[str, Any], *, deadline: float | None = None
) -> Subject:
    """The elements of the buffer that the expectation is about; raises as `expected_values` does."""
    if not expectation.part:
        return subject
    text = expectation.name + expectation.part
    where = f"--expect {text}"
    numbers = np.arange(prod(subject.buffer_shape)).reshape(subject.buffer_shape)
    places = np.atleast_1d(evaluate_part(text, numbers, values, deadline=deadline, where=where))
    if not places.size:
        extents = _shown(subject.buffer_shape)
        raise UsageError(f"no element of {expectation.name} ({extents}) is in this part", file=where)
    return replace(subject, places=places)


def expected_values(
    expectation: Expectation,
    subject: Subject,
    values: Mapping[str, Any],
    *,
    seed: int,
    deadline: float | None = None,
) -> Array:
    """The numbers that the subject must hold, in its shape.

    `values` are the arguments' before the launch: arrays as `Operand`.
    Raises UsageError for what makes no sense, FileError, TimeoutExpired.
    """
    where = f"--expect {expectation.name}{expectation.part}"
    what = expectation.what
    if what.startswith("@"):
        result = _from_file(what[1:], subject)
    elif what not in values and is_initializer(what):
        try:
            initializer = parse_initializer(what)
        except InitializerError as error:
            message = f"{error.message}; expected {error.expected}" if error.expected else error.message
            raise UsageError(message, file=where, column=error.offset + 1, hint=error.hint) from error
        result = decode(subject.element, _filled(subject, initializer, seed))
    else:
        if what in values and not what.isidentifier():  # a name with $, which no expression can hold
            what, values = "it", {"it": values[what]}
        result = np.asarray(evaluate(what, values, deadline=deadline, where=where))
    if result.dtype == object and subject.element.kind in {"float", "complex"}:
        result = result.astype(np.float64)
    return _fitted(result, subject, where)


def _filled(subject: Subject, initializer: Initializer, seed: int) -> Array:
    """Filled as an argument is; random numbers of a part are those of the same elements of the whole."""
    whole = initializer.kind in RANDOM
    shape = subject.buffer_shape if whole else subject.shape
    stored = fill(subject.element, shape, initializer, seed=seed, index=subject.index, name=subject.name)
    return stored.reshape(-1)[subject.places] if whole and subject.places is not None else stored


@dataclass(frozen=True, slots=True)
class Operand:
    """An array argument inside expressions: its decoded values.

    `poisoned` says that it holds the poison pattern, of which nothing can be
    expected: only its shape can be read.
    """

    name: str
    values: Array
    poisoned: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self.values.shape

    def __call__(self) -> Array:
        """The values; ValueError where there are none."""
        if self.poisoned:
            raise ValueError(
                f"{self.name} holds poison before the launch: give it contents, e.g. =randn or =0"
            )
        return self.values


def _from_file(path: str, subject: Subject) -> Array:
    if not path:
        raise UsageError(f"--expect {subject.name}=@: the file's name is missing")
    data = read_input(path)
    element = subject.element
    if not data.startswith(MAGIC):
        return decode(element, load_array(path, element, subject.shape)[1])
    array = parse_npy(data, path)
    if element.name in {"bf16", "e4m3", "e5m2"} and array.dtype.itemsize == element.size:
        return decode(element, array.view(f"<u{element.size}"))  # bits: numpy has no such type
    if array.dtype.kind not in "biufc":
        raise UsageError(f"an array of {array.dtype} cannot be compared with {element.name}", file=path)
    return array


def _fitted(values: Array, subject: Subject, where: str) -> Array:
    """Values in the buffer's shape: broadcast as numpy does, or the same elements under another shape."""
    if values.dtype.kind == "c" and subject.element.kind != "complex":
        raise UsageError(
            f"complex values for a buffer of {subject.element.name}", file=where, hint="use .real"
        )
    if values.shape == subject.shape:
        return values
    squeezed = tuple(extent for extent in values.shape if extent != 1)
    own = tuple(extent for extent in subject.shape if extent != 1)
    flat = min(len(squeezed), len(own)) <= 1 and values.size == prod(subject.shape) and values.size > 1
    if squeezed == own or flat:
        return values.reshape(subject.shape)
    try:
        return np.broadcast_to(values, subject.shape)
    except ValueError as error:
        raise UsageError(
            f"values of shape {_shown(values.shape)} for the buffer's {_shown(subject.shape)}",
            file=where,
            hint="give the buffer that shape, or bring the expression into the buffer's with .reshape or .T",
        ) from error


def _shown(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a single number"
