// nvcc -arch=sm_80
// nvcc unoptimized: -arch=sm_80 -Xcicc -O0
// Algorithms of threads that work together: sorts, scans, histograms, sparse products, stencils.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__device__ int inclusive_scan(int v) {
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(~0u, v, step);
        if ((threadIdx.x & 31) >= step) v += other;
    }
    return v;
}

extern "C" __global__ void warp_scan(const int* x, int* out, unsigned* vote, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? x[i] : 0;
    int sum = inclusive_scan(v);
    unsigned odd = __ballot_sync(~0u, v & 1), same = __match_any_sync(~0u, v & 15);
    int largest = __reduce_max_sync(~0u, v);
    unsigned answer = odd ^ (same << 1) ^ (__any_sync(~0u, v > 90) ? 5 : 0) ^ (__all_sync(~0u, v > -95) ? 9 : 0) ^ largest;
    if (i < n) { out[i] = sum; vote[i] = answer; }
}

extern "C" __global__ void bitonic(int* x, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = t < n ? x[blockIdx.x * n + t] : 0x7fffffff;
    __syncthreads();
    for (int size = 2; size <= blockDim.x; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            int other = t ^ step;
            if (other > t && (s[t] > s[other]) == ((t & size) == 0)) { int v = s[t]; s[t] = s[other]; s[other] = v; }
            __syncthreads();
        }
    if (t < n) x[blockIdx.x * n + t] = s[t];
}

// One pass of a radix sort, four bits, stable, of one block.
extern "C" __global__ void radix_pass(const unsigned* x, unsigned* out, int shift, int n) {
    __shared__ int counts[16][8], starts[16][8];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    bool inside = t < n;
    unsigned key = inside ? x[t] : ~0u, digit = inside ? key >> shift & 15 : 16;
    if (t < 128) counts[t / 8][t % 8] = 0;
    __syncthreads();
    unsigned alike = __match_any_sync(~0u, digit);
    int rank = __popc(alike & ((1u << lane) - 1));
    if (inside && rank == 0) counts[digit][warp] = __popc(alike);
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int d = 0; d < 16; d++) for (int w = 0; w < 8; w++) { starts[d][w] = sum; sum += counts[d][w]; }
    }
    __syncthreads();
    if (inside) out[starts[digit][warp] + rank] = key;
}

// Prefix sum in one launch: a block waits for the sums of those before it (decoupled look-back).
extern "C" __global__ void look_back(const int* x, int* out, unsigned long long* state, int* ticket, int n) {
    __shared__ int warps[8], block, before;
    if (threadIdx.x == 0) block = atomicAdd(ticket, 1);
    __syncthreads();
    int i = block * 256 + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    int sum = inclusive_scan(i < n ? x[i] : 0);
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    for (int w = 0; w < warp; w++) sum += warps[w];
    if (threadIdx.x == 255) {
        // The upper word tells: 1 the block's own sum, 2 the sum up to it.
        volatile unsigned long long* states = state;
        states[block] = (block == 0 ? 2ull : 1ull) << 32 | (unsigned)sum;
        __threadfence();
        int total = 0;
        for (int b = block - 1; b >= 0;) {
            unsigned long long other = states[b];
            if (other >> 32 == 0) continue;
            total += (int)other;
            if (other >> 32 == 2) break;
            b--;
        }
        before = total;
        __threadfence();
        states[block] = 2ull << 32 | (unsigned)(total + sum);
    }
    __syncthreads();
    if (i < n) out[i] = sum + before;
}

extern "C" __global__ void shared_histogram(const unsigned char* x, unsigned* h, int n) {
    __shared__ unsigned bins[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    const uchar4* packed = (const uchar4*)x;
    int stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n / 4; i += stride) {
        uchar4 v = packed[i];
        atomicAdd(bins + v.x, 1); atomicAdd(bins + v.y, 1); atomicAdd(bins + v.z, 1); atomicAdd(bins + v.w, 1);
    }
    if (first < n % 4) atomicAdd(bins + x[n / 4 * 4 + first], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) if (bins[b]) atomicAdd(h + b, bins[b]);
}

extern "C" __global__ void spmv(const int* start, const int* column, const double* value, const double* x, double* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    if (row >= rows) return;
    unsigned mask = __activemask();
    double sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 8) sum += value[i] * __ldg(x + column[i]);
    for (int step = 4; step > 0; step /= 2) sum += __shfl_down_sync(mask, sum, step, 8);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void nbody(const float4* body, float4* force, int n) {
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float fx = 0, fy = 0, fz = 0;
    for (int base = 0; base < n; base += 64) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        #pragma unroll 4
        for (int k = 0; k < 64; k++) {
            float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
            float distance = dx * dx + dy * dy + dz * dz + 0.01f;
            float inverse = rsqrtf(distance), strength = tile[k].w * inverse * inverse * inverse;
            fx += dx * strength; fy += dy * strength; fz += dz * strength;
        }
        __syncthreads();
    }
    if (i < n) force[i] = make_float4(fx, fy, fz, me.w);
}

