// nvcc -arch=sm_80
// Tensor cores as libraries drive them: ldmatrix, mma and fragments by hand.
#include <cuda_fp16.h>

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// c = a b, tiles of 16x16 of one warp; a as rows, b as rows too, turned by ldmatrix.trans.
extern "C" __global__ void rows_by_rows(const half* a, const half* b, float* c, int n, int k) {
    __shared__ __align__(16) half as[16][24], bs[16][24];
    int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 16;
    float sum[2][4] = {};
    for (int step = 0; step < k; step += 16) {
        for (int j = lane; j < 32; j += 32) {
            int r = j / 2, h = j % 2 * 8;
            *(uint4*)&as[r][h] = *(const uint4*)&a[(row + r) * k + step + h];
            *(uint4*)&bs[r][h] = *(const uint4*)&b[(step + r) * n + column + h];
        }
        __syncwarp();
        unsigned f[4], g[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(shared_address(&as[lane % 16][lane / 16 * 8])) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(g[0]), "=r"(g[1]), "=r"(g[2]), "=r"(g[3]) : "r"(shared_address(&bs[lane % 16][lane / 16 * 8])) : "memory");
        for (int h = 0; h < 2; h++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(sum[h][0]), "+f"(sum[h][1]), "+f"(sum[h][2]), "+f"(sum[h][3])
                         : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g[2 * h]), "r"(g[2 * h + 1]));
        __syncwarp();
    }
    for (int h = 0; h < 2; h++)
        for (int j = 0; j < 4; j++)
            c[(row + lane / 4 + j / 2 * 8) * n + column + 8 * h + lane % 4 * 2 + j % 2] = sum[h][j];
}

// Two of four in each row of a, with the places of the ones that are kept.
extern "C" __global__ void two_of_four(const half* a, const unsigned char* places, const half* b, float* c) {
    int lane = threadIdx.x, group = lane / 4, in = lane % 4;
    // a: 16 rows of 8 kept; b: 16 x 8, column by column.
    unsigned f[2], g[2], e = 0;
    for (int r = 0; r < 2; r++) f[r] = *(const unsigned*)&a[(group + 8 * r) * 8 + in * 2];
    for (int r = 0; r < 2; r++) g[r] = *(const unsigned*)&b[group * 16 + in * 2 + 8 * r];
    // Lane 4 g of a quad tells of row g, and lane 4 g + 1 of row g + 8: four bits for each four of a row.
    int told = group + 8 * (in % 2);
    for (int q = 0; q < 4; q++) e |= (unsigned)(places[told * 4 + q] & 15) << (4 * q);
    unsigned other = __shfl_down_sync(0xffffffff, e, 1);
    unsigned both = in % 2 == 0 ? e | other << 16 : e;
    float d[4] = {};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, %2, %3}, %8, 0x0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(f[0]), "r"(f[1]), "r"(g[0]), "r"(g[1]), "r"(both));
    for (int j = 0; j < 4; j++) c[(group + j / 2 * 8) * 8 + in * 2 + j % 2] = d[j];
}

// Warps that agree: reduced at once, voted on, matched.
extern "C" __global__ void warp_words(const unsigned* x, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned inside = __ballot_sync(0xffffffff, i < n);
    if (i >= n) return;
    unsigned v = x[i], r = __reduce_add_sync(inside, v);
    r ^= __reduce_max_sync(inside, v) << 1 ^ __reduce_min_sync(inside, v) << 2;
    r += __reduce_xor_sync(inside, v) ^ __reduce_and_sync(inside, v | 3) ^ __reduce_or_sync(inside, v & 0xf0f0);
    int same;
    unsigned all = __match_all_sync(inside, v >> 31, &same);
    out[i] = r + (same ? all : 5) + __popc(__match_any_sync(inside, v & 3));
}
