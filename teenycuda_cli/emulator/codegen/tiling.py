"""Straight-line blocks whose memory and float work runs tile by tile, so that it stays in the cache.

In such a block the integer work (addresses, guards, counters) does not depend
on what is loaded. It is moved to the front, where it is exact and costs the
same for any number of lanes; loads, float arithmetic and stores follow, and
run over one tile of the batch after the other. Where an address turns out not
to be affine, or a guard not to hold for all lanes, the block runs as usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from teenycuda_cli.emulator.codegen import compute
from teenycuda_cli.emulator.ir import BasicBlock, FloatConstant, Frame, KernelParameter, Op, Place, Register
from teenycuda_cli.emulator.machine.tiles import packed
from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of

if TYPE_CHECKING:
    from teenycuda_cli.emulator.codegen.emitter import Emitter

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


def _runs_tiled(  # noqa: PLR0911  (a reason each)
    op: Op, loaded: set[Register], block: BasicBlock
) -> bool:
    opcode, operation = op.instruction.opcode, op.operation
    if opcode not in {"ld", "st"} and loaded.isdisjoint(op.reads):
        return False
    if any(register in block.live_out for register in op.writes):
        return False
    if opcode in {"ld", "st"}:
        place = op.operands[1] if opcode == "ld" else op.operands[0]
        value = op.operands[0] if opcode == "ld" else op.operands[1]
        if not isinstance(place, Place) or isinstance(place.base, (KernelParameter, Frame)):
            return False
        if operation.modifiers.get("space") != "global" or operation.modifiers.get("sem") not in {
            "",
            None,
            "weak",
        }:
            return False
        if not isinstance(value, Register) or (opcode == "st" and value not in loaded):
            return False
        if not loaded.isdisjoint(_registers(place)) or op.predicate in loaded:
            return False
        return 8 * dtype_of(operation.modifiers["type"]).itemsize == value.width
    if operation.form.kind != "value" or op.predicate is not None or operation.reads_carry:
        return False
    if len(operation.destinations) != 1 or operation.writes_carry:
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

    `accesses` has the function and the address expression of each load and
    store. Several chains of the same operations (a thread's own elements)
    are written once; at run time those beside one another become one.
    """
    chains = _chains(tiling.tiled)
    body = _Body(emit, chains[0])
    lines = ["g = None", "if m is None and not S.compact:"]
    rows = []
    for chain in chains:
        views = []
        for kind, op in zip(body.kinds, [op for op in chain if op in accesses], strict=True):
            name, address = accesses[op]
            guard = ""
            if op.predicate is not None:
                guard = f" if v{op.predicate.number} is {not op.negated} else None"
            views.append(f"{name}.tiled(S, {address}, {kind}){guard}")
        rows.append(f"({', '.join(views)},)")
    shared = "".join([f"{name}, " for name in body.shared])
    late = tuple(sorted(body.late))
    lines.append(f"  g = {emit.bind(packed)}(S, ({', '.join(rows)},), {body.stores}, {late}, ({shared}))")
    lines.append("if g is None: S.split()")
    lines.append("S.batch.splits = False")
    lines.append("if g is not None:")
    lines.append("  for a in g:")
    lines += [f"    Q{dtype} = S.scratch({count}, {dtype}, a[0])" for dtype, count in body.counts.items()]
    lines.append(f"    for {', '.join(body.names)}, in zip(*a):")
    if body.counts:
        lines.append(f"      n = len({body.names[0]})")
    lines += [f"      {line}" for line in body.lines or ["pass"]]
    lines.append("else:")
    lines += [f"  {line}" for line in usual or ["pass"]]
    return lines


def _chains(ops: tuple[Op, ...]) -> list[list[Op]]:
    """The operations as chains that have nothing to do with one another and are all alike, or as one."""
    chains: list[list[Op]] = []
    owner: dict[Register, int] = {}
    for op in ops:
        found = {owner[register] for register in op.reads if register in owner}
        if len(found) > 1:
            first, *rest = sorted(found)
            for number in rest:
                chains[first] += chains[number]
                chains[number] = []
            owner = {register: first if number in rest else number for register, number in owner.items()}
            found = {first}
        number = found.pop() if found else len(chains)
        if number == len(chains):
            chains.append([])
        chains[number].append(op)
        for register in op.writes:
            owner[register] = number
    position = {op: index for index, op in enumerate(ops)}
    alike = [sorted(chain, key=position.__getitem__) for chain in chains if chain]
    if len({_signature(chain) for chain in alike}) == 1 and _in_order(alike, position):
        return alike
    return [list(ops)]


def _in_order(chains: list[list[Op]], position: dict[Op, int]) -> bool:
    """Whether no chain stores before an earlier one has done with memory: one may run after the other."""
    done = -1
    for chain in chains:
        places = [position[op] for op in chain if op.instruction.opcode in {"ld", "st"}]
        stores = [position[op] for op in chain if op.instruction.opcode == "st"]
        if stores and min(stores) < done:
            return False
        done = max(done, *places)
    return True


