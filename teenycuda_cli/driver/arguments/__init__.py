"""The argument language: parse, fill, match against the signature, pack by the kernel's own types."""
