// nvcc -arch=sm_80
// metadata {"launch_cooperative_grid": true}
// Barriers of all blocks: cooperative groups', and one by hand. Launched with all blocks resident.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Jacobi steps on a ring, a barrier of the grid between them.
extern "C" __global__ void grid_steps(float* a, float* b, int n, int steps) {
    auto grid = cg::this_grid();
    for (int s = 0; s < steps; s++) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) {
            float left = a[i == 0 ? n - 1 : i - 1], right = a[i == n - 1 ? 0 : i + 1];
            b[i] = 0.25f * left + 0.5f * a[i] + 0.25f * right;
        }
        grid.sync();
        float* t = a; a = b; b = t;
    }
}

// The same barrier by hand: all blocks arrive at a counter and wait for it.
extern "C" __global__ void grid_by_hand(const int* x, int* partial, unsigned* arrived, int* out, int n) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&sum, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile unsigned*)arrived < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    int before = 0;
    for (int b = 0; b < blockIdx.x; b++) before += ((volatile int*)partial)[b];
    if (threadIdx.x == 0) out[blockIdx.x] = before;
}
