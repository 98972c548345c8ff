"""Matrix multiply-add as an H200 computes it: d = a × b + c for many warps at once.

Matrices have the warps as their last axis: a is (m, k, warps), b (k, n, warps),
c and d (m, n, warps). Those of warpgroups, which are larger, have them as their
first: (groups, m, k), (groups, k, n), (groups, m, n). How the sums are rounded
was found by experiment; see tests/hardware/FINDINGS.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics import tensor_core
from teenycuda_cli.emulator.numerics.floating import with_payloads
from teenycuda_cli.emulator.numerics.fma import exact_fma32
from teenycuda_cli.emulator.numerics.half import from_bf16, from_f16, from_fp8, to_f16
from teenycuda_cli.emulator.numerics.rounding import operation

_FP8 = ("e4m3", "e5m2")
_WIDTH_OF_FP8 = tensor_core.Width(kept=13, fraction=13)
"""Of the unit that wgmma has for it."""

_TF32_MASK = np.uint32(0xFFFFE000)


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


def multiply_add(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    """d = a × b + c.

    Elements: f16 and bf16 as uint16 bits, tf32 as uint32 bits, fp8 as uint8 bits,
    f64 as float64, s8 and s4 as int8, u8 and u4 as uint8 (4 bits are one element,
    in its value), b1 as uint32 words of 32 elements along k. c and d: f16 as uint16
    bits, f32 as float32, f64 as float64, s32 as int32.
    """
    return _product(spec, a[:, :, None], b[None], c)


def sparse_multiply_add(spec: Spec, a: Any, b: Any, c: Any, chosen: Any) -> Any:
    """d = a × b + c where a has but some columns, (m, kept, warps): `chosen`, of its shape, tells which."""
    columns, warps = np.arange(b.shape[1])[:, None], np.arange(b.shape[2])
    return _product(spec, a[:, :, None], b[chosen[:, :, None, :], columns, warps], c)


def warpgroup_multiply_add(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    """d = a × b + c, with the warpgroups first: (groups, m, k) × (groups, k, n) + (groups, m, n)."""
    return _product_of_warpgroups(spec, _columns(a), b[:, :, None], c)


def sparse_warpgroup_multiply_add(spec: Spec, a: Any, b: Any, c: Any, chosen: Any) -> Any:
    """d = a × b + c for warpgroups, where a, (groups, m, kept), has but the columns that `chosen` tells."""
    found = []
    for group in range(len(a)):  # one at a time: each row has a b of its own
        part = slice(group, group + 1)
        rows = b[group][chosen[group].T][None]
        found.append(_product_of_warpgroups(spec, _columns(a[part]), rows, c[part]))
    return np.concatenate(found)


def _columns(a: Any) -> Any:
    """(groups, m, k) as (groups, k, m, 1), to be multiplied by rows of b."""
    return np.ascontiguousarray(a.swapaxes(1, 2))[..., None]


def _product_of_warpgroups(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    if spec.a not in _FP8:
        return _product(spec, a, b, c)
    sums = c if spec.c == "f32" else from_f16(c)
    return tensor_core.multiply_add(
        _numbers(a, spec.a), _numbers(b, spec.b), sums, (spec.a, spec.b), spec.d, _WIDTH_OF_FP8
    )


def small_multiply_add(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    """m8n8k4 of f16, which Hopper has no unit for: products are added up in f32, c last."""
    left, right = from_f16(a), from_f16(b)
    factors = [np.broadcast_arrays(left[:, k, None], right[k]) for k in range(4)]
    sums = c if spec.c == "f32" else from_f16(c)
    if spec.d == "f32":
        total: Any = np.zeros(c.shape, np.float32)
        for x, y in factors:
            total = exact_fma32(x, y, total)
        return tensor_core.canonical_f32(sums + total)
    for first, second in ((factors[0], factors[1]), (factors[2], factors[3])):
        sums = sums + exact_fma32(second[0], second[1], first[0] * first[1])
    return tensor_core.canonical_f16(to_f16(sums))


def _product(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    """d = a × b + c, with k as the second axis: `a[:, k] * b[:, k]` has the shape of c."""
    if spec.a == "b1":
        return _of_bits(spec, a, b, c)
    if spec.a == "f64":
        return _of_doubles(spec, a, b, c)
    if spec.c == "s32":
        return _of_integers(spec, a, b, c)
    if spec.a in _FP8:
        return _of_fp8(spec, a, b, c)
    sums = c if spec.c == "f32" else from_f16(c)
    return tensor_core.multiply_add(_numbers(a, spec.a), _numbers(b, spec.b), sums, (spec.a, spec.b), spec.d)


def _numbers(bits: Any, name: str) -> Any:
    """The values as float32."""
    if name == "f16":
        return from_f16(bits)
    if name == "bf16":
        return from_bf16(bits)
    if name == "tf32":
        return (bits & _TF32_MASK).view(np.float32)
    return from_f16(from_fp8(name)(bits))


def _of_fp8(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    """Hopper has no such unit for one warp: the numbers become f16, and of every four along k the first
    two are multiplied and added up first, then the other two; c comes last."""
    k = np.arange(a.shape[1]) % 4
    left, right = _numbers(a, spec.a), _numbers(b, spec.b)
    total: Any = np.zeros(c.shape, np.float32)
    for part in (k < 2, k >= 2):
        found = tensor_core.multiply_add(left[:, part], right[:, part], total, ("f16", "f16"), spec.d)
        total = found if spec.d == "f32" else from_f16(found)
    if spec.d == "f16":
        return tensor_core.canonical_f16(to_f16(total + from_f16(c)))
    return tensor_core.canonical_f32(total + c)


def _of_doubles(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    """One product after the other is added, each rounded."""
    fma = with_payloads(operation("fma", "f64", spec.rounding), (1, 2, 0))
    for k in range(a.shape[1]):
        c = fma(*np.broadcast_arrays(a[:, k], b[:, k], c))
    return c


def _of_integers(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    """Exact: a product has at most 16 bits, and their sum less than 24."""
    left, right = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros(c.shape, np.float32)
    product = np.empty_like(total)
    for k in range(a.shape[1]):
        np.multiply(left[:, k], right[:, k], out=product)
        total += product
    if not spec.saturate:
        return total.astype(np.int32) + c
    return np.clip(total.astype(np.int64) + c, -(1 << 31), (1 << 31) - 1).astype(np.int32)


def _of_bits(spec: Spec, a: Any, b: Any, c: Any) -> Any:
    """Ones are counted in what `bitwise` leaves of two words."""
    combine = np.bitwise_xor if spec.bitwise == "xor" else np.bitwise_and
    total = c.copy()
    for k in range(a.shape[1]):
        total += np.bitwise_count(combine(a[:, k], b[:, k])).astype(np.int32)
    return total
