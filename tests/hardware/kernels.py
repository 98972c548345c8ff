"""PTX that tries cases: kernels of a few dozen instructions each, all reading the same inputs.

A lane loads its inputs, runs every instruction on them and stores the results,
each in an array of its own. A result of 8 bits comes as the 32-bit register
that it was put into, a predicate as a byte, CC.CF as a byte more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from teenycuda_cli.emulator.numerics.types import dtype
from tests.hardware.forms import Case
from tests.hardware.inputs import Source, lanes_of, signature

HEAD = """\
.version 9.0
.target sm_90a
.address_size 64
"""
BLOCK = 256
CASES = 24
KERNELS = 16


@dataclass(frozen=True, slots=True)
class Result:
    """Where a result lies in the output buffer: bytes from its start, and bytes a lane."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry: its cases, what it reads, where each case's results go, and how much there is of them."""

    name: str
    cases: tuple[Case, ...]
    read: tuple[Source, ...]
    lanes: int
    results: tuple[tuple[Result, ...], ...]
    size: int


@dataclass(frozen=True, slots=True)
class Module:
    """PTX text, its kernels, and which case stands on which of its lines (counted from 1)."""

    text: str
    kernels: tuple[Kernel, ...]
    lines: dict[int, Case]


def modules(cases: Iterable[Case]) -> list[Module]:
    """Cases grouped by what they read, two dozen a kernel, some kernels a module."""

    def reads(case: Case) -> tuple[str, bool]:
        return signature(case.read), case.operation.reads_carry

    kernels: list[Kernel] = []
    for _, group in groupby(sorted(cases, key=reads), key=reads):
        same = list(group)
        for start in range(0, len(same), CASES):
            kernels.append(_kernel(f"k{len(kernels)}", tuple(same[start : start + CASES])))
    return [_module(kernels[start : start + KERNELS]) for start in range(0, len(kernels), KERNELS)]


def _sizes(case: Case) -> list[int]:
    sizes = [4 if name in ("u8", "s8", "b8") else dtype(name).itemsize for name in case.destinations]
    return [*sizes, 1] if case.operation.writes_carry else sizes


def _kernel(name: str, cases: tuple[Case, ...]) -> Kernel:
    read = cases[0].read
    lanes = lanes_of(read)
    offset = 0
    results = []
    for case in cases:
        places = []
        for size in _sizes(case):
            places.append(Result(offset, size))
            offset += size * lanes
        results.append(tuple(places))
    return Kernel(name, cases, read, lanes, tuple(results), offset)


def _module(kernels: Sequence[Kernel]) -> Module:
    lines = HEAD.splitlines()
    at: dict[int, Case] = {}
    for kernel in kernels:
        lines += _entry(kernel)
        for case, results in zip(kernel.cases, kernel.results, strict=True):
            lines.append(_case(case, results))
            at[len(lines)] = case
        lines += ["ret;", "}"]
    return Module("\n".join(lines) + "\n", tuple(kernels), at)


def _register(name: str) -> str:
    return "pred" if name == "pred" else f"b{max(8 * dtype(name).itemsize, 16)}"


def _entry(kernel: Kernel) -> list[str]:
    """The head of an entry up to the loaded inputs a0, a1, … and the addresses %o1 … %o8 of its results."""
    count = len(kernel.read)
    parameters = ", ".join([*(f".param .u64 in{index}" for index in range(count)), ".param .u64 out"])
    lines = [
        f".visible .entry {kernel.name}({parameters})",
        "{",
        ".reg .b32 %lane, %block, %size, %word; .reg .b16 %byte; .reg .b64 %at, %o<9>;",
        "mov.u32 %block, %ctaid.x; mov.u32 %size, %ntid.x; mov.u32 %lane, %tid.x;",
        "mad.lo.u32 %lane, %block, %size, %lane;",
        "ld.param.u64 %o0, [out]; cvta.to.global.u64 %o0, %o0;",
        *(f"mad.wide.u32 %o{size}, %lane, {size}, %o0;" for size in (1, 2, 4, 8)),
    ]
    carry = kernel.cases[0].operation.reads_carry
    for index, source in enumerate(kernel.read):
        name = "%carry" if carry and index == count - 1 else f"a{index}"
        size = dtype(source.type).itemsize
        lines.append(f"ld.param.u64 %at, [in{index}]; cvta.to.global.u64 %at, %at;")
        lines.append(f".reg .{_register(source.type)} {name}; mad.wide.u32 %at, %lane, {size}, %at;")
        if source.type == "pred":
            lines.append(f"ld.global.u8 %byte, [%at]; setp.ne.u16 {name}, %byte, 0;")
        else:
            lines.append(f"ld.global.{'u8' if size == 1 else f'b{8 * size}'} {name}, [%at];")
    return lines


def _case(case: Case, results: tuple[Result, ...]) -> str:
    """One line: the carry put in place, the instruction, the results stored."""
    parts = ["{"]
    for index, name in enumerate(case.destinations):
        register = "b32" if name in ("u8", "s8", "b8") else _register(name)
        parts.append(f".reg .{register} d{index};")
    if case.operation.reads_carry:
        parts.append("selp.u32 %word, 1, 0, %carry;")
        parts.append("add.cc.u32 %word, %word, 0xffffffff;")
    parts.append(f"{case.text};")
    for index, (name, result) in enumerate(zip(case.destinations, results, strict=False)):
        parts.append(_store(f"d{index}", name, result))
    if case.operation.writes_carry:
        parts.append(f"addc.u32 %word, 0, 0; st.global.u8 [%o1+{results[-1].offset}], %word;")
    return " ".join([*parts, "}"])


def _store(register: str, name: str, result: Result) -> str:
    place = f"[%o{result.size}+{result.offset}]"
    if name == "pred":
        return f"selp.u16 %byte, 1, 0, {register}; st.global.u8 {place}, %byte;"
    return f"st.global.b{8 * result.size} {place}, {register};"
