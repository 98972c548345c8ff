"""Atomics: each operation, whatever the number of lanes that meet at a place."""

# ruff: noqa: E501  (PTX text is easier to read in whole lines)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from teenycuda_cli.errors import UnsupportedError
from tests.emulator.harness import INDEX, Session, entry, store

PARAMS = ".param .u64 out, .param .u64 at, .param .u64 by, .param .u64 place"
THREADS = 1024
BITS = {"u32": 32, "s32": 32, "b32": 32, "u64": 64, "s64": 64, "b64": 64, "f32": 32, "f64": 64}
KINDS = {"u": "u", "s": "i", "b": "u", "f": "f"}

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, x: old + x,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, x: x,
    "inc": lambda old, x: old * 0 if old >= x else old + 1,
    "dec": lambda old, x: x if old == 0 or old > x else old - 1,
}
FORMS = [
    *(("add", kind) for kind in ("u32", "s32", "u64", "f32", "f64")),
    *((name, kind) for name in ("min", "max") for kind in ("u32", "s32", "u64", "s64")),
    *((name, kind) for name in ("and", "or", "xor", "exch") for kind in ("b32", "b64")),
    ("inc", "u32"),
    ("dec", "u32"),
]
SPREADS = {"apart": THREADS, "few": 7, "skewed": -1, "one": 1}


def places(spread: str) -> Any:
    """Which element each thread changes."""
    rng = np.random.default_rng(5)
    if spread == "apart":
        return rng.permutation(THREADS)
    if spread == "skewed":
        return np.where(rng.random(THREADS) < 0.5, 3, rng.integers(0, THREADS, THREADS))
    return rng.integers(0, SPREADS[spread], THREADS)


def numbers(kind: str, count: int, seed: int) -> Any:
    """Random values of a type; floats of different sizes, so that the order of additions shows."""
    rng = np.random.default_rng(seed)
    size = BITS[kind] // 8
    if kind[0] == "f":
        return (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 6, count)).astype(f"f{size}")
    return rng.integers(0, 1 << (8 * size - 1), count, dtype=f"u{size}").view(f"{KINDS[kind[0]]}{size}")


def launch(body: str, at: Any, by: Any, index: Any, olds: Any) -> tuple[Any, Any]:
    """Run `body` in one block; what each thread found and what the places hold in the end."""
    session = Session(entry(f"{INDEX}\n{body}\nret;", PARAMS))
    out = session.buffer("out", olds)
    buffers = [session.buffer("at", at), session.buffer("by", by), session.buffer("place", index)]
    session.launch(out, *buffers, block=(THREADS,))
    return session.values("out", olds.dtype), session.values("at", at.dtype)


def read(size: int, kind: str, register: str) -> str:
    """`%d10`: the address of the thread's place; `register`: its operand."""
    return f"""
    ld.param.u64 %d10, [at]; ld.param.u64 %d11, [by]; ld.param.u64 %d12, [place];
    mul.wide.u32 %d13, %r79, 4; add.u64 %d12, %d12, %d13; ld.global.u32 %r1, [%d12];
    mul.wide.u32 %d13, %r1, {size}; add.u64 %d10, %d10, %d13;
    mul.wide.u32 %d13, %r79, {size}; add.u64 %d11, %d11, %d13; ld.global.{kind} {register}, [%d11];
    """


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("name", "kind"), FORMS)
def test_order(name: str, kind: str, spread: str) -> None:
    """Lanes that meet at a place take their turns in order: each finds what the one before it left."""
    size = BITS[kind] // 8
    register = {"f32": "%f", "f64": "%g"}.get(kind, "%r" if size == 4 else "%d")
    number = 20
    index = places(spread).astype(np.uint32)
    at, by = numbers(kind, THREADS, 1), numbers(kind, THREADS, 2)
    if name in ("inc", "dec"):
        at, by = at % 50, by % 60
    body = read(size, kind, f"{register}{number}")
    body += f"atom.global.{name}.{kind} {register}21, [%d10], {register}{number};"
    body += store(f"{register}21", f"b{8 * size}", size)
    olds, last = launch(body, at, by, index, np.zeros(THREADS, at.dtype))
    current = at.copy()
    expected = np.zeros_like(at)
    with np.errstate(over="ignore"):
        for thread, place in enumerate(index):
            expected[thread] = current[place]
            current[place] = OPERATIONS[name](current[place], by[thread])
    assert np.array_equal(olds, expected)
    assert np.array_equal(last, current)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("name", "kind"), [form for form in FORMS if form[0] != "exch"])
