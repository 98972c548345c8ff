"""In which range one lane's integers are kept, and the Python expressions that bring them there.

A register of 32 bits is a Python int from −2³¹ or from 0 on, whichever the
instructions of a loop that look at its value ask for more often; what adds,
multiplies or combines bits takes either, since the low bits are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from teenycuda_cli.emulator.ir import Constant, Op, Register, Source, elements
from teenycuda_cli.emulator.machine.values import wrap
from teenycuda_cli.emulator.numerics.types import dtype as dtype_of

_SAME_LOW_BITS = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "mad": "{0} * {1} + {2}",
    "neg": "-{0}",
    "not": "~{0}",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
    "mov": "{0}",
}
"""What may be computed on either range, by the table's name of the algebra."""
_STAYS_IN_RANGE = frozenset(("and", "or", "xor", "mov"))


def wrapped(text: str, width: int, *, unsigned: bool) -> str:
    """The expression of any int brought into the range of a width."""
    low = f"({text}) & {(1 << width) - 1:#x}"
    return low if unsigned else f"(({low}) ^ {1 << (width - 1):#x}) - {1 << (width - 1):#x}"


def unsigned_registers(ops: Iterable[Op]) -> frozenset[Register]:
    """The registers whose values are asked for as unsigned ones at least as often as signed ones."""
    votes: dict[Register, int] = {}
    for op in ops:
        operation = op.operation
        if operation.form.kind != "value" or operation.affine in _SAME_LOW_BITS:
            continue
        sources = [element for operand in op.operands[1:] for element in elements(operand)]
        pairs = [*zip(sources, operation.sources, strict=False)]
        pairs += zip(elements(op.operands[0]), operation.destinations, strict=False)
        for source, name in pairs:
            if isinstance(source, Register) and source.tag == "i":
                votes[source] = votes.get(source, 0) + (1 if dtype_of(name).kind == "u" else -1)
    found = {register for register, count in votes.items() if count >= 0}
    everyone = {register for op in ops for register in (*op.reads, *op.writes) if register.tag == "i"}
    return frozenset(found | {register for register in everyone if register not in votes})


class Ranges:
    """The integer registers of a loop, and how they are read and written."""

    def __init__(self, ops: Sequence[Op]) -> None:
        """Choose a range for each register of the instructions."""
        self.unsigned = unsigned_registers(ops)

    def kind(self, register: Register) -> str:
        """The integer type whose range a register is kept in."""
        return f"{'u' if register in self.unsigned else 's'}{register.width}"

    def read(self, register: Register, width: int, *, unsigned: bool) -> str:
        """The low bits of a register in a range."""
        text = f"r{register.number}"
        if width == register.width and (register in self.unsigned) == unsigned:
            return text
        return f"({wrapped(text, width, unsigned=unsigned)})"

    def written(self, register: Register, width: int, text: str, *, unsigned: bool) -> str:
        """A value in a range of a width as the register keeps it."""
        kept_unsigned = register in self.unsigned
        if unsigned == kept_unsigned or (unsigned and width < register.width):
            return text
        return wrapped(text, register.width, unsigned=kept_unsigned)

    def same_low_bits(self, op: Op) -> str | None:
        """What a register gets from an instruction that takes integers in either range; None: no such one."""
        name = op.operation.affine or ""
        pattern = _SAME_LOW_BITS.get(name)
        register = op.operands[0]
        if pattern is None or not isinstance(register, Register) or register.tag != "i":
            return None
        sources = op.operands[1:]
        if not all(_is_integer(source, register.width) for source in sources):
            return None
        unsigned = register in self.unsigned
        texts = [
            f"r{source.number}"
            if isinstance(source, Register)
            else f"({_literal(source, register.width, unsigned)})"
            for source in sources
        ]
        text = pattern.format(*texts)
        nonnegative = [
            source in self.unsigned if isinstance(source, Register) else unsigned for source in sources
        ]
        if name in _STAYS_IN_RANGE and all(item == unsigned for item in nonnegative):
            return text
        if name == "and" and unsigned and any(nonnegative):
            return text
        return wrapped(text, register.width, unsigned=unsigned)


def _is_integer(source: Source, width: int) -> bool:
    if isinstance(source, Register):
        return source.tag == "i" and source.width == width
    return isinstance(source, Constant)


def _literal(source: Source, width: int, unsigned: bool) -> int:
    assert isinstance(source, Constant)
    return source.value & ((1 << width) - 1) if unsigned else wrap(source.value, width)
