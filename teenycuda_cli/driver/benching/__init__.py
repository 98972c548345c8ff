"""Timing a kernel: how often, on which device, and what the samples say."""
