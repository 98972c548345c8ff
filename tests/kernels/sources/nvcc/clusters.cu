// nvcc -arch=sm_90
// Clusters: blocks that read and write each other's shared memory, and wait for each other.
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;

// A histogram of 64 bins in four parts, one in each block's shared memory.
extern "C" __global__ void __cluster_dims__(4) spread_histogram(const unsigned char* x, unsigned* h, int n) {
    __shared__ unsigned part[16];
    auto cluster = cg::this_cluster();
    if (threadIdx.x < 16) part[threadIdx.x] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
        int bin = x[i] & 63;
        atomicAdd(cluster.map_shared_rank(part, bin / 16) + bin % 16, 1u);
    }
    cluster.sync();
    if (threadIdx.x < 16) atomicAdd(&h[cluster.block_rank() * 16 + threadIdx.x], part[threadIdx.x]);
}

// Each block hands its tile on to the next one of the cluster, round by round.
extern "C" __global__ void ring(const int* x, int* out, int rounds) {
    __shared__ int tile[2][64];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    tile[0][t] = x[blockIdx.x * 64 + t];
    for (int r = 0; r < rounds; r++) {
        cluster.sync();
        int* there = cluster.map_shared_rank(tile[(r + 1) % 2], next);
        there[63 - t] = tile[r % 2][t] * 3 + (int)cluster.block_rank();
    }
    cluster.sync();
    out[blockIdx.x * 64 + t] = tile[rounds % 2][t];
}

// Blocks arrive at the barrier of the cluster's first one, which waits for all of them, round by round.
extern "C" __global__ void __cluster_dims__(2, 2) remote_arrivals(const int* x, int* out, int rounds) {
    namespace ptx = cuda::ptx;
    __shared__ int sums[4];
    __shared__ alignas(8) uint64_t bar;
    auto cluster = cg::this_cluster();
    int rank = cluster.block_rank(), t = threadIdx.x;
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (rank == 0 && t == 0) {
        ptx::mbarrier_init(&bar, 4 * blockDim.x);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    if (t < 4) sums[t] = 0;
    cluster.sync();
    for (int r = 0; r < rounds; r++) {
        atomicAdd(cluster.map_shared_rank(sums, 0) + rank, x[(block * rounds + r) * blockDim.x + t]);
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, cluster.map_shared_rank(&bar, 0));
        if (rank == 0) {
            while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, r & 1)) {}
            if (t < 4) out[(block * rounds + r) * 4 + t] = sums[t];
        }
        cluster.sync();
    }
}