extern "C" __global__ void life(const unsigned char* a, unsigned char* b, int w, int h) {
    __shared__ unsigned char s[10][34];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    for (int dy = threadIdx.y; dy < 10; dy += 8)
        for (int dx = threadIdx.x; dx < 34; dx += 32) {
            int gx = blockIdx.x * 32 + dx - 1, gy = blockIdx.y * 8 + dy - 1;
            s[dy][dx] = a[(gy + h) % h * w + (gx + w) % w];
        }
    __syncthreads();
    if (x >= w || y >= h) return;
    int alive = 0;
    for (int dy = 0; dy < 3; dy++) for (int dx = 0; dx < 3; dx++) if (dx != 1 || dy != 1) alive += s[threadIdx.y + dy][threadIdx.x + dx];
    b[y * w + x] = alive == 3 || (alive == 2 && s[threadIdx.y + 1][threadIdx.x + 1]);
}

__constant__ float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

extern "C" __global__ void stencil(const float* x, float* out, int n) {
    __shared__ float s[128 + 4];
    int i = blockIdx.x * 128 + threadIdx.x;
    for (int k = threadIdx.x; k < 132; k += 128) {
        int at = blockIdx.x * 128 + k - 2;
        s[k] = at >= 0 && at < n ? x[at] : 0.0f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 5; k++) sum = fmaf(weights[k], s[threadIdx.x + k], sum);
    out[i] = sum;
}

template <typename T, int N> struct Window {
    T value[N];
    __device__ T median() {
        for (int i = 1; i < N; i++)
            for (int j = i; j > 0 && value[j - 1] > value[j]; j--) { T t = value[j]; value[j] = value[j - 1]; value[j - 1] = t; }
        return value[N / 2];
    }
};

template <typename T, int N> __device__ void median_filter(const T* x, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Window<T, N> window;
    for (int k = 0; k < N; k++) window.value[k] = x[min(max(i + k - N / 2, 0), n - 1)];
    out[i] = window.median();
}

extern "C" __global__ void median5(const short* x, short* out, int n) { median_filter<short, 5>(x, out, n); }
extern "C" __global__ void median7(const double* x, double* out, int n) { median_filter<double, 7>(x, out, n); }

extern "C" __global__ void half_atomics(const float* x, const int* place, half* one, half2* two, __nv_bfloat16* b, __nv_bfloat162* bb, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(one + place[i], __float2half(x[i]));
    atomicAdd(two + place[i], __floats2half2_rn(x[i], 1.0f));
    atomicAdd(b + place[i], __float2bfloat16(x[i]));
    atomicAdd(bb + place[i], __floats2bfloat162_rn(x[i], 1.0f));
}

extern "C" __global__ void many_atomics(const int* x, int* slot, unsigned long long* wide, double* sum, unsigned* wrap, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    atomicMax(slot + 0, v); atomicMin(slot + 1, v); atomicAnd(slot + 2, v); atomicOr(slot + 3, v); atomicXor(slot + 4, v);
    atomicSub(slot + 5, v);
    atomicAdd(wide, (unsigned long long)v * 1000000007ull);
    atomicMax(wide + 1, (unsigned long long)(unsigned)v << 20);
    atomicAdd(sum, (double)v);
    atomicInc(wrap, 99);
    atomicDec(wrap + 1, 99);
    unsigned old = wrap[2], seen;
    do { seen = old; old = atomicCAS(wrap + 2, seen, seen * 2 % 1000003 + 0); } while (old != seen);
}

extern "C" __global__ void wide_loads(const ulonglong2* x, ulonglong2* out, const float4* y, float4* half, const short4* z, short4* turned, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    ulonglong2 v = __ldcs(x + i);
    __stcs(out + n - 1 - i, make_ulonglong2(v.y, v.x));
    float4 w = __ldg(y + i);
    half[i] = make_float4(w.w * 0.5f, w.z * 0.5f, w.y * 0.5f, w.x * 0.5f);
    short4 s = z[i];
    turned[i] = make_short4(s.w, s.x, s.y, s.z);
}

extern "C" __global__ void machine(const int* code, long long* out, int steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long a = i, b = 1;
    for (int s = 0; s < steps; s++) {
        switch (code[(i + s) % 16]) {
            case 0: a += b; break;
            case 1: b ^= a << 3; break;
            case 2: a = a * 6364136223846793005ll + 1442695040888963407ll; break;
            case 3: { long long t = a; a = b; b = t; break; }
            case 4: a /= (b & 15) + 1; break;
            case 5: b -= a >> 5; break;
            case 6: if (a & 1) b = -b; else a = ~a; break;
            case 7: b %= 1000003; break;
            default: a ^= 0x5555;
        }
    }
    out[i] = a ^ b;
}

// A message from one block to the others: the flag is seen only after the value.
extern "C" __global__ void message(int* value, int* flag, int* out) {
    volatile int* f = flag;
    if (blockIdx.x == gridDim.x - 1) {
        value[threadIdx.x] = threadIdx.x * 3 + 1;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *f = 1;
    } else {
        if (threadIdx.x == 0) while (*f == 0) {}
        __syncthreads();
        __threadfence();
        out[blockIdx.x * blockDim.x + threadIdx.x] = ((volatile int*)value)[threadIdx.x] + blockIdx.x;
    }
}

extern "C" __global__ void clocks(long long* cycles, unsigned* ticks, unsigned long long* nanoseconds, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long start = clock64();
    unsigned begin = clock();
    unsigned long long from, to;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(from));
    volatile __shared__ int s[64];
    for (int r = 0; r < rounds; r++) s[threadIdx.x] = r;
    __nanosleep(100);
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(to));
    ticks[i] = clock() - begin;
    cycles[i] = clock64() - start;
    nanoseconds[i] = to - from;
}
