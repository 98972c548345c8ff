"""Value instructions as source or as steps."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from teenycuda_cli.emulator.codegen import compute
from teenycuda_cli.emulator.codegen.arguments import Argument, are_values, fixed, floats_of
from teenycuda_cli.emulator.codegen.compute import Kept
from teenycuda_cli.emulator.codegen.recording import StepEmitter
from teenycuda_cli.emulator.codegen.steps import Step, special_register
from teenycuda_cli.emulator.ir import (
    Constant,
    Group,
    Nowhere,
    Op,
    Register,
    Source,
    Special,
    Wide,
    elements,
)
from teenycuda_cli.emulator.machine.values import wrap
from teenycuda_cli.emulator.numerics.floating import canonical
from teenycuda_cli.emulator.program import Program

_COPYING = frozenset(("mov", "selp"))


class ValueEmitter(StepEmitter):
    """Writes instructions that make a value of registers and constants, and nothing else."""

    def __init__(self, program: Program) -> None:
        """Nothing is alike yet."""
        super().__init__(program)
        self._alike: dict[Hashable, str] = {}  # likeness → the function of a step

    def value(self, op: Op) -> None:
        """Write one, as an earlier one that was like it where there is such."""
        likeness = None if self.is_hot or op.predicate is not None else self._likeness(op)
        name = None if likeness is None else self._alike.get(likeness)
        if name is not None:
            self._step_like(op, name)
            return
        before = len(self.steps)
        self._value_of(op)
        if likeness is not None and len(self.steps) == before + 1 and self.steps[-1].name:
            self._alike[likeness] = self.steps[-1].name

    def _likeness(self, op: Op) -> Hashable:
        """What instructions have in common that become steps of the same function; None where none may."""
        operation = op.operation
        register = op.operands[0]
        if op.instruction.opcode in _COPYING or type(register) is not Register:
            return None
        if operation.reads_carry or operation.writes_carry:
            return None
        lives_on = op.instruction.opcode == "cvt" and self.lives_on(register)
        found: list[Hashable] = [id(operation), self._kept[register], lives_on]
        for source in op.operands[1:]:
            if type(source) is Register:
                found.append(self._kept[source])
            elif type(source) is Constant:
                found.append("constant")
            else:
                return None
        return tuple(found)

    def _step_like(self, op: Op, name: str) -> None:
        """A step of the function that a like instruction before had."""
        register: Any = op.operands[0]
        registers = self._registers
        arguments = [
            registers[source] if type(source) is Register else self.argument(source)
            for source in op.operands[1:]
        ]
        number = fixed(self.buffer(register, self._kept[register].dtype))
        self.steps.append(Step(self.names[name], name, (register,), (number, *arguments)))

    def _value_of(self, op: Op) -> None:
        operation = op.operation
        destinations = elements(op.operands[0])
        sources: Sequence[Source] = op.operands[1:]
        if Group in map(type, sources) or Wide in map(type, sources):
            sources = [element for operand in sources for element in elements(operand)]
        registers = self._registers
        arguments = [
            registers[source] if type(source) is Register else self.argument(source, name)
            for source, name in zip(sources, operation.sources, strict=True)
        ]
        carry = None
        if operation.reads_carry or operation.writes_carry:
            carry = next(r for r in (*op.writes, *op.reads) if r.name == "%cc")
            if operation.reads_carry:
                arguments.append(Argument(f"v{carry.number}", Kept("p", 1), carry))
        if len(destinations) > 1 or operation.writes_carry:
            if operation.writes_carry:
                assert carry is not None
                destinations = [*destinations, carry]
            self._many(op, destinations, arguments)
            return
        register = destinations[0]
        if isinstance(register, Nowhere):
            return
        assert isinstance(register, Register)
        opcode = op.instruction.opcode
        if opcode == "mov" and len(sources) == 1:
            self.move(op, register, arguments[0])
        elif opcode == "selp":
            self._select(op, register, arguments)
        else:
            self._compute(op, register, arguments)

    def _readers(self, op: Op, arguments: list[Argument]) -> list[compute.Reader]:
        types = [*op.operation.sources, *(["pred"] if op.operation.reads_carry else [])]
        return [
            compute.constants(type_name)
            if argument.constant is not None and not self.is_hot
            else self.reader(argument, type_name)
            for argument, type_name in zip(arguments, types, strict=True)
        ]

    def _key(self, op: Op, kept: Hashable, arguments: list[Argument]) -> Hashable:
        """What instructions have in common that call the same function."""
        found: list[Hashable] = [id(op.operation), kept]
        for argument in arguments:
            known: Hashable = argument.text if argument.scalar is not None else None
            if argument.constant is not None:
                known = argument.constant if self.is_hot else "constant"
            found.append((argument.kept, known))
        return tuple(found)

    def _many(self, op: Op, destinations: list[Any], arguments: list[Argument]) -> None:
        kept = [self.kept(d) if isinstance(d, Register) else None for d in destinations]
        key = self._key(op, tuple(kept), arguments)
        name = self._functions.get(key)
        if name is None:
            run = compute.compute_many(
                op.operation, self._readers(op, arguments), kept, op.operation.writes_carry
            )
            name = self._functions[key] = self.bind(run)
        targets = [f"v{d.number}" if isinstance(d, Register) else "_" for d in destinations]
        if self.step(op, destinations, name, (fixed(0), *arguments)):
            return
        call = f"{name}(S, 0, {', '.join(a.text for a in arguments)})"
        if op.predicate is None:
            self.line(f"{', '.join(targets)} = {call}")
            return
        names = [self.temporary() for _ in targets]
        self.line(f"{', '.join(names)} = {call}")
        for destination, temporary in zip(destinations, names, strict=True):
            if isinstance(destination, Register):
                self.assign(op, destination, temporary)

    def move(self, op: Op, register: Register, argument: Argument) -> None:
        """Write a register's value into another register, or a constant."""
        kept = self.kept(register)
        known = self._known(kept, argument)
        if known is not None:
            if not self.step(op, (register,), "", (known,)):
                self.assign(op, register, known.text)
            return
        run = self._conversion(kept, argument.kept, op.operation.destinations[0])
        source = argument.register
        if source is not None and not self.alias(register, source):
            text = f"{run}(S, {argument.text})" if run else argument.text
            if not run and self.lives_on(register):
                home = fixed(register.home)
                if self.step(op, (register,), self.bind(compute.keep), (home, argument)):
                    return
            if self.lives_on(register):
                text = f"S.keep({register.home}, {text})"
            else:
                text = f"{self.bind(compute.duplicate)}({text})"
        elif not run and isinstance(op.operands[1], Special):
            taken = (fixed(op.operands[1].name), fixed(self._index))
            if self.step(op, (register,), self.bind(special_register), taken):
                return
            text = argument.text
        elif self.step(op, (register,), run, (argument,)):
            return
        else:
            text = f"{run}(S, {argument.text})" if run else argument.text
        self.assign(op, register, text)

    def _conversion(self, kept: Kept, source: Kept, type_name: str) -> str:
        """The name of the function (lanes, value) that makes one kind of register of another, if any."""
        if kept.tag != source.tag:
            if source.tag == "i":
                return self.function(floats_of, kept.dtype, source.width)
            return self.function(compute.bits, np.dtype(f"i{kept.width // 8}"), source.raw_nan)
        if kept.tag == "i" and kept.width != source.width:
            return self.function(compute.resized, source, kept, type_name)
        if source.raw_nan and not kept.raw_nan:
            return self.bind(compute.settled)
        return ""

    def _known(self, kept: Kept, argument: Argument) -> Argument | None:
        """A constant as a register holds it; None for what is none."""
        scalar = argument.scalar
        if argument.constant is not None:
            value = wrap(argument.constant, kept.width)
            if kept.tag == "i":
                return Argument(str(value), kept, constant=value)
            bits: Any = np.dtype(f"i{kept.width // 8}").type(value)
            scalar = bits.view(kept.dtype)
            return Argument(self.bind_scalar(scalar), kept, scalar=scalar)
        if scalar is None or kept.tag != "i":
            return None if scalar is None else argument
        value = wrap(int(scalar.view(f"i{scalar.itemsize}")), kept.width)
        return Argument(str(value), kept, constant=value)

    def _select(self, op: Op, register: Register, arguments: list[Argument]) -> None:
        kept = self.kept(register)
        choices = [
            self._choice(kept, argument, type_name)
            for argument, type_name in zip(arguments[:2], op.operation.sources, strict=False)
        ]
        number = self.buffer(register, kept.dtype)
        run = self.function(compute.selector, kept.dtype)
        if self.step(op, (register,), run, (fixed(number), *choices, arguments[2])):
            return
        texts = ", ".join([argument.text for argument in (*choices, arguments[2])])
        self.assign(op, register, f"{run}(S, {number}, {texts})")

    def _choice(self, kept: Kept, argument: Argument, type_name: str) -> Argument:
        """What `selp` may choose, as its register keeps it."""
        if argument.constant is not None:
            if kept.tag == "i":
                return fixed(wrap(argument.constant, kept.width))
            scalar = compute.constant(argument.constant, type_name)
            return Argument(self.bind_scalar(scalar), kept, scalar=scalar)
        if kept.tag == argument.kept.tag:
            if not argument.kept.raw_nan or kept.raw_nan:
                return argument
            return self.turned(self.bind(compute.settled), argument, kept)
        if kept.tag == "i":
            bits = np.dtype(f"i{kept.width // 8}")
            return self.turned(self.function(compute.bits, bits, argument.kept.raw_nan), argument, kept)
        return self.turned(self.function(floats_of, kept.dtype, argument.kept.width), argument, kept)

    def _compute(self, op: Op, register: Register, arguments: list[Argument]) -> None:
        operation = op.operation
        kept = self.kept(register)
        if kept.tag in {"f4", "f8"} and self._plain(op, kept, arguments):
            self._inline(op, register, arguments)
            return
        number = self.buffer(register, kept.dtype)
        key = self._key(op, kept, arguments)
        name = self._functions.get(key)
        if name is None:
            exact = tuple([argument.kept.tag == "i" for argument in arguments])
            run = compute.compute(operation, self._readers(op, arguments), kept, exact)
            name = self._functions[key] = self.bind(run)
        copies = kept.tag == "f4" and op.instruction.opcode == "cvt" and self.lives_on(register)
        copies = copies and operation.sources[0] == "f32"
        as_it_is = not copies and not self._settles(op, register)
        if as_it_is and self.step(op, (register,), name, (fixed(number), *arguments)):
            return
        call = f"{name}(S, {number}, {', '.join([a.text for a in arguments])})"
        if copies:
            call = f"S.keep({register.home}, {call})"
        self.assign(op, register, self._settled(op, register, call))

    def _plain(self, op: Op, kept: Kept, arguments: list[Argument]) -> bool:
        """Whether the arrays go in and come out as registers keep them."""
        operation = op.operation
        if operation.destinations[0] != compute.native(kept.tag):
            return False
        return (
            all(
                compute.native(argument.kept.tag) == type_name
                for argument, type_name in zip(arguments, operation.sources, strict=True)
            )
            and not operation.reads_carry
        )

    def _inline(self, op: Op, register: Register, arguments: list[Argument]) -> None:
        evaluate = op.operation.ufunc or op.operation.evaluate
        if not self.is_hot and op.predicate is None and are_values(arguments):
            dtype = self.kept(register).dtype
            run = self.function(compute.plain, evaluate, dtype, self._settles(op, register))
            self.step(op, (register,), run, (fixed(self.buffer(register, dtype)), *arguments))
            return
        out = self._out(register, self.kept(register).dtype)
        varying = [argument.text for argument in arguments if argument.scalar is None]
        texts = ", ".join([argument.text for argument in arguments])
        full = " or ".join([f"{text}.shape == N" for text in dict.fromkeys(varying)])
        call = (
            f"{self.bind(evaluate)}({texts}, out={out} if {full} else None)"
            if full
            else f"{self.bind(evaluate)}({texts})"
        )
        if full:
            call = call.replace("== N", "== S.shape")
        self.assign(op, register, self._settled(op, register, call))

    def _settled(self, op: Op, register: Register, text: str) -> str:
        """A result whose NaNs are PTX's own, where the register must not hold others."""
        return f"{self.bind(canonical)}({text})" if self._settles(op, register) else text

    def _settles(self, op: Op, register: Register) -> bool:
        return op.operation.raw_nan and register.tag in {"f4", "f8"} and not register.raw_nan
