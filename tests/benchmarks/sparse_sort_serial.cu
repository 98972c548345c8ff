// A sparse product, a sort through shared memory, and a single thread: what a lock-step machine is worst at.
//     nvcc -ptx -arch=compute_75 sparse_sort_serial.cu

// y = matrix @ x, the matrix in CSR form, a thread a row.
extern "C" __global__ void spmv(const int* begins, const int* columns, const float* values, const float* x, float* y,
                                int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int j = begins[row]; j < begins[row + 1]; ++j) sum += values[j] * x[columns[j]];
  y[row] = sum;
}

// Each block sorts 512 keys of its own.
extern "C" __global__ void bitonic(unsigned* keys) {
  __shared__ unsigned block[512];
  unsigned t = threadIdx.x;
  block[t] = keys[blockIdx.x * 512 + t];
  __syncthreads();
  for (unsigned k = 2; k <= 512; k <<= 1)
    for (unsigned j = k >> 1; j > 0; j >>= 1) {
      unsigned other = t ^ j;
      if (other > t) {
        unsigned a = block[t], b = block[other];
        bool up = (t & k) == 0;
        if ((a > b) == up) {
          block[t] = b;
          block[other] = a;
        }
      }
      __syncthreads();
    }
  keys[blockIdx.x * 512 + t] = block[t];
}

// One thread: a generator of pseudo-random numbers that stirs 256 words.
extern "C" __global__ void serial(unsigned* words, int turns) {
  unsigned x = words[0];
  for (int i = 0; i < turns; ++i) {
    x = x * 1664525u + 1013904223u;
    words[x >> 16 & 255] ^= x;
  }
  words[0] = x;
}
