/* A libcuda.so.1 for machines without a GPU: device memory is the host's, modules load, kernels do nothing.

   What a broken driver or a broken kernel answers is asked for in the environment, by the name of the call:
   FAKE_cuInit=100 makes cuInit return CUDA_ERROR_NO_DEVICE; FAKE_cuEventQuery=600 lets a kernel spin for ever.
   FAKE_VERSION and FAKE_COUNT are the CUDA version and the number of GPUs. FAKE_LOG is a file that gets a line
   for each call, so that a test can see what was given back; FAKE_ERROR is the assembler's error log. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static int answer(const char *call) {
    char name[128];
    const char *log = getenv("FAKE_LOG");
    if (log) {
        FILE *file = fopen(log, "a");
        if (file) {
            fprintf(file, "%s\n", call);
            fclose(file);
        }
    }
    snprintf(name, sizeof name, "FAKE_%s", call);
    return number(name, 0);
}

#define CALL(name, ...) int name(__VA_ARGS__)
#define ANSWER                                                                                                \
    {                                                                                                         \
        int code = answer(__func__);                                                                          \
        if (code) return code;                                                                                \
    }
#define DONE return 0

CALL(cuInit, unsigned flags) {
    answer(getenv("CUDA_CACHE_DISABLE") ? "cache_off" : "cache_on");
    ANSWER DONE;
}
CALL(cuDriverGetVersion, int *version) { *version = number("FAKE_VERSION", 13000); DONE; }
CALL(cuDeviceGetCount, int *count) { ANSWER *count = number("FAKE_COUNT", 1); DONE; }
CALL(cuDeviceGet, int *device, int ordinal) { *device = ordinal; DONE; }
CALL(cuDeviceGetName, char *name, int length, int device) { snprintf(name, length, "Fake GPU"); DONE; }
CALL(cuDeviceTotalMem_v2, size_t *bytes, int device) { *bytes = (size_t)1 << 34; DONE; }
CALL(cuDeviceGetAttribute, int *value, int attribute, int device) {
    switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;   /* MAX_THREADS_PER_BLOCK, MAX_BLOCK_DIM_X, _Y */
    case 4: *value = 64; break;                     /* MAX_BLOCK_DIM_Z */
    case 5: *value = 2147483647; break;             /* MAX_GRID_DIM_X */
    case 6: case 7: *value = 65535; break;          /* MAX_GRID_DIM_Y, _Z */
    case 8: *value = 49152; break;                  /* MAX_SHARED_MEMORY_PER_BLOCK */
    case 10: *value = 32; break;                    /* WARP_SIZE */
    case 12: *value = 65536; break;                 /* MAX_REGISTERS_PER_BLOCK */
    case 16: *value = 4; break;                     /* MULTIPROCESSOR_COUNT */
    case 38: *value = 1 << 20; break;               /* L2_CACHE_SIZE */
    case 39: *value = 2048; break;                  /* MAX_THREADS_PER_MULTIPROCESSOR */
    case 75: *value = 9; break;                     /* COMPUTE_CAPABILITY_MAJOR */
    case 76: *value = 0; break;                     /* COMPUTE_CAPABILITY_MINOR */
    case 97: *value = 232448; break;                /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    case 106: *value = 32; break;                   /* MAX_BLOCKS_PER_MULTIPROCESSOR */
    default: *value = 1;
    }
    DONE;
}
CALL(cuDevicePrimaryCtxRetain, void **context, int device) { ANSWER *context = (void *)0x10; DONE; }
CALL(cuDevicePrimaryCtxRelease_v2, int device) { ANSWER DONE; }
CALL(cuCtxSetCurrent, void *context) { ANSWER DONE; }
CALL(cuMemGetInfo_v2, size_t *available, size_t *total) { *available = 1000; *total = 2000; DONE; }
CALL(cuMemAlloc_v2, uint64_t *address, size_t size) {
    ANSWER
    if (size > (size_t)1 << 34) return 2;
    *address = (uint64_t)aligned_alloc(256, (size + 255) / 256 * 256);
    DONE;
}
CALL(cuMemFree_v2, uint64_t address) { ANSWER free((void *)address); DONE; }
CALL(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t size) { ANSWER memcpy((void *)to, from, size); DONE; }
CALL(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t size) { ANSWER memcpy(to, (void *)from, size); DONE; }
CALL(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t size, void *stream) {
    ANSWER memcpy((void *)to, (void *)from, size);
    DONE;
}
CALL(cuMemsetD8Async, uint64_t to, unsigned char byte, size_t size, void *stream) {
    ANSWER memset((void *)to, byte, size);
    DONE;
}
CALL(cuStreamCreate, void **stream, unsigned flags) { ANSWER *stream = (void *)0x20; DONE; }
CALL(cuStreamDestroy_v2, void *stream) { ANSWER DONE; }
CALL(cuStreamSynchronize, void *stream) { ANSWER DONE; }
CALL(cuStreamBeginCapture_v2, void *stream, int mode) { ANSWER DONE; }
CALL(cuStreamEndCapture, void *stream, void **graph) { ANSWER *graph = (void *)0x30; DONE; }
CALL(cuGraphInstantiateWithFlags, void **executable, void *graph, uint64_t flags) {
    ANSWER *executable = (void *)0x40;
    DONE;
}
CALL(cuGraphLaunch, void *executable, void *stream) { ANSWER DONE; }
CALL(cuGraphDestroy, void *graph) { ANSWER DONE; }
CALL(cuGraphExecDestroy, void *executable) { ANSWER DONE; }
CALL(cuEventCreate, void **event, unsigned flags) { ANSWER *event = (void *)0x50; DONE; }
CALL(cuEventRecord, void *event, void *stream) { ANSWER DONE; }
CALL(cuEventQuery, void *event) { ANSWER DONE; }
CALL(cuEventElapsedTime, float *milliseconds, void *start, void *end) { ANSWER *milliseconds = 0.25f; DONE; }
CALL(cuEventElapsedTime_v2, float *milliseconds, void *start, void *end) { ANSWER *milliseconds = 0.25f; DONE; }
CALL(cuEventDestroy_v2, void *event) { ANSWER DONE; }

