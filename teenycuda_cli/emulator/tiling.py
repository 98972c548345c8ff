"""Straight-line blocks whose memory and float work runs tile by tile, so that it stays in the cache.

In such a block the integer work (addresses, guards, counters) does not depend
on what is loaded. It is moved to the front, where it is exact and costs the
same for any number of lanes; loads, float arithmetic and stores follow, and
run over one tile of the batch after the other. Where an address turns out not
to be affine, or a guard not to hold for all lanes, the block runs as usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from teenycuda_cli.emulator import compute
from teenycuda_cli.emulator.ir import BasicBlock, FloatConstant, Frame, KernelParameter, Op, Place, Register
from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of

if TYPE_CHECKING:
    from teenycuda_cli.emulator.emitter import Emitter

_ENDS = frozenset(("bra", "ret", "exit"))
_FLOATS = frozenset(("f32", "f64"))
_KEEPING = frozenset(("cvta", "membar", "fence"))


@dataclass(frozen=True, slots=True)
class Tiling:
    """The operations of a block in two parts: exact ones first, then those that run tile by tile."""

    exact: tuple[Op, ...]
    tiled: tuple[Op, ...]
    ending: tuple[Op, ...]


def plan(block: BasicBlock) -> Tiling | None:
    """How a block can be tiled; None where it cannot. Without loads and stores `tiled` is empty."""
    exact: list[Op] = []
    tiled: list[Op] = []
    ending: list[Op] = []
    loaded: set[Register] = set()
    for op in block.ops:
        if op.instruction.opcode in _ENDS:
            if not loaded.isdisjoint(op.reads):
                return None
            ending.append(op)
        elif _runs_tiled(op, loaded, block):
            tiled.append(op)
            loaded.update(op.writes)
        elif _is_exact(op, loaded) and _may_go_ahead(op, tiled):
            exact.append(op)
        else:
            return None
    return Tiling(tuple(exact), tuple(tiled), tuple(ending))


def _is_exact(op: Op, loaded: set[Register]) -> bool:
    """Whether an operation is integer work on what was not loaded."""
    if not loaded.isdisjoint(op.reads) or any(register.tag not in {"i", "p"} for register in op.writes):
        return op.instruction.opcode == "ld" and _of_parameters(op)
    if op.operation.form.kind == "value":
        return not (op.operation.reads_carry or op.operation.writes_carry)
    return op.instruction.opcode in _KEEPING or (op.instruction.opcode == "ld" and _of_parameters(op))


def _of_parameters(op: Op) -> bool:
    place = op.operands[1]
    return isinstance(place, Place) and isinstance(place.base, KernelParameter)


def _may_go_ahead(op: Op, tiled: list[Op]) -> bool:
    """Whether it makes no difference to the tiled operations so far that this one runs first."""
    return all(
        not any(register in earlier.reads or register in earlier.writes for register in op.writes)
        for earlier in tiled
    )


def _runs_tiled(op: Op, loaded: set[Register], block: BasicBlock) -> bool:
    opcode, operation = op.instruction.opcode, op.operation
    if any(register in block.live_out for register in op.writes):
        return False
    if opcode in {"ld", "st"}:
        place = op.operands[1] if opcode == "ld" else op.operands[0]
        value = op.operands[0] if opcode == "ld" else op.operands[1]
        if not isinstance(place, Place) or isinstance(place.base, (KernelParameter, Frame)):
            return False
        if operation.modifiers.get("space") != "global" or operation.modifiers.get("sem") not in {"", None, "weak"}:
            return False
        if not isinstance(value, Register) or (opcode == "st" and value not in loaded):
            return False
        if not loaded.isdisjoint(_registers(place)) or op.predicate in loaded:
            return False
        return 8 * dtype_of(operation.modifiers["type"]).itemsize == value.width
    if operation.form.kind != "value" or op.predicate is not None or operation.reads_carry:
        return False
    if len(operation.destinations) != 1 or operation.writes_carry or loaded.isdisjoint(op.reads):
        return False
    types = (*operation.destinations, *operation.sources)
    if not _FLOATS.issuperset(types) or opcode in {"mov", "selp"}:
        return False
    return all(
        isinstance(source, FloatConstant)
        or (isinstance(source, Register) and (source in loaded or compute.native(source.tag) == name))
        for source, name in zip(op.operands[1:], operation.sources, strict=True)
    )


def _registers(place: Place) -> list[Register]:
    return [place.base] if isinstance(place.base, Register) else []


def write(emit: Emitter, tiling: Tiling, accesses: dict[Op, tuple[str, str]], usual: list[str]) -> list[str]:
    """The lines of the tiled part: a loop over tiles, or else the `usual` ones.

    `accesses` has the name and the address expression of each load and store.
    """
    views = {op: f"u{number}" for number, op in enumerate(accesses)}
    lines = ["g = S.tiles if m is None else None", "if g is not None:"]
    for op, (name, address) in accesses.items():
        guard = ""
        if op.predicate is not None:
            guard = f" if v{op.predicate.number} is {not op.negated} else None"
        lines.append(f"  {views[op]} = {name}.tiled(S, {address}){guard}")
    lines.append(f"  if {' or '.join([f'{view} is None' for view in views.values()])}: g = None")
    body, scratch = _body(emit, tiling, views)
    lines.append("if g is not None:")
    lines += [f"  {name} = S.scratch({number}, {dtype})" for number, (name, dtype) in enumerate(scratch)]
    lines.append("  for T, n in g:")
    lines += [f"    {line}" for line in body]
    lines.append("else:")
    lines += [f"  {line}" for line in usual or ["pass"]]
    return lines


def _body(emit: Emitter, tiling: Tiling, views: dict[Op, str]) -> tuple[list[str], list[tuple[str, str]]]:
    lines: list[str] = []
    scratch: list[tuple[str, str]] = []
    kinds: dict[Register, str] = {}  # the PTX type in which a tile of a register lies
    raw: set[Register] = set()
    for op in tiling.tiled:
        operation = op.operation
        if op.instruction.opcode == "ld":
            register = op.writes[0]
            lines.append(f"w{register.number} = {views[op]}[T]")
            kinds[register] = operation.modifiers["type"]
            raw.discard(register)
        elif op.instruction.opcode == "st":
            register: Any = op.operands[1]
            name = operation.modifiers["type"]
            if register in raw:
                lines.append(f"{emit.bind(canonical)}(w{register.number})")
            lines.append(f"{views[op]}[T] = {_seen(emit, register, kinds[register], name)}")
        else:
            register = op.writes[0]
            name = operation.destinations[0]
            dtype = emit.bind(dtype_of(name))
            buffer = f"q{len(scratch)}"
            scratch.append((buffer, dtype))
            texts = []
            for source, wanted in zip(op.operands[1:], operation.sources, strict=True):
                if isinstance(source, Register) and source in kinds:
                    texts.append(_seen(emit, source, kinds[source], wanted))
                elif isinstance(source, Register):
                    texts.append(f"S.part(v{source.number}, T)")
                else:
                    texts.append(emit.argument(source, wanted).text)
            run = emit.bind(operation.ufunc or operation.evaluate)
            lines.append(f"w{register.number} = {run}({', '.join(texts)}, out={buffer}[:n])")
            kinds[register] = name
            if operation.raw_nan:
                raw.add(register)
    return lines, scratch


def _seen(emit: Emitter, register: Register, kind: str, wanted: str) -> str:
    """A tile of a register, seen as another PTX type of its size."""
    text = f"w{register.number}"
    return text if dtype_of(kind) == dtype_of(wanted) else f"{text}.view({emit.bind(dtype_of(wanted))})"
