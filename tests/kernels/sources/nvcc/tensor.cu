// nvcc -arch=sm_80
// Tensor cores through nvcuda::wmma, a warp a tile.
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;

extern "C" __global__ void wmma_f16(const half* a, const half* b, const float* c, float* d, int m, int n, int k) {
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::load_matrix_sync(acc, c + row * n + column, n, wmma::mem_row_major);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + row * k + i, k);
        wmma::load_matrix_sync(fb, b + column * k + i, k);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    for (int i = 0; i < acc.num_elements; i++) acc.x[i] = fmaxf(acc.x[i], 0.0f);
    wmma::store_matrix_sync(d + row * n + column, acc, n, wmma::mem_row_major);
}

extern "C" __global__ void wmma_tf32(const float* a, const float* b, float* d, int m, int n, int k) {
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int i = 0; i < k; i += 8) {
        wmma::load_matrix_sync(fa, a + row * k + i, k);
        wmma::load_matrix_sync(fb, b + i * n + column, n);
        for (int j = 0; j < fa.num_elements; j++) fa.x[j] = wmma::__float_to_tf32(fa.x[j]);
        for (int j = 0; j < fb.num_elements; j++) fb.x[j] = wmma::__float_to_tf32(fb.x[j]);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(d + row * n + column, acc, n, wmma::mem_row_major);
}

extern "C" __global__ void wmma_s8(const signed char* a, const signed char* b, int* d, int m, int n, int k) {
    __shared__ __align__(32) signed char tile[32 * 16];
    int row = blockIdx.y * 32, column = blockIdx.x * 8;
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> acc;
    wmma::fill_fragment(acc, 0);
    for (int i = 0; i < k; i += 16) {
        for (int j = threadIdx.x; j < 32 * 16; j += 32) tile[j] = a[(row + j / 16) * k + i + j % 16];
        __syncwarp();
        wmma::load_matrix_sync(fa, tile, 16);
        wmma::load_matrix_sync(fb, b + column * k + i, k);
        wmma::mma_sync(acc, fa, fb, acc);
        __syncwarp();
    }
    wmma::store_matrix_sync(d + column * m + row, acc, m, wmma::mem_col_major);
}

extern "C" __global__ void wmma_f64(const double* a, const double* b, double* d, int n, int k) {
    int row = blockIdx.y * 8, column = blockIdx.x * 8;
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> acc;
    wmma::fill_fragment(acc, 0.0);
    for (int i = 0; i < k; i += 4) {
        wmma::load_matrix_sync(fa, a + row * k + i, k);
        wmma::load_matrix_sync(fb, b + i * n + column, n);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    wmma::store_matrix_sync(d + row * n + column, acc, n, wmma::mem_row_major);
}

// One bit an element: how many of a row's bits and a column's differ.
extern "C" __global__ void wmma_b1(const unsigned* a, const unsigned* b, int* d, int n, int k) {
    using namespace wmma::experimental;
    int row = blockIdx.y * 8, column = blockIdx.x * 8;
    wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> acc;
    wmma::fill_fragment(acc, 0);
    for (int i = 0; i < k; i += 128) {
        wmma::load_matrix_sync(fa, a + (row * k + i) / 32, k);
        wmma::load_matrix_sync(fb, b + (column * k + i) / 32, k);
        bmma_sync(acc, fa, fb, acc, bmmaBitOpXOR);
    }
    wmma::store_matrix_sync(d + row * n + column, acc, n, wmma::mem_row_major);
}
