"""What the PTX arithmetic gives, bit for bit, on numpy arrays: pure functions without a machine."""
