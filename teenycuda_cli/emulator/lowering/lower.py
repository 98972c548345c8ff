"""From a parsed module to a program: reachable functions, shared memory, blocks of decoded operations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from teenycuda_cli.emulator.ir import (
    BasicBlock,
    Constant,
    FunctionBody,
    KernelParameter,
    Label,
    Op,
    Register,
    Source,
    gathers,
    member_mask,
)
from teenycuda_cli.emulator.lowering.calls import CallLowering
from teenycuda_cli.emulator.lowering.expansion import elementwise
from teenycuda_cli.emulator.lowering.functions import Functions
from teenycuda_cli.emulator.lowering.jumps import guard, meets
from teenycuda_cli.emulator.lowering.missing import Missing, unsupported
from teenycuda_cli.emulator.lowering.operands import (
    OperandLowering,
    UnknownOperand,
    folded,
    is_pointer,
    misfit,
)
from teenycuda_cli.emulator.lowering.parameters import SAVED_STACK, entering, hidden, leaving, register_of
from teenycuda_cli.emulator.lowering.repeats import may_recall, reads_and_writes, recall, remember
from teenycuda_cli.emulator.lowering.scopes import Scopes
from teenycuda_cli.emulator.lowering.walk import flat, named, variables
from teenycuda_cli.emulator.machine.special import RESERVED_PLACES, RESERVED_PREFIX, RESERVED_SHARED
from teenycuda_cli.emulator.opcodes.call import dispatch, land
from teenycuda_cli.emulator.opcodes.table import Unsupported, decode
from teenycuda_cli.emulator.program import Program, callee
from teenycuda_cli.ptx import syntax
from teenycuda_cli.ptx.source import Source as Text
from teenycuda_cli.ptx.syntax import Function, Instruction, Module, Statement, Variable


class Lowering:
    """Builds one program; everything that is missing is collected, then raised at once."""

    def __init__(self, module: Module, text: Text, entry: Function, addresses: dict[str, int]) -> None:
        """`addresses` are those of the module's global and constant variables."""
        self.module = module
        self.addresses = addresses
        self.entry = entry
        self.program = Program(entry.name, text, {item.index: item.name for item in module.files})
        self.functions = Functions(module)
        self.program.code = self.functions.code
        self.calls = CallLowering(self.functions, self)
        self.missing: list[Missing] = []
        self.shared: dict[int, int] = {}
        self.operands: OperandLowering
        self.block: BasicBlock | None = None
        self.loc: syntax.Loc | None = None
        self.epilogue: list[Instruction] = []  # of the function that is being lowered

    def run(self) -> Program:
        """The program; raises UnsupportedError naming everything that is missing."""
        reached = self.functions.reach(self.entry)
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

    def _place_shared(self, reached: list[Function]) -> None:
        module = [v for v in self.module.variables if v.space.startswith("shared")]
        inner = [v for f in reached for v in variables(f.body or ()) if v.space.startswith("shared")]
        used = named({variable.name for variable in (*module, *inner)}, reached)
        module = [variable for variable in module if variable.name in used]
        inner = [variable for variable in inner if variable.name in used]
        self.program.reserved_shared = offset = RESERVED_SHARED if self._uses_reserved(reached) else 0
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
        addresses = {name: Constant(at) for name, at in self.functions.code.items()}
        for variable in self.module.variables:
            if variable.name in self.addresses:
                space = variable.space.partition("[")[0]
                addresses[variable.name] = Constant(self.addresses[variable.name], space)
        addresses |= {v.name: Constant(self.shared[v.offset], "shared") for v in module}
        self.operands = OperandLowering(self.program, addresses)

    def _uses_reserved(self, reached: list[Function]) -> bool:
        """Whether shared memory that the hardware keeps for itself is used, as by groups of several warps."""
        rare = RESERVED_PREFIX in self.program.text.text  # a quick look spares most kernels the walk
        return rare and bool(named(RESERVED_PLACES, reached))

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
                in_register = variable.space == "reg"
                outer.variables[hidden(variable) if in_register else variable.name] = scopes.frame(variable)
                if in_register:
                    scopes.declare(register_of(variable))
        self.loc = None
        body.first = self._start(body).number
        self._prologue(function, scopes)
        self._statements(function.body or (), scopes)
        if self.block is not None:
            self.instruction(Instruction("ret", (), (), function.offset, function.offset), scopes)

    def _prologue(self, function: Function, scopes: Scopes) -> None:
        """Parameters into registers; results will go back out of them before each `ret`."""
        keeps_stack = not function.is_entry and any(
            isinstance(statement, Instruction) and statement.opcode == "alloca"
            for statement in flat(function.body or ())
        )
        if keeps_stack:
            scopes.open[0].registers[SAVED_STACK] = scopes.register("%stack_at_entry", "b64")
        self.epilogue = [] if function.is_entry else leaving(function, keeps_stack=keeps_stack)
        for instruction in [] if function.is_entry else entering(function, keeps_stack=keeps_stack):
            self.instruction(instruction, scopes)

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
        if type(statement) is Instruction:
            self.statement_instruction(statement, scopes)
        elif isinstance(statement, syntax.Loc):
            self.loc = statement
        elif isinstance(statement, syntax.Label):
            self.label(statement.name, scopes)
        elif isinstance(statement, (syntax.Registers, Variable)):
            scopes.declare(statement)

    def label(self, name: str, scopes: Scopes) -> None:
        """A new block, to which a label leads."""
        if self.block is None or self.block.ops:
            self._start(scopes.function)
        assert self.block is not None
        self.program.labels[scopes.find_label(name) or ""] = self.block.number

    def dispatch(self, instruction: Instruction, labels: dict[int, str], scopes: Scopes) -> None:
        """A jump to the label of the address in a call's register."""
        operation = decode(instruction)
        if isinstance(operation, Unsupported):
            self.lack(instruction.offset, instruction.name, operation.reason)
            return
        target = scopes.find_register(callee(instruction))
        if target is None or not is_pointer(target):
            self.lack(instruction.offset, instruction.name, f"{callee(instruction)} can hold no address")
            return
        if self.block is None:
            self._start(scopes.function)
        table = f"{scopes.function.name}:{instruction.offset}:{len(self.program.targets)}"
        self.program.targets[table] = {at: scopes.find_label(name) or "" for at, name in labels.items()}
        self.program.tables[table] = tuple(self.program.targets[table].values())
        form = replace(operation.form, opcode="dispatch", build=dispatch)
        operation = replace(operation, form=form, destinations=(), sources=())
        operands = (target, Label(table, "table"))
        op = Op(instruction, operation, scopes.function, operands, None, False, self.loc, (target,), ())
        assert self.block is not None
        self.block.ops.append(op)
        self.block = None

    def operand(self, operand: syntax.Operand, scopes: Scopes) -> Source | None:
        """An operand with its names resolved, or None where it has none."""
        try:
            return self.operands.lower(operand, scopes)
        except UnknownOperand:
            return None

    def statement_instruction(self, instruction: Instruction, scopes: Scopes) -> None:
        """An instruction as written: a call, a return and what meets other lanes may become several."""
        if instruction.opcode == "call":
            self.calls.lower(instruction, scopes)
        elif instruction.predicate is not None and meets(instruction):
            guard(self, instruction, scopes, self.statement_instruction)
        elif not self._is_like_another(instruction, scopes):
            for part in elementwise(instruction, scopes):
                self.instruction(part, scopes)

    def _is_like_another(self, instruction: Instruction, scopes: Scopes) -> bool:
        """Lower an instruction that differs from an earlier one in nothing but its registers, if it does."""
        if self.block is None or not may_recall(instruction):
            return False
        known, lower = scopes.known, self.operands.lower
        try:
            operands = tuple(
                [
                    (known.get(item.text) if type(item) is syntax.Name else None) or lower(item, scopes)
                    for item in instruction.operands
                ]
            )
            predicate = self._predicate(instruction, scopes)
        except UnknownOperand:
            return False
        operation = recall(instruction, operands)
        if operation is None:
            return False
        op = Op(instruction, operation, scopes.function, operands, predicate, instruction.negated, self.loc)
        self._traits(op, scopes)
        self._append(op, scopes)
        return True

    def instruction(self, instruction: Instruction, scopes: Scopes) -> None:
        """Lower one instruction; a call is one by name, of `.param` variables."""
        if self.block is None:
            self._start(scopes.function)
        if instruction.opcode == "ret":
            for last in self.epilogue:
                self.instruction(last, scopes)
        operation = decode(instruction)
        if isinstance(operation, Unsupported):
            self.lack(instruction.offset, instruction.name, operation.reason)
            return
        try:
            operands = tuple([self._lowered(instruction, item, scopes) for item in instruction.operands])
            predicate = self._predicate(instruction, scopes)
        except UnknownOperand as unknown:
            self.lack(instruction.offset, instruction.name, str(unknown))
            return
        lowered, operands = operands, folded(operation, operands)
        wrong = misfit(operation, operands)
        if wrong:
            self.lack(instruction.offset, instruction.name, wrong)
            return
        op = Op(instruction, operation, scopes.function, operands, predicate, instruction.negated, self.loc)
        self._traits(op, scopes)
        remember(op, lowered)
        self._append(op, scopes)

    def _append(self, op: Op, scopes: Scopes) -> None:
        """Into the block under way, or as the first or last one of a block."""
        assert self.block is not None
        form = op.operation.form
        if form.kind == "value":
            self.block.ops.append(op)
            return
        build = form.build
        if gathers(op.operation) and not self._gathered(op):
            if self.block.ops:
                self._start(scopes.function)
            self.block.gathers = True
        self.block.ops.append(op)
        if getattr(build, "ends_block", False):
            self._end(op, scopes)

    def _predicate(self, instruction: Instruction, scopes: Scopes) -> Register | None:
        """The register of `@p`; UnknownOperand where it is none."""
        if instruction.predicate is None:
            return None
        found = scopes.find_register(instruction.predicate)
        if found is None or found.type != "pred":
            raise UnknownOperand(f"{instruction.predicate} is no predicate register")
        return found

    def _lowered(self, instruction: Instruction, operand: syntax.Operand, scopes: Scopes) -> Source:
        if instruction.opcode == "call" and isinstance(operand, syntax.Name):
            return Label(operand.text, "function")
        return self.operands.lower(operand, scopes)

    def _gathered(self, op: Op) -> bool:
        """Whether an earlier instruction of the block has waited for the same lanes already, and others."""
        assert self.block is not None
        if not self.block.gathers:
            return False
        mask, waited = member_mask(op), member_mask(self.block.ops[0])
        if isinstance(mask, Constant) and isinstance(waited, Constant):
            return not mask.value & ~waited.value
        return waited == mask and not any(mask in earlier.writes for earlier in self.block.ops)

    def _end(self, op: Op, scopes: Scopes) -> None:
        assert self.block is not None
        build: Any = op.operation.form.build
        if op.instruction.opcode == "call":
            if callee(op.instruction) in self.program.functions:
                self._land(op, scopes)
        elif build.leaves and op.predicate is None:
            self.block = None
        else:
            self._start(scopes.function)

    def _land(self, op: Op, scopes: Scopes) -> None:
        """The block where a call comes back, of its own."""
        landing = self._start(scopes.function)
        form = replace(op.operation.form, opcode="landing", build=land)
        operation = replace(op.operation, form=form, destinations=(), sources=())
        landing.ops.append(replace(op, operation=operation, reads=(), writes=()))
        self._start(scopes.function)

    def _traits(self, op: Op, scopes: Scopes) -> None:
        """Which registers an operation reads and writes."""
        operation = op.operation
        build = operation.form.build
        reads, writes = reads_and_writes(operation, op.operands)
        if operation.form.kind == "effect":
            if getattr(build, "uses_stack", False):
                pointer = self._dynamic_pointer(scopes)
                reads.append(pointer)
                writes.append(pointer)
            if op.predicate is None and getattr(build, "accumulates", False):
                reads += writes
            if op.instruction.opcode == "call" and callee(op.instruction) in self.program.functions:
                scopes.function.calls.add(callee(op.instruction) or "")
        elif operation.reads_carry or operation.writes_carry:
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

    def _dynamic_pointer(self, scopes: Scopes) -> Register:
        program = self.program
        if program.dynamic_pointer is None:
            program.dynamic_pointer = scopes.register("%dynamic", "b64")
        return program.dynamic_pointer

    # ------------------------------------------------------------- messages

    def lack(self, offset: int, name: str, reason: str) -> None:
        """Something that the emulator lacks, to be told with all the rest."""
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
