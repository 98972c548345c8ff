"""What the emulator's value instructions give for a case, as a kernel would store it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.numerics.lane import NAMESPACE
from teenycuda_cli.emulator.numerics.types import dtype
from tests.hardware.forms import Case
from tests.hardware.inputs import Array


def evaluated(case: Case, read: Sequence[Array], *, out: bool = False) -> tuple[Array, ...]:
    """The results of `evaluate`, as unsigned numbers; with `out` into arrays that it is given."""
    evaluate = case.operation.evaluate
    assert evaluate is not None
    arguments = _arguments(case, read)
    targets: Any = None
    if out:
        kinds = [dtype(name) for name in (*case.destinations, *["pred"] * case.operation.writes_carry)]
        targets = tuple(np.empty(len(read[0]), kind) for kind in kinds)
        targets = targets[0] if len(targets) == 1 else targets
    with np.errstate(all="ignore"):
        results = evaluate(*arguments, out=targets) if out else evaluate(*arguments)
    results = results if isinstance(results, tuple) else (results,)
    return tuple(_stored(np.asarray(value), case) for value in results)


def _arguments(case: Case, read: Sequence[Array]) -> list[Any]:
    fixed = dict(case.constants)
    columns = iter(read)
    arguments: list[Any] = []
    for index, source in enumerate(case.sources):
        if index in fixed:
            arguments.append(dtype(source.type).type(fixed[index]))
            continue
        column = next(columns)
        column = np.logical_not(column) if index in case.negated else column
        arguments.append(column.view(dtype(case.operation.sources[index])))
    return [*arguments, *columns]


def _stored(value: Array, case: Case) -> Array:
    """A result as the kernel stores it: bytes widened as a register of 32 bits, bits without a sign."""
    if case.operation.raw_nan and value.dtype.kind == "f":
        value = np.asarray(canonical(value.copy()))
    if value.dtype == np.bool_:
        return value.astype(np.uint8)
    if value.dtype.itemsize == 1:
        value = value.astype("i4" if value.dtype.kind == "i" else "u4")
    return value.view(f"u{value.dtype.itemsize}")


def by_lane(case: Case, read: Sequence[Array], lanes: Sequence[int]) -> tuple[Array, ...] | None:
    """The results of the `lane` expression for some lanes; None where the instruction has none."""
    if case.operation.lane is None:
        return None
    names = [f"s{index}" for index in range(len(case.sources) + case.operation.reads_carry)]
    code = compile(f"lambda {', '.join(names)}: {case.operation.lane.format(*names)}", case.text, "eval")
    function = eval(code, dict(NAMESPACE))  # the table's own text
    columns = [
        np.broadcast_to(argument, read[0].shape)[list(lanes)].tolist() for argument in _arguments(case, read)
    ]
    rows = [function(*values) for values in zip(*columns, strict=True)]
    many = len(case.destinations) + case.operation.writes_carry > 1
    results = zip(*rows, strict=True) if many else [rows]
    kinds = [*map(dtype, case.destinations), np.dtype(np.bool_)]
    return tuple(
        _stored(np.array(list(values), kind), case) for values, kind in zip(results, kinds, strict=False)
    )
