// Tensor cores through nvcuda::wmma: what tests/emulator/test_wmma_kernels.py runs.
// nvcc -ptx -arch=sm_80 wmma.cu -o wmma.ptx
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <type_traits>
using namespace nvcuda;

template <int M, int N, int K, class T, class C, class LA, class LB>
static __device__ void tile(const T* a, const T* b, const C* c, C* d, int n, int k, int lda, int ldb) {
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> acc;
    wmma::load_matrix_sync(acc, c, n, wmma::mem_row_major);
    const bool row_a = std::is_same<LA, wmma::row_major>::value;
    const bool row_b = std::is_same<LB, wmma::row_major>::value;
    for (int i = 0; i < k; i += K) {
        wmma::load_matrix_sync(fa, a + (row_a ? i : i * lda), lda);
        wmma::load_matrix_sync(fb, b + (row_b ? i * ldb : i), ldb);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(d, acc, n, wmma::mem_row_major);
}

// One tile: a is M x 2K, b is 2K x N.
#define TILE(name, M, N, K, T, C, LA, LB, LDA, LDB)                                             \
    extern "C" __global__ void name(const T* a, const T* b, const C* c, C* d) {                 \
        tile<M, N, K, T, C, wmma::LA, wmma::LB>(a, b, c, d, N, 2 * K, LDA, LDB);                \
    }

TILE(half_to_half, 16, 16, 16, half, half, row_major, col_major, 32, 32)
TILE(half_to_float, 16, 16, 16, half, float, col_major, row_major, 16, 16)
TILE(half_broad, 8, 32, 16, half, float, row_major, row_major, 32, 32)
TILE(half_tall, 32, 8, 16, half, half, col_major, col_major, 32, 32)
TILE(bfloat, 16, 16, 16, __nv_bfloat16, float, row_major, row_major, 32, 16)
TILE(bfloat_tall, 32, 8, 16, __nv_bfloat16, float, row_major, col_major, 32, 32)
TILE(doubles, 8, 8, 4, double, double, row_major, col_major, 8, 8)
TILE(bytes, 16, 16, 16, unsigned char, int, row_major, col_major, 32, 32)
TILE(signed_bytes, 32, 8, 16, signed char, int, col_major, row_major, 32, 8)

extern "C" __global__ void tf32(const float* a, const float* b, const float* c, float* d) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc;
    wmma::load_matrix_sync(acc, c, 16, wmma::mem_row_major);
    for (int i = 0; i < 16; i += 8) {
        wmma::load_matrix_sync(fa, a + i, 16);
        wmma::load_matrix_sync(fb, b + i, 16);
        for (int e = 0; e < fa.num_elements; ++e) fa.x[e] = wmma::__float_to_tf32(fa.x[e]);
        for (int e = 0; e < fb.num_elements; ++e) fb.x[e] = wmma::__float_to_tf32(fb.x[e]);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(d, acc, 16, wmma::mem_row_major);
}

extern "C" __global__ void nibbles(const void* a, const void* b, const int* c, int* d) {
    using namespace wmma::experimental;
    wmma::fragment<wmma::matrix_a, 8, 8, 32, precision::s4, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, precision::s4, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> acc;
    wmma::load_matrix_sync(acc, c, 8, wmma::mem_row_major);
    wmma::load_matrix_sync(fa, a, 64);
    wmma::load_matrix_sync(fb, b, 64);
    wmma::mma_sync(acc, fa, fb, acc, true);
    wmma::load_matrix_sync(fa, (const char*)a + 16, 64);
    wmma::load_matrix_sync(fb, (const char*)b + 16, 64);
    wmma::mma_sync(acc, fa, fb, acc);
    wmma::store_matrix_sync(d, acc, 8, wmma::mem_row_major);
}

extern "C" __global__ void single_bits(const unsigned* a, const unsigned* b, const int* c, int* d) {
    using namespace wmma::experimental;
    wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> acc, both;
    wmma::load_matrix_sync(acc, c, 8, wmma::mem_row_major);
    wmma::fill_fragment(both, 0);
    wmma::load_matrix_sync(fa, a, 128);
    wmma::load_matrix_sync(fb, b, 128);
    wmma::bmma_sync(acc, fa, fb, acc, bmmaBitOpXOR);
    wmma::bmma_sync(both, fa, fb, both, bmmaBitOpAND);
    wmma::store_matrix_sync(d, acc, 8, wmma::mem_row_major);
    wmma::store_matrix_sync(d + 64, both, 8, wmma::mem_row_major);
}

// d = max(2 a b + c, 0) of 64 x 64 x 64, four warps a block, tiles through shared memory.
extern "C" __global__ void shared_tiles(const half* a, const half* b, const float* c, float* d) {
    __shared__ __align__(128) half sa[32][24], sb[16][40];
    const int warp = threadIdx.x / 32, row = blockIdx.y * 32, column = blockIdx.x * 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc, from;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < 64; k += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += blockDim.x) {
            sa[i / 16][i % 16] = a[(row + i / 16) * 64 + k + i % 16];
            sb[i / 32][i % 32] = b[(k + i / 32) * 64 + column + i % 32];
        }
        __syncthreads();
        wmma::load_matrix_sync(fa, &sa[warp / 2 * 16][0], 24);
        wmma::load_matrix_sync(fb, &sb[0][warp % 2 * 16], 40);
        wmma::mma_sync(acc, fa, fb, acc);
        __syncthreads();
    }
    const int place = (row + warp / 2 * 16) * 64 + column + warp % 2 * 16;
    wmma::load_matrix_sync(from, c + place, 64, wmma::mem_row_major);
    for (int e = 0; e < acc.num_elements; ++e) acc.x[e] = fmaxf(2.0f * acc.x[e] + from.x[e], 0.0f);
    wmma::store_matrix_sync(d + place, acc, 64, wmma::mem_row_major);
}
