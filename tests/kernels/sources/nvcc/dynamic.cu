// nvcc -arch=sm_80 -rdc=true
// A kernel that launches another: beyond what the emulator does, and refused by name.
extern "C" __global__ void child(int* x) { x[threadIdx.x] += 1; }
extern "C" __global__ void parent(int* x) { if (threadIdx.x == 0) child<<<1, 32>>>(x); }
