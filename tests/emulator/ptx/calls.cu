// nvcc -ptx -arch=sm_80 calls.cu -o calls.ptx; -Xcicc -O0: calls_unoptimised.ptx; -G, then teenycuda strip: calls_debug.ptx
#include <cstdio>
#include <cassert>
typedef int (*op_t)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int sub(int a, int b) { return a - b; }
__device__ __noinline__ int mul(int a, int b) { return a * b; }
__constant__ op_t const_table[3] = {add, sub, mul};
__device__ op_t table[3] = {mul, add, sub};
struct Shape { int k; __device__ Shape(int k) : k(k) {} __device__ virtual int area(int x) { return k * x; } __device__ virtual ~Shape() {} };
struct Square : Shape { __device__ Square(int k) : Shape(k) {} __device__ int area(int x) override { return k * k + x; } };
struct Cube : Square { __device__ Cube(int k) : Square(k) {} __device__ int area(int x) override { return k * k * k - x; } };
__device__ __noinline__ Shape *make(int i) { switch (i % 3) { case 0: return new Shape(i); case 1: return new Square(i); default: return new Cube(i); } }
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }
__device__ int is_odd(int n);
__device__ __noinline__ int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }
__device__ __noinline__ int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }
__device__ __noinline__ void quicksort(int *a, int lo, int hi) {
  if (lo >= hi) return;
  int p = a[(lo + hi) / 2], i = lo, j = hi;
  while (i <= j) { while (a[i] < p) i++; while (a[j] > p) j--; if (i <= j) { int t = a[i]; a[i] = a[j]; a[j] = t; i++; j--; } }
  quicksort(a, lo, j); quicksort(a, i, hi);
}
extern "C" __global__ void pointers(int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  out[2 * t] = const_table[t % 3](t, 7); out[2 * t + 1] = table[t % 3](t, 7);
}
extern "C" __global__ void virtuals(int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  Shape *s = make(t); out[t] = s->area(t + 1); delete s;
}
extern "C" __global__ void recursion(int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  out[4 * t] = fib(t % 12); out[4 * t + 1] = ack(t % 3, t % 4); out[4 * t + 2] = is_even(t % 20); out[4 * t + 3] = 0;
  int a[24]; unsigned x = t + 1;
  for (int i = 0; i < 24; i++) { x = x * 1664525u + 1013904223u; a[i] = x >> 16; }
  quicksort(a, 0, 23);
  for (int i = 0; i < 24; i++) out[4 * t + 3] = out[4 * t + 3] * 31 + a[i];
}
extern "C" __global__ void dynamic(int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int *p = (int *)malloc((t + 1) * sizeof(int));
  for (int i = 0; i <= t; i++) p[i] = i * t;
  int s = 0; for (int i = 0; i <= t; i++) s += p[i];
  free(p);
  int *q = (int *)__builtin_alloca((t % 5 + 1) * 4);
  for (int i = 0; i <= t % 5; i++) q[i] = s + i;
  out[t] = 0; for (int i = 0; i <= t % 5; i++) out[t] += q[i];
}
extern "C" __global__ void machine(const int *in, int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int state = 0, n = in[t], steps = 0, acc = 0;
  for (;;) {
    switch (state) {
      case 0: acc += 3; state = n & 1 ? 1 : 2; break;
      case 1: n = 3 * n + 1; state = 2; acc ^= n; break;
      case 2: n >>= 1; state = n < 2 ? 5 : n % 3; break;
      case 3: acc -= 1; state = 0; break;
      case 4: acc *= 2; state = 3; break;
      default: goto done;
    }
    if (++steps > 200) goto done;
    if (acc & 0x40) continue;
    for (int k = 0; k < n % 7; k++) { if (k == 5) break; if (k & 1) continue; for (int j = 0; j < k; j++) { acc += j; if (acc % 11 == 0) goto next; } }
    next:;
  }
done:
  out[2 * t] = acc; out[2 * t + 1] = steps;
}
extern "C" __global__ void irreducible(const int *in, int *out) {
  int t = threadIdx.x, n = in[t], a = 0;
  if (n & 1) goto B;
A: a += 1; n -= 3; if (n < 0) goto end; if (n % 5 == 0) goto C;
B: a += 10; n -= 2; if (n < 0) goto end; if (n % 3 == 0) goto A;
C: a += 100; n -= 1; if (n > 0) { if (n & 2) goto B; goto A; }
end: out[t] = a;
}
extern "C" __global__ void prints(int n) {
  int t = threadIdx.x;
  printf("%d %5d|%-5d|%05d|%+d|% d|%x|%X|%#x|%o|%u\n", t, t, t, t, t, t, t * 255, t * 255, t * 255, t * 8, -t);
  printf("%ld %lld %llu %hd %hhd %zu %p\n", (long)t << 33, (long long)-t, 1ull << 63, (short)t, (char)t, sizeof(int), (void *)(long)(t + 16));
  printf("%f %.3f %10.2f|%-10.1f|%e %E %g %G %a\n", 1.5 * t, 3.14159, 2.5, 2.5, 12345.678, 12345.678, 1e-10, 1e20, 1.0);
  const char *s = t ? "yes" : "no";
  printf("%s|%10s|%-10s|%.1s|%c%c|%%|%*d|%-*d|%.*f\n", s, s, s, s, 'A' + t, 'z', 6, t, 6, t, 2, 1.23456);
  printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n",1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32);
  if (t < n) printf("plain\n");
}
extern "C" __global__ void asserts(int *out, int n) { int t = threadIdx.x; assert(t < n && "too many"); out[t] = t; }
