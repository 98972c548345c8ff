// A kernel with a fault: the guard compares with <= where it must be <, so one thread writes past the end.
//     nvcc -ptx -arch=compute_75 -lineinfo out_of_bounds.cu
extern "C" __global__ void fill(float* x, float value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) x[i] = value;
}
