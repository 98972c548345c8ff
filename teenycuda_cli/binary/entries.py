"""The kernels of machine code in the form in which the rest of the program knows those of PTX."""

from __future__ import annotations

from collections.abc import Sequence

from teenycuda_cli.binary.model import Kernel
from teenycuda_cli.ptx.signatures import Directives, Function, Module, Parameter


def module_of(kernels: Sequence[Kernel]) -> Module:
    """A module of these entries; what machine code does not tell (names and types of parameters) is empty."""
    return Module((0, 0), "", (), 64, tuple(map(_function_of, kernels)), (), (), (), (), (), 0)


def _function_of(kernel: Kernel) -> Function:
    return Function(
        name=kernel.name,
        is_entry=True,
        linkage=kernel.linkage,
        params=(),
        returns=(),
        directives=Directives(
            reqntid=kernel.reqntid, maxntid=kernel.maxntid, reqnctapercluster=kernel.cluster
        ),
        offset=0,
        defined=True,
        body_span=None,
        body=None,
        parameters=tuple(
            Parameter(p.index, "", "", p.size, 0, p.offset, pointer=None, text_offset=0)
            for p in kernel.params
        ),
    )
