"""Elements: random numbers, functions of the library, shuffled tensors, PTX of one's own, reductions of tuples."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def randoms(seed, whole_ptr, four_ptr, normal_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(whole_ptr + offsets, tl.randint(seed, offsets), mask=mask)
    a, b, c, d = tl.randint4x(seed, offsets, 7)
    tl.store(four_ptr + offsets, a ^ (b * 3) ^ (c * 5) ^ (d * 7), mask=mask)
    tl.store(normal_ptr + offsets, tl.randn(seed, offsets), mask=mask)


@triton.jit
def functions(x_ptr, gelu_ptr, power_ptr, angle_ptr, double_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=1.0)
    tl.store(gelu_ptr + offsets, 0.5 * x * (1.0 + libdevice.erf(x * 0.7071067811865476)), mask=mask)
    tl.store(power_ptr + offsets, libdevice.pow(tl.abs(x), 0.75) + libdevice.tanh(x) + tl.sigmoid(x), mask=mask)
    tl.store(angle_ptr + offsets, libdevice.atan2(x, 2.0) + tl.cos(x) * tl.sin(x) + libdevice.log1p(tl.abs(x)), mask=mask)
    wide = x.to(tl.float64)
    tl.store(double_ptr + offsets, libdevice.erfc(wide) + libdevice.cbrt(wide) + libdevice.lgamma(tl.abs(wide) + 1.5), mask=mask)


@triton.jit
def shuffled(x_ptr, y_ptr, joined_ptr, turned_ptr, parts_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    base = tl.program_id(0) * BLOCK
    x = tl.load(x_ptr + base + offsets)
    y = tl.load(y_ptr + base + offsets)
    tl.store(joined_ptr + 2 * base + tl.arange(0, 2 * BLOCK), tl.interleave(x, y))
    tl.store(turned_ptr + base + offsets, tl.flip(x, 0))
    square = tl.reshape(x - y, (BLOCK // 16, 4, 4))
    turned = tl.reshape(tl.permute(square, (2, 0, 1)), (BLOCK,))
    low, high = tl.split(tl.reshape(turned, (BLOCK // 2, 2)))
    tl.store(parts_ptr + base // 2 + tl.arange(0, BLOCK // 2), low * 3 + high)


@triton.jit
def own_words(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0)
    mixed = tl.inline_asm_elementwise(
        "lop3.b32 $0, $1, $2, 0x12345678, 0x96; prmt.b32 $0, $0, $2, 0x0246; shf.l.wrap.b32 $0, $0, $1, $2;",
        "=r,r,r", [x, y], dtype=tl.int32, is_pure=True, pack=1)
    apart = tl.inline_asm_elementwise(
        "{ .reg .b32 none; mov.b32 none, 0; vabsdiff4.u32.u32.u32 $0, $1, $2, none; }", "=r,r,r",
        [x.to(tl.uint8), y.to(tl.uint8)], dtype=tl.uint8, is_pure=True, pack=4)
    tl.store(out_ptr + offsets, mixed + apart.to(tl.int32), mask=mask)


@triton.jit
def _welford(mean, square, count, other_mean, other_square, other_count):
    delta, total = other_mean - mean, count + other_count
    part = tl.where(total == 0, 0.0, other_count / total)
    return mean + delta * part, square + other_square + delta * delta * count * part, total


@triton.jit
def welford(x_ptr, mean_ptr, variance_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + row * n + offsets, mask=mask, other=0.0)
    count = mask.to(tl.float32)
    mean, square, total = tl.reduce((x, tl.zeros_like(x), count), 0, _welford)
    tl.store(mean_ptr + row, mean)
    tl.store(variance_ptr + row, square / total)


@triton.jit
def best_of_row(x_ptr, o_ptr, n, BLOCK: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + offsets, mask=offsets < n, other=-2147483648)
    tl.store(o_ptr + row * K + tl.arange(0, K), tl.topk(x, K))


@triton.jit
def collatz(o_ptr, n, BLOCK: tl.constexpr):
    # Each program goes on until the last of its numbers is at one.
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.where(offsets < n, offsets + 1, 1).to(tl.int64)
    steps = tl.zeros((BLOCK,), tl.int32)
    while tl.max(value, 0) > 1:
        live = value > 1
        value = tl.where(live, tl.where(value % 2 == 0, value // 2, 3 * value + 1), value)
        steps += live.to(tl.int32)
    tl.store(o_ptr + offsets, steps, mask=offsets < n)


F, I = "*fp32", "*i32"
KERNELS = [
    ("randoms", randoms, {"seed": "i32", "whole_ptr": I, "four_ptr": I, "normal_ptr": F, "n": "i32"}, {"BLOCK": 256}, (80,), 4),
    ("functions", functions,
     {"x_ptr": F, "gelu_ptr": F, "power_ptr": F, "angle_ptr": F, "double_ptr": "*fp64", "n": "i32"}, {"BLOCK": 256}, (80,), 4),
    ("shuffled", shuffled, {"x_ptr": I, "y_ptr": I, "joined_ptr": I, "turned_ptr": I, "parts_ptr": I}, {"BLOCK": 256}, (80,), 4),
    ("own_words", own_words, {"x_ptr": I, "y_ptr": I, "out_ptr": I, "n": "i32"}, {"BLOCK": 512}, (80,), 4),
    ("welford", welford, {"x_ptr": F, "mean_ptr": F, "variance_ptr": F, "n": "i32"}, {"BLOCK": 512}, (80,), 4),
    ("best_of_row", best_of_row, {"x_ptr": I, "o_ptr": I, "n": "i32"}, {"BLOCK": 128, "K": 8}, (80,), 2),
    ("collatz", collatz, {"o_ptr": I, "n": "i32"}, {"BLOCK": 128}, (80,), 4),
]
