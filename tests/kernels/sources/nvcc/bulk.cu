// nvcc -arch=sm_90
// Copies in bulk: from global to shared memory and back, sums into global memory, and from block to block of a cluster.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init

// Tiles of 256 numbers, turned and scaled; the last one may be shorter.
extern "C" __global__ void bulk_tiles(const int* x, int* out, int n) {
    __shared__ alignas(16) int in[256], result[256];
    __shared__ Barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int start = blockIdx.x * 256; start < n; start += gridDim.x * 256) {
        int count = min(256, n - start);
        Barrier::arrival_token token;
        if (threadIdx.x == 0) {
            cuda::device::memcpy_async_tx(in, x + start, cuda::aligned_size_t<16>(count * 4), bar);
            token = cuda::device::barrier_arrive_tx(bar, 1, count * 4);
        } else {
            token = bar.arrive();
        }
        bar.wait(std::move(token));
        for (int i = threadIdx.x; i < count; i += blockDim.x) result[i] = in[count - 1 - i] * 3 + i;
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + start, result, count * 4);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
        __syncthreads();
    }
}

// Each block adds its row to the sums, takes the largest and the smallest, and flips bits.
extern "C" __global__ void bulk_sums(const int* x, int* sum, unsigned* largest, int* smallest, uint64_t* wide, unsigned* bits) {
    __shared__ alignas(16) int row[64];
    __shared__ alignas(16) uint64_t longs[64];
    int t = threadIdx.x;
    row[t] = x[blockIdx.x * 64 + t];
    longs[t] = (uint64_t)(unsigned)row[t] << 20;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sum, row, 256);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_max, largest, (unsigned*)row, 256);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_min, smallest, row, 256);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, wide, longs, 512);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_xor_op, (int*)bits, row, 256);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

// Each block of a cluster sends its tile in bulk to the next one, whose barrier counts the bytes.
extern "C" __global__ void __cluster_dims__(4) bulk_ring(const int* x, int* out) {
    __shared__ alignas(16) int mine[128], got[128];
    __shared__ alignas(8) uint64_t bar;
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
    if (t == 0) {
        ptx::mbarrier_init(&bar, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    mine[t] = x[blockIdx.x * 128 + t] * 2 + (int)cluster.block_rank();
    ptx::fence_proxy_async(ptx::space_shared);
    cluster.sync();
    if (t == 0) {
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 512);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(got, next), mine, 512, cluster.map_shared_rank(&bar, next));
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    out[blockIdx.x * 128 + t] = got[127 - t];
    cluster.sync();
}
