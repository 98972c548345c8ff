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


def long_to_assemble(instructions: int) -> str:
    """A kernel that an assembler needs more than ten seconds for, when it has some 300,000 instructions."""
    loads = [f"ld.global.f32 %f{i}, [%p+{4 * i}];" for i in range(64)]
    stores = [f"st.global.f32 [%p+{4 * i}], %f{i};" for i in range(64)]
    middle = [
        f"fma.rn.f32 %f{i % 64}, %f{(7 * i + 3) % 64}, %f{(13 * i + 5) % 64}, %f{i % 64};"
        for i in range(instructions)
    ]
    head = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .f32 %f<64>;
.reg .b64 %p;
ld.param.u64 %p, [p];
"""
    return head + "\n".join((*loads, *middle, *stores)) + "\nret;\n}\n"
