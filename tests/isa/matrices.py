"""Rows of matrix instructions: mma wmma ldmatrix stmatrix movmatrix."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from tests.isa.grammar import Row, row

_BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "s32": 32,
    "u8": 8,
    "s8": 8,
    "u4": 4,
    "s4": 4,
    "b1": 1,
    "e4m3": 8,
    "e5m2": 8,
    "e3m2": 8,
    "e2m3": 8,
    "e2m1": 8,
}
_TYPES = (
    *((kind, kind) for kind in ("f16", "bf16", "tf32", "f32", "f64", "b1", "s32")),
    *itertools.product(("u8", "s8"), repeat=2),
    *itertools.product(("u4", "s4"), repeat=2),
    *itertools.product(("e4m3", "e5m2", "e3m2"), repeat=2),
    ("u8", "u4"),
    ("f16", "bf16"),
)
_SHAPES = (
    *(f"m8n8k{k}" for k in (4, 8, 16, 32, 64, 128)),
    *(f"m16n8k{k}" for k in (4, 8, 16, 32, 64, 128, 256)),
    *("m16n16k16", "m16n16k8", "m32n8k16", "m8n32k16"),
)
_RESULTS = ("f16", "f32", "f64", "s32", "bf16")


def _vector(kind: str, elements: int) -> str:
    """Registers that hold so many elements of a warp's matrix in one thread."""
    if kind == "f64":
        count, name = max(1, elements // 32), "f64"
    elif kind == "f32":
        count, name = max(1, elements // 32), "f32"
    else:
        count, name = max(1, elements * _BITS[kind] // 1024), "b32"
    return "{" + ", ".join([name] * count) + "}"


def _multiplies() -> Iterator[Row]:
    for shape, (a, b), (d, c) in itertools.product(_SHAPES, _TYPES, itertools.product(_RESULTS, repeat=2)):
        m, n, k = (int(text) for text in re.findall(r"\d+", shape))
        old = shape == "m8n8k4" and a == "f16"  # four products in one warp
        times = 4 if old else 1
        one = ", ".join(
            (
                _vector(d, m * n * times),
                _vector(a, m * k * times),
                _vector(b, k * n * times),
                _vector(c, m * n * times),
            )
        )
        sparse = ", ".join(
            (_vector(d, m * n), _vector(a, m * k // 2), _vector(b, k * n), _vector(c, m * n), "b32")
        )
        types = f"{d}.{a}.{b}.{c}"
        for satfinite in ("", ".satfinite"):
            for operation in ("", ".xor.popc", ".and.popc"):
                for layout in ("row.col", "row.row", "col.col", "col.row"):
                    if layout != "row.col" and not (a == b == "f16"):
                        continue
                    yield row(
                        "mma",
                        f".sync.aligned.{shape}.{layout}{satfinite}.{types}{operation}".replace(".", ".", 1),
                        one,
                    )
                    if operation == "" and layout == "row.col":
                        yield row(
                            "mma",
                            f".sp.sync.aligned.{shape}.{layout}{satfinite}.{types}",
                            f"{sparse}, 0x0",
                            f"{sparse}, 0x1",
                        )
                        yield row(
                            "mma",
                            f".sp::ordered_metadata.sync.aligned.{shape}.{layout}{satfinite}.{types}",
                            f"{sparse}, 0x0",
                        )
    yield row(
        "mma",
        ".sync.aligned.m16n8k16.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32",
        "{f32, f32, f32, f32}, {b32, b32, b32, b32}, {b32, b32}, {f32, f32, f32, f32}",
    )


_LAYOUT = "row col"
_WMMA_SHAPES = "m16n16k16 m8n32k16 m32n8k16 m16n16k8 m8n8k4 m8n8k32 m8n8k128"


def _fragments(kinds: tuple[str, ...]) -> list[str]:
    found = []
    for kind in kinds:
        found += ["{" + ", ".join([kind] * count) + "}" for count in (1, 2, 4, 8)]
    return found


def _wmma() -> Iterator[Row]:
    some = _fragments(("b32", "f32", "f64"))
    where = ("[b64]", "[b64], b32", "[b32+16], 16", "[$shared_array], 16")
    space = "global shared shared::cta"
    yield row(
        "wmma",
        ".load.op.sync.aligned.layout.shape{.space}.type",
        *(f"{one}, {at}" for one in some for at in where),
        op="a b",
        layout=_LAYOUT,
        shape=_WMMA_SHAPES,
        space=space,
        type="f16 bf16 tf32 f64 u8 s8 u4 s4 b1",
    )
    yield row(
        "wmma",
        ".load.c.sync.aligned.layout.shape{.space}.type",
        *(f"{one}, {at}" for one in some for at in where),
        layout=_LAYOUT,
        shape=_WMMA_SHAPES,
        space=space,
        type="f16 f32 f64 s32 bf16",
    )
    yield row(
        "wmma",
        ".store.d.sync.aligned.layout.shape{.space}.type",
        *(f"{at[: at.index(']') + 1]}, {one}{at[at.index(']') + 1 :]}" for one in some for at in where),
        layout=_LAYOUT,
        shape=_WMMA_SHAPES,
        space=space,
        type="f16 f32 f64 s32",
    )
    counts = {"f64": (2, 1, 1), "b1": (2, 1, 1), "u4": (2, 1, 1), "s4": (2, 1, 1)}
    for shape, (a, b), (d, c) in itertools.product(
        _WMMA_SHAPES.split(), _TYPES, itertools.product(_RESULTS, repeat=2)
    ):
        m, n, k = (int(text) for text in re.findall(r"\d+", shape))
        if a in counts:
            _, one, other = counts[a]
        elif a == "f16":
            one = other = 8
        else:
            one, other = max(1, m * k * _BITS[a] // 1024), max(1, n * k * _BITS[a] // 1024)
        name = "f64" if a == "f64" else "b32"
        left, right = ("{" + ", ".join([name] * count) + "}" for count in (one, other))
        operands = ", ".join((_vector(d, m * n), left, right, _vector(c, m * n)))
        kinds = [f"{d}.{a}.{b}.{c}"]
        rounding = "{.rnd}" if "f64" in (a, d) else ""
        if a == b == "f16":
            kinds.append(f"{d}.{c}")
        for kind, satfinite, operation in itertools.product(
            kinds, ("", ".satfinite"), ("", ".xor.popc", ".and.popc")
        ):
            yield row(
                "wmma",
                f".mma{operation}.sync.aligned.alayout.blayout.{shape}{rounding}.{kind}{satfinite}",
                operands,
                alayout=_LAYOUT,
                blayout=_LAYOUT,
                rnd="rn rz rm rp",
            )


def _rows() -> Iterator[Row]:
    yield from _multiplies()
    yield from _wmma()
    for number, group in ((1, "{b32}"), (2, "{b32, b32}"), (4, "{b32, b32, b32, b32}")):
        yield row(
            "ldmatrix",
            f".sync.aligned.shape.x{number}{{.trans}}{{.space}}.type",
            f"{group}, [b64]",
            f"{group}, [b32]",
            f"{group}, [$shared_array+16]",
            "b32, [b64]",
            shape="m8n8 m16n16 m8n16",
            space="shared shared::cta",
            type="b16 b8 b8x16.b6x16_p32",
        )
        yield row(
            "stmatrix",
            f".sync.aligned.shape.x{number}{{.trans}}{{.space}}.type",
            f"[b64], {group}",
            shape="m8n8 m16n8",
            space="shared shared::cta",
            type="b16 b8",
        )
    yield row("movmatrix", ".sync.aligned.shape{.trans}.type", "b32, b32", shape="m8n8 m16n16", type="b16 b8")


ROWS = tuple(_rows())
