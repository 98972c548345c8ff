"""From a parsed module to a program: reachable functions, shared memory, blocks of decoded operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from teenycuda_cli.emulator.ir import (
    BasicBlock,
    Frame,
    FunctionBody,
    KernelParameter,
    Op,
    Register,
    Source,
    member_mask,
)
from teenycuda_cli.emulator.missing import Missing, unsupported
from teenycuda_cli.emulator.opcodes.call import land, lists
from teenycuda_cli.emulator.opcodes.table import Unsupported, decode
from teenycuda_cli.emulator.operands import OperandLowering, UnknownOperand, flat_registers, folded, misfit
from teenycuda_cli.emulator.program import BUILT_IN, Program, callee
from teenycuda_cli.emulator.scopes import Scopes
from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.source import Source as Text
from teenycuda_cli.ptx.syntax import Function, Instruction, Module, Statement, Variable


def _flat(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, those of inner scopes too, however deep."""
    stack = [iter(statements)]
    while stack:
        statement = next(stack[-1], None)
        if statement is None:
            stack.pop()
        elif isinstance(statement, syntax.Block):
            stack.append(iter(statement.statements))
        else:
            yield statement


def instructions(statements: tuple[Statement, ...]) -> Iterator[Instruction]:
    """All instructions, those of inner scopes too."""
    return (statement for statement in _flat(statements) if isinstance(statement, Instruction))


def _variables(statements: tuple[Statement, ...]) -> Iterator[Variable]:
    return (statement for statement in _flat(statements) if isinstance(statement, Variable))


def _names(operand: Any) -> Iterator[str]:
    if isinstance(operand, syntax.Name):
        yield operand.text
    elif isinstance(operand, syntax.Address):
        if operand.base is not None:
            yield operand.base.text
    elif isinstance(operand, syntax.Pair):
        yield from _names(operand.first)
        yield from _names(operand.second)
    elif hasattr(operand, "elements"):
        for element in operand.elements:
            yield from _names(element)