/* cuModuleLoadDataEx: option 3 is the info log, 4 its size, 5 the error log, 6 its size. */
CALL(cuModuleLoadDataEx, void **module, const void *image, unsigned count, const int *options, void **values) {
    int length = number("FAKE_LOG_BYTES", 0);
    const char *error = getenv("FAKE_ERROR");
    for (unsigned i = 0; i + 1 < count; i++) {
        if (options[i] == 3 || options[i] == 5) {
            size_t room = (size_t)values[i + 1];
            size_t used = (size_t)length + 1 < room ? (size_t)length + 1 : room;
            memset(values[i], 'x', used);
            ((char *)values[i])[used - 1] = 0;
            values[i + 1] = (void *)used;
            if (options[i] == 5 && error && strlen(error) < room) {
                strcpy(values[i], error);
                values[i + 1] = (void *)strlen(error);
            }
        }
    }
    ANSWER *module = (void *)0x60;
    DONE;
}
CALL(cuModuleUnload, void *module) { ANSWER DONE; }
CALL(cuModuleGetFunction, void **function, void *module, const char *name) {
    ANSWER if (!strcmp(name, "missing")) return 500;
    *function = (void *)0x70;
    DONE;
}
CALL(cuModuleGetFunctionCount, unsigned *count, void *module) { *count = 1; DONE; }
CALL(cuModuleEnumerateFunctions, void **functions, unsigned count, void *module) { functions[0] = (void *)0x70; DONE; }
CALL(cuFuncGetName, const char **name, void *function) { *name = "kernel"; DONE; }
CALL(cuFuncGetAttribute, int *value, int attribute, void *function) { *value = attribute ? 0 : 1024; DONE; }
CALL(cuFuncSetAttribute, void *function, int attribute, int value) { ANSWER DONE; }
CALL(cuFuncGetParamInfo, void *function, size_t index, size_t *offset, size_t *size) {
    if (index >= (size_t)number("FAKE_PARAMETERS", 4)) return 1;
    *offset = 8 * index;
    *size = index == 3 ? 4 : 8;
    DONE;
}
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, void *function, int threads, size_t shared) {
    ANSWER *blocks = 2048 / threads;
    DONE;
}
CALL(cuOccupancyMaxActiveClusters, int *clusters, void *function, const void *config) { ANSWER *clusters = 4; DONE; }
CALL(cuLaunchKernelEx, const void *config, void *function, void **parameters, void **extra) { ANSWER DONE; }
CALL(cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
     unsigned shared, void *stream, void **parameters, void **extra) { ANSWER DONE; }
CALL(cuGetErrorName, int code, const char **name) {
    *name = code == 46    ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
            : code == 100 ? "CUDA_ERROR_NO_DEVICE"
            : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : code == 999 ? "CUDA_ERROR_UNKNOWN"
                          : "CUDA_ERROR_FAKE";
    DONE;
}
CALL(cuGetErrorString, int code, const char **text) { *text = "said the fake driver"; DONE; }

/* cuda-python finds every function through this one, by its name without the version's suffix. */
CALL(cuGetProcAddress_v2, const char *symbol, void **function, int version, uint64_t flags, int *status) {
    char versioned[160];
    for (int suffix = 2; suffix >= 0; suffix--) {
        const char *pattern[] = {"%s", "%s_v2", "%sWithFlags"};
        snprintf(versioned, sizeof versioned, pattern[suffix], symbol);
        *function = dlsym(RTLD_DEFAULT, versioned);
        if (!*function) {
            void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
            *function = self ? dlsym(self, versioned) : NULL;
        }
        if (*function) break;
    }
    if (status) *status = *function ? 0 : 1;
    return *function ? 0 : 500;
}
CALL(cuGetProcAddress, const char *symbol, void **function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
