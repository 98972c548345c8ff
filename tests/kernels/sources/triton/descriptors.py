"""Tensors by descriptor: tiles past the end, sums into tiles, matrices; by TMA from sm_90 on, by pointers before."""

import triton
import triton.language as tl


@triton.jit
def tile_sums(x_ptr, y_ptr, total_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    y = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    total = tl.make_tensor_descriptor(total_ptr, shape=[BM, BN], strides=[BN, 1], block_shape=[BM, BN])
    tile = x.load([i, j])
    y.store([i, j], tile * 3 + tl.sum(tile, 1)[:, None])
    total.atomic_add([0, 0], tile)


@triton.jit
def descriptor_matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a.load([i, k]), b.load([k, j]), acc)
    c.store([i, j], acc.to(tl.float16))


@triton.jit
def shifted_tiles(x_ptr, index_ptr, o_ptr, M, N, ROWS: tl.constexpr, BN: tl.constexpr):
    # Tiles of a batch, from rows and columns before the start and past the end too.
    batch, i, j = tl.program_id(0), tl.program_id(1) * ROWS, tl.program_id(2) * BN
    x = tl.make_tensor_descriptor(x_ptr, shape=[2, M, N], strides=[M * N, N, 1], block_shape=[1, ROWS, BN])
    o = tl.make_tensor_descriptor(o_ptr, shape=[2, M, N], strides=[M * N, N, 1], block_shape=[1, ROWS, BN])
    shift = tl.load(index_ptr + batch)
    o.store([batch, i, j], x.load([batch, i + shift, j - shift]))


SIZES = {"M": "i32", "N": "i32=16"}
I, H = "*i32", "*fp16"
KERNELS = [
    ("tile_sums", tile_sums, {"x_ptr": I, "y_ptr": I, "total_ptr": I} | SIZES, {"BM": 16, "BN": 32}, (80, 90), 4),
    ("descriptor_matmul", descriptor_matmul, {"a_ptr": H, "b_ptr": H, "c_ptr": H} | SIZES | {"K": "i32=16"},
     {"BM": 64, "BN": 64, "BK": 32}, (80, 90), 4),
    ("shifted_tiles", shifted_tiles, {"x_ptr": "*fp32", "index_ptr": I, "o_ptr": "*fp32"} | SIZES,
     {"ROWS": 8, "BN": 16}, (80, 90), 4),
]
