"""The embedded device: PTX compiled to numpy calls, run in lock-step over batches of blocks."""
