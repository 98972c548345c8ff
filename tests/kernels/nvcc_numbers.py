"""nvcc's kernels of arithmetic: functions, halves, 128 bits, packed bytes, complex numbers, roundings."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tests.kernels import formats
from tests.kernels.launches import Array, Freedom, Kernel, Launch


def _launch(
    n: int, arguments: dict[str, str | Array], expected: dict[str, Array], **tolerance: tuple[float, float]
) -> Launch:
    return Launch(str(-(-n // 64)), arguments | {"n": f"i32:{n}"}, expected, block="64", tolerance=tolerance)


def _double_math(n: int, rng: np.random.Generator) -> Launch:
    x = rng.standard_normal(n) * np.exp2(rng.integers(-8, 6, n))
    size = np.abs(x)
    expected = {
        "s": np.sin(x) * np.cos(x),
        "e": np.exp(x * 0.1) + np.expm1(x * 1e-3),
        "p": (size + 0.5) ** 1.7,
        "l": np.log(size + 1e-3) + np.log2(x * x + 1) + np.log1p(size),
        "t": np.arctan2(x, 2) + np.tanh(x) + np.array([math.erf(v / 2) for v in x]),
        "c": np.cbrt(x) + np.hypot(x, 3) + np.sqrt(size) + 1 / (x + 100) + np.fmod(x, 0.7),
    }
    arguments: dict[str, str | Array] = {"x": x} | dict.fromkeys(expected, f"ptr:{n}xf64")
    return _launch(n, arguments, expected, **dict.fromkeys(expected, (2e-15, 2e-15)))


def _halves(rng: np.random.Generator, n: int) -> Array:
    return (rng.standard_normal((n, 2)) * np.exp2(rng.integers(-6, 6, (n, 2)))).astype(np.float16)


def _half_pairs(n: int, rng: np.random.Generator) -> Launch:
    a, b = _halves(rng, n), _halves(rng, n)
    b[::5] = a[::5]
    fused = (a.astype(np.float64) * b.astype(np.float64) + 0.5).astype(np.float16)
    low, high = np.minimum(a, b), np.maximum(a, b)
    greater = (a > b).all(1)[:, None]
    rest = np.where(greater, np.stack([low[:, 0], high[:, 0]], 1), np.stack([low[:, 1], high[:, 1]], 1))
    condition = (a[:, 0] == b[:, 0]) | (a[:, 0] > b[:, 1])
    one = np.where(condition, np.clip(a[:, 0] - b[:, 0], 0, 1), np.abs(a[:, 1]))
    expected = {"sum": a * a + b * b, "apart": a * b - a, "fused": np.maximum(fused, 0)}
    expected |= {"rest": rest, "one": one}
    arguments: dict[str, str | Array] = {"x": a, "y": b} | dict.fromkeys(expected, f"ptr:{n}x2xf16")
    return _launch(n, arguments | {"one": f"ptr:{n}xf16"}, expected)


def _half_functions(n: int, rng: np.random.Generator) -> Launch:
    x = (rng.standard_normal(n) * np.exp2(rng.integers(-6, 3, n))).astype(np.float16)
    wide = x.astype(np.float64)
    expected = {
        "root": np.sqrt(np.abs(wide)),
        "power": np.exp2(wide),
        "whole": np.rint(x) + np.floor(x),
        "number": np.trunc(x * np.float16(100)),
    }
    arguments: dict[str, str | Array] = {"x": x} | dict.fromkeys(expected, f"ptr:{n}xf16")
    # Approximations, then rounded to f16: at most a step of f16 off.
    return _launch(n, arguments | {"number": f"ptr:{n}xi16"}, expected, root=(1e-3, 0), power=(1e-3, 1e-7))


def _bfloat_pairs(n: int, rng: np.random.Generator) -> Launch:
    a, b = (formats.to_bf16(_halves(rng, n)).astype(np.float64) for _ in range(2))
    x, y = (formats.bits_of_bf16(v) for v in (a, b))
    expected = {
        "sum": formats.to_bf16(a + b),
        "fused": formats.to_bf16(a * b + np.maximum(a, b)),
        "wide": formats.to_bf16(a * b),
    }
    arguments: dict[str, str | Array] = {"x": x, "y": y, "sum": f"ptr:{n}x2xbf16"}
    return _launch(n, arguments | {"fused": f"ptr:{n}x2xbf16", "wide": f"ptr:{n}x2xf32"}, expected)


def _signed(value: int, bits: int) -> int:
    """The low bits as a signed number."""
    value &= (1 << bits) - 1
    return value - (value >> (bits - 1) << bits)


def _wide_integers(n: int, rng: np.random.Generator) -> Launch:
    words = rng.integers(0, 2**64, (2, n, 2), np.uint64) >> rng.integers(0, 64, (2, n, 2), np.uint64)
    words[1, ::3, 1] = 0  # divisors of one word, and none
    words[1, ::17] = 0
    a, b = ([int(low) | int(high) << 64 for low, high in half] for half in words)
    results = {
        "sum": [p + q for p, q in zip(a, b, strict=True)],
        "product": [p * q for p, q in zip(a, b, strict=True)],
        "quotient": [p // q if q else p for p, q in zip(a, b, strict=True)],
        "shifted": [_signed(p, 128) >> (q & 127) for p, q in zip(a, b, strict=True)],
    }
    low, mask = 2**64 - 1, 2**128 - 1
    expected = {
        name: np.array([(v & low, (v & mask) >> 64) for v in values], np.uint64)
        for name, values in results.items()
    }
    arguments: dict[str, str | Array] = {"x": words[0], "y": words[1]}
    return _launch(n, arguments | dict.fromkeys(expected, f"ptr:{n}x2xu64"), expected)


def _lanes(x: Array, kind: str) -> Array:
    """The bytes or halves of words, widened."""
    return x.view(kind).reshape(len(x), -1).astype(np.int64)


def _packed(lanes: Array, kind: str) -> Array:
    """Words of bytes or halves, as int64."""
    return lanes.astype(kind).view(np.uint32)[:, 0].astype(np.int64)


def _packed_bytes(n: int, rng: np.random.Generator) -> Launch:
    x, y = rng.integers(0, 2**32, n, np.uint32), rng.integers(0, 2**32, n, np.uint32)
    y[::7] = x[::7]
    (a, b), (sa, sb), (ha, hb), (wa, wb) = (
        (_lanes(x, kind), _lanes(y, kind)) for kind in ("u1", "i1", "i2", "u2")
    )
    words = {
        "add": _packed(a + b, "u1") ^ _packed(np.clip(ha + hb, -(2**15), 2**15 - 1), "i2"),
        "avg": _packed((a + b + 1) >> 1, "u1") + _packed((a + b) >> 1, "u1"),
        "diff": _packed(np.abs(a - b), "u1") ^ _packed(np.maximum(a - b, 0), "u1"),
        "most": _packed(np.maximum(sa, sb), "i1") - _packed(np.minimum(wa, wb), "u2"),
        "cmp": _packed(np.where(a > b, 255, 0), "u1") | _packed(np.where(a == b, 1, 0), "u1") << 1,
    }
    dots = (sa * sb).sum(1) + 17 + (ha * sb[:, :2]).sum(1) - 3 + (a * b).sum(1) + 5 + np.abs(a - b).sum(1)
    expected = {name: (value & 0xFFFFFFFF).astype(np.uint32) for name, value in words.items()}
    arguments: dict[str, str | Array] = {"x": x, "y": y} | dict.fromkeys(expected, f"ptr:{n}xu32")
    return _launch(n, arguments | {"dots": f"ptr:{n}xi32"}, expected | {"dots": dots})


def _reversed(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


def _tricks(a: int, b: int) -> int:
    m = 2**32 - 1
    r = a.bit_count() + 100 * (32 - b.bit_length()) + 10000 * ((a & -a).bit_length())
    both = b << 32 | a
    picked = sum((both >> 8 * nibble & 255) << 8 * place for place, nibble in enumerate((5, 1, 7, 3)))
    left = (both << (b & 31)) >> 32 & m
    r ^= (_reversed(a, 32) + picked + left + b) & m
    sad = abs(a - b)
    sad = abs(a - b)
    terms = (a * b >> 32, (a + b) >> 1, (a + b + 1) >> 1, (sad + r) & m, (a & 0xFFFFFF) * (b & 0xFFFFFF) & m)
    mixed = 0
    for term in terms:
        mixed ^= term
    return (r + mixed) & m


def _wide_tricks(a: int, b: int) -> int:
    m = 2**64 - 1
    w = a << 32 | b
    count = w.bit_count() + 64 * (64 - (w >> (b & 63)).bit_length())
    return _reversed(w, 64) ^ (w * (w * 3 & m) >> 64) ^ count


def _bit_tricks(n: int, rng: np.random.Generator) -> Launch:
    x, y = (rng.integers(0, 2**32, n, np.uint32) >> rng.integers(0, 32, n, np.uint32) for _ in range(2))
    x[::11] = 0
    pairs = [(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    expected = {
        "out": np.array([_tricks(a, b) for a, b in pairs], np.uint32),
        "wide": np.array([_wide_tricks(a, b) for a, b in pairs], np.uint64),
    }
    return _launch(n, {"x": x, "y": y, "out": f"ptr:{n}xu32", "wide": f"ptr:{n}xu64"}, expected)


def _complex_orbit(n: int, rng: np.random.Generator) -> Launch:
    z = (0.4 * (rng.standard_normal(n) + 1j * rng.standard_normal(n))).astype(np.complex64)
    wide = z.astype(np.complex128)
    orbit = wide
    for _ in range(4):
        orbit = orbit * orbit + complex(np.float32(-0.4), np.float32(0.6))
    ratio = wide / (wide.conj() + (0.25 + 1.5j))
    arguments: dict[str, str | Array] = {"z": z, "orbit": f"ptr:{n}x2xf32", "ratio": f"ptr:{n}x2xf64"}
    expected = {
        name: value.view(np.float64).reshape(n, 2) for name, value in (("orbit", orbit), ("ratio", ratio))
    }
    expected["size"] = np.abs(wide)
    # A step of the orbit doubles the relative error of a large point.
    tolerance = {"orbit": (2e-5, 2e-5), "ratio": (1e-14, 1e-14), "size": (5e-7, 0.0)}
    return _launch(n, arguments | {"size": f"ptr:{n}xf32"}, expected, **tolerance)


def _rounded(value: Fraction, mode: str, kind: Callable[[float], np.floating]) -> np.floating:
    """A number rounded to float32 or float64: n to the nearest, u up, d down, z towards zero."""
    near = kind(float(value))
    if mode == "z":
        mode = "d" if value > 0 else "u"
    if mode == "u" and Fraction(float(near)) < value:
        return np.nextafter(near, kind(np.inf))
    if mode == "d" and Fraction(float(near)) > value:
        return np.nextafter(near, kind(-np.inf))
    return near


def _root_up(value: float) -> np.float32:
    """The smallest float32 that is not below the root."""
    near = np.float32(math.sqrt(value))
    return np.nextafter(near, np.float32(np.inf)) if Fraction(float(near)) ** 2 < Fraction(value) else near


def _roundings_of(a: np.float32, b: np.float32) -> tuple[float, float, float, int, int, float]:
    p, q = Fraction(float(a)), Fraction(float(b))
    f32, f64 = np.float32, np.float64
    add = (_rounded(p + q, "u", f32) - _rounded(p + q, "d", f32)) + _rounded(p + q, "z", f32)
    below = Fraction(float(_rounded(p * q, "d", f32)))
    mul = _rounded(p * q + below, "z", f32)
    div = (_rounded(p / q, "n", f32) + _root_up(abs(float(a)))) + _rounded(1 / q, "d", f32)
    whole = int(np.rint(a * f32(1000))) + 7 * math.ceil(b) + 31 * math.floor(b)
    longs = int(a * f32(1e12)) ^ int(np.rint(f64(b) * 1e10))
    factors = [Fraction(float(_rounded(v, mode, f64))) for v, mode in ((p + q, "u"), (p / q, "d"))]
    rest = Fraction(float(_rounded(p * q + Fraction(1e-9), "z", f64)))
    return add, mul, div, whole, longs, float(factors[0] * factors[1] + rest)


def _roundings(n: int, rng: np.random.Generator) -> Launch:
    a, b = ((rng.standard_normal(n) * np.exp2(rng.integers(-4, 5, n))).astype(np.float32) for _ in range(2))
    columns = zip(*(_roundings_of(p, q) for p, q in zip(a, b, strict=True)), strict=True)
    names = ("add", "mul", "div", "whole", "longs", "doubles")
    expected = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
    kinds = ("f32", "f32", "f32", "i32", "i64", "f64")
    arguments: dict[str, str | Array] = {"x": a, "y": b}
    arguments |= {name: f"ptr:{n}x{kind}" for name, kind in zip(names, kinds, strict=True)}
    return _launch(n, arguments, expected)


CONTRACTED = Freedom("ptxas may make one rounding of a product and a sum", 1e-13, 1e-14)
CONTRACTED_HALF = Freedom("ptxas makes one rounding of a product and a sum: a unit of f16", 2**-10, 2**-24)
CONTRACTED_FLOAT = Freedom("ptxas may make one rounding of a product and a sum", 2e-5, 2e-5)
APPROXIMATE = Freedom("approximations on either side of a tie of f16", 1e-3, 1e-7)

# file, without the ending; kernel
NUMBERS = (
    ("numbers", Kernel("double_math", (1, 64, 500), _double_math, dict.fromkeys("septlc", CONTRACTED))),
    ("numbers", Kernel("half_pairs", (1, 64, 500), _half_pairs, {"sum": CONTRACTED_HALF})),
    (
        "numbers",
        Kernel(
            "half_functions", (1, 64, 500), _half_functions, dict.fromkeys(("root", "power"), APPROXIMATE)
        ),
    ),
    ("numbers", Kernel("bfloat_pairs", (1, 64, 500), _bfloat_pairs)),
    ("numbers", Kernel("wide_integers", (1, 64, 500), _wide_integers)),
    ("numbers", Kernel("packed_bytes", (1, 64, 500), _packed_bytes)),
    ("numbers", Kernel("bit_tricks", (1, 64, 500), _bit_tricks)),
    (
        "numbers",
        Kernel(
            "complex_orbit",
            (1, 64, 300),
            _complex_orbit,
            dict.fromkeys(("orbit", "ratio", "size"), CONTRACTED_FLOAT),
        ),
    ),
    ("numbers", Kernel("roundings", (1, 64, 300), _roundings)),
)
