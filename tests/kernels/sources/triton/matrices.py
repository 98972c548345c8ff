"""Matrix products of each element type that tensor cores take, and what is built of them."""

import triton
import triton.language as tl


@triton.jit
def matmul_tf32(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = (rm[:, None] < M) & ((k + rk)[None, :] < K)
        right = ((k + rk)[:, None] < K) & (rn[None, :] < N)
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :], mask=left, other=0.0)
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :], mask=right, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="tf32")
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def matmul_tf32x3(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc, input_precision="tf32x3")
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def matmul_any(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
               ACC: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=ACC)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc, out_dtype=ACC)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def batched_matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = (rm[:, None] < M) & ((k + rk)[None, :] < K)
        right = ((k + rk)[:, None] < K) & (rn[None, :] < N)
        a = tl.load(a_ptr + batch * M * K + rm[:, None] * K + (k + rk)[None, :], mask=left, other=0.0)
        b = tl.load(b_ptr + batch * K * N + (k + rk)[:, None] * N + rn[None, :], mask=right, other=0.0)
        acc = tl.dot(a, b, acc)
    acc = tl.maximum(acc, 0.0)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + batch * M * N + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16), mask=inside)


@triton.jit
def causal_attention(q_ptr, k_ptr, v_ptr, o_ptr, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    block = tl.program_id(0)
    head = tl.program_id(1) * N * D
    rm = block * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + head + rm[:, None] * D + rd[None, :], mask=rm[:, None] < N, other=0.0)
    largest = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, (block + 1) * BM, BN):
        rn = start + tl.arange(0, BN)
        k = tl.load(k_ptr + head + rn[None, :] * D + rd[:, None], mask=rn[None, :] < N, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where((rm[:, None] >= rn[None, :]) & (rn[None, :] < N), s, -float("inf"))
        new = tl.maximum(largest, tl.max(s, 1))
        p = tl.exp2((s - new[:, None]) * 1.44269504)
        keep = tl.exp2((largest - new) * 1.44269504)
        total = total * keep + tl.sum(p, 1)
        v = tl.load(v_ptr + head + rn[:, None] * D + rd[None, :], mask=rn[:, None] < N, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * keep[:, None])
        largest = new
    out = acc / total[:, None]
    tl.store(o_ptr + head + rm[:, None] * D + rd[None, :], out.to(o_ptr.dtype.element_ty), mask=rm[:, None] < N)


@triton.jit
def four_bits(a_ptr, b_ptr, scale_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # b holds two rows in a byte, less eight each, and a factor for each 32 rows of a column.
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    rp = tl.arange(0, BK // 2)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
        packed = tl.load(b_ptr + (k // 2 + rp)[:, None] * N + rn[None, :])
        low, high = (packed & 15).to(tl.int8) - 8, (packed >> 4).to(tl.int8) - 8
        b = tl.reshape(tl.permute(tl.join(low, high), (0, 2, 1)), (BK, BN)).to(tl.float16)
        scale = tl.load(scale_ptr + (k // BK) * N + rn)
        acc += tl.dot(a, b) * scale[None, :]
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def split_k(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    rm = tl.arange(0, BM)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.program_id(1) * BK, K, PARTS * BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :])
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc)
    tl.atomic_add(c_ptr + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def scaled_formats(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # Microscaling: e4m3 and e2m1 numbers, with a power of two for each 32 of them.
    rm = tl.arange(0, BM)
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rs = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + tl.arange(0, BK))[None, :])
        b = tl.load(b_ptr + (k // 2 + tl.arange(0, BK // 2))[:, None] * N + rn[None, :])
        a_scale = tl.load(a_scale_ptr + rm[:, None] * (K // 32) + (k // 32 + rs)[None, :])
        b_scale = tl.load(b_scale_ptr + rn[:, None] * (K // 32) + (k // 32 + rs)[None, :])
        acc = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e2m1", acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def attention_backward(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, N, scale,
                       BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    # A program for each block of keys goes over all queries; the weights are made anew of their logarithms.
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rd = tl.arange(0, D)
    keys = rn[:, None] * D + rd[None, :]
    k = tl.load(k_ptr + keys)
    v = tl.load(v_ptr + keys)
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    for start in range(0, N, BM):
        rm = start + tl.arange(0, BM)
        queries = rm[:, None] * D + rd[None, :]
        q = tl.load(q_ptr + queries)
        do = tl.load(do_ptr + queries)
        p = tl.exp(tl.dot(q, tl.trans(k)) * scale - tl.load(lse_ptr + rm)[:, None])
        dv = tl.dot(tl.trans(p.to(q.dtype)), do, dv)
        ds = (p * (tl.dot(do, tl.trans(v)) - tl.load(delta_ptr + rm)[:, None]) * scale).to(q.dtype)
        dk = tl.dot(tl.trans(ds), q, dk)
        tl.atomic_add(dq_ptr + queries, tl.dot(ds, k))
    tl.store(dk_ptr + keys, dk)
    tl.store(dv_ptr + keys, dv)


TILE = {"BM": 32, "BN": 32, "BK": 32}
GROUP = {"BM": 64, "BN": 64, "BK": 64}


def _three(ab, c):
    return {"a_ptr": "*" + ab, "b_ptr": "*" + ab, "c_ptr": "*" + c}


SIZES = {"M": "i32", "N": "i32", "K": "i32"}
NK = {"N": "i32=16", "K": "i32=16"}
KERNELS = [
    ("matmul_tf32", matmul_tf32, _three("fp32", "fp32") | SIZES, TILE, (80,), 2),
    ("matmul_tf32x3", matmul_tf32x3, _three("fp32", "fp32") | NK, TILE, (80,), 4),
    ("matmul_s8", matmul_any, _three("i8", "i32") | NK, TILE | {"BK": 64, "ACC": "int32"}, (80,), 4),
    ("matmul_bf16", matmul_any, _three("bf16", "fp32") | NK, TILE | {"ACC": "float32"}, (80,), 4),
    ("matmul_f16acc", matmul_any, _three("fp16", "fp16") | NK, TILE | {"ACC": "float16"}, (80, 90), 4),
    ("matmul_f64", matmul_any, _three("fp64", "fp64") | NK, TILE | {"ACC": "float64"}, (80, 90), 4),
    ("matmul_e4m3", matmul_any, _three("fp8e4nv", "fp32") | NK, TILE | {"ACC": "float32"}, (89, 90), 4),
    ("matmul_e5m2", matmul_any, _three("fp8e5", "fp32") | NK, TILE | {"ACC": "float32"}, (89, 90), 4),
    ("batched_matmul", batched_matmul, _three("fp16", "bf16") | SIZES, TILE, (80,), 4),
    ("causal_attention", causal_attention,
     {"q_ptr": "*bf16", "k_ptr": "*bf16", "v_ptr": "*bf16", "o_ptr": "*bf16", "N": "i32", "scale": "fp32"},
     {"BM": 32, "BN": 32, "D": 32}, (80,), 4),
    ("attention_backward", attention_backward,
     dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "do_ptr"), "*fp16")
     | dict.fromkeys(("lse_ptr", "delta_ptr", "dq_ptr", "dk_ptr", "dv_ptr"), "*fp32") | {"N": "i32=16", "scale": "fp32"},
     {"BM": 32, "BN": 64, "D": 32}, (80,), 4),
    ("four_bits", four_bits, {"a_ptr": "*fp16", "b_ptr": "*u8", "scale_ptr": "*fp32", "c_ptr": "*fp32"} | NK, TILE, (80,), 4),
    ("split_k", split_k, _three("fp16", "fp32") | NK, TILE | {"PARTS": 3}, (80,), 4),
    ("scaled_formats", scaled_formats,
     {"a_ptr": "*fp8e4nv", "a_scale_ptr": "*u8", "b_ptr": "*u8", "b_scale_ptr": "*u8", "c_ptr": "*fp32"} | NK,
     {"BM": 32, "BN": 32, "BK": 64}, (89,), 4),
    # Tiles that a warpgroup multiplies at once.
    ("group_bf16", matmul_any, _three("bf16", "fp32") | NK, GROUP | {"ACC": "float32"}, (90,), 4),
    ("group_f16acc", matmul_any, _three("fp16", "fp16") | NK, GROUP | {"ACC": "float16"}, (90,), 4),
    ("group_tf32", matmul_any, _three("fp32", "fp32") | NK, GROUP | {"BK": 32, "ACC": "float32"}, (90,), 4),
    ("group_s8", matmul_any, _three("i8", "i32") | NK, GROUP | {"ACC": "int32"}, (90,), 4),
    ("group_e4m3", matmul_any, _three("fp8e4nv", "fp32") | NK, GROUP | {"ACC": "float32"}, (90,), 4),
    ("group_e5m2", matmul_any, _three("fp8e5", "fp32") | NK, GROUP | {"ACC": "float32"}, (90,), 8),
]
