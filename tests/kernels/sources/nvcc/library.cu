// nvcc -arch=sm_80
// What the toolkit's libraries are made of: CUB's blocks and warps, libcu++'s atomics and what waits on them.
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <new>

// Each block sorts its 256 pairs by key.
extern "C" __global__ void sort_pairs(const int* key, const float* x, int* keys, float* values) {
    using Sort = cub::BlockRadixSort<int, 64, 4, float>;
    __shared__ Sort::TempStorage storage;
    int k[4];
    float v[4];
    for (int j = 0; j < 4; j++) {
        int i = blockIdx.x * 256 + threadIdx.x * 4 + j;
        k[j] = key[i];
        v[j] = x[i];
    }
    Sort(storage).Sort(k, v);
    for (int j = 0; j < 4; j++) {
        int i = blockIdx.x * 256 + threadIdx.x * 4 + j;
        keys[i] = k[j];
        values[i] = v[j];
    }
}

struct Pair { int a, b; };
struct Less { __device__ bool operator()(Pair p, Pair q) const { return p.a != q.a ? p.a < q.a : p.b > q.b; } };

// The same by merging, with an order of our own: the first number up, the second down.
extern "C" __global__ void merge_pairs(const Pair* x, Pair* out) {
    using Sort = cub::BlockMergeSort<Pair, 64, 3>;
    using Exchange = cub::BlockExchange<Pair, 64, 3>;
    __shared__ union { Sort::TempStorage sort; Exchange::TempStorage exchange; } storage;
    Pair v[3];
    for (int j = 0; j < 3; j++) v[j] = x[blockIdx.x * 192 + j * 64 + threadIdx.x];
    Sort(storage.sort).Sort(v, Less());
    __syncthreads();
    Exchange(storage.exchange).BlockedToStriped(v);
    for (int j = 0; j < 3; j++) out[blockIdx.x * 192 + j * 64 + threadIdx.x] = v[j];
}

// Sums and running maxima of a block, the largest of each warp with its place.
extern "C" __global__ void scans(const int* x, int* before, int* top, int* sum, int* place, int n) {
    using Scan = cub::BlockScan<int, 96>;
    using Reduce = cub::BlockReduce<int, 96>;
    using Warp = cub::WarpReduce<cub::KeyValuePair<int, int>>;
    __shared__ Scan::TempStorage scan;
    __shared__ Reduce::TempStorage reduce;
    __shared__ Warp::TempStorage warp[3];
    int i = blockIdx.x * 96 + threadIdx.x, v = i < n ? x[i] : -1000, b, t;
    Scan(scan).ExclusiveSum(v, b);
    __syncthreads();
    Scan(scan).InclusiveScan(v, t, cuda::maximum<>());
    int total = Reduce(reduce).Sum(v);
    auto best = Warp(warp[threadIdx.x / 32]).Reduce({i, v}, cub::ArgMax());
    if (threadIdx.x == 0) sum[blockIdx.x] = total;
    if (threadIdx.x % 32 == 0) place[i / 32] = best.key;
    if (i < n) { before[i] = b; top[i] = t; }
}

// Lengths to the runs that they count.
extern "C" __global__ void decode_runs(const int* value, const int* length, int* out, int n) {
    using Decode = cub::BlockRunLengthDecode<int, 64, 2, 4>;
    __shared__ Decode::TempStorage storage;
    int v[2], l[2], total = 0;
    for (int j = 0; j < 2; j++) {
        int i = threadIdx.x * 2 + j;
        v[j] = i < n ? value[i] : 0;
        l[j] = i < n ? length[i] : 0;
    }
    Decode decode(storage, v, l, total);
    for (int start = 0; start < total; start += 256) {
        int items[4];
        decode.RunLengthDecode(items, start);
        for (int j = 0; j < 4; j++) {
            int i = start + threadIdx.x * 4 + j;
            if (i < total) out[i] = items[j];
        }
    }
}

// Atomics with an order and a scope, of types that have no instruction of their own too.
extern "C" __global__ void atomic_refs(const int* x, int* largest, double* product, unsigned long long* pair, unsigned char* bytes, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cuda::atomic_ref<int, cuda::thread_scope_device>(*largest).fetch_max(x[i], cuda::memory_order_relaxed);
    cuda::atomic_ref<double, cuda::thread_scope_system> p(*product);
    double old = p.load(cuda::memory_order_acquire);
    while (!p.compare_exchange_weak(old, -old, cuda::memory_order_acq_rel)) {}
    struct Two { unsigned low, high; };
    cuda::atomic_ref<Two, cuda::thread_scope_device> two(*reinterpret_cast<Two*>(pair));
    Two was = two.load();
    while (!two.compare_exchange_strong(was, {was.low + 1, was.high + 3u * (unsigned)x[i]})) {}
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(bytes[x[i] & 7]).fetch_add((unsigned char)1);
}

// A latch that all warps count down, and a semaphore that lets two of them through at a time.
extern "C" __global__ void waits(const int* x, int* out, int* most) {
    using Latch = cuda::latch<cuda::thread_scope_block>;
    using Gate = cuda::counting_semaphore<cuda::thread_scope_block, 2>;
    __shared__ __align__(16) char space[2][64];
    Latch& ready = *reinterpret_cast<Latch*>(space[0]);
    Gate& gate = *reinterpret_cast<Gate*>(space[1]);
    __shared__ int tile[128];
    __shared__ int inside, peak;
    if (threadIdx.x == 0) { new (&ready) Latch(128); new (&gate) Gate(2); inside = peak = 0; }
    __syncthreads();
    tile[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
    ready.arrive_and_wait();
    out[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x];
    if (threadIdx.x % 32 == 0) {
        gate.acquire();
        atomicMax(&peak, atomicAdd(&inside, 1) + 1);
        atomicSub(&inside, 1);
        gate.release();
    }
    __syncthreads();
    if (threadIdx.x == 0) most[blockIdx.x] = peak <= 2 && peak >= 1 && inside == 0;
}

// The standard library's: arrays, bits, optionals, views of several dimensions, complex numbers.
extern "C" __global__ void standard(const unsigned* x, const double* z, unsigned* bits, int* found, double* product, int rows, int columns) {
    namespace std = cuda::std;
    std::mdspan<const unsigned, std::dextents<int, 2>, std::layout_left> left(x, rows, columns);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns) return;
    unsigned v = left(i / columns, i % columns);
    bits[i] = std::rotl(v, 7) + std::popcount(v) * 1000 + std::bit_width(v) + (std::has_single_bit(v) ? 77 : 0) + std::countr_one(v);
    std::array<unsigned, 5> primes = {2, 3, 5, 7, 11};
    std::optional<unsigned> divisor;
    for (unsigned p : primes) if (v % p == 0 && !divisor) divisor = p;
    found[i] = divisor.value_or(1);
    std::complex<double> a(z[2 * i], z[2 * i + 1]), b = a * a + std::complex<double>(1, -2) / (std::norm(a) + 1.0);
    product[2 * i] = b.real();
    product[2 * i + 1] = b.imag();
}
