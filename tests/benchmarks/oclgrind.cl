// The kernels of ../../samples, vector_add.cu and sparse_sort_serial.cu in OpenCL C, statement for statement.
#define TILE 16

__kernel void vector_add(__global const float* x, __global const float* y, __global float* out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = x[i] + y[i];
}

__kernel void saxpy(int n, float a, __global const float* x, __global float* y) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = a * x[i] + y[i];
}

__kernel void transpose(__global const float* x, __global float* out, int width, int height) {
  __local float tile[32][33];
  int tx = get_local_id(0), ty = get_local_id(1);
  int column = get_group_id(0) * 32 + tx, row = get_group_id(1) * 32 + ty;
  for (int j = 0; j < 32; j += 8)
    if (column < width && row + j < height) tile[ty + j][tx] = x[(row + j) * width + column];
  barrier(CLK_LOCAL_MEM_FENCE);
  column = get_group_id(1) * 32 + tx;
  row = get_group_id(0) * 32 + ty;
  for (int j = 0; j < 32; j += 8)
    if (column < height && row + j < width) out[(row + j) * height + column] = tile[tx][ty + j];
}

__kernel void matmul(__global const float* a, __global const float* b, __global float* c, int n) {
  __local float tile_a[TILE][TILE], tile_b[TILE][TILE];
  int tx = get_local_id(0), ty = get_local_id(1);
  int row = get_group_id(1) * TILE + ty, column = get_group_id(0) * TILE + tx;
  float sum = 0;
  for (int t = 0; t < n / TILE; ++t) {
    tile_a[ty][tx] = a[row * n + t * TILE + tx];
    tile_b[ty][tx] = b[(t * TILE + ty) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < TILE; ++k) sum += tile_a[ty][k] * tile_b[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

__kernel void histogram(__global const uchar* x, __global uint* counts, int n) {
  __local uint block[256];
  for (int i = get_local_id(0); i < 256; i += get_local_size(0)) block[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_add(&block[x[i]], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_local_id(0); i < 256; i += get_local_size(0)) atomic_add(&counts[i], block[i]);
}

__kernel void mandelbrot(int width, int height, float left, float top, float step, int limit, __global int* out) {
  int px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height) return;
  float cx = left + px * step, cy = top + py * step, x = 0, y = 0;
  int i = 0;
  while (i < limit && x * x + y * y < 4.f) {
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    ++i;
  }
  out[py * width + px] = i;
}

__kernel void spmv(__global const int* begins, __global const int* columns, __global const float* values,
                   __global const float* x, __global float* y, int rows) {
  int row = get_global_id(0);
  if (row >= rows) return;
  float sum = 0;
  for (int j = begins[row]; j < begins[row + 1]; ++j) sum += values[j] * x[columns[j]];
  y[row] = sum;
}

__kernel void bitonic(__global uint* keys) {
  __local uint block[512];
  uint t = get_local_id(0);
  block[t] = keys[get_group_id(0) * 512 + t];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 2; k <= 512; k <<= 1)
    for (uint j = k >> 1; j > 0; j >>= 1) {
      uint other = t ^ j;
      if (other > t) {
        uint a = block[t], b = block[other];
        bool up = (t & k) == 0;
        if ((a > b) == up) {
          block[t] = b;
          block[other] = a;
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  keys[get_group_id(0) * 512 + t] = block[t];
}

__kernel void serial(__global uint* words, int turns) {
  uint x = words[0];
  for (int i = 0; i < turns; ++i) {
    x = x * 1664525u + 1013904223u;
    words[x >> 16 & 255] ^= x;
  }
  words[0] = x;
}
