"""What nvcc makes of calls, recursion, memory and control flow: optimised, not optimised, for a debugger."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import Session

FOLDER = Path(__file__).parent / "ptx"
THREADS = 128
INPUTS = [n * 37 % 1000 for n in range(THREADS)]
BUILDS = pytest.mark.parametrize("build", ["calls", "calls_unoptimised", "calls_debug"])


def launched(build: str, kernel: str, each: int, inputs: Sequence[int] | None = None) -> NDArray[np.uint32]:
    """What 4 blocks of 32 threads leave in their output, `each` numbers a thread."""
    session = Session((FOLDER / f"{build}.ptx").read_text())
    out = session.buffer("out", np.zeros(each * THREADS, np.uint32))
    if inputs is None:
        session.launch(out, grid=(4,), block=(32,), name=kernel)
    else:
        given = session.buffer("in", np.array(inputs, np.int32))
        session.launch(given, out, grid=(4,), block=(32,), name=kernel)
    return session.values("out", np.uint32).reshape(THREADS, each)


def wanted(lane: Callable[[int], Sequence[int]]) -> NDArray[np.uint32]:
    """The outputs of each thread, as 32-bit numbers."""
    return np.array([[value & 0xFFFFFFFF for value in lane(t)] for t in range(THREADS)], np.uint32)


@BUILDS
def test_tables_of_function_pointers(build: str) -> None:
    """Arrays of device functions in constant and global memory."""
    plus, minus, times = (lambda a, b: a + b), (lambda a, b: a - b), (lambda a, b: a * b)

    def lane(t: int) -> list[int]:
        return [(plus, minus, times)[t % 3](t, 7), (times, plus, minus)[t % 3](t, 7)]

    np.testing.assert_array_equal(launched(build, "pointers", 2), wanted(lane))


@BUILDS
def test_virtual_functions(build: str) -> None:
    """Objects of three classes, made by `new` and called through their tables."""
    np.testing.assert_array_equal(
        launched(build, "virtuals", 1),
        wanted(lambda t: [(t * (t + 1), t * t + t + 1, t**3 - t - 1)[t % 3]]),
    )


def fib(n: int) -> int:
    """Its definition."""
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ackermann(m: int, n: int) -> int:
    """Its definition."""
    if not m:
        return n + 1
    return ackermann(m - 1, ackermann(m, n - 1)) if n else ackermann(m - 1, 1)


@BUILDS
def test_recursive_functions(build: str) -> None:
    """Fibonacci, Ackermann, functions that call each other, and quicksort of a local array."""

    def lane(t: int) -> list[int]:
        x, numbers, code = t + 1, [], 0
        for _ in range(24):
            x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
            numbers.append(x >> 16)
        for number in sorted(numbers):
            code = code * 31 + number
        return [fib(t % 12), ackermann(t % 3, t % 4), int(t % 20 % 2 == 0), code]

    np.testing.assert_array_equal(launched(build, "recursion", 4), wanted(lane))


@BUILDS
def test_memory_taken_at_run_time(build: str) -> None:
    """`malloc`, `free` and `alloca`, of another size in each thread."""
    np.testing.assert_array_equal(
        launched(build, "dynamic", 1),
        wanted(lambda t: [sum(t * t * (t + 1) // 2 + i for i in range(t % 5 + 1))]),
    )


def machine(n: int) -> list[int]:
    """The state machine of the source."""
    state = steps = acc = 0
    while state < 5:
        if state == 0:
            acc, state = acc + 3, 1 if n & 1 else 2
        elif state == 1:
            n, state = 3 * n + 1, 2
            acc ^= n
        elif state == 2:
            n >>= 1
            state = 5 if n < 2 else n % 3
        elif state == 3:
            acc, state = acc - 1, 0
        else:
            acc, state = acc * 2, 3
        steps += 1
        if steps > 200:
            break
        if acc & 0x40:
            continue
        for k in range(0, min(n % 7, 5), 2):
            stopped = False
            for j in range(k):
                acc += j
                stopped = math.fmod(acc, 11) == 0
                if stopped:
                    break
            if stopped:
                break
    return [acc, steps]


@BUILDS
def test_a_state_machine(build: str) -> None:
    """A switch in an endless loop, with `break`, `continue` and `goto` out of nested loops."""
    np.testing.assert_array_equal(launched(build, "machine", 2, INPUTS), wanted(lambda t: machine(INPUTS[t])))


def irreducible(n: int) -> int:
    """The jumps of the source."""
    acc, at = 0, "B" if n & 1 else "A"
    while True:
        gain, cost = {"A": (1, 3), "B": (10, 2), "C": (100, 1)}[at]
        acc, n = acc + gain, n - cost
        if n < 0 or (at == "C" and n == 0):
            return acc
        at = {"A": "B" if n % 5 else "C", "B": "C" if n % 3 else "A", "C": "B" if n & 2 else "A"}[at]


@BUILDS
def test_an_irreducible_loop(build: str) -> None:
    """A loop with several ways in, made by `goto`."""
    session = Session((FOLDER / f"{build}.ptx").read_text())
    out = session.buffer("out", np.zeros(THREADS, np.uint32))
    given = session.buffer("in", np.array(INPUTS, np.int32))
    session.launch(given, out, block=(THREADS,), name="irreducible")
    np.testing.assert_array_equal(session.values("out", np.uint32), [irreducible(n) for n in INPUTS])


@BUILDS
def test_printf_of_everything(build: str) -> None:
    """Each conversion with flags, width, precision and length, `*`, strings and 32 arguments."""
    outcome = Session((FOLDER / f"{build}.ptx").read_text()).launch(1, block=(2,), name="prints")
    # each thread's lines together, as the source has them
    lines = [
        "0     0|0    |00000|+0| 0|0|0|0|0|0",
        "1     1|1    |00001|+1| 1|ff|FF|0xff|10|4294967295",
        "0 0 9223372036854775808 0 0 4 0x10",
        "8589934592 -1 9223372036854775808 1 1 4 0x11",
        "0.000000 3.142       2.50|2.5       |1.234568e+04 1.234568E+04 1e-10 1E+20 0x1p+0",
        "1.500000 3.142       2.50|2.5       |1.234568e+04 1.234568E+04 1e-10 1E+20 0x1p+0",
        "no|        no|no        |n|Az|%|     0|0     |1.23",
        "yes|       yes|yes       |y|Bz|%|     1|1     |1.23",
        *[" ".join(map(str, range(1, 33)))] * 2,
        "plain",
    ]
    assert sorted(outcome.printf.split("\n")) == sorted([*lines, ""])


@BUILDS
def test_an_assertion_that_does_not_hold(build: str) -> None:
    """It is told with its text, file, line, function and thread."""
    session = Session((FOLDER / f"{build}.ptx").read_text())
    out = session.buffer("out", np.zeros(32, np.uint32))
    with pytest.raises(LaunchError, match='failed an assertion: t < n && "too many"') as caught:
        session.launch(out, 3, name="asserts")
    assert caught.value.context[0] == "by thread (3, 0, 0) of block (0, 0, 0) (and 28 more threads at once)"
    line = (
        (FOLDER / "calls.cu")
        .read_text()
        .split("\n")
        .index(
            'extern "C" __global__ void asserts(int *out, int n) '
            '{ int t = threadIdx.x; assert(t < n && "too many"); out[t] = t; }'
        )
    )
    assert caught.value.context[-1] == f"calls.cu:{line}: void asserts(int *, int)"
    session.launch(out, 32, name="asserts")
    np.testing.assert_array_equal(session.values("out", np.uint32), np.arange(32))
