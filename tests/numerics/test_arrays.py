"""Every value instruction on long, two-dimensional and broadcast arrays gives what it gives lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.numerics.types import dtype
from teenycuda_cli.emulator.opcodes.table import Form, Operation, decode, operand_types, spellings, supported
from teenycuda_cli.ptx.syntax import Instruction, Name, Operand, Pair, Vector

SHAPE = (5, 4001)  # more lanes than one block of the array functions
R = Name("%r1")


def operation_of(form: Form) -> Operation:
    """A row's operation in its longest spelling."""
    name = max(spellings(form), key=len)
    operands: list[Operand] = []
    for names, kinds in operand_types(form, name):
        if len(names) == 1:
            operands.append(R)
        else:
            operands.append(Pair(R, R) if kinds[-1] == "pred" else Vector((R,) * len(names)))
    opcode, *modifiers = name.split(".")
    found = decode(Instruction(opcode, tuple(modifiers), tuple(operands), 0, 0))
    assert isinstance(found, Operation), found
    return found


def random_column(kind: str, shape: tuple[int, ...], generator: np.random.Generator) -> Any:
    """Random bits, with a share of whole small numbers among floats."""
    target = dtype(kind)
    if target == np.bool_:
        return generator.random(shape) > 0.5
    count = int(np.prod(shape)) * target.itemsize
    values = generator.integers(0, 256, count, dtype=np.uint8).view(target).reshape(shape).copy()
    small = generator.random(shape) < 0.3
    values[small] = generator.integers(0, 9, shape).astype(target)[small]
    return values


def results(value: Any) -> list[bytes]:
    """Raw bytes of the results, NaN made canonical."""
    parts = value if isinstance(value, tuple) else (value,)
    return [
        (canonical(np.array(part)) if np.asarray(part).dtype.kind == "f" else np.asarray(part)).tobytes()
        for part in parts
    ]


FORMS = [form for form in supported() if form.kind == "value"]


@pytest.mark.parametrize("form", FORMS, ids=[f"{form.syntax} {number}" for number, form in enumerate(FORMS)])
def test_blocks_and_broadcasting(form: Form) -> None:
    """Long arrays, columns and scalars among the sources change nothing, and `out` is filled."""
    operation = operation_of(form)
    generator = np.random.default_rng(len(form.syntax))
    kinds = [*operation.sources, *["pred"] * operation.reads_carry]
    arguments = [random_column(kind, SHAPE, generator) for kind in kinds]
    if len(arguments) > 1:
        arguments[1] = random_column(kinds[1], (SHAPE[0], 1), generator)
    if len(arguments) > 2:
        arguments[2] = random_column(kinds[2], (1,), generator)[0]
    if form.opcode == "lop3":
        arguments[3] = np.uint32(0x3A)
    with np.errstate(all="ignore"):
        long = results(operation.evaluate(*arguments))
        full = [np.broadcast_to(argument, SHAPE) for argument in arguments]
        if form.opcode == "lop3":
            full[3] = arguments[3]
        rows = [
            results(operation.evaluate(*[f if f.ndim == 0 else f[row, part] for f in full]))
            for row in range(SHAPE[0])
            for part in (slice(0, 2000), slice(2000, None))
        ]
        assert [b"".join(parts) for parts in zip(*rows, strict=True)] == long
        if len(long) == 1:
            out = np.empty(SHAPE, dtype(operation.destinations[0]))
            assert results(operation.evaluate(*arguments, out=out)) == long
