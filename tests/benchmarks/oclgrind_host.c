/* Runs one OpenCL kernel several times and prints what each run took, in milliseconds:
 *
 *     oclgrind_host FILE.cl KERNEL ROUNDS X Y LX LY OUT ARGUMENT...
 *
 * X by Y work items in groups of LX by LY. An argument is a file whose first byte says what it is: `b` a buffer,
 * `s` a scalar; the rest are its bytes. Buffers are as their files have them at the start of each run; after the first
 * the last one goes to OUT. The time is that of the kernel alone, from its call to the end of the queue.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_ARGUMENTS = 16 };

typedef struct {
  char kind;
  size_t size;
  char* data;
  cl_mem buffer;
} Argument;

static void check(cl_int status, const char* what) {
  if (status != CL_SUCCESS) {
    fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    exit(1);
  }
}

static char* contents(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char* data = malloc(*size + 1);
  if (!data || fread(data, 1, *size, file) != *size) {
    perror(path);
    exit(1);
  }
  fclose(file);
  data[*size] = 0;
  return data;
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void save(cl_command_queue queue, const Argument* argument, const char* path) {
  check(clEnqueueReadBuffer(queue, argument->buffer, CL_TRUE, 0, argument->size, argument->data, 0, NULL, NULL), "read");
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(argument->data, 1, argument->size, file) != argument->size || fclose(file)) {
    perror(path);
    exit(1);
  }
}

int main(int count, char** words) {
  if (count < 9 || count - 9 > MOST_ARGUMENTS) {
    fprintf(stderr, "usage: %s FILE.cl KERNEL ROUNDS X Y LX LY OUT ARGUMENT...\n", words[0]);
    return 2;
  }
  cl_platform_id platform;
  cl_device_id device;
  cl_int status;
  check(clGetPlatformIDs(1, &platform, NULL), "platform");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check(status, "context");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  check(status, "queue");
  size_t size;
  const char* text = contents(words[1], &size);
  cl_program program = clCreateProgramWithSource(context, 1, &text, &size, &status);
  check(status, "program");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
  cl_kernel kernel = clCreateKernel(program, words[2], &status);
  check(status, "kernel");

  Argument arguments[MOST_ARGUMENTS];
  int taken = count - 9, last = -1;
  for (int i = 0; i < taken; ++i) {
    char* data = contents(words[9 + i], &size);
    arguments[i] = (Argument){data[0], size - 1, data + 1, NULL};
    if (data[0] == 'b') {
      last = i;
      arguments[i].buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size - 1, NULL, &status);
      check(status, "buffer");
      check(clSetKernelArg(kernel, i, sizeof(cl_mem), &arguments[i].buffer), "argument");
    } else {
      check(clSetKernelArg(kernel, i, size - 1, data + 1), "argument");
    }
  }
  size_t all[2] = {strtoul(words[4], NULL, 10), strtoul(words[5], NULL, 10)};
  size_t group[2] = {strtoul(words[6], NULL, 10), strtoul(words[7], NULL, 10)};
  for (int round = 0; round < atoi(words[3]); ++round) {
    for (int i = 0; i < taken; ++i)
      if (arguments[i].buffer)
        check(clEnqueueWriteBuffer(queue, arguments[i].buffer, CL_TRUE, 0, arguments[i].size, arguments[i].data, 0, NULL,
                                   NULL), "write");
    check(clFinish(queue), "finish");
    double start = milliseconds();
    check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, all, group, 0, NULL, NULL), "launch");
    check(clFinish(queue), "finish");
    printf("%.6f\n", milliseconds() - start);
    fflush(stdout);
    if (round == 0) {
      Argument saved = arguments[last];
      saved.data = malloc(saved.size);
      save(queue, &saved, words[8]);
    }
  }
  return 0;
}