def test_reduction(name: str, kind: str, spread: str) -> None:
    """`red` leaves in memory what `atom` leaves there."""
    size = BITS[kind] // 8
    register = {"f32": "%f", "f64": "%g"}.get(kind, "%r" if size == 4 else "%d")
    index = places(spread).astype(np.uint32)
    at, by = numbers(kind, THREADS, 1), numbers(kind, THREADS, 2)
    body = read(size, kind, f"{register}20")
    lasts = []
    for text in (f"red.global.{name}.{kind} [%d10]", f"atom.global.{name}.{kind} {register}21, [%d10]"):
        tail = store(f"{register}21", f"b{8 * size}", size) if text.startswith("atom") else ""
        whole = f"{body}{text}, {register}20;{tail}"
        lasts.append(launch(whole, at, by, index, np.zeros(THREADS, at.dtype))[1])
    assert np.array_equal(*lasts)


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("spread", ["apart", "few", "one"])
@pytest.mark.parametrize("values", [4, 150])
def test_compare_and_swap(width: int, values: int, spread: str) -> None:
    """A lane swaps where it finds what it compares with, which a lane before it may have put there."""
    size = width // 8
    register = {16: "%h", 32: "%r", 64: "%d"}[width]
    index = places(spread).astype(np.uint32)
    rng = np.random.default_rng(3)
    at, by = (rng.integers(0, values, THREADS).astype(f"u{size}") for _ in range(2))
    body = read(size, f"b{width}", f"{register}20")
    body += f"add.u{width} {register}22, {register}20, 1;"
    body += f"atom.global.cas.b{width} {register}21, [%d10], {register}20, {register}22;"
    body += store(f"{register}21", f"b{width}", size)
    olds, last = launch(body, at, by, index, np.zeros(THREADS, at.dtype))
    current, expected = at.copy(), np.zeros_like(at)
    for thread, place in enumerate(index):
        expected[thread] = current[place]
        if current[place] == by[thread]:
            current[place] = by[thread] + 1
    assert np.array_equal(olds, expected)
    assert np.array_equal(last, current)


@pytest.mark.parametrize("spread", ["apart", "few", "one"])
@pytest.mark.parametrize("name", ["exch", "cas"])
def test_128_bits(name: str, spread: str) -> None:
    """Numbers of 128 bits are exchanged and compared as a whole."""
    index = places(spread).astype(np.uint32)
    rng = np.random.default_rng(4)
    at, by = (rng.integers(0, 2, (THREADS, 2)).astype(np.uint64) for _ in range(2))
    body = f"""
    .reg .b128 %q<4>;
    {read(16, "b128", "%q0")}
    mov.b128 {{%d20, %d21}}, %q0; add.u64 %d20, %d20, 1; mov.b128 %q1, {{%d20, %d21}};
    atom.global.{name}.b128 %q2, [%d10], {"%q0, %q1" if name == "cas" else "%q1"};
    mul.wide.u32 %d79, %r79, 16; add.u64 %d79, %out, %d79; st.global.b128 [%d79], %q2;
    """
    olds, last = launch(body, at, by, index, np.zeros((THREADS, 2), np.uint64))
    current, expected = at.copy(), np.zeros_like(at)
    for thread, place in enumerate(index):
        expected[thread] = current[place]
        if name == "exch" or np.array_equal(current[place], by[thread]):
            current[place] = by[thread] + np.array([1, 0], np.uint64)
    assert np.array_equal(olds.reshape(-1, 2), expected)
    assert np.array_equal(last.reshape(-1, 2), current)


