// Counts bytes: shared-memory atomics in each block, then global ones.
//     nvcc -ptx -arch=compute_75 -lineinfo histogram.cu
extern "C" __global__ void histogram(const unsigned char* x, unsigned* counts, int n) {
  __shared__ unsigned block[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) block[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&block[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&counts[i], block[i]);
}
