// Threads that wait for one another, as CUDA C++ has it.
// nvcc -std=c++17 -O3 -arch=sm_80 -ptx waiting.cu -o waiting.sm80.ptx (and sm_90)
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/atomic>

namespace cg = cooperative_groups;

// Each block adds up its part; after the grid's barrier each thread adds up the blocks' sums.
extern "C" __global__ void grid_sum(const int *x, int *sums, int *out, int n) {
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < 3; round++) {
        if (threadIdx.x == 0) {
            int sum = 0;
            for (int i = blockIdx.x; i < n; i += gridDim.x) sum += x[i] * (round + 1);
            sums[blockIdx.x] = sum;
        }
        grid.sync();
        int total = 0;
        for (int b = 0; b < gridDim.x; b++) total += sums[b];
        out[grid.thread_rank()] = total;
        grid.sync();
    }
}

// The same without a cooperative launch: a counter that all blocks wait for.
extern "C" __global__ void own_grid_barrier(int *counter, int *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(counter, 1);
        while (*(volatile int *)counter < gridDim.x) {}
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile int *)counter;
}

// Rows reversed through shared memory, all threads meeting at a cuda::barrier.
extern "C" __global__ void barrier_reverse(const int *x, int *out) {
    __shared__ int box[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int base = blockIdx.x * blockDim.x;
    box[threadIdx.x] = x[base + threadIdx.x];
    auto token = bar.arrive();
    bar.wait(std::move(token));
    int value = box[blockDim.x - 1 - threadIdx.x];
    bar.arrive_and_wait();
    out[base + threadIdx.x] = value;
}

// Tiles of 256 summed up, the next one on its way while this one is read.
extern "C" __global__ void pipeline_sum(const int *x, int *out, int tiles) {
    __shared__ int box[2][256];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    const int *mine = x + (size_t)blockIdx.x * tiles * 256;
    int sum = 0, next = 0;
    for (int tile = 0; tile < tiles; tile++) {
        for (; next < tiles && next < tile + 2; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, box[next % 2], mine + next * 256, cuda::aligned_size_t<16>(1024), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        block.sync();
        sum += box[tile % 2][255 - threadIdx.x];
        block.sync();
        pipe.consumer_release();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// A pipeline of one thread's own copies.
extern "C" __global__ void thread_pipeline(const int4 *x, int *out, int turns) {
    __shared__ int4 box[2][128];
    auto pipe = cuda::make_pipeline();
    int id = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    int stride = gridDim.x * blockDim.x;
    pipe.producer_acquire();
    cuda::memcpy_async(&box[0][threadIdx.x], x + id, sizeof(int4), pipe);
    pipe.producer_commit();
    for (int turn = 0; turn < turns; turn++) {
        if (turn + 1 < turns) {
            pipe.producer_acquire();
            cuda::memcpy_async(&box[(turn + 1) % 2][threadIdx.x], x + id + (turn + 1) * stride, sizeof(int4), pipe);
            pipe.producer_commit();
            cuda::pipeline_consumer_wait_prior<1>(pipe);
        } else {
            cuda::pipeline_consumer_wait_prior<0>(pipe);
        }
        int4 value = box[turn % 2][threadIdx.x];
        sum += value.x + 2 * value.y + 3 * value.z + 4 * value.w;
        pipe.consumer_release();
    }
    out[id] = sum;
}

// cooperative_groups::memcpy_async of any number of bytes, and wait.
extern "C" __global__ void group_copy(const int *x, int *out, int n) {
    __shared__ int box[512];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, box, x + blockIdx.x * n, sizeof(int) * n);
    cg::wait(block);
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = box[n - 1 - i];
}

// One warp fills, three empty, by two barriers.
extern "C" __global__ void producer_consumer(const int *x, int *out, int turns) {
    __shared__ int box[32];
    __shared__ cuda::barrier<cuda::thread_scope_block> full, empty;
    if (threadIdx.x == 0) { init(&full, blockDim.x); init(&empty, blockDim.x); }
    __syncthreads();
    int sum = 0;
    if (threadIdx.x < 32) {
        for (int turn = 0; turn < turns; turn++) {
            empty.arrive_and_wait();
            box[threadIdx.x] = x[blockIdx.x * turns * 32 + turn * 32 + threadIdx.x];
            (void)full.arrive();
        }
    } else {
        (void)empty.arrive();
        for (int turn = 0; turn < turns; turn++) {
            full.arrive_and_wait();
            sum += box[31 - threadIdx.x % 32];
            (void)empty.arrive();
        }
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// A lock that each thread takes once.
extern "C" __global__ void locked_count(int *lock, int *count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)count = *(volatile int *)count + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// The same with cuda::atomic, the critical section behind the loop.
extern "C" __global__ void locked_atomic(cuda::atomic<int, cuda::thread_scope_device> *lock, int *count) {
    while (lock->exchange(1, cuda::memory_order_acquire)) {}
    *count = *count + 1;
    lock->store(0, cuda::memory_order_release);
}
