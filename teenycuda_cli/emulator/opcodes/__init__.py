"""The instructions, one table; each beside its relatives."""
