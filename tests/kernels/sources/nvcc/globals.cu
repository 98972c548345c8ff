// nvcc -arch=sm_80
// Variables of the file: managed, constant, of pointers to each other and to functions; shared memory in parts.
#include <cstdint>

__managed__ int visits[4];
struct Shape { const char* name; float side; int (*corners)(int); const Shape* next; };
__device__ int of_square(int n) { return 4 * n; }
__device__ int of_triangle(int n) { return 3 * n + 1; }
__device__ const Shape triangle = {"triangle", -2.25f, of_triangle, nullptr};
__device__ const Shape square = {"square", 1.5f, of_square, &triangle};
__device__ const Shape* const both[2] = {&square, &triangle};
__constant__ uint8_t steps[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__device__ unsigned long long total = 40;

// From shape to shape as the table says, counting letters, sides and corners.
extern "C" __global__ void linked(int* letters, float* sides, int* corners, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Shape* shape = both[i & 1];
    int count = 0, points = 0;
    float side = 0;
    for (int k = 0; k < steps[i & 15]; k++) {
        for (const char* c = shape->name; *c; c++) count += *c - 'a';
        side += shape->side;
        points += shape->corners(k);
        shape = shape->next ? shape->next : both[0];
    }
    letters[i] = count;
    sides[i] = side;
    corners[i] = points;
}

// Counters that outlive a thread: managed memory, and one of 64 bits with a value from the start.
extern "C" __global__ void counters(const int* x, int* seen, unsigned long long* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&visits[x[i] & 3], 1);
        atomicAdd(&total, (unsigned long long)x[i]);
    }
    __threadfence();
    __shared__ bool last;
    static __device__ unsigned done;
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x < 4) seen[threadIdx.x] = atomicExch(&visits[threadIdx.x], 0);
    if (last && threadIdx.x == 4) *sum = atomicExch(&total, 40ull);
}

// One array of dynamic shared memory, cut into doubles, ints and bytes.
extern "C" __global__ void parts(const double* x, double* out, int n) {
    extern __shared__ double space[];
    int* place = (int*)(space + blockDim.x);
    unsigned char* flag = (unsigned char*)(place + blockDim.x);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    space[t] = i < n ? x[i] : 0;
    place[t] = (t * 37 + 11) % blockDim.x;
    flag[t] = space[t] > 0;
    __syncthreads();
    double v = 0;
    for (int k = 0, at = t; k < 5; k++, at = place[at]) v = 2 * v + (flag[at] ? space[at] : -space[at]);
    if (i < n) out[i] = v;
}

// A struct of 96 bytes by value, returned by a function, and bit fields in memory.
struct Wide { double d[8]; int i[6]; float f[2]; };
struct Fields { unsigned a : 5, b : 11, c : 16; signed d : 7; unsigned long long e : 41; };
__device__ __noinline__ Wide turned(Wide w, int by) {
    Wide r;
    for (int k = 0; k < 8; k++) r.d[k] = w.d[(k + by) % 8];
    for (int k = 0; k < 6; k++) r.i[k] = w.i[(k + by) % 6] - by;
    r.f[0] = w.f[1];
    r.f[1] = w.f[0];
    return r;
}
extern "C" __global__ void by_large_value(Wide w, Wide* out, Fields* fields, long long* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = turned(turned(w, i % 11), 3);
    Fields f = fields[i];
    sum[i] = (long long)f.a + f.b * 2 + f.c * 3 + f.d * 5 + (long long)f.e;
    f.b += 3;
    f.d = -f.d;
    fields[i] = f;
}
