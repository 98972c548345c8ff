"""Softmax over the rows of a matrix of at most 1024 columns.

`python softmax.py` (Triton 3.6, no GPU needed) writes softmax.ptx, and its metadata beside it, softmax.json.
"""

import json

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(x_ptr, out_ptr, row_stride, n_columns, BLOCK: tl.constexpr):
    """A row a program."""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n_columns
    x = tl.load(x_ptr + row * row_stride + offsets, mask=mask, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * row_stride + offsets, e / tl.sum(e, axis=0), mask=mask)


if __name__ == "__main__":
    integers = {"row_stride": "i32", "n_columns": "i32"}
    source = ASTSource(
        fn=softmax,
        signature={"x_ptr": "*fp32", "out_ptr": "*fp32", **integers, "BLOCK": "constexpr"},
        constexprs={(4,): 1024},
        attrs={(i,): [["tt.divisibility", 16]] for i in range(2)},
    )
    kernel = triton.compile(source, target=GPUTarget("cuda", 80, 32))
    with open("softmax.ptx", "w") as file:
        file.write(kernel.asm["ptx"])
    with open("softmax.json", "w") as file:
        keys = ["name", "num_warps", "num_ctas", "shared"]
        keys += [f"{scratch}_scratch_{key}" for scratch in ("global", "profile") for key in ("size", "align")]
        json.dump({key: getattr(kernel.metadata, key) for key in keys}, file, indent=1)
