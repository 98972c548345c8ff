"""Sorts, scans, reductions, gathers and convolutions."""

import triton
import triton.language as tl


@triton.jit
def sort_rows(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + offsets, mask=offsets < n, other=float("inf"))
    tl.store(o_ptr + row + offsets, tl.sort(x), mask=offsets < n)


@triton.jit
def cumsum(x_ptr, sum_ptr, back_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + offsets, mask=offsets < n, other=0)
    tl.store(sum_ptr + row + offsets, tl.cumsum(x, 0), mask=offsets < n)
    tl.store(back_ptr + row + offsets, tl.cumsum(x, 0, reverse=True), mask=offsets < n)


@triton.jit
def _then(a_scale, a_shift, b_scale, b_shift):
    return a_scale * b_scale, b_scale * a_shift + b_shift


@triton.jit
def linear_recurrence(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    a = tl.load(a_ptr + row + offsets, mask=offsets < n, other=0)
    b = tl.load(b_ptr + row + offsets, mask=offsets < n, other=0)
    _, y = tl.associative_scan((a, b), 0, _then)
    tl.store(y_ptr + row + offsets, y, mask=offsets < n)


@triton.jit
def extremes(x_ptr, argmax_ptr, argmin_ptr, max_ptr, xor_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n + offsets, mask=offsets < n, other=-float("inf"))
    tl.store(argmax_ptr + row, tl.argmax(x, 0))
    tl.store(max_ptr + row, tl.max(x, 0))
    y = tl.where(offsets < n, x, float("inf"))
    tl.store(argmin_ptr + row, tl.argmin(y, 0))
    bits = tl.where(offsets < n, x, 0.0).to(tl.int32, bitcast=True)
    tl.store(xor_ptr + row, tl.xor_sum(bits, 0))


@triton.jit
def histogram_block(x_ptr, h_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    counts = tl.histogram(x, BINS, mask=offsets < n)
    tl.atomic_add(h_ptr + tl.arange(0, BINS), counts)


@triton.jit
def gather_rows(x_ptr, index_ptr, o_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    place = rows[:, None] * n + columns[None, :]
    inside = columns[None, :] < n
    x = tl.load(x_ptr + place, mask=inside, other=0.0)
    index = tl.load(index_ptr + place, mask=inside, other=0)
    tl.store(o_ptr + place, tl.gather(x, index, 1), mask=inside)


@triton.jit
def transpose_tile(x_ptr, o_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    x = tl.load(x_ptr + rm[:, None] * N + rn[None, :], mask=inside, other=0.0)
    back = (rn[:, None] < N) & (rm[None, :] < M)
    tl.store(o_ptr + rn[:, None] * M + rm[None, :], tl.trans(x), mask=back)


@triton.jit
def conv1d(x_ptr, w_ptr, o_ptr, n, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for tap in tl.static_range(TAPS):
        at = offsets + (tap - TAPS // 2)
        x = tl.load(x_ptr + at, mask=(at >= 0) & (at < n), other=0.0)
        acc += x.to(tl.float32) * tl.load(w_ptr + tap).to(tl.float32)
    tl.store(o_ptr + offsets, acc.to(tl.float16), mask=offsets < n)


@triton.jit
def layernorm_backward(x_ptr, w_ptr, dy_ptr, dx_ptr, dw_ptr, db_ptr, n, eps, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    place = tl.program_id(0) * n + offsets
    x = tl.load(x_ptr + place, mask=mask, other=0.0)
    dy = tl.load(dy_ptr + place, mask=mask, other=0.0)
    w = tl.load(w_ptr + offsets, mask=mask, other=0.0)
    mean = tl.sum(x, 0) / n
    centred = tl.where(mask, x - mean, 0.0)
    inverse = tl.rsqrt(tl.sum(centred * centred, 0) / n + eps)
    normal = centred * inverse
    wdy = w * dy
    first = tl.sum(normal * wdy, 0) / n
    second = tl.sum(wdy, 0) / n
    tl.store(dx_ptr + place, (wdy - (normal * first + second)) * inverse, mask=mask)
    tl.atomic_add(dw_ptr + offsets, dy * normal, mask=mask)
    tl.atomic_add(db_ptr + offsets, dy, mask=mask)


@triton.jit
def cast_fp8(x_ptr, e4m3_ptr, e5m2_ptr, back_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    small = x.to(tl.float8e4nv)
    wide = x.to(tl.float8e5)
    tl.store(e4m3_ptr + offsets, small, mask=mask)
    tl.store(e5m2_ptr + offsets, wide, mask=mask)
    tl.store(back_ptr + offsets, small.to(tl.float32) + wide.to(tl.float32), mask=mask)


@triton.jit
def bits_and_ints(x_ptr, y_ptr, q_ptr, r_ptr, high_ptr, count_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    y = tl.load(y_ptr + offsets, mask=mask, other=1)
    tl.store(q_ptr + offsets, x // y, mask=mask)
    tl.store(r_ptr + offsets, x % y, mask=mask)
    tl.store(high_ptr + offsets, tl.umulhi(x.to(tl.uint64, bitcast=True), y.to(tl.uint64, bitcast=True)), mask=mask)
    tl.store(count_ptr + offsets, ((x >> 7) ^ (y << 3)) & ~(x | y), mask=mask)


F, I = "*fp32", "*i32"
KERNELS = [
    ("sort_rows", sort_rows, {"x_ptr": F, "o_ptr": F, "n": "i32"}, {"BLOCK": 256}, (80,), 4),
    ("cumsum", cumsum, {"x_ptr": I, "sum_ptr": I, "back_ptr": I, "n": "i32"}, {"BLOCK": 512}, (80,), 4),
    ("linear_recurrence", linear_recurrence, {"a_ptr": I, "b_ptr": I, "y_ptr": I, "n": "i32"}, {"BLOCK": 256}, (80,), 4),
    ("extremes", extremes, {"x_ptr": F, "argmax_ptr": I, "argmin_ptr": I, "max_ptr": F, "xor_ptr": I, "n": "i32"},
     {"BLOCK": 1024}, (80,), 4),
    ("histogram_block", histogram_block, {"x_ptr": I, "h_ptr": I, "n": "i32"}, {"BLOCK": 512, "BINS": 64}, (80,), 4),
    ("gather_rows", gather_rows, {"x_ptr": F, "index_ptr": I, "o_ptr": F, "n": "i32"},
     {"ROWS": 8, "COLUMNS": 64}, (80,), 4),
    ("transpose_tile", transpose_tile, {"x_ptr": "*fp16", "o_ptr": "*fp16", "M": "i32", "N": "i32"},
     {"BM": 64, "BN": 32}, (80,), 4),
    ("conv1d", conv1d, {"x_ptr": "*fp16", "w_ptr": "*fp16", "o_ptr": "*fp16", "n": "i32"},
     {"TAPS": 5, "BLOCK": 512}, (80,), 4),
    ("layernorm_backward", layernorm_backward,
     {"x_ptr": F, "w_ptr": F, "dy_ptr": F, "dx_ptr": F, "dw_ptr": F, "db_ptr": F, "n": "i32", "eps": "fp32"},
     {"BLOCK": 512}, (80,), 4),
    ("cast_fp8", cast_fp8, {"x_ptr": F, "e4m3_ptr": "*fp8e4nv", "e5m2_ptr": "*fp8e5", "back_ptr": F, "n": "i32"},
     {"BLOCK": 512}, (89, 90), 4),
    ("bits_and_ints", bits_and_ints,
     {"x_ptr": "*i64", "y_ptr": "*i64", "q_ptr": "*i64", "r_ptr": "*i64", "high_ptr": "*u64", "count_ptr": "*i64", "n": "i32"},
     {"BLOCK": 256}, (80,), 4),
]
