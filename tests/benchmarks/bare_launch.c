/* What a launch of vector_add costs at the least: driver, context, PTX from the driver's cache, three buffers.
       gcc -O2 bare_launch.c -o bare_launch -l:libcuda.so.1 && ./bare_launch vector_add.ptx
   Declares what it needs of the driver itself, so that no toolkit is needed to build it. */
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long Address;
int cuInit(unsigned), cuDeviceGet(int *, int), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
int cuDevicePrimaryCtxRelease_v2(int), cuModuleLoadData(void **, const void *), cuModuleUnload(void *);
int cuModuleGetFunction(void **, void *, const char *), cuMemAlloc_v2(Address *, size_t), cuMemFree_v2(Address);
int cuMemcpyHtoD_v2(Address, const void *, size_t), cuMemcpyDtoH_v2(void *, Address, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuCtxSynchronize(void);

#define CHECK(call)                                                                                           \
    do {                                                                                                      \
        int code = (call);                                                                                    \
        if (code) {                                                                                           \
            fprintf(stderr, "%s: error %d\n", #call, code);                                                   \
            return 1;                                                                                         \
        }                                                                                                     \
    } while (0)

enum { N = 4096, BYTES = 4 * N };

int main(int count, char **words) {
    static char text[1 << 20];
    static float x[N], y[N], out[N];
    FILE *file = count > 1 ? fopen(words[1], "rb") : NULL;
    if (!file) return 2;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    for (int i = 0; i < N; i++) x[i] = i, y[i] = 2 * i;
    int device, n = N;
    void *context, *module, *kernel;
    Address dx, dy, dout, none = 0;
    void *parameters[] = {&dx, &dy, &dout, &n, &none, &none};
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetFunction(&kernel, module, "vector_add"));
    CHECK(cuMemAlloc_v2(&dx, BYTES));
    CHECK(cuMemAlloc_v2(&dy, BYTES));
    CHECK(cuMemAlloc_v2(&dout, BYTES));
    CHECK(cuMemcpyHtoD_v2(dx, x, BYTES));
    CHECK(cuMemcpyHtoD_v2(dy, y, BYTES));
    CHECK(cuLaunchKernel(kernel, N / 1024, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH_v2(out, dout, BYTES));
    for (int i = 0; i < N; i++)
        if (out[i] != 3.0f * i) return 3;
    CHECK(cuMemFree_v2(dx));
    CHECK(cuMemFree_v2(dy));
    CHECK(cuMemFree_v2(dout));
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease_v2(device));
    return 0;
}
