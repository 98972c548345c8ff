"""Calls while a program is lowered: what they become.

A call takes `.param` variables and gives them: registers and constants go
through hidden ones, by ordinary loads and stores. A call by address becomes a
jump to one call by name for each function that the address may mean.
"""

from __future__ import annotations

from typing import Protocol

from teenycuda_cli.emulator.ir import Frame, Register, Source
from teenycuda_cli.emulator.lowering.functions import Functions
from teenycuda_cli.emulator.lowering.jumps import JumpSink, guard, jump
from teenycuda_cli.emulator.lowering.parameters import bits, modifiers
from teenycuda_cli.emulator.lowering.scopes import Scopes
from teenycuda_cli.emulator.program import BUILT_IN, Call, call_of
from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.syntax import Arguments, Function, Instruction, Name, Operand, Prototype, Variable


class Sink(JumpSink, Protocol):
    """What lowers the instructions that a call becomes."""

    def dispatch(self, instruction: Instruction, labels: dict[int, str], scopes: Scopes) -> None:
        """A jump by address, to labels."""

    def operand(self, operand: Operand, scopes: Scopes) -> Source | None:
        """An operand with its names resolved, or None where it means nothing."""

    def lack(self, offset: int, name: str, reason: str) -> None:
        """Something that the emulator lacks."""


class CallLowering:
    """Turns each call into what the program has: parameters in frames, and functions by name."""

    def __init__(self, functions: Functions, sink: Sink) -> None:
        """`sink` lowers what comes out."""
        self.functions = functions
        self.sink = sink
        self._count = 0

    def lower(self, instruction: Instruction, scopes: Scopes) -> None:
        """A call, with or without a predicate."""
        guard(self.sink, instruction, scopes, self._call)

    def _call(self, instruction: Instruction, scopes: Scopes) -> None:
        call = call_of(instruction)
        functions = self.functions
        if call.prototype is not None or scopes.find_register(call.target) is not None:
            self._by_address(instruction, call, scopes)
            return
        defined = functions.defined.get(call.target)
        signature = defined or functions.declared.get(call.target)
        if signature is None or (defined is None and call.target not in BUILT_IN) or signature.is_entry:
            reason = functions.absent(call.target)
            self.sink.lack(instruction.offset, f"call {call.target}", reason)
            return
        name = signature.name if defined else call.target
        self._with_parameters(instruction, call, (name,), signature, scopes)

    def _by_address(self, instruction: Instruction, call: Call, scopes: Scopes) -> None:
        functions = self.functions
        named = scopes.find_signature(call.prototype or "") or next(
            (v for v in functions.module.variables if v.name == call.prototype), None
        )
        if named is None:
            reason = "a call by address names a .callprototype, a .calltargets list or a table of functions"
            self.sink.lack(instruction.offset, f"call {call.target}", reason)
            return
        candidates = functions.candidates(named)
        signature = named if isinstance(named, Prototype) else candidates[0] if candidates else None
        if signature is None:
            reason = f"none of the functions in {call.prototype} is defined in this file; link it first"
            self.sink.lack(instruction.offset, f"call {call.target}", reason)
            return
        called = tuple(function.name for function in candidates)
        self._with_parameters(instruction, call, called, signature, scopes)

    def _with_parameters(
        self,
        instruction: Instruction,
        call: Call,
        called: tuple[str, ...],
        signature: Function | Prototype,
        scopes: Scopes,
    ) -> None:
        """Arguments into `.param` variables, the call, and results out of them."""
        fits = len(call.arguments) == len(signature.params) and len(call.returns) in (
            len(signature.returns),
            0 if called and called[0] in BUILT_IN else len(signature.returns),
        )
        if not fits:
            self._misfit(instruction, call)
            return
        after: list[Instruction] = []
        arguments = [
            self._passed(actual, formal, instruction, scopes, None)
            for actual, formal in zip(call.arguments, signature.params, strict=True)
        ]
        returns = [
            self._passed(actual, formal, instruction, scopes, after)
            for actual, formal in zip(call.returns, signature.returns, strict=False)
        ]
        if any(operand is None for operand in (*arguments, *returns)):
            self._misfit(instruction, call)
            return
        passed = Arguments(tuple([a for a in arguments if a is not None]))
        given = Arguments(tuple([r for r in returns if r is not None]))

        def by_name(name: str) -> Instruction:
            operands: tuple[Operand, ...] = (given, Name(name), passed)
            return Instruction("call", instruction.modifiers, operands, instruction.offset, instruction.end)

        if call.target == (called[0] if called else "") or call.prototype is None:
            self.sink.instruction(by_name(called[0]), scopes)
        else:
            self._choose(instruction, [by_name(name) for name in called], called, scopes)
        for load in after:
            self.sink.instruction(load, scopes)

    def _choose(
        self, instruction: Instruction, calls: list[Instruction], called: tuple[str, ...], scopes: Scopes
    ) -> None:
        """A jump by address to one of some calls, which all go on behind the last of them."""
        self._count += 1
        end = f"end {self._count}"
        labels = [f"call {self._count} {number}" for number in range(len(calls))]
        for label in (end, *labels):
            scopes.mark(label)
        code = self.functions.code
        self.sink.dispatch(
            instruction, {code[name]: label for name, label in zip(called, labels, strict=True)}, scopes
        )
        for call, label in zip(calls, labels, strict=True):
            self.sink.label(label, scopes)
            self.sink.instruction(call, scopes)
            if call is not calls[-1]:
                self.sink.instruction(jump(call, end), scopes)
        self.sink.label(end, scopes)

    def _misfit(self, instruction: Instruction, call: Call) -> None:
        reason = "its arguments are not those that the function takes"
        self.sink.lack(instruction.offset, f"call {call.target}", reason)

    def _passed(
        self,
        actual: Operand,
        formal: Variable,
        instruction: Instruction,
        scopes: Scopes,
        results: list[Instruction] | None,
    ) -> Operand | None:
        """The `.param` variable for an argument, or for a result; None where that cannot be one."""
        is_sink = isinstance(actual, syntax.Sink)
        source = None if is_sink else self.sink.operand(actual, scopes)
        if isinstance(source, Frame):
            return actual if source.size >= (formal.size or 0) else None
        if not is_sink and (formal.shape or (isinstance(source, Register) and source.width != bits(formal))):
            return None
        self._count += 1
        hidden = f"{formal.name} of {self._count}"
        scopes.hide(hidden, formal)
        place = syntax.Address(Name(hidden), 0)
        if results is None:
            operands: tuple[Operand, ...] = (place, actual)
            store = Instruction("st", modifiers(formal), operands, instruction.offset, instruction.end)
            self.sink.instruction(store, scopes)
        elif not is_sink:
            load = Instruction("ld", modifiers(formal), (actual, place), instruction.offset, instruction.end)
            results.append(load)
        return Name(hidden)
