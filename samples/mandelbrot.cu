// How many steps each point of a picture takes to leave the circle of radius 2: a loop whose length differs by lane.
//     nvcc -ptx -arch=compute_75 -lineinfo mandelbrot.cu
extern "C" __global__ void mandelbrot(int width, int height, float left, float top, float step, int limit, int* out) {
  int px = blockIdx.x * blockDim.x + threadIdx.x;
  int py = blockIdx.y * blockDim.y + threadIdx.y;
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
