"""Triton's matrix kernels: products of whole numbers are exact in any order, others within a bound."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tests.kernels import formats
from tests.kernels.launches import Array, Freedom, Kernel, Launch

# How far apart the sums of a tensor core and of the emulator may be: the core's own order of a step's terms.
SUM_ORDER = Freedom("a tensor core adds the products of a step in an order and width of its own", 1e-6, 1e-5)


def _whole(rng: np.random.Generator, *shape: int) -> Array:
    return rng.integers(-4, 5, shape).astype(np.float32)


def _normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def _size(**sizes: int) -> dict[str, str | Array]:
    return {name: f"i32:{size}" for name, size in sizes.items()}


def _product(
    a: Array, b: Array, grid: str, sizes: dict[str, str | Array], exact: bool, atol: float
) -> Launch:
    """A kernel a, b, c, sizes that leaves the float32 product."""
    arguments = {"a": a, "b": b, "c": f"ptr:{a.shape[0]}x{b.shape[1]}xf32"} | sizes
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return Launch(grid, arguments, {"c": expected}, tolerance={} if exact else {"c": (1e-5, atol)})


def _tf32_whole(n: int, rng: np.random.Generator) -> Launch:
    m, k = n + 3, 2 * n - 1
    a, b = _whole(rng, m, k), _whole(rng, k, n)
    return _product(a, b, f"{-(-m // 32)},{-(-n // 32)}", _size(M=m, N=n, K=k), True, 0)


def _tf32_normal(n: int, rng: np.random.Generator) -> Launch:
    m, k = n + 3, 2 * n - 1
    a, b = formats.to_tf32(_normal(rng, m, k)), formats.to_tf32(_normal(rng, k, n))
    return _product(a, b, f"{-(-m // 32)},{-(-n // 32)}", _size(M=m, N=n, K=k), False, 2e-5)


def _tf32x3(n: int, rng: np.random.Generator) -> Launch:
    # Three products of halves keep what one loses: the full float32 inputs count.
    a, b = _normal(rng, 32, n), _normal(rng, n, n)
    return _product(a, b, f"1,{n // 32}", _size(N=n, K=n), False, 5e-5)


def _any(tile: int, a: Array, b: Array, c: str, expected: Array, atol: float | None = None) -> Launch:
    """A kernel a, b, c, N, K of square tiles; exact where no atol is given."""
    (m, k), n = a.shape, b.shape[1]
    arguments = {"a": a, "b": b, "c": f"ptr:{m}x{n}x{c}"} | _size(N=n, K=k)
    tolerance = {} if atol is None else {"c": (1e-5, atol)}
    return Launch(f"{m // tile},{n // tile}", arguments, {"c": expected}, tolerance=tolerance)


def _s8(n: int, rng: np.random.Generator, tile: int = 32) -> Launch:
    a, b = (rng.integers(-128, 128, shape, np.int8) for shape in ((2 * tile, 2 * n), (2 * n, n)))
    return _any(tile, a, b, "i32", a.astype(np.int64) @ b)


def _bf16(n: int, rng: np.random.Generator, tile: int = 32) -> Launch:
    a, b = (formats.to_bf16(_normal(rng, *shape)) for shape in ((tile, n), (n, n)))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return _any(tile, formats.bits_of_bf16(a), formats.bits_of_bf16(b), "f32", expected, 2e-5)


def _f16acc(n: int, rng: np.random.Generator, tile: int = 32) -> Launch:
    # Sums of at most 2 * n * 4 stay whole in f16.
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((tile, n), (n, n)))
    return _any(tile, a, b, "f16", a.astype(np.float64) @ b.astype(np.float64))


def _f64(n: int, rng: np.random.Generator) -> Launch:
    a, b = rng.standard_normal((32, n)), rng.standard_normal((n, n))
    return replace(_any(32, a, b, "f64", a @ b), tolerance={"c": (1e-13, 1e-13)})


def _tf32(n: int, rng: np.random.Generator) -> Launch:
    a, b = (formats.to_tf32(_normal(rng, *shape)) for shape in ((64, n), (n, n)))
    return _any(64, a, b, "f32", a.astype(np.float64) @ b.astype(np.float64), 2e-5)


def _fp8(name: str, n: int, rng: np.random.Generator, tile: int = 32) -> Launch:
    a, b = (formats.encode(_normal(rng, *shape), name) for shape in ((tile, n), (n, n)))
    expected = formats.decode(a, name) @ formats.decode(b, name)
    # A core keeps fewer bits than float32 while it adds fp8 products: 2^-13 of the largest term of a step.
    return _any(tile, a, b, "f32", expected, n * 2e-4)


def _four_bits(n: int, rng: np.random.Generator) -> Launch:
    # Whole numbers, and powers of two as factors: exact.
    a, b = rng.integers(-4, 5, (32, n)).astype(np.float16), rng.integers(0, 16, (n, n), np.uint8)
    scale = np.exp2(rng.integers(-3, 4, (n // 32, n))).astype(np.float32)
    arguments = {"a": a, "b": b[0::2] | b[1::2] << 4, "scale": scale, "c": f"ptr:32x{n}xf32"}
    expected = a.astype(np.float64) @ ((b.astype(int) - 8) * np.repeat(scale, 32, 0))
    return Launch(f"1,{n // 32}", arguments | _size(N=n, K=n), {"c": expected})


def _split_k(n: int, rng: np.random.Generator) -> Launch:
    # Whole numbers: exact in any order of the parts.
    a, b = _whole(rng, 32, 4 * n).astype(np.float16), _whole(rng, 4 * n, n).astype(np.float16)
    launch = _any(32, a, b, "f32=zeros", a.astype(np.float64) @ b.astype(np.float64))
    return replace(launch, grid=f"{n // 32},3")


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def _scaled_formats(n: int, rng: np.random.Generator) -> Launch:
    k = 2 * n
    a, b = formats.encode(_normal(rng, 32, k), "e4m3"), rng.integers(0, 16, (k, n), np.uint8)
    # Powers of two in e8m0.
    a_scale, b_scale = (rng.integers(124, 131, (rows, k // 32), np.uint8) for rows in (32, n))
    left = formats.decode(a, "e4m3") * np.repeat(np.exp2(a_scale.astype(int) - 127), 32, 1)
    right = np.where(b & 8, -1, 1) * E2M1[b & 7] * np.repeat(np.exp2(b_scale.astype(int) - 127), 32, 1).T
    arguments = {"a": a, "a_scale": a_scale, "b": b[0::2] | b[1::2] << 4, "b_scale": b_scale}
    arguments |= {"c": f"ptr:32x{n}xf32"} | _size(N=n, K=k)
    return Launch(str(n // 32), arguments, {"c": left @ right}, tolerance={"c": (1e-5, 1e-3)})


def _batched(n: int, rng: np.random.Generator) -> Launch:
    batches, m, k = 3, n + 7, n - 3
    a = rng.integers(-4, 5, (batches, m, k)).astype(np.float16)
    b = rng.integers(-4, 5, (batches, k, n)).astype(np.float16)
    product = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
    arguments = {"a": a, "b": b, "c": f"ptr:{batches}x{m}x{n}xbf16"} | _size(M=m, N=n, K=k)
    grid = f"{-(-m // 32)},{-(-n // 32)},{batches}"
    return Launch(grid, arguments, {"c": formats.to_bf16(product)})


def _causal(n: int, rng: np.random.Generator) -> Launch:
    heads, depth = 2, 32
    q, k, v = (formats.to_bf16(_normal(rng, heads, n, depth)) for _ in range(3))
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 6
    scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    out = weights / weights.sum(axis=2, keepdims=True) @ v
    halves = zip("qkv", map(formats.bits_of_bf16, (q, k, v)), strict=True)
    arguments: dict[str, str | Array] = {**dict(halves), "o": f"ptr:{heads}x{n}x{depth}xbf16"}
    arguments |= {"N": f"i32:{n}", "scale": f"f32:{1 / 6}"}
    # Weights and result are rounded to bf16, each 2^-9 relative.
    return Launch(f"{-(-n // 32)},{heads}", arguments, {"o": out}, tolerance={"o": (8e-3, 8e-3)})


def _attention(n: int, rng: np.random.Generator) -> Launch:
    q, k, v = (rng.standard_normal((n, 64)).astype(np.float16) for _ in range(3))
    scores = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    out = weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float64)
    arguments = {"q": q, "k": k, "v": v, "o": f"ptr:{n}x64xf16", "N": f"i32:{n}", "scale": "f32:0.125"}
    return Launch(str(n // 64), arguments, {"o": out}, tolerance={"o": (5e-3, 2e-3)})


def _attention_backward(n: int, rng: np.random.Generator) -> Launch:
    depth, scale = 32, 0.125
    q, k, v, do = (rng.standard_normal((n, depth)).astype(np.float16) for _ in range(4))
    wide_q, wide_k, wide_v, wide_do = (array.astype(np.float64) for array in (q, k, v, do))
    scores = wide_q @ wide_k.T * scale
    lse = np.log(np.exp(scores).sum(1))
    weights = np.exp(scores - lse[:, None])
    delta = (weights @ wide_v * wide_do).sum(1)
    slope = weights * (wide_do @ wide_v.T - delta[:, None]) * scale
    expected = {"dq": slope @ wide_k, "dk": slope.T @ wide_q, "dv": weights.T @ wide_do}
    arguments: dict[str, str | Array] = {"q": q, "k": k, "v": v, "do": do}
    arguments |= {"lse": lse.astype(np.float32), "delta": delta.astype(np.float32)}
    arguments |= dict.fromkeys(expected, f"ptr:{n}x{depth}xf32=zeros") | {
        "N": f"i32:{n}",
        "scale": f"f32:{scale}",
    }
    # Weights and slopes are rounded to f16, 2^-11 relative, before they are multiplied.
    tolerance = dict.fromkeys(expected, (1e-3, 1e-3))
    return Launch(str(n // 64), arguments, expected, tolerance=tolerance)


def _half_product(tile: int, n: int, rng: np.random.Generator) -> Launch:
    m, k = n + tile, 128
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    arguments = {"a": a, "b": b, "c": f"ptr:{m}x{n}xf16"} | _size(M=m, N=n, K=k)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return Launch(f"{m // tile},{n // tile}", arguments, {"c": expected}, tolerance={"c": (6e-4, 5e-5)})


def _half_64(n: int, rng: np.random.Generator) -> Launch:
    return _half_product(64, n, rng)


def _half_128(n: int, rng: np.random.Generator) -> Launch:
    return _half_product(128, n, rng)


EXPONENTIAL = Freedom("ex2.approx, and bf16 or f16 weights on either side of a tie", 8e-3, 8e-3)
GRADIENT = Freedom("f16 weights on either side of a tie; sums in the order of the blocks", 1e-3, 1e-3)
LARGE_SUMS = Freedom(SUM_ORDER.reason + ", here beside terms of thousands", 1e-5, 1e-3)
HALF_ULP = Freedom("f16 results on either side of a tie, by the order of a tensor core's sums", 1e-3, 1e-4)

# file, without the ending; kernel
MATRICES = (
    ("matmul_tf32.sm80", Kernel("matmul_tf32", (1, 32, 45, 64), _tf32_whole)),
    ("matmul_tf32.sm80", Kernel("matmul_tf32", (17, 33), _tf32_normal, {"c": SUM_ORDER})),
    ("matmul_tf32x3.sm80", Kernel("matmul_tf32x3", (32, 64), _tf32x3, {"c": SUM_ORDER})),
    ("matmul_s8.sm80", Kernel("matmul_any", (32, 64, 96), _s8)),
    ("matmul_bf16.sm80", Kernel("matmul_any", (32, 64, 96), _bf16, {"c": SUM_ORDER})),
    ("matmul_f16acc.sm80", Kernel("matmul_any", (32, 64, 96), _f16acc)),
    ("matmul_f16acc.sm90", Kernel("matmul_any", (32, 64, 96), _f16acc)),
    ("matmul_f64.sm80", Kernel("matmul_any", (32, 64), _f64)),
    ("matmul_f64.sm90", Kernel("matmul_any", (32, 64), _f64)),
    ("matmul_e4m3.sm89", Kernel("matmul_any", (32, 64, 96), partial(_fp8, "e4m3"), {"c": SUM_ORDER})),
    ("matmul_e4m3.sm90", Kernel("matmul_any", (32, 64, 96), partial(_fp8, "e4m3"), {"c": SUM_ORDER})),
    ("matmul_e5m2.sm89", Kernel("matmul_any", (32, 64, 96), partial(_fp8, "e5m2"), {"c": SUM_ORDER})),
    ("matmul_e5m2.sm90", Kernel("matmul_any", (32, 64, 96), partial(_fp8, "e5m2"), {"c": SUM_ORDER})),
    *(
        (f"group_{name}.sm90", Kernel("matmul_any", (64, 128), launch, free))
        for name, launch, free in (
            ("bf16", partial(_bf16, tile=64), {"c": SUM_ORDER}),
            ("f16acc", partial(_f16acc, tile=64), {}),
            ("tf32", _tf32, {"c": SUM_ORDER}),
            ("s8", partial(_s8, tile=64), {}),
            ("e4m3", partial(_fp8, "e4m3", tile=64), {"c": SUM_ORDER}),
            ("e5m2", partial(_fp8, "e5m2", tile=64), {"c": SUM_ORDER}),
        )
    ),
    (
        "attention_backward.sm80",
        Kernel(
            "attention_backward", (64, 192), _attention_backward, dict.fromkeys(("dq", "dk", "dv"), GRADIENT)
        ),
    ),
    ("four_bits.sm80", Kernel("four_bits", (32, 96), _four_bits)),
    ("split_k.sm80", Kernel("split_k", (32, 64), _split_k)),
    ("scaled_formats.sm89", Kernel("scaled_formats", (32, 64), _scaled_formats, {"c": LARGE_SUMS})),
    ("batched_matmul.sm80", Kernel("batched_matmul", (5, 32, 50), _batched)),
    ("causal_attention.sm80", Kernel("causal_attention", (1, 32, 77), _causal, {"o": EXPONENTIAL})),
)

# The same of the corpus.
_ATTENTION = Kernel("attention", (64, 128, 192), _attention, {"o": EXPONENTIAL})
CORPUS_MATRICES = (
    *((f"attention.sm{arch}", _ATTENTION) for arch in (80, 90)),
    *((f"matmul_f16.sm{arch}", Kernel("matmul", (64, 128), _half_64, {"c": HALF_ULP})) for arch in (80, 90)),
    *((f"matmul_128.sm{arch}", Kernel("matmul", (128,), _half_128, {"c": HALF_ULP})) for arch in (80, 90)),
)

TMA_MATRICES = (("matmul_tma.sm90", Kernel("matmul_tma", (128, 256), _half_128, {"c": HALF_ULP})),)
