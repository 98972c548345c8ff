"""Which modifiers of ld and st go together, as the assembler has it."""

from __future__ import annotations

from teenycuda_cli.emulator.numerics.types import dtype as dtype_of
from teenycuda_cli.emulator.opcodes.forms import Modifiers

_STRONG_SPACES = frozenset(("", "global", "shared", "shared::cta", "shared::cluster"))
_GLOBAL = frozenset(("", "global"))
_VECTOR_BYTES = 16
_LONG_VECTOR_BYTES = 32  # since sm_100, in global memory, of elements of at least 32 bits


def _is_ordered(m: Modifiers) -> bool:
    """Whether the semantics go with the scope, the space and the cache operator."""
    sem, scope, space = m["sem"], m["scope"], m["space"]
    if m["mmio"]:
        return sem == "relaxed" and scope == "sys" and space in _GLOBAL and not m["cop"] and not m["vec"]
    if sem in ("", "weak"):
        return not scope
    if m["cop"] or space not in _STRONG_SPACES:
        return False
    return bool(scope) == (sem != "volatile")


def _is_cached(m: Modifiers) -> bool:
    """Whether eviction, prefetch and policy go with the rest: they are for global memory."""
    evicts, hinted = m["evict"], m.get("hint")
    if m["space"] not in _GLOBAL and (evicts or m["level"] or hinted or m.get("prefetch")):
        return False
    if m["level"] and not _is_long(m):
        return False
    if m["mmio"] or m["sem"] == "volatile":
        return not evicts and not hinted and not (m["mmio"] and m.get("prefetch"))
    return not (evicts and m["cop"])


def _vector_bytes(m: Modifiers) -> int:
    return int((m["vec"] or "v1")[1:]) * dtype_of(m["type"]).itemsize


def _is_long(m: Modifiers) -> bool:
    return _vector_bytes(m) == _LONG_VECTOR_BYTES


def _fits_register_file(m: Modifiers) -> bool:
    size = _vector_bytes(m)
    if size <= _VECTOR_BYTES:
        return m["vec"] != "v8"  # ptxas 13.0 takes some, and crashes or loses elements
    return size == _LONG_VECTOR_BYTES and m["space"] in _GLOBAL and m["vec"] in {"v4", "v8"}


def is_load(m: Modifiers) -> bool:
    """Whether a load with these modifiers is PTX."""
    if m["nc"] and (m["space"] != "global" or m["sem"] or m["cop"] not in {"", "ca", "cg", "cs"}):
        return False
    return _is_ordered(m) and _is_cached(m) and _fits_register_file(m)


def is_store(m: Modifiers) -> bool:
    """Whether a store with these modifiers is PTX."""
    return _is_ordered(m) and _is_cached(m) and _fits_register_file(m)


def is_uniform_load(m: Modifiers) -> bool:
    """Whether an `ldu` with these modifiers is PTX."""
    return _vector_bytes(m) <= _VECTOR_BYTES
