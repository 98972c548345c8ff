"""Small kernels that do one thing, most of them wrong."""

from __future__ import annotations

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


def kernel(body: str) -> str:
    """An entry `k` with a pointer `p` in %d and a register %r for the body."""
    return (
        f"{HEADER}.visible .entry k(.param .u64 p)\n{{\n"
        f".reg .b32 %r;\n.reg .b64 %d;\n.reg .pred %q;\nld.param.u64 %d, [p];\n{body}\nret;\n}}\n"
    )


STORE = kernel("mov.u32 %r, 7;\nst.global.u32 [%d], %r;")
NULL_STORE = kernel("mov.u64 %d, 0;\nmov.u32 %r, 7;\nst.global.u32 [%d], %r;")
MISALIGNED_STORE = kernel("mov.u32 %r, 7;\nst.global.u32 [%d+2], %r;")
TRAP = kernel("trap;")
OVERRUN = kernel("mov.u32 %r, 7;\nst.global.u32 [%d+16], %r;")
SPIN = kernel("again:\nld.volatile.global.u32 %r, [%d];\nsetp.ne.u32 %q, %r, 77;\n@%q bra again;")
INCREMENT = kernel("ld.global.u32 %r, [%d];\nadd.u32 %r, %r, 1;\nst.global.u32 [%d], %r;")
