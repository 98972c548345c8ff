"""Kernels in numba-cuda's Python of warps, complex numbers, records, random numbers and device functions."""

import math

import numpy as np
from numba import complex128, cuda, float32, float64, from_dtype, int32, types, uint32, uint64, void
from numba.cuda.random import xoroshiro128p_dtype, xoroshiro128p_normal_float32, xoroshiro128p_uniform_float64

F, D, I, U = types.CPointer(float32), types.CPointer(float64), types.CPointer(int32), types.CPointer(uint32)


def warp_words(x, scan, word, n):
    i = cuda.grid(1)
    lane = cuda.laneid
    value = x[i] if i < n else int32(0)
    total = value
    step = 1
    while step < 32:
        other = cuda.shfl_up_sync(0xFFFFFFFF, total, step)
        if lane >= step:
            total += other
        step *= 2
    mask = cuda.ballot_sync(0xFFFFFFFF, value > 0)
    same = cuda.match_any_sync(0xFFFFFFFF, value & 3)
    largest = cuda.shfl_xor_sync(0xFFFFFFFF, value, 5)
    some = cuda.any_sync(0xFFFFFFFF, value > 48)
    if i < n:
        scan[i] = total
        word[i] = uint32(cuda.popc(mask) + 100 * cuda.ffs(same) + 10000 * cuda.clz(same)) ^ uint32(largest + (1 if some else 0))


def spin_sum(x, lock, total, n):
    # One thread of each block adds under a lock, by compare and swap.
    i = cuda.grid(1)
    shared = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        shared[0] = 0
    cuda.syncthreads()
    if i < n:
        cuda.atomic.add(shared, 0, x[i])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        total[0] += shared[0]
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


def spectrum(x, out, n):
    # A discrete Fourier transform of the row's own, in complex numbers.
    k = cuda.threadIdx.x
    row = cuda.blockIdx.x
    total = complex(0.0, 0.0)
    for t in range(n):
        angle = -2.0 * math.pi * ((k * t) % n) / n
        total += x[row * n + t] * complex(math.cos(angle), math.sin(angle))
    if k < n:
        out[row * n + k] = total


@cuda.jit(device=True)
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@cuda.jit(device=True, inline="never")
def power_modulo(base, exponent, modulus):
    result = uint64(1)
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


def number_theory(x, divisor, residue, n):
    i = cuda.grid(1)
    if i < n:
        divisor[i] = gcd(x[i], uint32(360360))
        residue[i] = uint32(power_modulo(uint64(x[i]), uint64(i + 65537), uint64(2147483647)))


RECORD = np.dtype([("mass", np.float32), ("place", np.float64, 3), ("kind", np.int16)], align=True)


def records(bodies, energy, counts):
    i = cuda.grid(1)
    if i < bodies.shape[0]:
        body = bodies[i]
        p = body.place
        energy[i] = body.mass * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
        cuda.atomic.add(counts, body.kind, 1)
        bodies[i].kind = -body.kind


def draws(states, whole, normal):
    i = cuda.grid(1)
    if i < states.shape[0]:
        whole[i] = xoroshiro128p_uniform_float64(states, i)
        normal[i] = xoroshiro128p_normal_float32(states, i)


def tile_sums(x, out):
    # Shared memory of a size that the launch gives.
    shared = cuda.shared.array(0, float64)
    t = cuda.threadIdx.x
    shared[t] = x[cuda.blockIdx.x, t] if t < x.shape[1] else 0.0
    cuda.syncthreads()
    total = 0.0
    for k in range(cuda.blockDim.x):
        total += shared[(t + k) % cuda.blockDim.x] * (k + 1)
    out[cuda.blockIdx.x, t] = total


KERNELS = [
    (warp_words, void(I, I, U, int32)),
    (spin_sum, void(int32[::1], int32[::1], int32[::1], int32)),
    (spectrum, void(types.CPointer(complex128), types.CPointer(complex128), int32)),
    (number_theory, void(U, U, U, int32)),
    (records, void(from_dtype(RECORD)[::1], float64[::1], int32[::1])),
    (draws, void(from_dtype(xoroshiro128p_dtype)[::1], float64[::1], float32[::1])),
    (tile_sums, void(float64[:, ::1], float64[:, ::1])),
]
