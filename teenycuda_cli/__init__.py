"""teenycuda: inspect, strip, assemble and launch PTX."""

__version__ = "0.1.0"