@pytest.mark.parametrize(
    ("kind", "vector"), [("f16", "v8"), ("f16", "v2"), ("f16x2", "v4"), ("f32", "v4"), ("f32", "v2")]
)
def test_vectors(kind: str, vector: str) -> None:
    """A vector of floats is added element by element."""
    count = int(vector[1:])
    half = kind != "f32"
    size = 2 if kind == "f16" else 4
    register = {"f16": "%h", "f16x2": "%r", "f32": "%f"}[kind]
    dtype = np.float16 if half else np.float32
    width = count * size // np.dtype(dtype).itemsize
    rng = np.random.default_rng(6)
    at, by = (rng.integers(-20, 20, (THREADS, width)).astype(dtype) for _ in range(2))
    index = places("few").astype(np.uint32)
    sources = ", ".join(f"{register}{20 + number}" for number in range(count))
    found = ", ".join(f"{register}{30 + number}" for number in range(count))
    load = f"ld.global.{vector}.b{8 * size} {{{sources}}}, [%d11];"
    step = count * size
    body = read(step, "u8", "%r2") + load
    if count * size == 16 and size == 2:  # a vector of eight halves is loaded in two
        first, second = sources.split(", ")[:4], sources.split(", ")[4:]
        body = body.replace(
            load,
            f"ld.global.v4.b16 {{{', '.join(first)}}}, [%d11]; ld.global.v4.b16 {{{', '.join(second)}}}, [%d11+8];",
        )
    body += f"atom.global.add{'.noftz' if half else ''}.{vector}.{kind} {{{found}}}, [%d10], {{{sources}}};"
    body += f"red.global.add{'.noftz' if half else ''}.{vector}.{kind} [%d10], {{{sources}}};"
    body += f"mul.wide.u32 %d79, %r79, {size}; add.u64 %d79, %out, %d79; st.global.b{8 * size} [%d79], {register}{30 + count - 1};"
    olds, last = launch(body, at, by, index, np.zeros((THREADS, size // np.dtype(dtype).itemsize), dtype))
    expected = at.copy()
    for _ in range(2):
        for thread, place in enumerate(index):
            expected[place] = expected[place] + by[thread]
    assert np.array_equal(last.reshape(at.shape), expected)
    first = np.unique(index, return_index=True)[1]
    lasts = at[index, -olds.reshape(THREADS, -1).shape[1] :]
    assert np.array_equal(olds.reshape(THREADS, -1)[first], lasts[first])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("atom.global.add.s64 %d1, [%out], %d2", "not in the form"),
        ("atom.global.add.f16 %h1, [%out], %h2", "not in the form"),
        ("red.acquire.gpu.global.add.u32 [%out], %r1", "not in the form"),
        ("atom.shared.add.v2.f32 {%f1, %f2}, [%out], {%f3, %f4}", "not in the form"),
        ("multimem.red.relaxed.sys.global.add.u32 [%out], %r1", "memory that several GPUs share"),
        ("ld.relaxed.global.u32 %r1, [%out]", "not in the form"),
        ("st.const.u32 [%out], %r1", "not in the form"),
        ("ld.param.u64 %d1, [out+8]", "bytes 8 to 15 of the kernel's parameters, which are 8 bytes"),
    ],
)
def test_refused(text: str, says: str) -> None:
    """What the assembler does not take, the emulator does not run either."""
    session = Session(entry(f"{text}; ret;"))
    out = session.buffer("out", np.zeros(64, np.uint32))
    with pytest.raises(UnsupportedError) as caught:
        session.launch(out)
    assert says in "\n".join([str(caught.value), *caught.value.context])


@pytest.mark.parametrize("kind", ["f16", "f16x2", "bf16"])
@pytest.mark.parametrize("spread", SPREADS)
def test_half_order(kind: str, spread: str) -> None:
    """Halves are added in the order of the lanes, and rounded after each addition."""
    size = 4 if kind == "f16x2" else 2
    register = "%r" if size == 4 else "%h"
    rng = np.random.default_rng(8)
    numbers = (
        rng.standard_normal((2, THREADS, size // 2)) * 10.0 ** rng.integers(-3, 3, (2, THREADS, 1))
    ).astype("f4")
    index = places(spread).astype(np.uint32)

    def cut(values: Any) -> Any:
        if kind != "bf16":
            return values.astype(np.float16).astype(np.float32)
        bits = values.astype(np.float32).view(np.uint32)
        return (bits + 0x7FFF + (bits >> 16 & 1) & np.uint32(0xFFFF0000)).view(np.float32)

    def packed(values: Any) -> Any:
        if kind == "bf16":
            return (np.ascontiguousarray(values).view(np.uint32) >> 16).astype(np.uint16)
        return values.astype(np.float16)

    at, by = cut(numbers[0]), cut(numbers[1])
    body = read(size, f"b{8 * size}", f"{register}20")
    body += f"atom.global.add.noftz.{kind} {register}21, [%d10], {register}20;"
    body += store(f"{register}21", f"b{8 * size}", size)
    zeros = np.zeros((THREADS, size // 2), packed(at).dtype)
    olds, last = launch(body, packed(at), packed(by), index, zeros)
    expected = np.zeros_like(at)
    for thread, place in enumerate(index):
        expected[thread] = at[place]
        at[place] = cut(at[place] + by[thread])
    assert np.array_equal(olds.reshape(THREADS, -1), packed(expected))
    assert np.array_equal(last.reshape(THREADS, -1), packed(at))
