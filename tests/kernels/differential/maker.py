"""What random kernels are made of: registers, regions of control, statements as PTX and for the judge."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tests.kernels.differential.judge import Do, Node, Thread
from tests.kernels.differential.values import FLOATS, INTEGERS, WIDTH, Row

EXTREMES = [row for row in FLOATS if row.template.startswith(("min", "max"))]
POOLS = {
    "r": [f"%r{n}" for n in range(8)],
    "d": [f"%d{n}" for n in range(6)],
    "h": [f"%h{n}" for n in range(4)],
    "p": [f"%p{n}" for n in range(4)],
    "f": [f"%f{n}" for n in range(3)],
    "g": [f"%g{n}" for n in range(2)],
}
TYPES = {"r": "b32", "d": "b64", "h": "b16", "p": "pred", "f": "f32", "g": "f64"}
TEMPORARY = {"r": "%x", "d": "%y", "p": "%q"}
TRACES = 12
WORDS = 16
"""Of 32 bits that a thread leaves: its traces, and a hash of its registers."""
INPUTS = 256
TABLE = 16
ACCUMULATORS = 16
Get = Callable[[Thread], Any]


@dataclass
class Region:
    """Where a statement stands, and who comes there together.

    `mask` is the register with the lanes of the warp that come, None where
    that is not known; `uniform` says that the whole block comes.
    """

    depth: int
    mask: str | None
    uniform: bool = False
    times: int = 1
    leave: tuple[str, str] | None = None
    """Text before a jump that continues the loop, and before one that breaks it."""
    exits: bool = False
    escaped: bool = False
    """Whether some lanes may have gone elsewhere."""

    def inner(self, mask: str | None, **changes: Any) -> Region:
        """A region inside this one."""
        fresh = replace(self, depth=self.depth - 1, mask=mask, uniform=False, escaped=False)
        return replace(fresh, **changes)


@dataclass
class Function:
    """A function's text as it grows."""

    lines: list[str] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=lambda: {"r": 0, "d": 0, "p": 0})


@dataclass
class Maker:
    """Makes one kernel from a seed."""

    seed: int
    judged: bool
    sm: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: int
    lanes: int
    """Of each warp, that do not end at the very beginning."""
    rng: random.Random
    declarations: list[str] = field(default_factory=list)
    function: Function = field(default_factory=Function)
    functions: list[Any] = field(default_factory=list)
    labels: int = 0
    traces: int = 0
    budget: int = 60
    in_kernel: bool = True
    table: list[int] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def living(self) -> list[int]:
        """The threads of a block that do not end at the very beginning."""
        return [number for number in range(self.threads) if number % 32 < self.lanes]

    @property
    def blocks(self) -> int:
        """Of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def kinds(self) -> str:
        """The kinds of registers in use."""
        return "rdhp" if self.judged else "rdhpfg"

    def chance(self, probability: float) -> bool:
        """Whether it comes true."""
        return self.rng.random() < probability

    def emit(self, *lines: str) -> None:
        """Add to the text."""
        self.function.lines += lines

    def label(self, name: str) -> str:
        """A new one."""
        self.labels += 1
        return f"{name}{self.labels}"

    def fresh(self, kind: str) -> str:
        """A register that nothing else uses."""
        number = self.function.registers[kind]
        self.function.registers[kind] += 1
        return f"{TEMPORARY[kind]}{number}"

    def pick(self, kind: str) -> str:
        """A register of the pool."""
        return self.rng.choice(POOLS[kind])

    @contextmanager
    def new_function(self) -> Iterator[Function]:
        """Text goes to a function of its own."""
        before, self.function = self.function, Function()
        kernel, self.in_kernel = self.in_kernel, False
        yield self.function
        self.function, self.in_kernel = before, kernel

    def operand(self, kind: str) -> tuple[str, Get]:
        """A register, or a constant where the kind allows it."""
        rng = self.rng
        if kind == "#" or (kind in "rdh" and rng.random() < 0.3):
            limit = 8 if kind == "#" else WIDTH[kind] - 1 if self.chance(0.3) else 6
            value = rng.getrandbits(limit)
            return str(value), lambda t: value
        name = self.pick(kind.lower())
        return name, lambda t: t.registers[name]

    def compare(self) -> tuple[str, list[Node]]:
        """A predicate that differs from lane to lane, in a register of its own."""
        q = self.fresh("p")
        name, (other, get) = self.pick("r"), self.operand("r")
        bits = self.rng.choice([1, 2, 3, 4])
        shift = self.rng.randrange(5)
        x, limit = self.fresh("r"), self.rng.getrandbits(bits)
        if self.chance(0.5):
            self.emit(f"bfe.u32 {x}, {name}, {shift}, {bits}; setp.le.u32 {q}, {x}, {limit};")

            def act(t: Thread) -> None:
                t.registers[q] = (t.registers[name] >> shift & ((1 << bits) - 1)) <= limit

        else:
            self.emit(f"setp.lt.u32 {q}, {name}, {other};")

            def act(t: Thread) -> None:
                t.registers[q] = t.registers[name] < get(t)

        return q, [Do(act)]

    def guard(self, q: str, line: str) -> str:
        """Each instruction of a line under a predicate."""
        return " ".join(f"@{q} {part.strip()};" for part in line.split(";") if part.strip())

    def value(self, q: str = "") -> Node:
        """A value instruction, under a predicate if one is given."""
        rows = INTEGERS if self.judged or self.chance(0.5) else FLOATS
        row = self.rng.choice(rows)
        while row.sm > self.sm:
            row = self.rng.choice(rows)
        return self._instruction(row, q)

    def _instruction(self, row: Row, q: str) -> Node:
        operands = [self.operand(kind) for kind in row.sources]
        if (
            row in EXTREMES and operands[0][0] == operands[1][0]
        ):  # the assembler may make a copy of it, with its NaN
            return self.value(q)
        apart = row.template.count(";") > 1 or len(row.destinations) > 1
        taken = {text for text, _ in operands} if apart else set()
        targets: list[str] = []
        for kind in row.destinations:
            free = [name for name in POOLS[kind] if name not in taken]
            targets.append(self.rng.choice(free))
            taken = taken | {targets[-1]}
        line = row.template.format(*targets, *[text for text, _ in operands])
        for kind, target in zip(row.destinations, targets, strict=True):
            if kind in "fg":  # no NaN stays
                nan = self.fresh("p")
                one = "0f3F800000" if kind == "f" else "0d3FF0000000000000"
                line += f" setp.nan.{TYPES[kind]} {nan}, {target}, {target};"
                line += f" selp.{TYPES[kind]} {target}, {one}, {target}, {nan};"
        self.emit(self.guard(q, line) if q else line)
        meaning, getters = row.meaning, [get for _, get in operands]

        def act(t: Thread) -> None:
            if q and not t.registers[q]:
                return
            assert meaning is not None
            results = meaning(*[get(t) for get in getters])
            if len(targets) == 1:
                results = (results,)
            for kind, target, result in zip(row.destinations, targets, results, strict=True):
                t.registers[target] = bool(result) if kind == "p" else result & ((1 << WIDTH[kind]) - 1)

        return Do(act)

    def set(self, target: str, get: Get) -> Node:
        """For the judge: a register's new value."""

        def act(t: Thread) -> None:
            t.registers[target] = get(t)

        return Do(act)

    def grid_thread(self, t: Thread) -> int:
        """The thread's number in the grid."""
        return t.block * self.threads + t.number
