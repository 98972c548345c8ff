"""The processor's own fused multiply-add, by way of numpy's complex product.

Where the processor has one, numpy computes the imaginary part of
(x + i z)(1 + i y) as fma(x, y, z × 1): one rounding. Whether this numpy on this
processor does so is tried out on hard cases before it is relied on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from teenycuda_cli.emulator.numerics.blocks import shape_of, slabs

_PIECE = 65536
_COMPLEX = {np.dtype(np.float32): np.complex64, np.dtype(np.float64): np.complex128}


class _Scratch(threading.local):
    """Temporaries, kept: memory fresh from the system costs more than the arithmetic."""

    def __init__(self, kind: Any) -> None:
        self.left = np.empty(_PIECE, kind)
        self.right = np.ones(_PIECE, kind)
        self.product = np.empty(_PIECE, kind)
        self.scalar = np.ones((), kind)


class FusedMultiplyAdd:
    """a × b + c of one float dtype with one rounding; by `exactly` where the processor is not trusted."""

    def __init__(self, dtype: Any, exactly: Callable[..., Any]) -> None:
        """`exactly(a, b, c, out=None)` is right everywhere, and slower."""
        self.dtype = np.dtype(dtype)
        self.exactly = exactly
        self._scratch = _Scratch(_COMPLEX[self.dtype])
        self._trusted: bool | None = None

    def __call__(self, a: Any, b: Any, c: Any, out: Any = None) -> Any:
        """Arrays or scalars in, an array or scalar of their broadcast shape out."""
        shape = shape_of((a, b, c), out)
        if shape == ():
            return self.exactly(a, b, c, out=out)
        if not self._usable():
            return self.exactly(a, b, c, out=out)
        return self._fused(a, b, c, np.empty(shape, self.dtype) if out is None else out)

    def _fused(self, a: Any, b: Any, c: Any, target: Any) -> Any:
        scratch = self._scratch
        for result, (x, y, z) in slabs(target, (a, b, c), _PIECE):
            size, form = result.size, result.shape
            left, product = scratch.left[:size].reshape(form), scratch.product[:size].reshape(form)
            factor, other = (x, y) if x.ndim else (y, x)
            np.copyto(left, factor)  # both parts in one pass, which is quicker than the real ones alone
            left.imag = z
            right = scratch.right[:size].reshape(form) if other.ndim else scratch.scalar
            right.imag = other
            np.multiply(left, right, out=product)  # numpy does not fuse in place where `right` is a scalar
            np.copyto(result, product.imag)
        return target

    def chain(self, a: Any, b: Any, c: Any, *more: Any, out: Any = None) -> Any:
        """a × b + c, then each pair of `more` multiplied and added to that; each step rounded once."""
        sources = (a, b, c, *more)
        shape = shape_of(sources, out)
        if shape == () or not self._usable():
            result = self(a, b, c)
            for x, y in zip(more[::2], more[1::2], strict=True):
                result = self(x, y, result)
            if out is None:
                return result
            np.copyto(out, result)
            return out
        target = np.empty(shape, self.dtype) if out is None else out
        scratch = self._scratch
        for result, parts in slabs(target, sources, _PIECE, whole=False):
            size, form = result.size, result.shape
            left = scratch.left[:size].reshape(form)
            right = scratch.right[:size].reshape(form)
            factor, other, total = left.real, right.imag, left.imag
            total[...] = parts[2]
            for x, y in ((parts[0], parts[1]), *zip(parts[3::2], parts[4::2], strict=True)):
                factor[...] = x
                other[...] = y
                # the sum stays in the imaginary part, ready to be added to
                np.multiply(left, right, out=left)
            np.copyto(result, total)
        return target

    def _usable(self) -> bool:
        if self._trusted is None:
            self._trusted = self._tried_out()
        return self._trusted

    def _tried_out(self) -> bool:
        """Whether random bits, ties, cancellation and subnormal results come out right, at many lengths."""
        count = 233
        a, b, c = (_mixed(count, seed, self.dtype) for seed in (1, 2, 3))
        small = np.finfo(self.dtype).tiny
        for array in (a, b, c):
            np.copyto(array[:200], np.frexp(array[:200])[0], where=np.isfinite(array[:200]))
        c[60:120] = (-a * b)[60:120]
        b[120:160] = self.dtype.type(2.5)
        b[160:200] *= small
        c[160:200] *= small
        wanted = self.exactly(a, b, c)
        scalar = self.exactly(a, b[120], c)
        for length in (1, 2, 3, 5, 7, 15, 17, 33, count):
            for start in {0, count - length}:
                x, y, z = a[start:][:length], b[start:][:length], c[start:][:length]
                for second, expected in ((y, wanted), (b[120], scalar)):
                    got = self._fused(x, second, z, np.empty(length, self.dtype))
                    if not np.array_equal(got, expected[start:][:length], equal_nan=True):
                        return False
        return True


def _mixed(count: int, seed: int, dtype: Any) -> Any:
    """Floats of well-mixed bits; numpy's generators would take longer to import than this to run."""
    bits = np.arange(seed, seed + 3 * count, 3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(32)
    return bits.astype(f"u{dtype.itemsize}").view(dtype)
