"""A kernel made ready, and which of its blocks run when, for which lanes."""
