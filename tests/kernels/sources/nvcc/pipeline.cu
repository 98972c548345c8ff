// nvcc -arch=sm_80
// Copies that go on by themselves: cp.async groups, cuda::pipeline, cuda::barrier.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

// Three stages of a running dot product; elements past the end are filled with zeros.
extern "C" __global__ void staged_dot(const float4* x, const float4* y, float* out, int n) {
    constexpr int stages = 3, threads = 64;
    __shared__ float4 xs[stages][threads], ys[stages][threads];
    int t = threadIdx.x, tiles = (n + threads - 1) / threads;
    auto fetch = [&](int tile) {
        int i = tile * threads + t;
        if (tile < tiles) {
            bool inside = i < n;
            __pipeline_memcpy_async(&xs[tile % stages][t], x + (inside ? i : 0), 16, inside ? 0 : 16);
            __pipeline_memcpy_async(&ys[tile % stages][t], y + (inside ? i : 0), 16, inside ? 0 : 16);
        }
        __pipeline_commit();
    };
    for (int s = 0; s < stages - 1; s++) fetch(s);
    float sum = 0;
    for (int tile = 0; tile < tiles; tile++) {
        fetch(tile + stages - 1);
        __pipeline_wait_prior(stages - 1);
        __syncthreads();
        // Another thread's elements: the copy must be visible to all.
        float4 p = xs[tile % stages][threads - 1 - t], q = ys[tile % stages][threads - 1 - t];
        sum = fmaf(p.x, q.x, fmaf(p.y, q.y, fmaf(p.z, q.z, fmaf(p.w, q.w, sum))));
        __syncthreads();
    }
    out[t] = sum;
}

extern "C" __global__ void cuda_pipeline(const int* x, int* out, int n) {
    constexpr int stages = 2;
    __shared__ int tile[stages][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int batches = n / 128, sum = 0;
    auto fill = [&](int b) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, tile[b % stages], x + b * 128, sizeof(int) * 128, pipe);
        pipe.producer_commit();
    };
    for (int b = 0; b < stages && b < batches; b++) fill(b);
    for (int b = 0; b < batches; b++) {
        pipe.consumer_wait();
        sum = sum * 3 + tile[b % stages][(threadIdx.x * 7 + b) % 128];
        pipe.consumer_release();
        if (b + stages < batches) fill(b + stages);
    }
    out[threadIdx.x] = sum;
}

// Two warps produce, two consume, in turns; full and empty barriers between them.
extern "C" __global__ void producer_consumer(const int* x, int* out, int rounds) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ int buffer[64];
    __shared__ barrier full, empty;
    if (threadIdx.x == 0) { init(&full, 128); init(&empty, 128); }
    __syncthreads();
    int lane = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int r = 0; r < rounds; r++) {
            buffer[lane] = x[r * 64 + lane] * 2 + 1;
            (void)full.arrive();
            empty.arrive_and_wait();
        }
    } else {
        int sum = 0;
        for (int r = 0; r < rounds; r++) {
            full.arrive_and_wait();
            sum = sum * 5 + buffer[63 - lane];
            (void)empty.arrive();
        }
        out[lane] = sum;
    }
}

extern "C" __global__ void barrier_copy(const int* x, int* out, int n) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ int tile[256];
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int base = blockIdx.x * 256, size = n - base < 256 ? n - base : 256;
    cuda::memcpy_async(cg::this_thread_block(), tile, x + base, cuda::aligned_size_t<4>(size * 4), bar);
    bar.arrive_and_wait();
    for (int i = threadIdx.x; i < size; i += blockDim.x) out[base + i] = tile[size - 1 - i];
}
