// Prints from the device.
//     nvcc -ptx -arch=compute_75 -lineinfo hello.cu
#include <cstdio>

extern "C" __global__ void hello(int year) {
  printf("hello %d from block %d, thread %d\n", year, blockIdx.x, threadIdx.x);
}
