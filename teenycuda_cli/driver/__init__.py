"""The shared driver module: devices, argument language, packing, scratch, the launch sequence, checks."""
