"""Kernels in numba-cuda's Python: pointers as C has them, and arrays as numba passes them, in seven words each."""

import math

from numba import cuda, float32, float64, int32, int64, types, void

F, D, I = types.CPointer(float32), types.CPointer(float64), types.CPointer(int32)


def dot_blocks(x, y, out, n):
    shared = cuda.shared.array(128, float32)
    i = cuda.grid(1)
    shared[cuda.threadIdx.x] = x[i] * y[i] if i < n else float32(0)
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if cuda.threadIdx.x < step:
            shared[cuda.threadIdx.x] += shared[cuda.threadIdx.x + step]
        cuda.syncthreads()
        step //= 2
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = shared[0]


def count_and_max(x, counts, most):
    i = cuda.grid(1)
    if i < x.shape[0]:
        cuda.atomic.add(counts, x[i] % counts.shape[0], 1)
        cuda.atomic.max(most, x[i] % most.shape[0], x[i])


def polar(x, y, radius, angle, n):
    i = cuda.grid(1)
    if i < n:
        radius[i] = math.sqrt(x[i] * x[i] + y[i] * y[i]) + math.exp(-abs(x[i])) * math.log1p(abs(y[i]))
        angle[i] = math.atan2(y[i], x[i]) + math.sin(x[i]) * math.cos(y[i]) + math.pow(abs(x[i]), 0.3)


def digits(x, out, n):
    local = cuda.local.array(12, int32)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        length = 0
        while value > 0 and length < 12:
            local[length] = value % 10
            value //= 10
            length += 1
        reversed_value = 0
        for k in range(length):
            reversed_value = reversed_value * 10 + local[k]
        out[i] = reversed_value


def matmul(a, b, c):
    left = cuda.shared.array((8, 8), float64)
    right = cuda.shared.array((8, 8), float64)
    row, column = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = 0.0
    for tile in range((a.shape[1] + 7) // 8):
        k = tile * 8
        left[tx, ty] = a[row, k + ty] if row < a.shape[0] and k + ty < a.shape[1] else 0.0
        right[tx, ty] = b[k + tx, column] if k + tx < b.shape[0] and column < b.shape[1] else 0.0
        cuda.syncthreads()
        for j in range(8):
            total += left[tx, j] * right[j, ty]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


KERNELS = [
    (dot_blocks, void(F, F, F, int32)),
    (count_and_max, void(int32[::1], int32[::1], int32[::1])),
    (polar, void(D, D, D, D, int32)),
    (digits, void(types.CPointer(int64), types.CPointer(int64), int32)),
    (matmul, void(float64[:, ::1], float64[:, ::1], float64[:, ::1])),
]
