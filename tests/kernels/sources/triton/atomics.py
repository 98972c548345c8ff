"""Atomics of each type, a spin lock, and what a kernel says while it runs."""

import triton
import triton.language as tl


@triton.jit
def spin_lock(x_ptr, lock_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    slot = sum_ptr + tl.arange(0, BLOCK)
    tl.store(slot, tl.load(slot) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def atomic_halves(x_ptr, index_ptr, f16_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    index = tl.load(index_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(f16_ptr + index, x.to(f16_ptr.dtype.element_ty), mask=mask)


@triton.jit
def atomic_all(x_ptr, index_ptr, min_ptr, max_ptr, and_ptr, or_ptr, xor_ptr, umax_ptr, fmax_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    index = tl.load(index_ptr + offsets, mask=mask, other=0)
    tl.atomic_min(min_ptr + index, x, mask=mask)
    tl.atomic_max(max_ptr + index, x, mask=mask)
    tl.atomic_and(and_ptr + index, x, mask=mask)
    tl.atomic_or(or_ptr + index, x, mask=mask)
    tl.atomic_xor(xor_ptr + index, x, mask=mask)
    tl.atomic_max(umax_ptr + index, x.to(tl.uint32, bitcast=True), mask=mask)
    tl.atomic_max(fmax_ptr + index, x.to(tl.float32), mask=mask)


@triton.jit
def tickets(order_ptr, counter_ptr, BLOCK: tl.constexpr):
    ticket = tl.atomic_add(counter_ptr, 1, sem="acq_rel")
    tl.store(order_ptr + ticket * BLOCK + tl.arange(0, BLOCK), tl.program_id(0) + tl.zeros((BLOCK,), tl.int32))


@triton.jit
def prints(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.device_print("value", x)


@triton.jit
def asserts(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.device_assert(x >= 0, "a count is never negative")
    tl.store(o_ptr + offsets, x + 1, mask=offsets < n)


I = "*i32"
KERNELS = [
    ("spin_lock", spin_lock, {"x_ptr": I, "lock_ptr": I, "sum_ptr": I, "n": "i32"}, {"BLOCK": 128}, (80,), 4),
    ("atomic_f16", atomic_halves, {"x_ptr": "*fp32", "index_ptr": I, "f16_ptr": "*fp16", "n": "i32"}, {"BLOCK": 256}, (80,), 4),
    ("atomic_bf16", atomic_halves, {"x_ptr": "*fp32", "index_ptr": I, "f16_ptr": "*bf16", "n": "i32"}, {"BLOCK": 256}, (90,), 4),
    ("atomic_all", atomic_all,
     {"x_ptr": I, "index_ptr": I, "min_ptr": I, "max_ptr": I, "and_ptr": I, "or_ptr": I, "xor_ptr": I, "umax_ptr": "*u32",
      "fmax_ptr": "*fp32", "n": "i32"}, {"BLOCK": 256}, (80,), 4),
    ("tickets", tickets, {"order_ptr": I, "counter_ptr": I}, {"BLOCK": 32}, (80,), 1),
    ("prints", prints, {"x_ptr": I, "n": "i32"}, {"BLOCK": 32}, (80,), 1),
    ("asserts", asserts, {"x_ptr": I, "o_ptr": I, "n": "i32"}, {"BLOCK": 128}, (80,), 4),
]
