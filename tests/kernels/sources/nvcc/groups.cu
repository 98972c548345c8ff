// nvcc -arch=sm_80
// nvcc unoptimized: -arch=sm_80 -Xcicc -O0
// Cooperative groups: tiles, coalesced threads and labels.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

template <int N> __device__ int sum_of_tile(int v) {
    auto tile = cg::tiled_partition<N>(cg::this_thread_block());
    for (int step = tile.size() / 2; step > 0; step /= 2) v += tile.shfl_down(v, step);
    return tile.shfl(v, 0);
}

extern "C" __global__ void tiles(const int* x, int* by4, int* by16, int* best, int* before, int n) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? x[i] : 0;
    int four = sum_of_tile<4>(v), sixteen = sum_of_tile<16>(v);
    int largest = cg::reduce(warp, v, cg::greater<int>());
    int prefix = cg::exclusive_scan(warp, v);
    if (i < n) { by4[i] = four; by16[i] = sixteen; best[i] = largest; before[i] = prefix; }
}

extern "C" __global__ void compact(const int* x, int* out, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        auto active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) base = atomicAdd(count, (int)active.size());
        out[active.shfl(base, 0) + active.thread_rank()] = x[i];
    }
}

extern "C" __global__ void labels(const int* key, const int* x, int* sum, int* size, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto alike = cg::labeled_partition(cg::coalesced_threads(), key[i] & 3);
    sum[i] = cg::reduce(alike, x[i], cg::plus<int>());
    size[i] = alike.size();
}