class Lowering:
    """Builds one program; everything that is missing is collected, then raised at once."""

    def __init__(self, module: Module, text: Text, entry: Function, addresses: dict[str, int]) -> None:
        """`addresses` are those of the module's global and constant variables."""
        self.module = module
        self.addresses = addresses
        self.entry = entry
        self.program = Program(entry.name, text, {item.index: item.name for item in module.files})
        self.defined = {f.name: f for f in module.functions if f.body is not None}
        self.defined |= {
            name: self.defined[target] for name, target in module.aliases if target in self.defined
        }
        self.missing: list[Missing] = []
        self.shared: dict[int, int] = {}
        self.operands: OperandLowering
        self.block: BasicBlock | None = None
        self.loc: syntax.Loc | None = None

    def run(self) -> Program:
        """The program; raises UnsupportedError naming everything that is missing."""
        reached = self._reach()
        self._place_shared(reached)
        program = self.program
        for function in reached:
            body = FunctionBody(function.name, function.is_entry, function.params, function.returns)
            program.functions[function.name] = body
        for function in reached:
            self._function(function)
        if self.missing:
            raise unsupported(self.entry.name, program.text, self.missing)
        self._find_recursion()
        last = self.entry.parameters[-1] if self.entry.parameters else None
        program.parameter_size = last.offset + last.size if last else 0
        return program

    # -------------------------------------------------------------- layout

    def _reach(self) -> list[Function]:
        reached = [self.entry]
        known = {self.entry.name}
        for function in reached:
            for instruction in instructions(function.body or ()):
                if instruction.opcode != "call":
                    continue
                name = callee(instruction)
                if name is None or name in known or name in BUILT_IN:
                    continue
                known.add(name)
                if name in self.defined:
                    reached.append(self.defined[name])
        return reached

    def _place_shared(self, reached: list[Function]) -> None:
        used = {
            name
            for function in reached
            for instruction in instructions(function.body or ())
            for operand in instruction.operands
            for name in _names(operand)
        }
        module = [v for v in self.module.variables if v.space.startswith("shared") and v.name in used]
        inner = [
            v
            for f in reached
            for v in _variables(f.body or ())
            if v.space.startswith("shared") and v.name in used
        ]
        offset = 0
        dynamic_align = 1
        dynamic: list[Variable] = []
        for variable in (*module, *inner):
            if variable.size is None or (variable.linkage == "extern" and not variable.size):
                dynamic.append(variable)
                dynamic_align = max(dynamic_align, variable.align)
                continue
            offset = (offset + variable.align - 1) // variable.align * variable.align
            self.shared[variable.offset] = offset
            offset += variable.size
        self.program.static_shared = offset
        self.program.dynamic_offset = (offset + dynamic_align - 1) // dynamic_align * dynamic_align
        for variable in dynamic:
            self.shared[variable.offset] = self.program.dynamic_offset
        functions = {function.name for function in self.module.functions} | BUILT_IN.keys()
        shared_addresses = {v.name: self.shared[v.offset] for v in module}
        self.operands = OperandLowering(self.program, self.addresses | shared_addresses, functions)

    def _find_recursion(self) -> None:
        """Functions that call themselves, by others or not, get a stack."""
        program = self.program
        for function in program.functions.values():
            function.reaches = _closure(function.name, program.functions)
            function.recursive = function.name in function.reaches
        if any(function.recursive for function in program.functions.values()):
            program.stack_pointer = Register(len(program.registers), "%stack", "b64", 64)
            program.registers.append(program.stack_pointer)

    # --------------------------------------------------------------- bodies

    def _function(self, function: Function) -> None:
        body = self.program.functions[function.name]
        scopes = Scopes(body, self.program.registers, self.shared)
        outer = scopes.open[0]
        if function.is_entry:
            for parameter in function.parameters:
                outer.variables[parameter.name] = KernelParameter(
                    parameter.offset, parameter.size, parameter.name
                )
        else:
            body.return_to = scopes.register("%return", "b32")
            for variable in (*function.returns, *function.params):
                if variable.space == "reg":
                    self._lack(function.offset, function.name, "parameters in registers")
                outer.variables[variable.name] = scopes.frame(variable)
        self.loc = None
        body.first = self._start(body).number
        self._statements(function.body or (), scopes)
        if self.block is not None:
            self._instruction(Instruction("ret", (), (), function.offset, function.offset), scopes)

    def _start(self, body: FunctionBody) -> BasicBlock:
        block = BasicBlock(len(self.program.blocks), body)
        self.program.blocks.append(block)
        if self.block is not None:
            self.block.successors.append(block.number)
        self.block = block
        return block

    def _statements(self, statements: tuple[Statement, ...], scopes: Scopes) -> None:
        """A body, scope by scope."""
        scopes.enter(statements)
        stack = [iter(statements)]
        while stack:
            statement = next(stack[-1], None)
            if statement is None:
                stack.pop()
                scopes.leave()
            elif isinstance(statement, syntax.Block):
                scopes.enter(statement.statements)
                stack.append(iter(statement.statements))
            else:
                self._statement(statement, scopes)

    def _statement(self, statement: Statement, scopes: Scopes) -> None:
        if isinstance(statement, Instruction):
            self._instruction(statement, scopes)
        elif isinstance(statement, syntax.Loc):
            self.loc = statement
        elif isinstance(statement, syntax.Label):
            if self.block is None or self.block.ops:
                self._start(scopes.function)
            assert self.block is not None
            self.program.labels[scopes.find_label(statement.name) or ""] = self.block.number
        elif isinstance(statement, (syntax.Registers, Variable)):
            scopes.declare(statement)

    def _instruction(self, instruction: Instruction, scopes: Scopes) -> None:
        if self.block is None:
            self._start(scopes.function)
        if instruction.opcode == "call" and not self._callable(instruction):
            return
        operation = decode(instruction)
        if isinstance(operation, Unsupported):
            self._lack(instruction.offset, instruction.name, operation.reason)
            return
        try:
            operands = tuple([self.operands.lower(item, scopes) for item in instruction.operands])
        except UnknownOperand as unknown:
            self._lack(instruction.offset, instruction.name, str(unknown))
            return
        if instruction.opcode == "call" and not self._passes(instruction, operands):
            return
        operands = folded(operation, operands)
        wrong = misfit(operation, operands)
        if wrong:
            self._lack(instruction.offset, instruction.name, wrong)
            return
        predicate = None
        if instruction.predicate is not None:
            predicate = scopes.find_register(instruction.predicate)
            if predicate is None or predicate.type != "pred":
                reason = f"{instruction.predicate} is no predicate register"
                self._lack(instruction.offset, instruction.name, reason)
                return
        op = Op(instruction, operation, scopes.function, operands, predicate, instruction.negated, self.loc)
        self._traits(op, scopes)
        assert self.block is not None
        build = operation.form.build
        if getattr(build, "gathers", False) and not self._gathered(op):
            if self.block.ops:
                self._start(scopes.function)
            assert self.block is not None
            self.block.gathers = True
        self.block.ops.append(op)
        if getattr(build, "ends_block", False):
            self._end(op, scopes)

    def _callable(self, instruction: Instruction) -> bool:
        name = callee(instruction) or ""
        if name in self.program.functions or name in BUILT_IN:
            return True
        declared = any(function.name == name for function in self.module.functions)
        reason = (
            "the function is not defined in this file" if declared or name[:1] != "%" else "calls by address"
        )
        self._lack(instruction.offset, f"call {name}", reason)
        return False

    def _passes(self, instruction: Instruction, operands: tuple[Source, ...]) -> bool:
        """Whether a call gives the callee all that it takes: `.param` variables, as large as its own."""
        name = callee(instruction) or ""
        returns, arguments = lists(operands)
        if name in BUILT_IN:
            fits = len(arguments) == BUILT_IN[name] and _hold((*returns, *arguments), None)
        else:
            body = self.program.functions[name]
            fits = _hold(returns, body.returns) and _hold(arguments, body.params)
        if not fits:
            self._lack(
                instruction.offset, f"call {name}", "arguments that are not the callee's .param variables"
            )
        return fits

    def _gathered(self, op: Op) -> bool:
        """Whether an earlier instruction of the block has waited for the same lanes already."""
        assert self.block is not None
        if not self.block.gathers:
            return False
        mask = member_mask(op)
        return member_mask(self.block.ops[0]) == mask and not any(
            mask in earlier.writes for earlier in self.block.ops
        )

    def _end(self, op: Op, scopes: Scopes) -> None:
        assert self.block is not None
        build: Any = op.operation.form.build
        if op.instruction.opcode == "call":
            if callee(op.instruction) not in BUILT_IN:
                self._land(op, scopes)
        elif build.leaves and op.predicate is None:
            self.block = None
        else:
            self._start(scopes.function)

    def _land(self, op: Op, scopes: Scopes) -> None:
        """The block where a call comes back, of its own; lanes that did not call go on behind it."""
        calling = self.block
        landing = self._start(scopes.function)
        form = replace(op.operation.form, opcode="landing", build=land)
        operation = replace(op.operation, form=form, destinations=(), sources=())
        landing.ops.append(replace(op, operation=operation, predicate=None, reads=(), writes=()))
        behind = self._start(scopes.function)
        if op.predicate is not None and calling is not None:
            calling.successors.append(behind.number)

    def _traits(self, op: Op, scopes: Scopes) -> None:
        """Which registers an operation reads and writes."""
        writes: list[Register] = []
        reads: list[Register] = []
        operands: tuple[Source, ...] = op.operands
        operation = op.operation
        if operation.destinations and operands:
            writes += flat_registers(operands[0])
            operands = operands[1:]
        for operand in operands:
            reads += flat_registers(operand)
        if operation.reads_carry or operation.writes_carry:
            carry = scopes.open[0].registers.get("%cc")
            if carry is None:
                carry = scopes.open[0].registers["%cc"] = scopes.register("%cc", "pred")
            if operation.reads_carry:
                reads.append(carry)
            if operation.writes_carry:
                writes.append(carry)
        if op.predicate is not None:
            reads.append(op.predicate)
            reads += writes
        op.reads, op.writes = tuple(reads), tuple(writes)
        if op.instruction.opcode == "call":
            name = callee(op.instruction) or ""
            if name in self.program.functions:
                scopes.function.calls.add(name)

    # ------------------------------------------------------------- messages

    def _lack(self, offset: int, name: str, reason: str) -> None:
        self.missing.append(Missing(offset, name, reason))


def _closure(name: str, functions: dict[str, FunctionBody]) -> set[str]:
    """The functions that `name` can call, directly or not."""
    found: set[str] = set()
    stack = list(functions[name].calls)
    while stack:
        called = stack.pop()
        if called not in found:
            found.add(called)
            stack += functions[called].calls
    return found


def _hold(sources: tuple[Source, ...], variables: tuple[Variable, ...] | None) -> bool:
    """Whether operands are `.param` variables, with room for those of the callee where they are known."""
    if variables is not None and len(sources) != len(variables):
        return False
    sizes = [0] * len(sources) if variables is None else [variable.size or 0 for variable in variables]
    return all(
        isinstance(source, Frame) and source.size >= size for source, size in zip(sources, sizes, strict=True)
    )
