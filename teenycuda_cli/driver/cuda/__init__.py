"""The CUDA device: the one part of teenycuda that talks to the driver, and the only importer of cuda-python."""
