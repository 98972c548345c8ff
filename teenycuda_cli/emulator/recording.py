"""Source for what runs often, steps for what does not: an emitter that chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from teenycuda_cli.emulator.arguments import Argument, fixed
from teenycuda_cli.emulator.compute import Kept
from teenycuda_cli.emulator.emitter import Emitter
from teenycuda_cli.emulator.ir import Op, Register, Source
from teenycuda_cli.emulator.program import Program
from teenycuda_cli.emulator.steps import FEWEST, Guarded, Step, Steps, parameter

HOT = 64
"""Instructions of a block in a loop that is source through and through."""


class StepEmitter(Emitter):
    """Collects steps until a line of source is written; blocks that are hot are all source."""

    def __init__(self, program: Program) -> None:
        """No steps yet."""
        super().__init__(program)
        self.is_hot = False
        self.steps: list[Step] = []

    def line(self, text: str) -> None:
        """Append a line to the function, behind the steps so far."""
        if self.steps:
            self.flush()
        self.lines.append(text)

    def step(self, op: Op, destinations: Sequence[Source], run: str, arguments: Sequence[Argument]) -> bool:
        """Let what calls `run` (or, without a name, copies) be a step; False where it cannot."""
        if self.is_hot or op.predicate is not None or not are_values(arguments):
            return False
        self.steps.append(Step(self.names[run] if run else None, run, destinations, arguments))
        return True

    def invoke(
        self,
        op: Op,
        destinations: list[Source],
        run: str,
        arguments: Sequence[Argument],
        dtypes: Sequence[Any] = (),
    ) -> bool:
        """Let a call that takes the mask behind its first argument be a step."""
        kept = [self.kept(d) if isinstance(d, Register) else None for d in destinations]
        as_they_are = all(
            item is None or item.tag == "i" or item.dtype == dtype
            for item, dtype in zip(kept, dtypes, strict=False)
        )
        if self.is_hot or not as_they_are or not are_values(arguments):
            return False
        taken = (arguments[0], _MASK, *arguments[1:])
        if op.predicate is not None:
            guarded = Guarded(self.names[run], op.negated, tuple([item and item.dtype for item in kept]))
            run = self.bind(guarded)
            old = [self.argument(d) if isinstance(d, Register) else fixed(0) for d in destinations]
            taken = (self.argument(op.predicate), _MASK, *old, *arguments)
        self.steps.append(Step(self.names[run], run, destinations, taken))
        return True

    def read_parameter(self, op: Op, register: Register, offset: int, dtype: Any) -> None:
        """A place in the kernel's parameters into a register."""
        number = self.parameter(offset, dtype, self.kept(register))
        if not self.step(op, (register,), self.bind(parameter), (fixed(number),)):
            self.assign(op, register, f"S.A[{number}]")

    def flush(self) -> None:
        """Write the steps so far: as one call, or a few as lines."""
        taken, self.steps = self.steps, []
        if len(taken) < FEWEST:
            for _, name, destinations, arguments in taken:
                texts = ", ".join([argument.text for argument in arguments])
                targets = [f"v{d.number}" if isinstance(d, Register) else "_" for d in destinations]
                call = f"{name}(S, {texts})" if name else texts
                self.lines.append(f"{', '.join(targets)} = {call}" if targets else call)
            return
        steps = Steps(taken, self._is_wanted)
        targets = [f"v{register.number}, " for register in steps.outputs]
        call = f"{self.bind(steps)}(S{''.join([f', {text}' for text in steps.inputs])})"
        self.lines.append(f"{''.join(targets)}= {call}" if targets else call)

    def _is_wanted(self, register: Register) -> bool:
        """Whether a register is read from here on, or by a later block."""
        return self._last_use.get(register, -1) >= self._index or register in self.block.live_out


def are_values(arguments: Sequence[Argument]) -> bool:
    """Whether arguments are registers and what is known now, and no expressions."""
    for argument in arguments:
        if argument.register is None and argument.constant is None and argument.scalar is None:
            return False
    return True


_MASK = Argument("m", Kept("p", 1), Register(-1, "m", "pred", 1, "p"))
"""The lanes that are here, as an input of steps."""