def _signature(chain: list[Op]) -> tuple[Any, ...]:
    """What a chain does, whatever its registers are called."""
    names: dict[Register, int] = {}
    found: list[Any] = []
    for op in chain:
        memory = op.instruction.opcode in {"ld", "st"}
        operands = (op.operands[1],) if op.instruction.opcode == "st" else () if memory else op.operands[1:]
        reads = tuple([names.get(item, item) if isinstance(item, Register) else item for item in operands])
        for register in op.writes:
            names[register] = len(names)
        found.append((id(op.operation), reads))
    return tuple(found)


def _is_only_stored(op: Op, following: Op, chain: list[Op]) -> bool:
    """Whether a ufunc's result is stored at once, and nothing else; ufuncs may write where they read."""
    if op.operation.ufunc is None or following.instruction.opcode != "st":
        return False
    register = op.writes[0]
    behind = chain[chain.index(following) + 1 :]
    return following.operands[1] is register and not any(register in later.reads for later in behind)


class _Body:
    """What is done for each tile of a chain."""

    def __init__(self, emit: Emitter, chain: list[Op]) -> None:
        self.emit = emit
        self.names: list[str] = []  # of the tiles of loads and stores, in order
        self.kinds: list[str] = []  # dtypes of their views
        self.stores = 0  # bit set of the views that are stored to
        self.lines: list[str] = []
        self.counts: dict[str, int] = {}
        self.shared: dict[str, None] = {}  # values that are the same for all tiles
        self._types: dict[Register, str] = {}  # the PTX type in which a tile of a register lies
        self.late: set[tuple[int, int]] = set()  # a store, and a load whose tile is read again behind it
        self._loads: dict[Register, int] = {}
        self._views: dict[Register, int] = {}  # of registers whose tile is memory itself
        self._texts: dict[Register, str] = {}
        self._raw: set[Register] = set()
        self._in_place: set[Register] = set()  # whose tile is the memory that they are stored to
        for op, following in zip_longest(chain, chain[1:]):
            if op.instruction.opcode == "ld":
                self._load(op)
            elif op.instruction.opcode == "st":
                self._store(op)
            else:
                self._compute(op, straight=following is not None and _is_only_stored(op, following, chain))

    def _view(self, type_name: str) -> str:
        self.names.append(f"x{len(self.names)}")
        self.kinds.append(self.emit.bind(dtype_of(type_name)))
        return self.names[-1]

    def _load(self, op: Op) -> None:
        register = op.writes[0]
        self._types[register] = name = op.operation.modifiers["type"]
        self._loads[register] = self._views[register] = len(self.names)
        self._raw.discard(register)
        self._texts[register] = self._view(name)

    def _seen(self, register: Register, wanted: str) -> str:
        """A tile of a register as a PTX type of its size; a load takes the type of its first use."""
        self._read(register)
        text, kind = self._texts[register], self._types[register]
        load = self._loads.pop(register, None)
        if dtype_of(kind) == dtype_of(wanted):
            return text
        if load is not None:
            self.kinds[load] = self.emit.bind(dtype_of(wanted))
            self._types[register] = wanted
            return text
        return f"{text}.view({self.emit.bind(dtype_of(wanted))})"

    def _read(self, register: Register) -> None:
        """Note the stores so far that may have changed what the register was loaded from."""
        load = self._views.get(register)
        if load is not None:
            behind = range(load + 1, len(self.names))
            self.late.update((place, load) for place in behind if self.stores >> place & 1)

    def _store(self, op: Op) -> None:
        register = op.operands[1]
        assert isinstance(register, Register)
        self._read(register)
        kind = self._types[register]
        self._loads.pop(register, None)
        text = self._texts[register]
        if register in self._raw:
            self._raw.discard(register)
            self.lines.append(f"{self.emit.bind(canonical)}({text})")
        if register not in self._in_place:
            self.stores |= 1 << len(self.names)
            self.lines.append(f"{self._view(kind)}[...] = {text}")

    def _compute(self, op: Op, *, straight: bool) -> None:
        """One operation; `straight` into the memory that the next one stores to."""
        operation = op.operation
        register, name = op.writes[0], operation.destinations[0]
        dtype = self.emit.bind(dtype_of(name))
        texts = []
        for source, wanted in zip(op.operands[1:], operation.sources, strict=True):
            if isinstance(source, Register) and source in self._types:
                texts.append(self._seen(source, wanted))
            elif isinstance(source, Register):
                texts.append(f"v{source.number}")
                self.shared[texts[-1]] = None
            else:
                texts.append(self.emit.argument(source, wanted).text)
        run = self.emit.bind(operation.ufunc or operation.evaluate)
        if straight:
            self.stores |= 1 << len(self.names)
            text = self._view(name)
            self._in_place.add(register)
            self.lines.append(f"{run}({', '.join(texts)}, out={text})")
        else:
            number = self.counts.get(dtype, 0)
            self.counts[dtype] = number + 1
            text = f"w{register.number}"
            self.lines.append(f"{text} = {run}({', '.join(texts)}, out=Q{dtype}[{number}, :n])")
        self._types[register], self._texts[register] = name, text
        self._views.pop(register, None)
        if operation.raw_nan:
            self._raw.add(register)
