"""Which array holds which register's value: within a block, arrays come from a pool by linear scan."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from teenycuda_cli.emulator.ir import BasicBlock, Group, Op, Register, Source


class Pool:
    """The arrays of a kernel by numbers, and what they hold at an instruction of a block."""

    def __init__(self, block: BasicBlock) -> None:
        """`dtypes` are those of the arrays."""
        self.dtypes: list[Any] = []
        self.block = block
        self.op: Op | None = None
        self._index = 0  # of `op` in the block
        self._buffers: dict[Any, list[int]] = {}  # all, by dtype
        self._free: dict[Any, list[int]] = {}
        self._numbers: dict[Register, tuple[int, ...]] = {}  # the arrays that a register's value lies in
        self._holders: dict[int, int] = {}  # array → how many registers' values lie in it
        self._unheld: list[int] = []
        self._expiring: dict[int, list[Register]] = {}
        self._last_use: dict[Register, int] = {}
        self._last_def: dict[Register, int] = {}
        self._last_read: dict[Register, int] = {}

    def begin(self, block: BasicBlock) -> None:
        """A block, at whose start all arrays are free."""
        self.block = block
        self._free = {dtype: numbers.copy() for dtype, numbers in self._buffers.items()}
        self._holders, self._numbers, self._unheld = {}, {}, []
        last_use: dict[Register, int] = {}
        last_def: dict[Register, int] = {}
        last_read: dict[Register, int] = {}
        for index, op in enumerate(block.ops):
            if op.predicate is None:
                for register in op.reads:
                    last_use[register] = last_read[register] = index
            else:
                for register in op.reads:
                    last_use[register] = index
                    if register not in op.writes:
                        last_read[register] = index
            for register in op.writes:
                last_def[register] = last_use[register] = index
        self._last_use, self._last_def, self._last_read = last_use, last_def, last_read
        self._expiring = defaultdict(list)
        for register, index in last_use.items():
            if not self._may_stay(register):
                self._expiring[index].append(register)

    def _may_stay(self, register: Register) -> bool:
        """Whether what is handed on at the block's end may be an earlier value, in an array of the pool."""
        if register.home < 0 or register not in self.block.live_out:
            return False
        last = self._last_def.get(register)
        return last is not None and self.block.ops[last].predicate is not None

    def buffer(self, register: Register, dtype: Any) -> int:
        """A buffer number for a register's next array: of the pool, or ~home where it lives across blocks."""
        if (
            register.home >= 0
            and self._last_def.get(register) == self._index
            and register in self.block.live_out
        ):
            return ~register.home
        free = self._free.setdefault(dtype, [])
        if free:
            number = free.pop()
        else:
            number = len(self.dtypes)
            self.dtypes.append(dtype)
            self._buffers.setdefault(dtype, []).append(number)
        self._hold(register, number)
        return number

    def lives_on(self, register: Register) -> bool:
        """Whether the value being written now is kept for other blocks."""
        return (
            register.home >= 0
            and register in self.block.live_out
            and self._last_def.get(register) == self._index
        )

    def release(self) -> None:
        """Give the buffers of registers that are used no more back to the pool."""
        for register in self._expiring.get(self._index, ()):
            if register in self._numbers:
                self._drop(register)
        if self._unheld:
            for number in self._unheld:
                if number not in self._holders:
                    self._free.setdefault(self.dtypes[number], []).append(number)
            self._unheld = []

    def _drop(self, register: Register) -> None:
        """The register's value is in no buffer any more."""
        for number in self._numbers.pop(register, ()):
            holders = self._holders.pop(number) - 1
            if holders:
                self._holders[number] = holders
            else:
                self._unheld.append(number)

    def _hold(self, register: Register, number: int) -> None:
        """The register's value lies in a buffer now; where it may keep its old value, in that one too."""
        if self.op is None or self.op.predicate is None:
            self._drop(register)
        self._add(register, number)

    def _add(self, register: Register, number: int) -> None:
        before = self._numbers.get(register, ())
        if number not in before:
            self._numbers[register] = (*before, number)
            self._holders[number] = self._holders.get(number, 0) + 1

    def alias(self, destination: Register, source: Register) -> bool:
        """Let two local registers share an array; False where a copy is needed."""
        guarded = self.op is not None and self.op.predicate is not None
        if guarded or self.lives_on(destination) or self._last_def.get(source, -1) >= self._index:
            return False
        if destination is not source:
            self._drop(destination)
            for number in self._numbers.get(source, ()):
                self._add(destination, number)
        return True

    def only_read_before_writes(self, register: Register) -> bool:
        """Whether a value made now is only computed with, in this block, before memory may change."""
        if self.lives_on(register) or self._last_def.get(register) != self._index:
            return False
        last = self._last_use.get(register, -1)
        for index in range(self._index + 1, last + 1):
            op = self.block.ops[index]
            value = op.operation.form.kind == "value"
            if register in op.reads:
                if register in op.writes or op.instruction.opcode in {"mov", "selp", "cvt"}:
                    return False
                if not value and (op.instruction.opcode != "st" or isinstance(op.operands[1], Group)):
                    return False  # a store of one element copies what overlaps, one of several may not
            if not value and index < last and not getattr(op.operation.form.build, "keeps_memory", False):
                return False
        return True

    def is_used(self, source: Source) -> bool:
        """Whether a destination is read at all."""
        if not isinstance(source, Register):
            return False
        return source in self.block.live_out or self._last_read.get(source, -1) > self._index

    def forget(self, register: Register) -> None:
        """A destination that is written later, not by this block."""
        self._last_def.pop(register, None)
