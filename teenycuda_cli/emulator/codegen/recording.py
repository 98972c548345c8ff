"""Source for what runs often, steps for what does not: an emitter that chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from teenycuda_cli.emulator.codegen.arguments import MASK, Argument, are_values, fixed, floats_of
from teenycuda_cli.emulator.codegen.emitter import Emitter
from teenycuda_cli.emulator.codegen.steps import FEWEST, Guarded, Step, Steps, parameter
from teenycuda_cli.emulator.ir import Op, Register, Source
from teenycuda_cli.emulator.program import Program

HOT = 32
"""Instructions of a loop whose blocks are source through and through."""


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

    def call(
        self,
        op: Op,
        destinations: list[Source],
        run: str,
        arguments: Sequence[Argument],
        dtypes: Sequence[Any] = (),
    ) -> None:
        """Let the call be a step where it can."""
        kept = [self.kept(d) if isinstance(d, Register) else None for d in destinations]
        turned = [
            item
            for item, dtype in zip(kept, dtypes, strict=False)
            if item is not None and item.tag != "i" and item.dtype != dtype
        ]
        many = len(destinations) > 1 or op.predicate is not None
        if self.is_hot or (turned and many) or not are_values(arguments):
            super().call(op, destinations, run, arguments, dtypes)
            return
        taken = tuple(arguments)
        if op.predicate is not None:
            at = arguments.index(MASK)
            dtypes_kept = tuple([item and item.dtype for item in kept])
            run = self.bind(Guarded(self.names[run], op.negated, dtypes_kept, at))
            old = [self.argument(d) if isinstance(d, Register) else fixed(0) for d in destinations]
            taken = (self.argument(op.predicate), MASK, *old, *arguments[:at], *arguments[at + 1 :])
        self.steps.append(Step(self.names[run], run, destinations, taken))
        for item in turned:
            turn = self.function(floats_of, item.dtype, item.width)
            self.steps.append(Step(self.names[turn], turn, destinations, [self.argument(destinations[0])]))

    def read_parameter(self, op: Op, register: Register, offset: int, dtype: Any) -> None:
        """A place in the kernel's parameters into a register."""
        number = self.parameter(offset, dtype, self.kept(register))
        if not self.step(op, (register,), self.bind(parameter), (fixed(number),)):
            self.assign(op, register, f"S.A[{number}]")

    def flush(self) -> None:
        """Write the steps so far: as one call, or a few as lines."""
        taken, self.steps = self.steps, []
        if len(taken) < FEWEST:
            for step in taken:
                texts = ", ".join([argument.text for argument in step.arguments])
                targets = [f"v{d.number}" if isinstance(d, Register) else "_" for d in step.destinations]
                call = f"{step.name}(S, {texts})" if step.name else texts
                self.lines.append(f"{', '.join(targets)} = {call}" if targets else call)
            return
        steps = Steps(taken, self._is_wanted)
        targets = [f"v{register.number}, " for register in steps.outputs]
        call = f"{self.bind(steps)}(S{''.join([f', {text}' for text in steps.inputs])})"
        self.lines.append(f"{''.join(targets)}= {call}" if targets else call)

    def _is_wanted(self, register: Register) -> bool:
        """Whether a register is read from here on, or by a later block."""
        return self._last_use.get(register, -1) >= self._index or register in self.block.live_out
