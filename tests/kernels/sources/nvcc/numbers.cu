// nvcc -arch=sm_80
// nvcc sm90: -arch=sm_90
// Arithmetic: double precision functions, half and bfloat pairs, 128-bit integers, packed bytes, complex numbers.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuComplex.h>

extern "C" __global__ void double_math(const double* x, double* s, double* e, double* p, double* l, double* t, double* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    s[i] = sin(v) * cos(v);
    e[i] = exp(v * 0.1) + expm1(v * 1e-3);
    p[i] = pow(fabs(v) + 0.5, 1.7);
    l[i] = log(fabs(v) + 1e-3) + log2(v * v + 1) + log1p(fabs(v));
    t[i] = atan2(v, 2.0) + tanh(v) + erf(v * 0.5);
    c[i] = cbrt(v) + hypot(v, 3.0) + sqrt(fabs(v)) + 1.0 / (v + 100.0) + fmod(v, 0.7);
}

extern "C" __global__ void half_pairs(const half2* x, const half2* y, half2* sum, half2* apart, half2* fused, half2* rest, half* one, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    half2 a = x[i], b = y[i];
    sum[i] = __hadd2(__hmul2(a, a), __hmul2(b, b));
    apart[i] = __hadd2_rn(__hmul2_rn(a, b), __hneg2(a));
    fused[i] = __hfma2_relu(a, b, __float2half2_rn(0.5f));
    half2 low = __hmin2(a, b), high = __hmax2(a, b);
    rest[i] = __hbgt2(a, b) ? __lows2half2(low, high) : __highs2half2(low, high);
    one[i] = __heq(a.x, b.x) || __hgt(a.x, b.y) ? __hsub_sat(a.x, b.x) : __habs(a.y);
}

extern "C" __global__ void half_functions(const half* x, half* root, half* power, half* whole, short* number, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    root[i] = hsqrt(__habs(x[i]));
    power[i] = hexp2(x[i]);
    whole[i] = hrint(x[i]) + hfloor(x[i]);
    number[i] = __half2short_rz(__hmul(x[i], __float2half(100.0f)));
}

extern "C" __global__ void bfloat_pairs(const __nv_bfloat162* x, const __nv_bfloat162* y, __nv_bfloat162* sum, __nv_bfloat162* fused, float2* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sum[i] = __hadd2(x[i], y[i]);
    fused[i] = __hfma2(x[i], y[i], __hmax2(x[i], y[i]));
    wide[i] = __bfloat1622float2(__hmul2(x[i], y[i]));
}

extern "C" __global__ void wide_integers(const ulonglong2* x, const ulonglong2* y, ulonglong2* sum, ulonglong2* product, ulonglong2* quotient, ulonglong2* shifted, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    typedef unsigned __int128 u128;
    u128 a = (u128)x[i].y << 64 | x[i].x, b = (u128)y[i].y << 64 | y[i].x;
    auto put = [&](ulonglong2* out, u128 v) { out[i] = make_ulonglong2((unsigned long long)v, (unsigned long long)(v >> 64)); };
    put(sum, a + b);
    put(product, a * b);
    put(quotient, b ? a / b : a);
    put(shifted, (u128)((__int128)a >> (int)(b & 127)));
}

extern "C" __global__ void packed_bytes(const unsigned* x, const unsigned* y, unsigned* add, unsigned* avg, unsigned* diff, unsigned* most, unsigned* cmp, int* dots, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = y[i];
    add[i] = __vadd4(a, b) ^ __vaddss2(a, b);
    avg[i] = __vavgu4(a, b) + __vhaddu4(a, b);
    diff[i] = __vabsdiffu4(a, b) ^ __vsubus4(a, b);
    most[i] = __vmaxs4(a, b) - __vminu2(a, b);
    cmp[i] = __vcmpgtu4(a, b) | (__vseteq4(a, b) << 1);
    dots[i] = __dp4a((int)a, (int)b, 17) + __dp2a_lo((int)a, (int)b, -3) + (int)__dp4a(a, b, 5u) + (int)__vsadu4(a, b);
}

extern "C" __global__ void bit_tricks(const unsigned* x, const unsigned* y, unsigned* out, unsigned long long* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = y[i];
    unsigned r = __popc(a) + 100 * __clz(b) + 10000 * __ffs(a);
    r ^= __brev(a) + __byte_perm(a, b, 0x3715) + __funnelshift_l(a, b, b) + __funnelshift_rc(a, b, 40);
    r += __umulhi(a, b) ^ __uhadd(a, b) ^ __urhadd(a, b) ^ __usad(a, b, r) ^ __umul24(a, b);
    out[i] = r;
    unsigned long long w = (unsigned long long)a << 32 | b;
    wide[i] = __brevll(w) ^ __umul64hi(w, w * 3) ^ (__popcll(w) + 64 * __clzll(w >> (b & 63)));
}

// A Julia set's orbit and a division, in complex numbers.
extern "C" __global__ void complex_orbit(const cuFloatComplex* z, cuFloatComplex* orbit, cuDoubleComplex* ratio, float* size, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    cuFloatComplex v = z[i], c = make_cuFloatComplex(-0.4f, 0.6f);
    for (int k = 0; k < 4; k++) v = cuCaddf(cuCmulf(v, v), c);
    orbit[i] = v;
    cuDoubleComplex w = cuComplexFloatToDouble(z[i]);
    ratio[i] = cuCdiv(w, cuCadd(cuConj(w), make_cuDoubleComplex(0.25, 1.5)));
    size[i] = cuCabsf(z[i]);
}

extern "C" __global__ void roundings(const float* x, const float* y, float* add, float* mul, float* div, int* whole, long long* longs, double* doubles, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = y[i];
    add[i] = (__fadd_ru(a, b) - __fadd_rd(a, b)) + __fadd_rz(a, b);
    mul[i] = __fmaf_rz(a, b, __fmul_rd(a, b));
    div[i] = __fdiv_rn(a, b) + __fsqrt_ru(fabsf(a)) + __frcp_rd(b);
    whole[i] = __float2int_rn(a * 1000) + 7 * __float2int_ru(b) + 31 * __float2int_rd(b);
    longs[i] = __float2ll_rz(a * 1e12f) ^ __double2ll_rn((double)b * 1e10);
    doubles[i] = __dadd_ru(a, b) * __ddiv_rd(a, b) + __fma_rz((double)a, (double)b, 1e-9);
}
