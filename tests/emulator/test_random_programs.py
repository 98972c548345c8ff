"""Random integer programs, lane by lane against a plain interpreter: affine values, wrapping, divergence."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tests.emulator.harness import INDEX, entry, run, store

REGISTERS = {"u32": [f"%r{i}" for i in range(8)], "u64": [f"%d{i}" for i in range(6)]}
PREDICATES = [f"%p{i}" for i in range(4)]
COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def as_type(value: int, name: str) -> int:
    """The value of bits in an integer type."""
    width = int(name[1:])
    value &= (1 << width) - 1
    return value - (1 << width) if name[0] == "s" and value >> (width - 1) else value


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
}
LOGIC = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


@dataclass
class Program:
    """Text of a kernel, and the same as nested statements for the interpreter."""

    rng: random.Random
    labels: int = 0
    loops: int = 0
    text: list[str] = field(default_factory=list)

    def operand(self, width: int) -> Any:
        rng = self.rng
        if rng.random() < 0.4:
            small = rng.choice(
                [0, 1, 2, 3, 4, 7, 8, 31, 32, 63, 127, 255, 1020, -1, -2, -8, 1 << 16, (1 << 31) - 1]
            )
            return small if rng.random() < 0.8 else rng.getrandbits(31)
        return rng.choice(REGISTERS[f"u{width}"])

    def statement(self) -> tuple[Any, ...]:  # noqa: PLR0911  (a case each)
        """One random instruction: (text, function on the registers)."""
        rng = self.rng
        width = rng.choice([32, 32, 32, 64])
        kind = rng.choice("us")
        name = f"{kind}{width}"
        d = rng.choice(REGISTERS[f"u{width}"])
        choice = rng.randrange(10)
        if choice < 3:
            op = rng.choice(list(BINARY))
            a, b = self.operand(width), self.operand(width)
            return (f"{op}.{name} {d}, {a}, {b};", d, lambda v: BINARY[op](v(a, name), v(b, name)))
        if choice == 3:
            op = rng.choice(list(LOGIC))
            a, b = self.operand(width), self.operand(width)
            bits = f"u{width}"
            return (f"{op}.b{width} {d}, {a}, {b};", d, lambda v: LOGIC[op](v(a, bits), v(b, bits)))
        if choice == 4:
            a, b, c = self.operand(width), self.operand(width), self.operand(width)
            return (
                f"mad.lo.{name} {d}, {a}, {b}, {c};",
                d,
                lambda v: v(a, name) * v(b, name) + v(c, name),
            )
        if choice == 5:
            a = self.operand(width)
            amount = rng.choice([0, 1, 2, 5, 10, 31, 32, 40, rng.choice(REGISTERS["u32"])])
            if rng.random() < 0.5:
                return (
                    f"shl.b{width} {d}, {a}, {amount};",
                    d,
                    lambda v: v(a, name) << min(v(amount, "u32"), 64),
                )
            return (f"shr.{name} {d}, {a}, {amount};", d, lambda v: v(a, name) >> min(v(amount, "u32"), 64))
        if choice == 6:
            a, b = self.operand(32), self.operand(32)
            wide = rng.choice(REGISTERS["u64"])
            narrow = f"{kind}32"
            if rng.random() < 0.5:
                return (f"mul.wide.{narrow} {wide}, {a}, {b};", wide, lambda v: v(a, narrow) * v(b, narrow))
            c = self.operand(64)
            return (
                f"mad.wide.{narrow} {wide}, {a}, {b}, {c};",
                wide,
                lambda v: v(a, narrow) * v(b, narrow) + v(c, f"{kind}64"),
            )
        if choice == 7:
            source, target = (
                rng.choice(["u32", "s32", "u64", "s64"]),
                rng.choice(["u32", "s32", "u64", "s64"]),
            )
            a = rng.choice(REGISTERS[f"u{source[1:]}"])
            d = rng.choice(REGISTERS[f"u{target[1:]}"])
            return (f"cvt.{target}.{source} {d}, {a};", d, lambda v: v(a, source))
        if choice == 8:
            p = rng.choice(PREDICATES)
            a, b = self.operand(width), self.operand(width)
            return (
                f"selp.b{width} {d}, {a}, {b}, {p};",
                d,
                lambda v: v(a, name) if v(p, "pred") else v(b, name),
            )
        op = rng.choice(["neg", "not"])
        a = rng.choice(REGISTERS[f"u{width}"])
        if op == "neg":
            return (f"neg.s{width} {d}, {a};", d, lambda v: -v(a, name))
        return (f"not.b{width} {d}, {a};", d, lambda v: ~v(a, name))

    def compare(self) -> tuple[Any, ...]:
        rng = self.rng
        width = rng.choice([32, 32, 64])
        name = f"{rng.choice('us')}{width}"
        op = rng.choice(list(COMPARE))
        p = rng.choice(PREDICATES)
        a, b = rng.choice(REGISTERS[f"u{width}"]), self.operand(width)
        return (f"setp.{op}.{name} {p}, {a}, {b};", p, lambda v: COMPARE[op](v(a, name), v(b, name)))

    def block(self, depth: int) -> list[Any]:
        """Statements, with branches and loops in them."""
        rng = self.rng
        found: list[Any] = []
        for _ in range(rng.randint(2, 6)):
            choice = rng.random()
            if depth and choice < 0.2:
                self.branch(found, depth)
            elif depth and choice < 0.35:
                self.loop(found, depth)
            else:
                text, target, function = self.compare() if choice > 0.8 else self.statement()
                if rng.random() < 0.2:
                    p, negated = rng.choice(PREDICATES), rng.random() < 0.5
                    self.text.append(f"@{'!' if negated else ''}{p} {text}")
                    found.append(("guarded", p, negated, target, function))
                else:
                    self.text.append(text)
                    found.append(("set", target, function))
        return found

    def branch(self, found: list[Any], depth: int) -> None:
        text, p, function = self.compare()
        self.text.append(text)
        found.append(("set", p, function))
        label = self.labels
        self.labels += 1
        self.text.append(f"@{p} bra ELSE{label};")
        first = self.block(depth - 1)
        leaves = self.rng.random() < 0.15
        if leaves:
            self.text.append("bra FINISH;")
            first.append(("finish",))
        self.text.append(f"bra END{label};\nELSE{label}:")
        second = self.block(depth - 1)
        self.text.append(f"END{label}:")
        found.append(("if", p, second, first))

    def loop(self, found: list[Any], depth: int) -> None:
        """At most 7 turns, by a counter of its own; how many differs from lane to lane."""
        counter = f"%r{20 + self.loops}"
        p = f"%p{10 + self.loops}"
        self.loops += 1
        label = self.labels
        self.labels += 1
        source = self.rng.choice(REGISTERS["u32"])
        self.text.append(
            f"and.b32 {counter}, {source}, 7;\nLOOP{label}:\nsetp.eq.u32 {p}, {counter}, 0;\n@{p} bra OUT{label};"
        )
        body = self.block(depth - 1)
        self.text.append(f"sub.u32 {counter}, {counter}, 1;\nbra LOOP{label};\nOUT{label}:")
        found.append(("loop", source, body))


class Finished(Exception):
    """The lane goes to the end."""


def interpret(statements: list[Any], state: dict[str, int]) -> None:
    """One lane, by the book."""

    def value(source: Any, name: str) -> int:
        if name == "pred":
            return state[source]
        return as_type(state[source] if isinstance(source, str) else source, name)

    def put(target: str, result: int) -> None:
        if target.startswith("%p"):
            state[target] = int(result)
        else:
            state[target] = as_type(result, "u64" if target.startswith("%d") else "u32")

    for statement in statements:
        if statement[0] == "set":
            put(statement[1], statement[2](value))
        elif statement[0] == "guarded":
            if bool(state[statement[1]]) != statement[2]:
                put(statement[3], statement[4](value))
        elif statement[0] == "if":
            interpret(statement[2] if state[statement[1]] else statement[3], state)
        elif statement[0] == "loop":
            for _ in range(state[statement[1]] & 7):
                interpret(statement[2], state)
        else:
            raise Finished


def build(seed: int) -> tuple[str, list[Any], list[int]]:
    """Text, statements, and first values of the constant registers."""
    rng = random.Random(seed)
    program = Program(rng)
    constants = [rng.choice([rng.getrandbits(32), rng.getrandbits(8)]) for _ in range(4)]
    statements = program.block(3)
    start = ["mov.u32 %r0, %r76; mov.u32 %r1, %r78; mov.u32 %r2, %r79; mov.u32 %r3, %tid.x;"]
    start += [f"mov.u32 %r{4 + i}, {value};" for i, value in enumerate(constants)]
    start += [
        "mul.wide.u32 %d0, %r79, 4; cvt.u64.u32 %d1, %r76; mov.u64 %d2, 0x123456789ab; mov.u64 %d3, -5;"
    ]
    start += ["mul.wide.s32 %d4, %r5, %r6; add.u64 %d5, %out, %d0; sub.u64 %d5, %d5, %out;"]
    start += [
        f"setp.lt.u32 {p}, %r0, {limit};" for p, limit in zip(PREDICATES, (5, 17, 1000, 0), strict=True)
    ]
    finish = ["FINISH:", "mov.b64 %d70, 0;"]
    for register in (*REGISTERS["u32"], *PREDICATES):
        wide = (
            "cvt.u64.u32 %d71, " + register
            if register in REGISTERS["u32"]
            else f"selp.u64 %d71, 1, 0, {register}"
        )
        finish.append(f"{wide}; mad.lo.u64 %d70, %d70, 1000003, %d71;")
    finish += [f"mad.lo.u64 %d70, %d70, 1000003, {register};" for register in REGISTERS["u64"]]
    finish.append(store("%d70", "u64", 8) + "ret;")
    return entry("\n".join([INDEX, *start, *program.text, *finish])), statements, constants


def expected(
    statements: list[Any], constants: list[int], grid: tuple[int, ...], block: tuple[int, ...]
) -> Any:
    """What each lane stores."""
    threads, blocks = int(np.prod(block)), int(np.prod(grid))
    results = []
    for lane in range(threads * blocks):
        thread, number = lane % threads, lane // threads
        state = {"%r0": thread, "%r1": number, "%r2": lane, "%r3": thread % block[0]}
        state |= {f"%r{4 + i}": value for i, value in enumerate(constants)}
        state |= {"%d0": 4 * lane, "%d1": thread, "%d2": 0x123456789AB, "%d3": as_type(-5, "u64")}
        state["%d4"] = as_type(as_type(constants[1], "s32") * as_type(constants[2], "s32"), "u64")
        state["%d5"] = 4 * lane
        state |= {p: int(thread < limit) for p, limit in zip(PREDICATES, (5, 17, 1000, 0), strict=True)}
        with contextlib.suppress(Finished):
            interpret(statements, state)
        total = 0
        for register in (*REGISTERS["u32"], *PREDICATES, *REGISTERS["u64"]):
            total = (total * 1000003 + state[register]) & ((1 << 64) - 1)
        results.append(total)
    return np.array(results, np.uint64)


SHAPES = [((1,), (1,)), ((3,), (40,)), ((2, 3), (5, 4, 3)), ((2, 2, 2), (7, 2))]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """A random integer program gives each lane what a plain interpreter gives it, for every size of batch."""
    text, statements, constants = build(seed)
    grid, block = SHAPES[seed % len(SHAPES)]
    count = int(np.prod(grid) * np.prod(block))
    wanted = expected(statements, constants, grid, block)
    # batches of all, of a few blocks and of one; loops never, sometimes and always lane by lane
    for lanes, few in ((1 << 16, 0), (1 << 16, 30), (1 << 16, 1 << 30), (64, 0), (1, 30), (1, 0)):
        result = run(text, count, np.uint64, grid=grid, block=block, lanes=lanes, few_lanes=few)
        np.testing.assert_array_equal(result, wanted, err_msg=f"lanes={lanes}, few={few}\n{text}")
