"""How instructions with effects enter the table: a syntax line, and a function that writes their code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from teenycuda_cli.emulator.opcodes.forms import Fragment
from teenycuda_cli.emulator.opcodes.table import op

if TYPE_CHECKING:
    from teenycuda_cli.emulator.codegen.emitter import Emitter
    from teenycuda_cli.emulator.ir import Op

Build: TypeAlias = "Callable[[Emitter, Op], None]"


def effect(
    *lines: str,
    isa: str,
    ends_block: bool = False,
    leaves: bool = False,
    gathers: bool = False,
    whole_warps: bool = False,
    whole_warpgroups: bool = False,
    meets_elsewhere: bool = False,
    accumulates: bool = False,
    keeps_memory: bool = False,
    uses_stack: bool = False,
    types: str = "",
    where: Any = None,
    vectors: Mapping[str, Fragment] | None = None,
    **alternatives: Any,
) -> Callable[[Build], Build]:
    """Register a function that emits the code of an instruction with an effect.

    `ends_block`: control may go elsewhere after it; `leaves`: it never goes
    on to the next instruction; `gathers`: it needs other lanes of the warp
    (its last operand is the member mask); `whole_warps`: it needs all of them,
    `whole_warpgroups` those of its warpgroup; `meets_elsewhere`: they may be at another of its kind;
    `accumulates`: it reads its destination;
    `keeps_memory`: no memory changes;
    `uses_stack`: it reads and writes where `alloca` has taken memory down to.
    """

    def register(build: Build) -> Build:
        traits: Any = build
        traits.ends_block = ends_block
        traits.leaves = leaves
        traits.gathers = gathers or whole_warps or whole_warpgroups
        traits.whole_warps = whole_warps
        traits.whole_warpgroups = whole_warpgroups
        traits.meets_elsewhere = meets_elsewhere
        traits.accumulates = accumulates
        traits.keeps_memory = keeps_memory
        traits.uses_stack = uses_stack
        op(*lines, isa=isa, types=types, where=where, effect=True, vectors=vectors, **alternatives)(build)
        return build

    return register
