"""Assembling without a GPU: nvJitLink in a child process, its messages placed in the user's file."""
