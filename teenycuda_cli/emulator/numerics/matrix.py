"""Matrix multiply-add as the matrix units compute it: d = a × b + c for many warps at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.half import from_bf16, from_f16, from_fp8, to_f16


@dataclass(frozen=True, slots=True)
class Spec:
    """The types of a matrix multiply-add, and its variants.

    `a` and `b` are f16 bf16 tf32 e4m3 e5m2 f64 s8 u8 s4 u4 or b1, `c` and `d`
    f16 f32 f64 or s32; `saturate` is `.satfinite`, `bitwise` xor or and (b1 alone),
    `rounding` rn rz rm or rp (f64 alone).
    """

    a: str
    b: str
    c: str
    d: str
    saturate: bool = False
    bitwise: str = ""
    rounding: str = "rn"


def multiply_add(spec: Spec, a: Any, b: Any, c: Any, out: Any = None) -> Any:
    """d = a × b + c: a is (warps, m, k), b (warps, k, n), c and d (warps, m, n).

    Elements: f16 and bf16 as uint16 bits, tf32 as uint32 bits, fp8 as uint8 bits,
    f64 as float64, s8 and s4 as int8, u8 and u4 as uint8 (4 bits are one element,
    in its value), b1 as uint32 words of 32 elements along k. c and d: f16 as uint16
    bits, f32 as float32, f64 as float64, s32 as int32. `out` may hold the result.
    """
    del out
    if spec.a == "b1":
        pairs = a[:, :, None, :] ^ b.swapaxes(1, 2)[:, None, :, :]
        if spec.bitwise == "and":
            pairs = a[:, :, None, :] & b.swapaxes(1, 2)[:, None, :, :]
        return (np.bitwise_count(pairs).sum(axis=3, dtype=np.int32) + c).astype(np.int32)
    product = np.matmul(_numbers(a, spec.a), _numbers(b, spec.b))
    if spec.c == "s32":
        total = product.astype(np.int64) + c
        if spec.saturate:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        return total.astype(np.int32)
    total = product + (from_f16(c) if spec.c == "f16" else c)
    if spec.d == "f16":
        return to_f16(total.astype(np.float32))
    return total.astype(np.float64 if spec.d == "f64" else np.float32)


def _numbers(bits: Any, name: str) -> Any:
    if name == "f16":
        return from_f16(bits).astype(np.float64)
    if name == "bf16":
        return from_bf16(bits).astype(np.float64)
    if name == "tf32":
        return bits.view(np.float32).astype(np.float64)
    if name in ("e4m3", "e5m2"):
        return from_f16(from_fp8(name)(bits)).astype(np.float64)
    return bits.astype(np.float64)
