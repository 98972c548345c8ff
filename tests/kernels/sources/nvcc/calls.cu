// nvcc -arch=sm_80 -Xcudafe=--diag_suppress=20044
// nvcc unoptimized: -arch=sm_80 -Xcicc -O0 -Xcudafe=--diag_suppress=20044
// Calls: recursion, pointers to functions, virtual functions, structures by value, memory from the heap.
#include <cstdio>
#include <cassert>

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void ackermanns(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = ackermann(i % 3, i % 5);
}

__device__ __noinline__ void quicksort(int* a, int low, int high) {
    if (low >= high) return;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
    }
    quicksort(a, low, j);
    quicksort(a, i, high);
}

extern "C" __global__ void quicksorts(int* x, int rows, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) quicksort(x + row * n, 0, n - 1);
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int mix(int a, int b) { return (a ^ b) * 31 + (a & 7); }
__device__ Operation operations[4] = {plus, minus, times, mix};

extern "C" __global__ void by_pointer(const int* x, const int* which, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = operations[which[i] & 3](x[i], i);
}

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual int sides() const { return 0; }
};
struct Square : Shape {
    float a;
    __device__ Square(float a) : a(a) {}
    __device__ float area() const override { return a * a; }
    __device__ int sides() const override { return 4; }
};
struct Triangle : Shape {
    float base, height;
    __device__ Triangle(float b, float h) : base(b), height(h) {}
    __device__ float area() const override { return base * height * 0.5f; }
    __device__ int sides() const override { return 3; }
};
struct Disc : Shape {
    float r;
    __device__ Disc(float r) : r(r) {}
    __device__ float area() const override { return 3.0f * r * r; }
};

extern "C" __global__ void by_virtual(const float* x, float* area, int* sides, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Square square(x[i]);
    Triangle triangle(x[i], 4.0f);
    Disc disc(x[i]);
    Shape* shapes[3] = {&square, &triangle, &disc};
    Shape* shape = shapes[i % 3];
    area[i] = shape->area();
    sides[i] = shape->sides();
}

struct Moments { double sum, squares; float least, most; int count; };
__device__ __noinline__ Moments merge(Moments a, Moments b) {
    return {a.sum + b.sum, a.squares + b.squares, fminf(a.least, b.least), fmaxf(a.most, b.most), a.count + b.count};
}

extern "C" __global__ void by_value(const float* x, double* out, int n, int chunk) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Moments all = {0, 0, INFINITY, -INFINITY, 0};
    for (int i = t * chunk; i < (t + 1) * chunk && i < n; i++) {
        double v = x[i];
        all = merge(all, Moments{v, v * v, x[i], x[i], 1});
    }
    double* o = out + t * 5;
    o[0] = all.sum; o[1] = all.squares; o[2] = all.least; o[3] = all.most; o[4] = all.count;
}

struct Node { int value; Node* next; };
extern "C" __global__ void heap_list(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Node* head = nullptr;
    for (int j = 0; j <= i % 7; j++) {
        Node* node = (Node*)malloc(sizeof(Node));
        node->value = i * j;
        node->next = head;
        head = node;
    }
    int sum = 0, place = 1;
    while (head) {
        sum += head->value * place++;
        Node* next = head->next;
        free(head);
        head = next;
    }
    out[i] = sum;
}

extern "C" __global__ void heap_array(int* out, int n) {
    __shared__ int* scratch;
    if (threadIdx.x == 0) scratch = new int[blockDim.x];
    __syncthreads();
    scratch[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = scratch[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) delete[] scratch;
}

// A stack of a size that only the launch knows.
extern "C" __global__ void own_stack(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, size = i % 9 + 1;
    if (i >= n) return;
    int* digits = (int*)alloca(size * sizeof(int));
    for (int j = 0; j < size; j++) digits[j] = (i + 3) * (j + 1) % 10;
    int value = 0;
    for (int j = size - 1; j >= 0; j--) value = value * 10 + digits[j];
    out[i] = value;
}

extern "C" __global__ void prints(const float* x, int n) {
    int i = threadIdx.x;
    if (i < n) printf("%d: %8.3f %-6s|%c|%05d|%#x|%lld|%e|%%\n", i, x[i], i & 1 ? "odd" : "even", 'a' + i, i * 7, i + 16, -1LL - i, (double)x[i]);
}

extern "C" __global__ void asserts(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    assert(x[i] >= 0 && "counts are not negative");
    out[i] = x[i] + 1;
}

extern "C" __global__ void traps(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (x[i] < 0) __trap();
    out[i] = x[i] * 2;
}
