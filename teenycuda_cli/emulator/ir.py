"""Parsed functions made ready for code generation: names resolved, operands typed, instructions decoded.

A program is one entry with every function that it can reach, as one list of
operations in basic blocks; the names of each function and of each scope in it
have become registers and addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from teenycuda_cli.emulator.opcodes.table import Operation
from teenycuda_cli.ptx.syntax import Instruction, Loc, Variable
from teenycuda_cli.records import record

_WIDTHS = {"b128": 128, "pred": 1}


@dataclass(slots=True, eq=False)
class Register:
    """A register of a function; `tag` says how its values are kept: i(nteger), f4, f8 or p(redicate)."""

    number: int
    name: str
    type: str
    width: int
    tag: str = "i"
    raw_nan: bool = False  # may hold NaNs that are not yet PTX's own
    home: int = -1  # its place among the registers that live across blocks; -1: lives within one


@record
class Constant:
    """An integer constant, or the address of a variable of a state space."""

    value: int
    space: str = ""


@record
class FloatConstant:
    """A float constant by its bits."""

    bits: int
    width: int


@record
class Special:
    """A special register, `%tid.x`."""

    name: str


@record
class Frame:
    """The place of a variable of `size` bytes in its function's frame, in local memory."""

    offset: int
    size: int


@record
class KernelParameter:
    """A place in the entry's parameters, in bytes."""

    offset: int
    size: int
    name: str


@record
class Place:
    """`[base+offset]`; `space` where the base's own space is known (a local `.param` variable)."""

    base: Source
    offset: int
    space: str | None = None


@record
class Not:
    """`!p`."""

    register: Register


@record
class Group:
    """`{a, b, c}` or `p|q`, or a call's `(a, b)`."""

    elements: tuple[Source, ...]


@record
class Wide(Group):
    """A register of 128 bits: two of 64 bits, the lower half first."""


@record
class Label:
    """A name for a place in the code; `kind` is `label`, `table` or `function`."""

    name: str
    kind: str = "label"


@record
class Nowhere:
    """`_`."""


Source: TypeAlias = (
    "Register | Constant | FloatConstant | Special | Frame | KernelParameter"
    " | Place | Not | Group | Label | Nowhere"
)


@dataclass(slots=True, eq=False)
class Op:
    """One instruction in a block."""

    instruction: Instruction
    operation: Operation
    function: FunctionBody
    operands: tuple[Source, ...]
    predicate: Register | None
    negated: bool
    loc: Loc | None
    reads: tuple[Register, ...] = ()
    writes: tuple[Register, ...] = ()


@dataclass(slots=True, eq=False)
class BasicBlock:
    """Operations with one way in; `ends` says how it ends."""

    number: int
    function: FunctionBody
    ops: list[Op] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)
    live_in: frozenset[Register] = frozenset()
    live_out: frozenset[Register] = frozenset()
    rank: float = 0.0  # the scheduler runs the least first
    loop: int = -1  # of a header: the last rank of its loop
    gathers: bool = False  # begins with an instruction that waits for other lanes of its warp


@dataclass(slots=True, eq=False)
class FunctionBody:
    """A function of the program."""

    name: str
    is_entry: bool
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    first: int = 0  # its first block
    recursive: bool = False
    frame: dict[str, tuple[int, Variable]] = field(default_factory=dict)  # unique name → offset, variable
    frame_size: int = 0
    frame_base: int = 0  # where its frame lies in local memory, unless it is recursive
    return_to: Register | None = None  # which call its lanes came from
    calls: set[str] = field(default_factory=set)
    reaches: set[str] = field(default_factory=set)  # all that it calls, directly or not
    spill_size: int = 0
    spill_offset: int = 0  # in its frame: where registers are saved while it calls itself


NO_LANES = Constant(0)
ALL_LANES = Constant((1 << 32) - 1)
ALL_LANES_OF_A_WARPGROUP = Constant((1 << 128) - 1)


def member_mask(op: Op) -> Source | None:
    """The lanes that an instruction needs of its warp: its last operand, unless it needs all or none."""
    build = op.operation.form.build
    if getattr(build, "whole_warpgroups", False):
        return ALL_LANES_OF_A_WARPGROUP
    if getattr(build, "whole_warps", False):
        return ALL_LANES
    if "sync" not in op.instruction.modifiers:
        return NO_LANES
    mask = op.operands[-1] if op.operands else None
    return Constant(mask.value & 0xFFFFFFFF) if isinstance(mask, Constant) else mask


def gathers(operation: Operation) -> bool:
    """Whether an instruction waits for other lanes of its warp."""
    return getattr(operation.form.build, "gathers", False)


def meets_elsewhere(operation: Operation) -> bool:
    """Whether the lanes that an instruction waits for may be at another one of its kind."""
    return getattr(operation.form.build, "meets_elsewhere", False)


def elements(source: Source) -> list[Source]:
    """A group's elements, or the operand itself."""
    if type(source) is Register:
        return [source]
    return list(source.elements) if isinstance(source, Group) else [source]


def is_copy(op: Op) -> bool:
    """Whether an operation hands values on as they are."""
    return op.instruction.opcode in {"mov", "selp"}


@cache
def width_of(type_name: str) -> int:
    """Bits of a register of a PTX type."""
    known = _WIDTHS.get(type_name)
    if known is not None:
        return known
    digits = type_name.split("x", maxsplit=1)[0].lstrip("abcdefghijklmnopqrstuvwxyz")
    count = 2 if type_name.endswith("x2") else 1
    return int(digits) * count


def flat_registers(source: Source) -> list[Register]:
    """The registers that an operand names."""
    if type(source) is Constant:
        return []
    if isinstance(source, Register):
        return [source]
    if isinstance(source, Not):
        return [source.register]
    if isinstance(source, Place):
        return flat_registers(source.base)
    if isinstance(source, Group):
        return [register for element in source.elements for register in flat_registers(element)]
    return []
