"""Adds two vectors.

`python vector_add.py` (Triton 3.6, no GPU needed) writes vector_add.ptx, and the metadata block behind it.
"""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """out = x + y, BLOCK elements a program."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


if __name__ == "__main__":
    source = ASTSource(
        fn=vector_add,
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        constexprs={(4,): 1024},
        attrs={(i,): [["tt.divisibility", 16]] for i in range(3)},
    )
    kernel = triton.compile(source, target=GPUTarget("cuda", 80, 32))
    keys = ["name", "num_warps", "num_ctas", "shared"]
    keys += [f"{scratch}_scratch_{key}" for scratch in ("global", "profile") for key in ("size", "align")]
    block = "".join(f"// meta:{key}={getattr(kernel.metadata, key)}\n" for key in keys)
    with open("vector_add.ptx", "w") as file:
        file.write(kernel.asm["ptx"] + block)
