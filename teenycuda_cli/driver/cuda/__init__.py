"""The CUDA device: all that talks to the driver, and the only importer of cuda-python."""
