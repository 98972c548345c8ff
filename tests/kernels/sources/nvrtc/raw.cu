// As a RawKernel of CuPy is compiled: no headers but the toolkit's, names kept by extern "C".
#include <cuda_fp16.h>
#include <cooperative_groups.h>

template <typename T> __device__ T warp_sum(T v) {
    for (int step = 16; step > 0; step >>= 1) v += __shfl_xor_sync(0xffffffff, v, step);
    return v;
}

extern "C" __global__ void sum_rows(const float* x, double* out, int rows, int columns) {
    __shared__ double parts[4];
    int row = blockIdx.x;
    double sum = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += x[(long long)row * columns + c];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) out[row] = parts[0] + parts[1] + parts[2] + parts[3];
}

extern "C" __global__ void gray(const uchar3* rgb, unsigned char* out, int pixels) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += stride) {
        uchar3 p = rgb[i];
        out[i] = (p.x * 77 + p.y * 150 + p.z * 29 + 128) >> 8;
    }
}

extern "C" __global__ void axpby_half(const __half* x, __half* y, float a, float b, unsigned long long n) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = __float2half(a * __half2float(x[i]) + b * __half2float(y[i]));
}

// A separable box filter over a tile with its border, in two passes through shared memory.
extern "C" __global__ void box3x3(const int* x, int* out, int width, int height) {
    __shared__ int tile[10][18], sums[10][16];
    int x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 8 - 1, t = threadIdx.y * 16 + threadIdx.x;
    for (int k = t; k < 180; k += 128) {
        int px = min(max(x0 + k % 18, 0), width - 1), py = min(max(y0 + k / 18, 0), height - 1);
        tile[k / 18][k % 18] = x[py * width + px];
    }
    __syncthreads();
    for (int k = t; k < 160; k += 128) sums[k / 16][k % 16] = tile[k / 16][k % 16] + tile[k / 16][k % 16 + 1] + tile[k / 16][k % 16 + 2];
    __syncthreads();
    int px = x0 + 1 + threadIdx.x, py = y0 + 1 + threadIdx.y;
    if (px < width && py < height)
        out[py * width + px] = (sums[threadIdx.y][threadIdx.x] + sums[threadIdx.y + 1][threadIdx.x] + sums[threadIdx.y + 2][threadIdx.x]) / 9;
}
