// nvrtc reduce_by<int, Largest>
// nvrtc reduce_by<double, Sum>
// nvrtc reduce_by<half2, Sum>
// nvrtc polynomials<5>
// nvrtc scatter<unsigned short, 3>
// As cupy.RawModule and Jitify compile: templates, instantiated by the names that are asked for.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>

struct Largest {
    template <typename T> static __device__ T nothing() { return cuda::std::numeric_limits<T>::lowest(); }
    template <typename T> static __device__ T of(T a, T b) { return a < b ? b : a; }
};
struct Sum {
    template <typename T> static __device__ T nothing() { return T(); }
    template <typename T> static __device__ T of(T a, T b) { return a + b; }
};

template <typename T> __device__ T from_lane(T v, int lane) {
    constexpr int words = sizeof(T) / 4;
    unsigned part[words];
    memcpy(part, &v, sizeof(T));
    for (int w = 0; w < words; w++) part[w] = __shfl_xor_sync(0xffffffffu, part[w], lane);
    memcpy(&v, part, sizeof(T));
    return v;
}

// One number a block; the shared memory is the launch's.
template <typename T, typename Op> __global__ void __launch_bounds__(128) reduce_by(const T* __restrict__ x, T* out, int n) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* part = reinterpret_cast<T*>(raw);
    T v = Op::template nothing<T>();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v = Op::of(v, x[i]);
    for (int lane = 16; lane; lane /= 2) v = Op::of(v, from_lane(v, lane));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++) v = Op::of(v, part[w]);
        out[blockIdx.x] = v;
    }
}

__constant__ float table[3][8] = {{1, -2, 0.5f, 4, -1, 2, 8, 0.25f}, {3, 1, -1, 2, 0, 5, -4, 1}, {0.5f, 0.25f, 2, 1, 1, -1, 2, -2}};

// Horner's rule with the coefficients of a row, by fma as written.
template <int Degree> __global__ void polynomials(const float* x, const int* row, float* y, __nv_bfloat16* short_y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = table[row[i]][Degree];
#pragma unroll
    for (int k = Degree - 1; k >= 0; k--) v = __fmaf_rn(v, x[i], table[row[i]][k]);
    y[i] = v;
    short_y[i] = __float2bfloat16(v);
}

// Tuples to and from memory, taken apart in the kernel; groups of Size change places.
template <typename T, int Size> __global__ void scatter(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto turn = [](auto i) { return cuda::std::make_tuple(i / Size, Size - 1 - i % Size); };
    auto [group, place] = turn(i);
    static_assert(cuda::std::is_same_v<decltype(group), int>);
    int there = group * Size + place;
    if (there < n) y[there] = (T)(x[i] * 3u + (T)group);
}
