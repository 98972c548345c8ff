// out += the sum of x: warp shuffles, then one shared slot a warp, then one atomic a block.
// Dynamic shared memory: 4 bytes a warp (--shared 32 for a block of 256).
//     nvcc -ptx -arch=compute_75 -lineinfo reduce_sum.cu
extern "C" __global__ void reduce_sum(const float* x, float* out, int n) {
  extern __shared__ float partial[];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += x[i];
  for (int offset = 16; offset; offset >>= 1)
    sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int offset = 16; offset; offset >>= 1)
      sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}
