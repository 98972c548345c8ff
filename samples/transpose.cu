// out = x transposed, 32 by 32 tiles through shared memory (the 33rd column keeps the banks apart); blocks of 32 by 8.
//     nvcc -ptx -arch=compute_75 -lineinfo transpose.cu
extern "C" __global__ void transpose(const float* x, float* out, int width, int height) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (column < width && row + j < height) tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * width + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x;
  row = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (column < height && row + j < width) out[(row + j) * height + column] = tile[threadIdx.x][threadIdx.y + j];
}
